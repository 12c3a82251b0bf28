#ifndef NORMA_MPI_LAYER_SOLVER_TIME_H
#define NORMA_MPI_LAYER_SOLVER_TIME_H
/*
 * How long a solve takes: the operations of its stages over the rates of the machine, times the
 * part of those rates that each stage reaches (constants in the .c, measured as ratios). Solvers
 * that do the same share a function; the table of mpi/layer/solver.c names that of each.
 */
#include "mpi/layer/solver_size.h"

/* Prices of a solve on this machine, made by mpi/plan/expect. */
typedef struct norma_solver_price {
    const norma_layer_choice *choice;
    const norma_layer_problem *problem;
    const norma_solver_options *options;
    double dgemm, sgemm; /* operations a second of a rank */
    double dgemv;        /* matrix elements a second of a rank */
    double n, c1;        /* equations, features in use */
    double n_ranks;      /* all */
    double n_active;     /* of the grid */
    double product;      /* seconds of one structured product in FP64, with its messages */
    double pass;         /* seconds of the messages of a pass over the features */
    double solve;        /* seconds of one pair of triangular solves, without messages */
    bool closed;         /* the rule has a closing row */
    /* Seconds that messages add to a factorization of `compute` seconds, and to a solve with its
     * factors; entries are FP32 or FP64. `messages` is theirs. */
    double (*factor_messages)(const void *messages, bool single, double compute);
    double (*solve_messages)(const void *messages, bool single);
    const void *messages;
} norma_solver_price;

/* Seconds. */
typedef struct norma_solver_seconds {
    double assembly;  /* of the matrix; 0 without one */
    double solution;  /* factors, solves, refinement; iterations */
    double condition; /* singular values, and the norm that the verdict needs */
} norma_solver_seconds;

/* Fills *out, which is zero before. Local and pure. */
typedef void norma_solver_time(const norma_solver_price *price, norma_solver_seconds *out);

norma_solver_time norma_solver_time_lu;
norma_solver_time norma_solver_time_mixed;
norma_solver_time norma_solver_time_krylov;
norma_solver_time norma_solver_time_chebyshev;
norma_solver_time norma_solver_time_qr;
norma_solver_time norma_solver_time_svd;
norma_solver_time norma_solver_time_lbfgs;
norma_solver_time norma_solver_time_lbfgs_svd;

/* The part of dgemm that structured products in FP64 reach. */
#define NORMA_SOLVER_PRODUCT_PART 0.72

/* Seconds of the largest singular value of a system, measured by Lanczos. Local. */
double norma_solver_time_largest_local(const norma_solver_price *price);

#endif
