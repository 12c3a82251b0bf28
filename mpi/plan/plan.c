#include "mpi/plan/plan.h"

#include "mpi/plan/node_memory.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"

#include <cblas.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { GEMM_SIZE = 512, MOST_NODES = 1 << 20 };

/* A product, for BLAS to take the buffers that it keeps. */
static norma_status use_blas_local(void)
{
    double *a = NULL;
    int64_t n = (int64_t)GEMM_SIZE * GEMM_SIZE;
    NORMA_TRY(NORMA_CALLOC(a, 3 * n));
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, GEMM_SIZE, GEMM_SIZE, GEMM_SIZE, 1, a,
                GEMM_SIZE, a + n, GEMM_SIZE, 0, a + 2 * n, GEMM_SIZE);
    NORMA_FREE(a);
    return NORMA_OK;
}

norma_status norma_plan_machine_measure(const norma_runtime *runtime, norma_plan_machine *machine)
{
    int64_t memory = 0;
    norma_status status = norma_plan_node_memory_local("", &memory);
    if (status == NORMA_OK)
        status = use_blas_local();
    NORMA_TRY(norma_agree(runtime->world, status));

    int64_t per_node = runtime->node_size;
    machine->n_ranks = runtime->size;
    MPI_Allreduce(&per_node, &machine->ranks_per_node, 1, MPI_INT64_T, MPI_MAX, runtime->world);
    MPI_Allreduce(&memory, &machine->node_memory, 1, MPI_INT64_T, MPI_MIN, runtime->world);
    machine->base_memory = norma_plan_peak_memory(runtime);
    return NORMA_OK;
}

void norma_plan_format_bytes_local(double bytes, char *text, int length)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    while (bytes >= 1024 && unit + 1 < sizeof units / sizeof units[0]) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, (size_t)length, unit == 0 ? "%.0f %s" : "%.2f %s", bytes, units[unit]);
}

void norma_plan_print_memory_local(const norma_plan_machine *machine, double bytes_a_rank,
                                   double file_bytes)
{
    char text[3][32];
    norma_plan_format_bytes_local(bytes_a_rank, text[0], sizeof text[0]);
    norma_plan_format_bytes_local((double)machine->node_memory, text[1], sizeof text[1]);
    norma_plan_format_bytes_local(file_bytes, text[2], sizeof text[2]);
    norma_log_result("# memory a rank %s, node memory %s, file at most %s", text[0], text[1],
                     text[2]);
}

/* Ranks of one node that hold `bytes` each fit its memory. Compared as doubles: no wrap. */
static bool fits(const norma_plan_machine *machine, int64_t bytes, int64_t ranks_per_node)
{
    return bytes >= 0 && (double)bytes * (double)ranks_per_node <= (double)machine->node_memory;
}

/* The smallest number of nodes, by doubling and bisection, on which it fits; 0 when none does. */
static int64_t smallest_nodes(const norma_plan_machine *machine, norma_plan_bytes_function bytes,
                              const void *context)
{
    int64_t per_node = machine->ranks_per_node;
    int64_t enough = 1;
    while (enough <= MOST_NODES && !fits(machine, bytes(context, enough * per_node), per_node))
        enough *= 2;
    if (enough > MOST_NODES)
        return 0;
    int64_t short_of = enough / 2;
    while (enough - short_of > 1) {
        int64_t middle = short_of + (enough - short_of) / 2;
        if (fits(machine, bytes(context, middle * per_node), per_node))
            enough = middle;
        else
            short_of = middle;
    }
    return enough;
}

norma_status norma_plan_check_local(const norma_plan_machine *machine, const char *what,
                                    norma_plan_bytes_function bytes, const void *context,
                                    const char *advice)
{
    int64_t on_node =
        machine->n_ranks < machine->ranks_per_node ? machine->n_ranks : machine->ranks_per_node;
    int64_t needed = bytes(context, machine->n_ranks);
    if (fits(machine, needed, on_node))
        return NORMA_OK;

    char need_text[32];
    char node_text[32];
    char have_text[32];
    char remedy[128];
    norma_plan_format_bytes_local((double)needed, need_text, sizeof need_text);
    norma_plan_format_bytes_local((double)needed * (double)on_node, node_text, sizeof node_text);
    norma_plan_format_bytes_local((double)machine->node_memory, have_text, sizeof have_text);
    int64_t nodes = smallest_nodes(machine, bytes, context);
    int64_t ranks = nodes * machine->ranks_per_node;
    if (nodes > 0)
        snprintf(remedy, sizeof remedy, "it fits on %lld such nodes (%lld ranks)", (long long)nodes,
                 (long long)ranks);
    else if (fits(machine, needed, 1))
        snprintf(remedy, sizeof remedy, "with at most %.0f ranks on a node it fits",
                 floor((double)machine->node_memory / (double)needed));
    else
        snprintf(remedy, sizeof remedy, "it fits on no number of such nodes");
    const char *semicolon = advice ? "; " : "";
    if (needed < 0)
        return NORMA_FAIL(NORMA_LIMIT,
                          "%s: %lld ranks would hold more than 2^31 - 1 elements each, which "
                          "ScaLAPACK cannot index; %s%s%s",
                          what, (long long)machine->n_ranks, remedy, semicolon,
                          advice ? advice : "");
    return NORMA_FAIL(NORMA_LIMIT,
                      "%s: %s a rank, %s on a node of %lld ranks, but %s are available there; "
                      "%s%s%s",
                      what, need_text, node_text, (long long)on_node, have_text, remedy, semicolon,
                      advice ? advice : "");
}

int64_t norma_plan_peak_memory(const norma_runtime *runtime)
{
    int64_t mine = norma_plan_peak_memory_local();
    int64_t largest = 0;
    MPI_Allreduce(&mine, &largest, 1, MPI_INT64_T, MPI_MAX, runtime->world);
    return largest;
}
