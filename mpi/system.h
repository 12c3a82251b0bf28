#ifndef NORMA_MPI_SYSTEM_H
#define NORMA_MPI_SYSTEM_H
/*
 * What mpi/layer_solve hands to a solver, and the one form that all solvers have.
 */
#include "mpi/layer_solve.h"
#include "mpi/product.h"

typedef struct norma_system {
    MPI_Comm comm;
    const norma_layer_problem *problem; /* borrowed */
    int64_t block_size;                 /* of a block-cyclic matrix */
    int64_t max_iterations;
    int64_t measure_steps;  /* of a process that measures singular values, at most */
    int64_t history;        /* steps that L-BFGS keeps */
    bool single;            /* L-BFGS computes in single precision */
    double memory_per_rank; /* bytes that a fallback may use on a rank; 0: no bound */
    uint64_t seed;          /* of start vectors */
    norma_width_rule *rule; /* borrowed; closed */
    norma_product *product; /* of the features in use; borrowed */
    const double *rhs;      /* [n_system]; borrowed */
} norma_system;

/* A solver: gamma[features in use] that solves the system, exactly or in least squares, on all
 * ranks, and in *solution the fields iterations, relative_gradient (least squares), sigma_max,
 * sigma_min, both condition numbers, seconds, seconds_condition, gflops, grid_rows, grid_columns,
 * n_idle, and solver where another one had to take over; seconds_assembly is added to. Collective
 * over system->comm. */
typedef norma_status norma_system_solver(const norma_system *system, double *gamma,
                                         norma_layer_solution *solution);

/* LU factors, then refinement with the structured residual. As many features as equations. */
norma_system_solver norma_solve_lu;

/* The same from factors in single precision, with GMRES where refinement stalls (mpi/refine.h); lu
 * takes over, with a message, where that fails and memory_per_rank has room for it. */
norma_system_solver norma_solve_mixed;

/* Matrix-free: conjugate gradients in single precision (mpi/conjugate); where those miss the floor,
 * from the beginning in double precision, Craig's method (minimum norm) with at least as many
 * features as equations, LSQR with fewer, restarted from the true residual until that is at the
 * floor, or stationary. */
norma_system_solver norma_solve_krylov;

/* The same without inner products: Chebyshev semi-iteration (mpi/chebyshev) in single precision, in
 * passes that start from the true residual of double precision. The interval of singular values
 * comes from 32 or 80 steps of a Golub-Kahan process, with a margin; the steps of a pass are known
 * before it, and the residual's norm is looked at after each pass only. A pass that leaves more
 * than it should has its interval widened by the same process from what it left, or is followed by
 * shorter ones, or by double precision; where none of that helps, or max_iterations would be
 * passed, NORMA_NUMERIC with a message that names krylov.
 *
 * Its sums over ranks are those of krylov, whose inner products are of replicated vectors: what it
 * saves is work on vectors over equations, which more ranks do not share, and every choice that
 * depends on rounding within a pass. It takes 1.3 to 1.5 times the iterations of krylov, which
 * learns where the spectrum is thin. */
norma_system_solver norma_solve_chebyshev;

/* QR factors: minimum norm with at least as many features as equations, least squares with fewer;
 * refined with the structured residual. NORMA_NUMERIC for a deficient rank. */
norma_system_solver norma_solve_qr;

/* Pseudo-inverse from the singular value decomposition, refined likewise. Singular values at or
 * below max(equations, features) 2 u sigma_max count as zero; a deficient rank is said in the log,
 * and in solution->numerical_rank, and makes the answer one of least squares and minimum norm. */
norma_system_solver norma_solve_svd;

/* L-BFGS (mpi/lbfgs), the papers' own method, for comparison: matrix-free from gamma = 0 (RF Fig. 2
 * a). Its answer is whatever it has when it stops, and solution->stopping says why it did. */
norma_system_solver norma_solve_lbfgs;

/* The same for diag(sigma)^-1 U' S gamma = diag(sigma)^-1 U' rhs, S = U diag(sigma) V' (RF Fig. 2
 * c): a system of condition number 1, up to what rounding makes of S gamma. In single precision the
 * decomposition itself is still of double. */
norma_system_solver norma_solve_lbfgs_svd;

/* The same from the direct solution of that system, V diag(sigma)^-1 U' rhs (RF Fig. 2 d). */
norma_system_solver norma_solve_lbfgs_solved;

/* Unit roundoff of FP64, 2^-53. */
#define NORMA_ROUNDOFF 0x1p-53

/* *sigma = the largest singular value of the form, its rows scaled by row_scale[rows of the form]
 * (NULL: not scaled). Collective over system->comm. */
NORMA_MUST_USE norma_status norma_system_largest(const norma_system *system,
                                                 norma_product_form form, const double *row_scale,
                                                 double *sigma);

/* Both condition numbers and the singular values of M into *solution; those of the system,
 * *sigma_max and *sigma_min, are measured where *sigma_max is NaN. By Golub-Kahan processes,
 * without a matrix. Collective over system->comm. */
NORMA_MUST_USE norma_status norma_system_condition(const norma_system *system, double *sigma_max,
                                                   double *sigma_min,
                                                   norma_layer_solution *solution);

/* residual[n_system] = rhs - S x[share], on all ranks; its norm. Collective over system->comm. */
double norma_system_residual(const norma_system *system, const double *x, double *residual);

/* gradient[share] = S' residual[n_system]; its norm over all ranks. Collective over system->comm.
 */
double norma_system_gradient(const norma_system *system, const double *residual, double *gradient);

/* NORMA_NUMERIC for a system that is singular to working precision: what that means and what may
 * help. Local. */
NORMA_MUST_USE norma_status norma_system_singular_local(const norma_system *system,
                                                        double condition_number);

#endif
