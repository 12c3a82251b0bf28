#ifndef NORMA_MPI_SYSTEM_PROBLEM_H
#define NORMA_MPI_SYSTEM_PROBLEM_H
/*
 * One target layer as a problem, how it may be solved, and what a solution holds: the types that
 * mpi/system and mpi/layer share (mpi/layer/layer_solve.h has the equations).
 */
#include "mpi/krylov/stopping.h"
#include "src/features/khatri_rao.h"
#include "src/features/width_rule.h"
#include "src/random/tensor.h"

#include <stdbool.h>
#include <stdint.h>

/* Indices in the table of mpi/layer/solver.c, where code names a solver. */
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
} norma_solver;

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

/* Source weights are stored, or drawn again in every product: the same bits, less memory, and the
 * time of the random numbers in every iteration. */
typedef enum norma_store {
    NORMA_STORE_AUTO, /* stored where memory_per_rank allows it */
    NORMA_STORE_YES,
    NORMA_STORE_NO,
    NORMA_N_STORES
} norma_store;

/* How far the condition number is measured. */
typedef enum norma_condition_effort {
    NORMA_CONDITION_FULL,     /* to 1e-3, or as the solver's own factors give it */
    NORMA_CONDITION_ESTIMATE, /* both extreme singular values to about 10% */
    NORMA_CONDITION_NONE,     /* not at all */
    NORMA_N_CONDITION_EFFORTS
} norma_condition_effort;

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
    norma_condition_effort condition;
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
    double condition_error;         /* relative error of condition_number, as estimated from the
                                     * processes that measured its singular values */
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

#endif
