#ifndef NORMA_MPI_SYSTEM_SYSTEM_H
#define NORMA_MPI_SYSTEM_SYSTEM_H
/*
 * The system that mpi/layer/layer_solve gives to a solver, and the one form that all solvers have.
 */
#include "mpi/krylov/bidiagonal.h"
#include "mpi/krylov/product.h"
#include "mpi/system/problem.h"
#include "src/base/roundoff.h"

typedef struct norma_system {
    MPI_Comm comm;
    const char *name;                   /* of the solver, for messages; borrowed */
    const norma_layer_problem *problem; /* borrowed */
    int64_t block_size;                 /* of a block-cyclic matrix */
    int64_t max_iterations;
    int64_t measure_steps; /* of a process that measures singular values, at most */
    int64_t history;       /* steps that L-BFGS keeps */
    bool single;           /* L-BFGS computes in single precision */
    norma_condition_effort condition;
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

/* *sigma = the largest singular value of the form, its rows scaled by row_scale[rows of the form]
 * (NULL: not scaled), to the accuracy that the system's condition asks for; *error is its relative
 * error, as estimated. Collective over system->comm. */
NORMA_MUST_USE norma_status norma_system_largest(const norma_system *system,
                                                 norma_product_form form, const double *row_scale,
                                                 double *sigma, double *error);

/* The tolerance for norma_condition_largest that the system's condition asks for: `full`, or that
 * of an estimate. Local. */
double norma_system_tolerance_local(const norma_system *system, double full);

/* Both condition numbers, the singular values of M and their error into *solution; those of the
 * system, *sigma_max and *sigma_min with the relative *error of the latter, are measured where
 * *sigma_max is NaN. By Golub-Kahan processes, without a matrix. With NORMA_CONDITION_NONE only
 * *sigma_max is measured, and copied where it is M's; the rest is NaN. Collective over
 * system->comm. */
NORMA_MUST_USE norma_status norma_system_condition(const norma_system *system, double *sigma_max,
                                                   double *sigma_min, double *error,
                                                   norma_layer_solution *solution);

/* How far processes that measure singular values go on for the system's condition. Local. */
norma_bidiagonal_accuracy norma_system_accuracy_local(const norma_system *system);

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
