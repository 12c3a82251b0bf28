#ifndef NORMA_IO_RESULT_COMPARE_H
#define NORMA_IO_RESULT_COMPARE_H
/* The comparison of two result files that `norma diff A B` prints. */
#include "src/base/status.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct norma_compare_options {
    double tolerance;    /* dimensionless; 0: values must be equal */
    bool measurements;   /* variables in units of time, rate and memory are compared too */
    int64_t n_compared;  /* out: variables and coordinates that both files were searched for */
    int64_t n_differing; /* out: those among them that differ, or that one file lacks */
} norma_compare_options;

/* Does a variable in these units (NULL: none) hold times, rates or memory, which differ from run to
 * run? Local. */
bool norma_compare_is_measurement_local(const char *units);

/* Compares every variable and coordinate of two result files and prints one line on stdout for each
 * that differs: its largest difference, where that is, and how many values differ. A value differs
 * where |a - b| exceeds tolerance times the largest absolute value of the variable in both files; a
 * missing value (NaN) equals a missing value only. Types, shapes and texts must be equal. Left out
 * are /configuration, which names the output file, and variables in units of s, 1e9 s-1 and byte
 * unless options->measurements is set. Rank 0 reads; collective over comm, with equal arguments.
 * NORMA_CONFIG when a file cannot be read; differences are counted in *options and are no failure.
 */
NORMA_MUST_USE norma_status norma_compare_print(MPI_Comm comm, const char *a, const char *b,
                                                norma_compare_options *options);

#endif
