#include "mpi/krylov/condition.h"
#include "mpi/layer/solver.h"
#include "mpi/linalg/dmat.h"
#include "mpi/linalg/replicated.h"
#include "mpi/linalg/scalapack.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/progress.h"
#include "mpi/system/assemble.h"
#include "mpi/system/dense.h"
#include "src/base/mem_place.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const int one = 1;

/*
 * PDGELS by its parts, since refinement solves more than once: S = Q R with fewer features than
 * equations, and x = R^-1 (Q' b); S = L Q otherwise, and x = Q' (L^-1 b) is the solution of minimum
 * norm.
 */
typedef struct work {
    const norma_system *system;
    int64_t m, n, k; /* equations, features, the fewer of both */
    bool wide;       /* S = L Q */
    norma_grid *grid;
    norma_dmat *matrix; /* [m][n]: the factors */
    norma_dmat *vector; /* [the more of m, n][1] */
    double *tau;
    double *buffer;
    int n_buffer;
    double *inner;  /* [m + n]: of operators */
    double *closed; /* [k]: what takes the closing row out of the inverse */
} work;

static bool on_one(const work *w)
{
    return w->grid->shape.n_rows * w->grid->shape.n_columns == 1;
}

/* vector = b, zeros behind its n numbers. */
static void scatter_local(const work *w, const double *b, int64_t n)
{
    const norma_dmat *v = w->vector;
    for (int64_t l = 0; l < v->n_local_rows * v->n_local_columns; l++) {
        int64_t global = norma_layout_global_local(&v->rows, w->grid->row, l);
        v->data[l] = global < n ? b[global] : 0;
    }
}

/* x = the first n numbers of vector, on all ranks. */
static void gather(const work *w, double *x, int64_t n)
{
    const norma_dmat *v = w->vector;
    memset(x, 0, (size_t)n * sizeof *x);
    for (int64_t l = 0; l < v->n_local_rows * v->n_local_columns; l++) {
        int64_t global = norma_layout_global_local(&v->rows, w->grid->row, l);
        if (global < n)
            x[global] = v->data[l];
    }
    MPI_Allreduce(MPI_IN_PLACE, x, (int)n, MPI_DOUBLE, MPI_SUM, w->system->comm);
}

/* vector <- inverse of the triangle, or of its transpose, times vector. */
static void divide(const work *w, bool transpose)
{
    const char *triangle = w->wide ? "L" : "U";
    const char *trans = transpose ? "T" : "N";
    const double unit = 1;
    int k = (int)w->k;
    if (w->grid->row < 0)
        return;
    if (on_one(w)) {
        int lda = (int)w->matrix->leading;
        int ldb = (int)w->vector->leading;
        dtrsm_("L", triangle, trans, "N", &k, &one, &unit, w->matrix->data, &lda, w->vector->data,
               &ldb);
    } else {
        pdtrsm_("L", triangle, trans, "N", &k, &one, &unit, w->matrix->data, &one, &one,
                w->matrix->descriptor, w->vector->data, &one, &one, w->vector->descriptor);
    }
}

/* vector <- Q' vector. */
static void rotate(const work *w)
{
    int rows = (int)(w->wide ? w->n : w->m);
    int k = (int)w->k;
    int info = 0;
    if (w->grid->row < 0)
        return;
    const int *a_desc = w->matrix->descriptor;
    const int *v_desc = w->vector->descriptor;
    if (on_one(w))
        (w->wide ? dormlq_ : dormqr_)("L", "T", &rows, &one, &k, w->matrix->data, &a_desc[8],
                                      w->tau, w->vector->data, &v_desc[8], w->buffer, &w->n_buffer,
                                      &info);
    else
        (w->wide ? pdormlq_ : pdormqr_)("L", "T", &rows, &one, &k, w->matrix->data, &one, &one,
                                        a_desc, w->tau, w->vector->data, &one, &one, v_desc,
                                        w->buffer, &w->n_buffer, &info);
}

static void apply_inverse(void *context, const double *b, double *x)
{
    const work *w = context;
    scatter_local(w, b, w->m);
    if (w->wide) {
        divide(w, false);
        rotate(w);
    } else {
        rotate(w);
        divide(w, false);
    }
    gather(w, x, w->n);
}

/* out = (S S')^-1 in = L^-T L^-1 in, or (S' S)^-1 in = R^-1 R^-T in. */
static norma_status invert_system(void *context, const double *in, double *out)
{
    const work *w = context;
    scatter_local(w, in, w->k);
    divide(w, !w->wide);
    divide(w, w->wide);
    gather(w, out, w->k);
    return NORMA_OK;
}

