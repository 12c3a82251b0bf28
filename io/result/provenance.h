#ifndef NORMA_IO_RESULT_PROVENANCE_H
#define NORMA_IO_RESULT_PROVENANCE_H
/*
 * Where a result came from: program, commit, command, machine, libraries, configuration, as root
 * attributes of the result file (CF and provenance) and one dataset.
 */
#include "io/result/result.h"
#include "mpi/runtime/runtime.h"

/* The part of the provenance that the driver knows. All borrowed during the call. */
typedef struct norma_provenance {
    const char *title; /* "Reconstruction of fashion_cnn_w32.h5" */
    int argc;          /* the command line as it was given */
    char *const *argv;
    uint64_t seed;             /* also when it was drawn and not given */
    const char *process_grid;  /* "2 x 3, 1 rank idle" */
    const char *configuration; /* the effective configuration, text that can be run again */
} norma_provenance;

/* Writes root attributes title, Conventions, history, norma_version, git_commit, command_line,
 * seed, started, ranks, threads, nodes, cores_per_node, cores_per_rank, hosts, process_grid,
 * cpu_model, compiler, mpi_library, hdf5_version, openblas_config, blas_kernel, status, and the
 * scalar string dataset `configuration`. Collective over the file's communicator, which must be
 * runtime->world; provenance equal on all ranks. NORMA_IO when the file cannot take it. */
NORMA_MUST_USE norma_status norma_provenance_write(norma_result *file, const norma_runtime *runtime,
                                                   const norma_provenance *provenance);

/* Is a dataset of the root, named without the slash, part of the provenance? Texts that are too
 * long for an attribute are datasets. Local. */
bool norma_provenance_has_dataset_local(const char *name);

/* "0.2.0"; a constant. Local. */
const char *norma_provenance_version_local(void);

/* Several lines for --version: Norma, commit, compiler, MPI, HDF5, OpenBLAS, one "name: text" each.
 * A counted string; the caller frees it with norma_mem_free. Local. */
NORMA_MUST_USE norma_status norma_provenance_describe_local(char **text);

/* The time now, UTC, ISO 8601: "2026-01-31T08:15:00Z". Local. */
void norma_provenance_now_local(char text[static 24]);

#endif
