#ifndef NORMA_MPI_LAYER_SOLVE_H
#define NORMA_MPI_LAYER_SOLVE_H
/*
 * One target layer: gamma1 and gamma2 that make the frozen source pair W1, W2 compute it.
 *
 *     diag(gamma2) KR gamma1 = vec(Wt)          (CNN24 Theorems 2.2 and 2.3)
 *
 * or, beside a frozen skip connection, diag(gamma2) KR gamma1 + Ws or diag(gamma2) (KR gamma1 +
 * Ws).
 *
 * See src/features/width_rule.h for the linear system and src/features/khatri_rao.h for KR. Every
 * answer is judged: it must reach the floor of floating-point arithmetic,
 *
 *     rmse <= 10 u (||diag(gamma2) KR||_2 ||gamma1|| + ||Ws||) / sqrt(n),          u = 2^-53,
 *
 * (Ws with its rows multiplied by gamma2 where that multiplies the skip), and one that misses it by
 * more than 100 is NORMA_NUMERIC, but for those of L-BFGS, which are stated as they are, with a
 * warning. Fewer features than the rule's minimum are a least-squares
 * problem, whose answer must be stationary instead.
 */
#include "src/base/status.h"
#include "src/features/khatri_rao.h"
#include "src/features/width_rule.h"
#include "src/random/tensor.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum norma_solver {
    NORMA_SOLVER_AUTO,      /* lu, mixed or krylov, from the shape, the memory and the excess */
    NORMA_SOLVER_LU,        /* FP64 factors, refined with the structured residual */
    NORMA_SOLVER_MIXED,     /* FP32 factors, refined to FP64 with the structured residual */
    NORMA_SOLVER_KRYLOV,    /* matrix-free: minimum norm above the minimum, else least squares */
    NORMA_SOLVER_CHEBYSHEV, /* the same without inner products, from bounds of the singular values
                             */
    NORMA_SOLVER_QR,        /* FP64 factors: minimum norm above the minimum, else least squares */
    NORMA_SOLVER_SVD,       /* pseudo-inverse, whatever the rank */
    NORMA_SOLVER_LBFGS, /* matrix-free L-BFGS from 0, as the papers do: no exact answer is owed */
    NORMA_SOLVER_LBFGS_SVD,    /* the same, preconditioned with the SVD */
    NORMA_SOLVER_LBFGS_SOLVED, /* the same from the direct solution */
    NORMA_N_SOLVERS
} norma_solver;

/* The solver named `name`; NORMA_CONFIG with the nearest known name otherwise. */
NORMA_MUST_USE norma_status norma_solver_from_name(const char *name, norma_solver *out);

/* The name of a solver; a constant string. */
const char *norma_solver_name(norma_solver solver);

/* Whether it is one of the L-BFGS, whose answer is stated, with its distance from the floor, and
 * not promised. */
bool norma_solver_is_lbfgs(norma_solver solver);

/* Why an iteration ended. */
typedef enum norma_stopping {
    NORMA_STOPPING_NONE,        /* a solver that stops for one reason only */
    NORMA_STOPPING_TOLERANCE,   /* residual or gradient are nothing but rounding */
    NORMA_STOPPING_NO_PROGRESS, /* steps changed nothing, or hardly anything */
    NORMA_STOPPING_LIMIT,       /* the number of iterations was used up */
    NORMA_N_STOPPINGS
} norma_stopping;

/* "none", "tolerance", "no-progress", "limit"; a constant string. */
const char *norma_stopping_name(norma_stopping stopping);

typedef struct norma_layer_problem {
    norma_khatri_rao_shape shape; /* kernels, c2, c0 */
    int64_t n_features;           /* c1 */
    norma_width width;
    const double *target;   /* Wt embedded in K (norma_kernel_embed), [c2][c0][|K|]; borrowed */
    const norma_tensor *w1; /* [c1][c0 |K1|]; borrowed */
    const norma_tensor *w2; /* [c1][c2 |K2|]; borrowed */
    norma_residual residual;
    const double *skip; /* Ws embedded in K like the target; borrowed; NULL without a residual */
} norma_layer_problem;

/* Whether source weights are stored, or drawn again in every product: same bits, less memory, the
 * time of the random numbers in every iteration. */
typedef enum norma_store {
    NORMA_STORE_AUTO, /* stored where memory_per_rank allows it */
    NORMA_STORE_YES,
    NORMA_STORE_NO,
    NORMA_N_STORES
} norma_store;

