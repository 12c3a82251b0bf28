#ifndef NORMA_MPI_SPECTRUM_SPECTRUM_H
#define NORMA_MPI_SPECTRUM_SPECTRUM_H
/*
 * The singular values of a feature matrix M (src/features/width_rule.h): all of them, their
 * distribution by quadrature, or the two extreme ones, with sums of their powers to check them by.
 *
 *     svd         M assembled in its block-cyclic place, all values (mpi/values)
 *     quadrature  Golub-Kahan processes on the structured product (mpi/krylov)
 *     edges       the largest and the smallest value by one such process
 */
#include "mpi/values/singular.h"
#include "src/base/names.h"
#include "src/base/status.h"
#include "src/features/width_rule.h"
#include "src/random/tensor.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* clang-format off */
#define NORMA_SPECTRUM_METHODS(METHOD) \
    METHOD(AUTO,       "auto",       "svd where it fits the memory and takes minutes, else quadrature") \
    METHOD(SVD,        "svd",        "all singular values of the assembled matrix") \
    METHOD(QUADRATURE, "quadrature", "their distribution by Golub-Kahan processes from random vectors, with brackets, without a matrix") \
    METHOD(EDGES,      "edges",      "the largest and the smallest value by one such process")
/* clang-format on */

#define NORMA_SPECTRUM_METHOD_NUMBER(number, name, summary) NORMA_SPECTRUM_##number,
typedef enum norma_spectrum_method {
    NORMA_SPECTRUM_METHODS(NORMA_SPECTRUM_METHOD_NUMBER) NORMA_N_SPECTRUM_METHODS
} norma_spectrum_method;
#undef NORMA_SPECTRUM_METHOD_NUMBER

/* Indices: norma_spectrum_method. */
extern const norma_names norma_spectrum_method_names;

typedef struct norma_spectrum_problem {
    norma_khatri_rao_shape shape;
    int64_t n_features; /* c1 */
    norma_width width;
    const double *target;   /* embedded in K, [c2][c0][|K|]; borrowed; NULL with the max rule */
    const norma_tensor *w1; /* [c1][c0 |K1|]; borrowed; not used by estimates */
    const norma_tensor *w2; /* [c1][c2 |K2|]; likewise */
    bool regenerable;       /* weights may be drawn again in every product */
} norma_spectrum_problem;

typedef struct norma_spectrum_options {
    norma_spectrum_method method;
    norma_singular_method singular; /* of svd */
    int64_t n_probes, n_steps;      /* of quadrature */
    double memory_per_rank;         /* bytes that `auto` may use on a rank; 0: no bound */
    uint64_t seed;                  /* of start vectors */
    int64_t replica, cell;          /* of their streams */
} norma_spectrum_options;

/* How a problem will be treated, from its sizes alone. */
typedef struct norma_spectrum_choice {
    norma_spectrum_method method; /* never AUTO */
    char reason[160];
    int64_t n_rows;        /* of M, at most: output channels without weights leave the min rule */
    int64_t n_values;      /* the fewer of rows and features */
    norma_grid_shape grid; /* of svd */
    int64_t n_steps;       /* of a probe, or of edges at most */
    bool regenerated;      /* weights are drawn again in every product */
    bool fourths;          /* the sum of fourth powers is computed exactly */
    double bytes;          /* allocated on the rank that holds most */
    double flops;          /* over all ranks, sums of powers included */
} norma_spectrum_choice;

/* Equal on all ranks; values are those of M as it is. NaN: not computed. */
typedef struct norma_spectrum_result {
    norma_spectrum_choice choice;
    int64_t n_rows, n_values;
    double *values;          /* [n_values], largest first; svd only; owned */
    double *nodes, *weights; /* [n_probes][n_steps]; quadrature only; owned */
    int64_t *n_nodes;        /* [n_probes]; owned */
    double sigma_max;        /* quadrature: the largest node, a lower bound */
    double sigma_min;        /* the smallest value above rounding; quadrature: the smallest node */
    int64_t n_zero;          /* values within rounding of zero; -1 where not counted */
    double condition_number; /* sigma_max over the smallest value; +inf with n_zero > 0 */
    double trace2, trace4;   /* exact sums of s^2, s^4; the latter NaN where too costly */
    double trace2_measured, trace4_measured; /* the same by the method */
    double trace2_stderr, trace4_stderr;     /* of the latter over probes; 0 for svd */
    double seconds, seconds_assembly, seconds_sums;
} norma_spectrum_result;

/* Called after every probe of a quadrature with the result so far, of which n_done probes are set;
 * collective like its caller. Anything but NORMA_OK ends the measurement with it. */
typedef norma_status (*norma_spectrum_after_probe)(void *context,
                                                   const norma_spectrum_result *result,
                                                   int64_t n_done);

/* A name of the table; a constant string. */
const char *norma_spectrum_method_name(norma_spectrum_method method);

/* Decides for n_ranks ranks of n_threads threads. Local and pure; refuses what
 * norma_spectrum_measure would refuse for its shape or a limit. */
NORMA_MUST_USE norma_status norma_spectrum_choose_local(const norma_spectrum_problem *problem,
                                                        const norma_spectrum_options *options,
                                                        int n_ranks, int n_threads,
                                                        norma_spectrum_choice *out);

/* Measures. Collective over comm; problem and options must be equal on all ranks. Probes of which
 * `result` holds nodes already (n_done of them; else 0) are not computed again: *result is zeros,
 * or what norma_spectrum_result_create made and the caller filled. after_probe may be NULL. The
 * result must be given to norma_spectrum_result_clear whatever is returned. NORMA_CONFIG for
 * inconsistent shapes or weights that are not finite; NORMA_LIMIT; NORMA_NUMERIC. */
NORMA_MUST_USE norma_status norma_spectrum_measure(MPI_Comm comm,
                                                   const norma_spectrum_problem *problem,
                                                   const norma_spectrum_options *options,
                                                   int64_t n_done,
                                                   norma_spectrum_after_probe after_probe,
                                                   void *context, norma_spectrum_result *result);

/* Room for the nodes of a quadrature. Local. */
NORMA_MUST_USE norma_status norma_spectrum_result_create(int64_t n_probes, int64_t n_steps,
                                                         norma_spectrum_result *result);

/* Frees what the result owns; zeroes it. Local. */
void norma_spectrum_result_clear(norma_spectrum_result *result);

#endif
