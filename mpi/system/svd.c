#include "mpi/system/svd.h"

#include "mpi/linalg/dmat.h"
#include "mpi/linalg/replicated.h"
#include "mpi/linalg/scalapack.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "mpi/runtime/progress.h"
#include "mpi/system/assemble.h"
#include "mpi/system/dense.h"
#include "mpi/system/divide.h"
#include "mpi/system/lu_condition.h"
#include "src/base/mem_place.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const int one = 1;

struct norma_svd {
    const norma_system *system;
    int64_t m, n, k; /* equations, features, the fewer of both */
    int64_t rank;    /* singular values above the tolerance */
    norma_grid *grid;
    norma_dmat *left;  /* [m][k]: U */
    norma_dmat *right; /* [k][n]: V' */
    double *sigma;     /* [k], on all ranks, largest first */
    double *along;     /* [k] */
};

/* out[columns] = matrix' in[rows], on all ranks. */
static void apply_transpose(const norma_svd *w, const norma_dmat *matrix, const double *in,
                            double *out)
{
    memset(out, 0, (size_t)matrix->columns.n * sizeof *out);
    for (int64_t c = 0; c < matrix->n_local_columns; c++) {
        const double *column = matrix->data + c * matrix->leading;
        double sum = 0;
        int64_t run = 0;
        for (int64_t row = 0; row < matrix->n_local_rows; row += run) {
            int64_t start = norma_layout_global_local(&matrix->rows, w->grid->row, row);
            run = norma_layout_run_local(&matrix->rows, w->grid->row, row);
            for (int64_t r = 0; r < run; r++)
                sum += column[row + r] * in[start + r];
        }
        out[norma_layout_global_local(&matrix->columns, w->grid->column, c)] = sum;
    }
    MPI_Allreduce(MPI_IN_PLACE, out, (int)matrix->columns.n, MPI_DOUBLE, MPI_SUM, w->system->comm);
}