/* Zeros are the defaults. */
typedef struct norma_solver_options {
    norma_solver solver;
    norma_store store;      /* AUTO and YES only where a feature's weights take long to draw */
    int64_t block_size;     /* of the block-cyclic layout; 0: 64, or 192 (large lu, mixed) */
    int64_t max_iterations; /* of krylov, chebyshev and lbfgs; 0: chosen from the shape */
    int64_t history;        /* steps that lbfgs keeps; 0: 10 */
    bool single;            /* lbfgs computes in single precision */
    double memory_per_rank; /* bytes that `auto` may use on a rank; 0: no bound */
    uint64_t seed;          /* of the start vectors that measure singular values */
} norma_solver_options;

/* Equal on all ranks. What was not computed is NaN. */
typedef struct norma_layer_solution {
    double *gamma1;                 /* [c1], owned */
    double *gamma2;                 /* [c2], owned */
    double *kernel;                 /* [n]: KR gamma1, before gamma2 and the skip; owned */
    int64_t n_rows;                 /* rows of M */
    int64_t n_minimum;              /* features that the rule asks for */
    int64_t n_features;             /* c1 */
    int64_t n_used;                 /* features that took part: c1, or the leading ones (direct) */
    int64_t iterations;             /* refinement steps, or iterations (krylov, chebyshev) */
    int64_t numerical_rank;         /* of the system, as solved */
    bool least_squares;             /* c1 below the minimum, or a deficient rank (svd): the residual
                                     * is not zero */
    norma_solver solver;            /* that was used: never AUTO */
    norma_stopping stopping;        /* of lbfgs */
    double rmse;                    /* of diag(gamma2) KR gamma1 (+ Ws) against Wt, n entries */
    double max_error;               /* largest entry of the same difference */
    double relative_gradient;       /* ||S'r|| / (||S|| ||r||), S the system (least squares) */
    double relative_residual;       /* norm of that difference over ||Wt||; 0 for Wt = 0 */
    double floor;                   /* what rmse had to reach */
    double condition_number;        /* sigma_max / smallest nonzero sigma of M (used features) */
    double condition_number_solved; /* of the system, closing row included */
    double sigma_max, sigma_min;    /* of M */
    double max_abs_gamma;           /* largest |gamma1|, |gamma2| */
    double rmse_single;             /* rmse with gamma1 and gamma2 rounded to FP32 */
    double seconds;                 /* factors and solves, or iterations */
    double seconds_assembly;        /* of M (lu, mixed); of the operator (krylov, chebyshev) */
    double seconds_condition;       /* of the singular values */
    double gflops;                  /* 1e9 flops a second within `seconds` */
    int grid_rows, grid_columns;    /* process grid (matrix-free: 1 x ranks) */
    int n_idle;                     /* ranks outside the grid */
} norma_layer_solution;

/* Solves the layer. Collective over comm; problem and options must be equal on all ranks. On
 * success *solution is filled and must be given to norma_layer_solution_clear; otherwise it holds
 * nothing. NORMA_CONFIG: inconsistent shapes, values that are not finite, too few features for
 * lu or mixed. NORMA_LIMIT: over a limit of the library, naming the rank count that fits.
 * NORMA_NUMERIC: singular system, stagnation, an answer off the floor. */
NORMA_MUST_USE norma_status norma_layer_solve(MPI_Comm comm, const norma_layer_problem *problem,
                                              const norma_solver_options *options,
                                              norma_layer_solution *solution);

/* Frees what the solution owns; zeroes it. */
void norma_layer_solution_clear(norma_layer_solution *solution);

/* What a solve would take, without doing it. */
typedef struct norma_layer_estimate {
    norma_solver solver; /* that would be used: never AUTO */
    int64_t n_rows;      /* rows of M */
    int64_t n_minimum;   /* features that the rule asks for */
    int grid_rows, grid_columns, n_idle;
    double bytes;       /* allocated by the solve on the rank that holds most */
    double flops;       /* of factors and solves, or of the expected iterations, over all ranks */
    int64_t iterations; /* expected: refinement steps (lu, mixed: and of GMRES), iterations
                           (matrix-free) */
} norma_layer_estimate;

/* Estimates the solve of `problem` on n_ranks ranks. Local and pure: no allocation beyond a few
 * bytes, no communication, tensors not used (NULL is allowed); target NULL counts every output
 * channel. Returns what norma_layer_solve would refuse for its shape or a limit. */
NORMA_MUST_USE norma_status norma_layer_solve_estimate_local(const norma_layer_problem *problem,
                                                             const norma_solver_options *options,
                                                             int n_ranks,
                                                             norma_layer_estimate *out);

#endif