/* The same without the closing row: a Schur complement in (S S')^-1, and an update of rank one of
 * (S' S)^-1. */
static norma_status invert_rows(void *context, const double *in, double *out)
{
    work *w = context;
    double closing = w->system->rule->closing;
    double *y = w->inner;
    double factor = 0;
    if (w->wide) {
        memcpy(y + w->k, in, (size_t)(w->k - 1) * sizeof *in);
        y[w->k + w->k - 1] = 0;
        NORMA_TRY(invert_system(w, y + w->k, y));
        factor = -y[w->k - 1] / w->closed[w->k - 1];
    } else {
        double along = 0;
        double share = 0;
        NORMA_TRY(invert_system(w, in, y));
        for (int64_t e = 0; e < w->k; e++) {
            along += closing * y[e];
            share += closing * w->closed[e];
        }
        factor = along / (1 - share);
    }
    for (int64_t e = 0; e < w->k - (w->wide ? 1 : 0); e++)
        out[e] = y[e] + factor * w->closed[e];
    return NORMA_OK;
}

/* Singular values of M, where that is not all of the system. */
static norma_status measure_rows(work *w, norma_layer_solution *solution)
{
    const norma_system *s = w->system;
    double largest = 0;
    double error_max = 0;
    double error_min = 0;
    int64_t n_values = w->wide ? w->k - 1 : w->k;
    solution->sigma_max = solution->sigma_min = NAN;
    solution->condition_number = solution->condition_error = NAN;
    if (s->rule->n_rows == 0)
        return NORMA_OK;
    for (int64_t e = 0; e < w->k; e++)
        w->inner[e] = w->wide ? (double)(e == w->k - 1) : s->rule->closing;
    NORMA_TRY(invert_system(w, w->inner, w->closed));
    NORMA_TRY(norma_system_largest(s, NORMA_PRODUCT_ROWS, NULL, &solution->sigma_max, &error_max));
    NORMA_TRY(norma_condition_largest(s->comm, invert_rows, w, n_values, s->seed,
                                      norma_system_tolerance_local(s, NORMA_CONDITION_SHARP),
                                      &largest, &error_min));
    solution->sigma_min = 1 / sqrt(largest);
    solution->condition_number = solution->sigma_max / solution->sigma_min;
    solution->condition_error = error_max + error_min;
    return NORMA_OK;
}

/* A condition number beyond 1 / (2 n u) means that no digit is certain: NORMA_NUMERIC. */
static norma_status measure_condition(work *w, double *sigma_system, norma_layer_solution *solution)
{
    const norma_system *s = w->system;
    double largest = 0;
    double error_max = 0;
    double error_min = 0;
    NORMA_TRY(norma_system_largest(s, NORMA_PRODUCT_SYSTEM, NULL, sigma_system, &error_max));
    if (s->condition == NORMA_CONDITION_NONE)
        return norma_system_condition(s, sigma_system, NULL, NULL, solution);
    NORMA_TRY(norma_condition_largest(s->comm, invert_system, w, w->k, s->seed,
                                      norma_system_tolerance_local(s, NORMA_CONDITION_SHARP),
                                      &largest, &error_min));
    solution->condition_number_solved = *sigma_system * sqrt(largest);
    if (!(solution->condition_number_solved < 1 / ((double)w->k * DBL_EPSILON)))
        return norma_system_singular_local(s, solution->condition_number_solved);
    if (s->rule->n_rows < s->rule->n_system)
        return measure_rows(w, solution);
    solution->sigma_max = *sigma_system;
    solution->sigma_min = 1 / sqrt(largest);
    solution->condition_number = solution->condition_number_solved;
    solution->condition_error = error_max + error_min;
    return NORMA_OK;
}

/* The factors in place. */
static norma_status factor_local(work *w)
{
    const norma_dmat *a = w->matrix;
    int m = (int)w->m;
    int n = (int)w->n;
    int info = 0;
    if (w->grid->row < 0)
        return NORMA_OK;
    if (on_one(w))
        (w->wide ? dgelqf_ : dgeqrf_)(&m, &n, a->data, &a->descriptor[8], w->tau, w->buffer,
                                      &w->n_buffer, &info);
    else
        (w->wide ? pdgelqf_ : pdgeqrf_)(&m, &n, a->data, &one, &one, a->descriptor, w->tau,
                                        w->buffer, &w->n_buffer, &info);
    if (info != 0)
        return NORMA_FAIL(NORMA_LIBRARY, "the QR factorization refused its argument %d", -info);
    for (int64_t column = 0; column < a->n_local_columns; column++) {
        int64_t d = norma_layout_global_local(&a->columns, w->grid->column, column);
        if (d >= w->k || norma_layout_owner_local(&a->rows, d) != w->grid->row)
            continue;
        if (a->data[column * a->leading + norma_layout_index_local(&a->rows, d)] == 0)
            return norma_system_singular_local(w->system, INFINITY);
    }
    return NORMA_OK;
}

