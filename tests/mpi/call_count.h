#ifndef NORMA_TESTS_MPI_CALL_COUNT_H
#define NORMA_TESTS_MPI_CALL_COUNT_H
/*
 * MPI's calls, counted through its profiling interface: what this rank has called and sent since
 * count_reset. Defines functions of MPI: included by the one source of a test program.
 */
#include "tests/harness/mpi_harness.h"

#include "mpi/plan/traffic.h"

#include <mpi.h>
#include <string.h>

static norma_traffic counted;
static double counted_others; /* calls of kinds that no model knows */
static int ranks_of_a_node;   /* what MPI is made to believe; 0: the truth */

static void count_reset(void)
{
    memset(&counted, 0, sizeof counted);
    counted_others = 0;
}

static void count(norma_traffic_kind kind, double n, MPI_Datatype type)
{
    int size = 0;
    PMPI_Type_size(type, &size);
    counted.calls[kind]++;
    counted.bytes[kind] += n * size;
}

int MPI_Send(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    count(NORMA_TRAFFIC_SEND, n, type);
    return PMPI_Send(data, n, type, to, tag, comm);
}

int MPI_Isend(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    count(NORMA_TRAFFIC_SEND, n, type);
    return PMPI_Isend(data, n, type, to, tag, comm, request);
}

int MPI_Allreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    count(NORMA_TRAFFIC_ALLREDUCE, n, type);
    return PMPI_Allreduce(in, out, n, type, op, comm);
}

int MPI_Bcast(void *data, int n, MPI_Datatype type, int root, MPI_Comm comm)
{
    count(NORMA_TRAFFIC_BCAST, n, type);
    return PMPI_Bcast(data, n, type, root, comm);
}

int MPI_Reduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm)
{
    count(NORMA_TRAFFIC_REDUCE, n, type);
    return PMPI_Reduce(in, out, n, type, op, root, comm);
}

int MPI_Alltoallv(const void *out, const int *n_out, const int *at_out, MPI_Datatype type_out,
                  void *in, const int *n_in, const int *at_in, MPI_Datatype type_in, MPI_Comm comm)
{
    int size = 0;
    int rank = 0;
    double n = 0;
    PMPI_Comm_size(comm, &size);
    PMPI_Comm_rank(comm, &rank);
    for (int r = 0; r < size; r++)
        n += r == rank ? 0 : n_out[r];
    count(NORMA_TRAFFIC_ALLTOALL, n, type_out);
    return PMPI_Alltoallv(out, n_out, at_out, type_out, in, n_in, at_in, type_in, comm);
}

int MPI_Allgatherv(const void *in, int n_in, MPI_Datatype type_in, void *out, const int *n_out,
                   const int *at_out, MPI_Datatype type_out, MPI_Comm comm)
{
    counted_others++;
    return PMPI_Allgatherv(in, n_in, type_in, out, n_out, at_out, type_out, comm);
}

int MPI_Allgather(const void *in, int n_in, MPI_Datatype type_in, void *out, int n_out,
                  MPI_Datatype type_out, MPI_Comm comm)
{
    counted_others++;
    return PMPI_Allgather(in, n_in, type_in, out, n_out, type_out, comm);
}

int MPI_Ssend(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    counted_others++;
    return PMPI_Ssend(data, n, type, to, tag, comm);
}

int MPI_Put(const void *data, int n, MPI_Datatype type, int to, MPI_Aint at, int n_to,
            MPI_Datatype type_to, MPI_Win window)
{
    counted_others++;
    return PMPI_Put(data, n, type, to, at, n_to, type_to, window);
}

int MPI_Barrier(MPI_Comm comm)
{
    counted_others++;
    return PMPI_Barrier(comm);
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out)
{
    if (ranks_of_a_node == 0)
        return PMPI_Comm_split_type(comm, type, key, info, out);
    return PMPI_Comm_split(comm, norma_test_runtime->rank / ranks_of_a_node, key, out);
}

#endif
