#ifndef NORMA_MPI_LAYER_SOLVER_H
#define NORMA_MPI_LAYER_SOLVER_H
/* The solvers of a layer: one table, and their entry points. */
#include "mpi/layer/solver_time.h"
#include "mpi/system/system.h"
#include "src/base/names.h"
#include "src/base/status.h"

#include <stdbool.h>

/* A solver; norma_solver is the index in the table of all. A line of that table, and the functions
 * that it names, are everything that the rest of Norma knows of a solver. */
typedef struct norma_solver_descriptor {
    const char *name, *summary;
    norma_system_solver *solve; /* NULL: auto, which chooses another one */
    norma_solver_size *size;
    norma_solver_time *time;
    int64_t most_iterations; /* default limit, however large the system; 0: none */
    bool square;             /* needs as many features as equations and takes no more */
    bool stores_matrix;
    bool single_products; /* the weights of its products are FP32 */
    bool iterates;        /* --max-iterations has a meaning */
    bool single;          /* --solver-precision single has a meaning */
    bool history;         /* --lbfgs-history has a meaning */
    bool states_answer;   /* states its answer with its distance from the floor; promises nothing */
    bool well_conditioned; /* refuses singular values that spread too far, naming krylov */
    bool any_rank;         /* gives the pseudo-inverse's answer to a system of deficient rank */
} norma_solver_descriptor;

extern const norma_names norma_solver_names;

/* Those for which one of the flags above holds, for messages. */
extern const norma_names norma_solver_iterating_names;
extern const norma_names norma_solver_single_names;
extern const norma_names norma_solver_history_names;
extern const norma_names norma_solver_least_squares_names; /* not square, and promise an answer */

/* The descriptor of a solver; a constant. */
const norma_solver_descriptor *norma_solver_describe(norma_solver solver);

/* The name of a solver; a constant string. */
const char *norma_solver_name(norma_solver solver);

/* LU factors, then refinement with the structured residual. As many features as equations. */
norma_system_solver norma_solve_lu;

/* The same from factors in single precision, with GMRES where refinement stalls
 * (mpi/system/refine.h); lu takes over, with a message, where that fails and memory_per_rank has
 * room for it. */
norma_system_solver norma_solve_mixed;

/* Matrix-free: conjugate gradients in single precision (mpi/krylov/conjugate); where those miss the
 * floor, from the beginning in double precision, Craig's method (minimum norm) with at least as
 * many features as equations, LSQR with fewer, restarted from the true residual until that is at
 * the floor, or stationary. */
norma_system_solver norma_solve_krylov;

/* The same without inner products: Chebyshev semi-iteration (mpi/krylov/chebyshev) in single
 * precision, in passes that start from the true residual of double precision. The interval of
 * singular values comes from 32 or 80 steps of a Golub-Kahan process, with a margin; the steps of a
 * pass are known before it, and the residual's norm is looked at after each pass only. A pass that
 * leaves more than it should has its interval widened by the same process from what it left, or is
 * followed by shorter ones, or by double precision; where none of that helps, or max_iterations
 * would be passed, NORMA_NUMERIC with a message that names krylov.
 *
 * Its sums over ranks are those of krylov, whose inner products are of replicated vectors: what it
 * saves is work on vectors over equations, which more ranks do not share, and every choice that
 * depends on rounding within a pass. It takes 1.3 to 1.5 times the iterations of krylov, which
 * learns where the spectrum is thin. */
norma_system_solver norma_solve_chebyshev;

/* QR factors: minimum norm with at least as many features as equations, least squares with fewer;
 * refined with the structured residual. NORMA_NUMERIC for a deficient rank. */
norma_system_solver norma_solve_qr;

/* Bytes of its vectors beside norma_dense_bytes_local, for blocks of `block` rows on a grid. Local,
 * pure. */
double norma_solve_qr_bytes_local(int64_t n_system, int64_t n_features, int64_t block,
                                  norma_grid_shape grid);

/* Pseudo-inverse from the singular value decomposition, refined likewise. Singular values at or
 * below max(equations, features) 2 u sigma_max count as zero; a deficient rank is said in the log,
 * and in solution->numerical_rank, and makes the answer one of least squares and minimum norm. */
norma_system_solver norma_solve_svd;

/* L-BFGS (mpi/krylov/lbfgs), the papers' own method, for comparison: matrix-free from gamma = 0 (RF
 * Fig. 2 a). Its answer is whatever it has when it stops, and solution->stopping says why it did.
 */
norma_system_solver norma_solve_lbfgs;

/* The same for diag(sigma)^-1 U' S gamma = diag(sigma)^-1 U' rhs, S = U diag(sigma) V' (RF Fig. 2
 * c): a system of condition number 1, up to what rounding makes of S gamma. In single precision the
 * decomposition itself is still of double. */
norma_system_solver norma_solve_lbfgs_svd;

/* The same from the direct solution of that system, V diag(sigma)^-1 U' rhs (RF Fig. 2 d). */
norma_system_solver norma_solve_lbfgs_solved;

#endif