static work sizes_of(int64_t m, int64_t n)
{
    return (work){.m = m, .n = n, .k = n >= m ? m : n, .wide = n >= m};
}

/* Measures or allocates the arrays beside the matrices and the workspace of
 * norma_dense_bytes_local: src/base/mem_place.h. */
static norma_status place(work *w, double *bytes)
{
    NORMA_TRY(NORMA_PLACE(w->tau, w->m + w->n, bytes));
    NORMA_TRY(NORMA_PLACE(w->inner, w->m + w->n, bytes));
    return NORMA_PLACE(w->closed, w->k, bytes);
}

double norma_solve_qr_bytes_local(int64_t n_system, int64_t n_features, int64_t block,
                                  norma_grid_shape grid)
{
    work w = sizes_of(n_system, n_features);
    double bytes = 0;
    (void)place(&w, &bytes);
    return bytes + 8 * (double)norma_dmat_largest_share_local(w.wide ? w.n : w.m, 1, block, grid);
}

static norma_status allocate(work *w, const norma_dense_size *size)
{
    int64_t n_buffer = norma_dense_workspace_local(size, w->grid->shape);
    w->n_buffer = (int)n_buffer;
    NORMA_TRY(NORMA_ALLOC(w->buffer, n_buffer));
    return place(w, NULL);
}

static norma_status factor(work *w, norma_layer_solution *solution)
{
    const norma_system *s = w->system;
    int n_ranks = 0;
    norma_dense_size size = {.n_rows = w->m, .n_columns = w->n, .block = s->block_size};
    MPI_Comm_size(s->comm, &n_ranks);
    NORMA_TRY(norma_dense_check_local(&size, n_ranks));
    NORMA_TRY(norma_grid_create(s->comm, norma_dense_grid_local(&size, n_ranks), &w->grid));
    NORMA_TRY(norma_agree(s->comm, allocate(w, &size)));
    NORMA_TRY(norma_dmat_create_rectangle(w->grid, w->m, w->n, size.block, &w->matrix));
    NORMA_TRY(
        norma_dmat_create_rectangle(w->grid, w->wide ? w->n : w->m, 1, size.block, &w->vector));
    double start = norma_progress_clock_local();
    NORMA_TRY(norma_assemble_system(s->rule, s->problem->w1, s->problem->w2, w->matrix));
    MPI_Barrier(s->comm);
    double assembled = norma_progress_clock_local();
    NORMA_TRY(norma_agree(s->comm, factor_local(w)));
    solution->seconds_assembly += assembled - start;
    solution->seconds += norma_progress_clock_local() - assembled;
    solution->grid_rows = w->grid->shape.n_rows;
    solution->grid_columns = w->grid->shape.n_columns;
    solution->n_idle = w->grid->n_idle;
    return NORMA_OK;
}

norma_status norma_solve_qr(const norma_system *system, double *gamma,
                            norma_layer_solution *solution)
{
    work w = sizes_of(system->rule->n_system, norma_product_n_features_local(system->product));
    double sigma = 0;
    norma_dense_answer answer = {0};
    w.system = system;
    norma_status status = NORMA_OK;
    NORMA_GOTO(status, factor(&w, solution));
    double start = norma_progress_clock_local();
    NORMA_GOTO(status, norma_agree(system->comm, measure_condition(&w, &sigma, solution)));
    double measured = norma_progress_clock_local();
    NORMA_GOTO(status, norma_dense_refine(system, apply_inverse, &w, w.wide, sigma, gamma,
                                          &solution->iterations, &answer));
    solution->seconds_condition = measured - start;
    solution->seconds += norma_progress_clock_local() - measured;
    solution->gflops = norma_dense_flops_local(w.m, w.n, false) / solution->seconds / 1e9;
    if (!w.wide && answer.residual > 0)
        solution->relative_gradient = answer.gradient / (sigma * answer.residual);
done:
    norma_dmat_destroy_local(&w.vector);
    norma_dmat_destroy_local(&w.matrix);
    norma_grid_destroy(&w.grid);
    NORMA_FREE(w.buffer);
    NORMA_FREE(w.tau);
    NORMA_FREE(w.inner);
    NORMA_FREE(w.closed);
    return status;
}