/* out[rows] = matrix in[columns], on all ranks. */
static void apply(const norma_svd *w, const norma_dmat *matrix, const double *in, double *out)
{
    memset(out, 0, (size_t)matrix->rows.n * sizeof *out);
    for (int64_t c = 0; c < matrix->n_local_columns; c++) {
        const double *column = matrix->data + c * matrix->leading;
        double x = in[norma_layout_global_local(&matrix->columns, w->grid->column, c)];
        int64_t run = 0;
        for (int64_t row = 0; row < matrix->n_local_rows; row += run) {
            int64_t start = norma_layout_global_local(&matrix->rows, w->grid->row, row);
            run = norma_layout_run_local(&matrix->rows, w->grid->row, row);
            norma_replicated_add_local(x, column + row, out + start, run);
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, out, (int)matrix->rows.n, MPI_DOUBLE, MPI_SUM, w->system->comm);
}

void norma_svd_project(const norma_svd *svd, const double *b, double *out)
{
    apply_transpose(svd, svd->left, b, out);
}

void norma_svd_expand(const norma_svd *svd, const double *along, double *out)
{
    apply(svd, svd->left, along, out);
}

void norma_svd_apply_inverse(void *context, const double *b, double *x)
{
    const norma_svd *w = context;
    apply_transpose(w, w->left, b, w->along);
    for (int64_t e = 0; e < w->k; e++)
        w->along[e] = e < w->rank ? w->along[e] / w->sigma[e] : 0;
    apply_transpose(w, w->right, w->along, x);
}

/* Measures or allocates: src/base/mem_place.h. */
static norma_status place(norma_svd *w, double *bytes)
{
    NORMA_TRY(NORMA_PLACE(w->sigma, w->k, bytes));
    return NORMA_PLACE(w->along, w->k, bytes);
}

static norma_status place_integers(int64_t m, int64_t n, int **integers, double *bytes)
{
    return NORMA_PLACE(*integers, norma_divide_integers_local(m, n), bytes);
}

double norma_svd_bytes_local(int64_t n_system, int64_t n_features)
{
    norma_svd w = {.k = n_system < n_features ? n_system : n_features};
    int *integers = NULL;
    double bytes = (double)sizeof w;
    (void)place(&w, &bytes);
    (void)place_integers(n_system, n_features, &integers, &bytes);
    return bytes;
}

/* By divide and conquer, on the rank that holds all of a; *good says on all ranks that it is. */
static norma_status divide(const norma_svd *w, norma_dmat *a, double *buffer, bool *good)
{
    int n_good = 0;
    int *integers = NULL;
    bool alone = w->grid->row >= 0;
    norma_status status = NORMA_OK;
    if (alone)
        status = place_integers(w->m, w->n, &integers, NULL);
    if (alone && status == NORMA_OK) {
        const norma_divide_matrices matrices = {.m = (int)w->m,
                                                .n = (int)w->n,
                                                .a = a->data,
                                                .left = w->left->data,
                                                .right = w->right->data,
                                                .lda = a->descriptor[8],
                                                .ld_left = w->left->descriptor[8],
                                                .ld_right = w->right->descriptor[8]};
        bool here = false;
        status = norma_divide_decompose_local(&matrices, w->sigma, buffer, integers, &here);
        n_good = here ? 1 : 0;
    }
    NORMA_FREE(integers);
    MPI_Allreduce(MPI_IN_PLACE, &n_good, 1, MPI_INT, MPI_SUM, w->system->comm);
    *good = n_good > 0;
    return norma_agree(w->system->comm, status);
}

/* The decomposition of a, which is overwritten, by QR iteration; left NULL: singular values only.
 */
static norma_status decompose_local(const norma_dmat *a, const norma_dmat *left,
                                    const norma_dmat *right, double *sigma, double *buffer,
                                    int n_buffer)
{
    const char *job = left ? "V" : "N";
    int m = (int)a->rows.n;
    int n = (int)a->columns.n;
    int info = 0;
    if (a->grid->row < 0)
        return NORMA_OK;
    if (a->grid->shape.n_rows * a->grid->shape.n_columns == 1) {
        job = left ? "S" : "N";
        dgesvd_(job, job, &m, &n, a->data, &a->descriptor[8], sigma, left ? left->data : NULL,
                left ? &left->descriptor[8] : &one, left ? right->data : NULL,
                left ? &right->descriptor[8] : &one, buffer, &n_buffer, &info);
    } else {
        pdgesvd_(job, job, &m, &n, a->data, &one, &one, a->descriptor, sigma,
                 left ? left->data : NULL, &one, &one, left ? left->descriptor : a->descriptor,
                 left ? right->data : NULL, &one, &one, left ? right->descriptor : a->descriptor,
                 buffer, &n_buffer, &info);
    }
    if (info < 0)
        return NORMA_FAIL(NORMA_LIBRARY, "the singular value decomposition refused its argument %d",
                          -info);
    if (info > (m < n ? m : n))
        return NORMA_FAIL(NORMA_NUMERIC, "the ranks computed different singular values: are their "
                                         "processors of different kinds?");
    if (info > 0)
        return NORMA_FAIL(NORMA_NUMERIC, "%d singular values did not converge", info);
    return NORMA_OK;
}

static norma_dense_size size_of(const norma_svd *w, int64_t n_rows)
{
    return (norma_dense_size){.n_rows = n_rows,
                              .n_columns = w->n,
                              .block = w->system->block_size,
                              .vectors = true,
                              .memory_per_rank = w->system->memory_per_rank};
}

/* Assembles the leading n_rows rows and decomposes them; vectors: into left and right. */
static norma_status decompose(norma_svd *w, int64_t n_rows, bool vectors,
                              norma_layer_solution *solution, double *seconds)
{
    const norma_system *s = w->system;
    int64_t block = s->block_size;
    norma_dmat *a = NULL;
    double *buffer = NULL;
    const norma_dense_size size = size_of(w, n_rows);
    int64_t n_buffer = norma_dense_workspace_local(&size, w->grid->shape);
    norma_status status = norma_agree(s->comm, NORMA_ALLOC(buffer, n_buffer));
    NORMA_GOTO(status, status);
    NORMA_GOTO(status, norma_dmat_create_rectangle(w->grid, n_rows, w->n, block, &a));
    if (vectors) {
        NORMA_GOTO(status, norma_dmat_create_rectangle(w->grid, w->m, w->k, block, &w->left));
        NORMA_GOTO(status, norma_dmat_create_rectangle(w->grid, w->k, w->n, block, &w->right));
    }
    bool good = false;
    bool divides = vectors && w->grid->shape.n_rows * w->grid->shape.n_columns == 1 &&
                   norma_divide_fits_local(w->m, w->n);
    for (int attempt = divides ? 0 : 1; attempt < 2 && !good; attempt++) {
        double start = norma_progress_clock_local();
        NORMA_GOTO(status, norma_assemble_system(s->rule, s->problem->w1, s->problem->w2, a));
        MPI_Barrier(s->comm);
        double assembled = norma_progress_clock_local();
        if (attempt == 0)
            NORMA_GOTO(status, divide(w, a, buffer, &good));
        else
            NORMA_GOTO(status, norma_agree(s->comm, decompose_local(a, w->left, w->right, w->sigma,
                                                                    buffer, (int)n_buffer)));
        if (attempt == 0 && !good)
            norma_log_detail("%s: divide and conquer failed or disagrees with QR iteration, which "
                             "takes over",
                             s->name);
        solution->seconds_assembly += assembled - start;
        *seconds += norma_progress_clock_local() - assembled;
    }
    MPI_Bcast(w->sigma, (int)(n_rows < w->n ? n_rows : w->n), MPI_DOUBLE, 0, s->comm);
done:
    norma_dmat_destroy_local(&a);
    NORMA_FREE(buffer);
    return status;
}

/* Singular values above max(rows, columns) 2 u sigma_max, and the condition number of those. */
static int64_t count_rank(const norma_svd *w, int64_t n_rows, double *condition, double *tolerance)
{
    int64_t k = n_rows < w->n ? n_rows : w->n;
    int64_t rank = 0;
    *tolerance = (double)(n_rows > w->n ? n_rows : w->n) * DBL_EPSILON * w->sigma[0];
    while (rank < k && w->sigma[rank] > *tolerance)
        rank++;
    *condition = rank > 0 ? w->sigma[0] / w->sigma[rank - 1] : INFINITY;
    return rank;
}

/* Relative error of the smallest singular value, and so of the condition number: a decomposition
 * knows all values to a few units in the last place of the largest. */
static double error_of(double condition_number)
{
    return fmin(1, 10 * DBL_EPSILON * condition_number);
}

static void judge_rank(norma_svd *w, norma_layer_solution *solution)
{
    double tolerance = 0;
    w->rank = count_rank(w, w->m, &solution->condition_number_solved, &tolerance);
    solution->numerical_rank = w->rank;
    solution->sigma_max = w->sigma[0];
    if (w->rank == 0) {
        solution->sigma_min = solution->sigma_max = 0;
        solution->condition_number = solution->condition_number_solved = NAN;
        solution->condition_error = NAN;
        norma_log_news("%s: all features are zero, and so is the pseudo-inverse: gamma1 is 0",
                       w->system->name);
        return;
    }
    solution->sigma_min = w->sigma[w->rank - 1];
    solution->condition_number = solution->condition_number_solved;
    solution->condition_error = error_of(solution->condition_number);
    if (w->rank < w->k)
        norma_log_news("%s: numerical rank %lld of %lld (singular values above %.3g): the answer "
                       "is that of least squares and minimum norm",
                       w->system->name, (long long)w->rank, (long long)w->k, tolerance);
}

/* out = (S S')^-1 in, S of full row rank. */
static norma_status invert_gram(void *context, const double *in, double *out)
{
    norma_svd *w = context;
    norma_svd_project(w, in, w->along);
    for (int64_t e = 0; e < w->k; e++)
        w->along[e] /= w->sigma[e] * w->sigma[e];
    norma_svd_expand(w, w->along, out);
    return NORMA_OK;
}

/* The smallest singular value of M by iterations on the decomposition of S. */
static norma_status estimate_rows(norma_svd *w, norma_layer_solution *solution)
{
    double start = norma_progress_clock_local();
    norma_status status =
        norma_lu_condition_rows(w->system, invert_gram, w, NORMA_CONDITION_ROUGH, solution);
    solution->seconds_condition += norma_progress_clock_local() - start;
    return status;
}

norma_status norma_svd_measure_rows(norma_svd *w, norma_layer_solution *solution)
{
    double tolerance = 0;
    int64_t n_rows = w->system->rule->n_rows;
    if (w->system->condition == NORMA_CONDITION_ESTIMATE && n_rows < w->m && w->rank == w->m)
        return estimate_rows(w, solution);
    norma_dmat_destroy_local(&w->left);
    norma_dmat_destroy_local(&w->right);
    if (n_rows == w->m)
        return NORMA_OK;
    solution->sigma_max = solution->sigma_min = NAN;
    solution->condition_number = solution->condition_error = NAN;
    if (n_rows == 0 || w->system->condition == NORMA_CONDITION_NONE)
        return NORMA_OK;
    NORMA_TRY(decompose(w, n_rows, false, solution, &solution->seconds_condition));
    int64_t rank = count_rank(w, n_rows, &solution->condition_number, &tolerance);
    solution->sigma_max = w->sigma[0];
    solution->sigma_min = rank > 0 ? w->sigma[rank - 1] : 0;
    solution->condition_error = error_of(solution->condition_number);
    return NORMA_OK;
}

static norma_status start(norma_svd *w)
{
    int n_ranks = 0;
    const norma_dense_size size = size_of(w, w->m);
    MPI_Comm_size(w->system->comm, &n_ranks);
    NORMA_TRY(norma_dense_check_local(&size, n_ranks));
    NORMA_TRY(norma_agree(w->system->comm, place(w, NULL)));
    return norma_grid_create(w->system->comm, norma_dense_grid_local(&size, n_ranks), &w->grid);
}

norma_status norma_svd_create(const norma_system *system, norma_layer_solution *solution,
                              norma_svd **out)
{
    norma_svd *w = NULL;
    norma_status status = norma_agree(system->comm, NORMA_CALLOC(w, 1));
    NORMA_GOTO(status, status);
    w->system = system;
    w->m = system->rule->n_system;
    w->n = norma_product_n_features_local(system->product);
    w->k = w->m < w->n ? w->m : w->n;
    NORMA_GOTO(status, start(w));
    NORMA_GOTO(status, decompose(w, w->m, true, solution, &solution->seconds));
    judge_rank(w, solution);
    solution->grid_rows = w->grid->shape.n_rows;
    solution->grid_columns = w->grid->shape.n_columns;
    solution->n_idle = w->grid->n_idle;
    *out = w;
    w = NULL;
done:
    norma_svd_destroy(&w);
    return status;
}

int64_t norma_svd_rank_local(const norma_svd *svd)
{
    return svd->rank;
}

int64_t norma_svd_n_values_local(const norma_svd *svd)
{
    return svd->k;
}

const double *norma_svd_values_local(const norma_svd *svd)
{
    return svd->sigma;
}

void norma_svd_destroy(norma_svd **svd)
{
    if (*svd) {
        norma_dmat_destroy_local(&(*svd)->left);
        norma_dmat_destroy_local(&(*svd)->right);
        norma_grid_destroy(&(*svd)->grid);
        NORMA_FREE((*svd)->sigma);
        NORMA_FREE((*svd)->along);
        NORMA_FREE(*svd);
    }
}
