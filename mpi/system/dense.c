#include "mpi/system/dense.h"

#include "mpi/linalg/dmat.h"
#include "mpi/linalg/replicated.h"
#include "mpi/runtime/agree.h"
#include "mpi/system/divide.h"
#include "src/base/index.h"
#include "src/base/mem_place.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#define MAX_REFINEMENTS 5

/* Block of LAPACK's own algorithms, at most. */
#define LAPACK_BLOCK 64

/* From so many ranks on, ScaLAPACK's decomposition with vectors overtakes divide and conquer on
 * one, which takes a twelfth of its time on one rank. */
#define SPREAD_FROM 32

static int64_t fewer(const norma_dense_size *size)
{
    return size->n_rows < size->n_columns ? size->n_rows : size->n_columns;
}

static int64_t more(const norma_dense_size *size)
{
    return size->n_rows < size->n_columns ? size->n_columns : size->n_rows;
}

/* True when one of the ranks decomposes the matrix for all. */
static bool stays_on_one(const norma_dense_size *size, int n_ranks)
{
    const norma_grid_shape one = {1, 1};
    /* PDGESVD never returns from 1 x 2 elements on as many processes. */
    if (fewer(size) == 1)
        return true;
    return size->vectors && n_ranks < SPREAD_FROM && size->n_rows * size->n_columns <= INT_MAX &&
           norma_divide_fits_local(size->n_rows, size->n_columns) &&
           !(size->memory_per_rank > 0 &&
             norma_dense_bytes_local(size, one) > size->memory_per_rank);
}

norma_grid_shape norma_dense_grid_local(const norma_dense_size *size, int n_ranks)
{
    if (stays_on_one(size, n_ranks))
        return (norma_grid_shape){1, 1};
    return norma_grid_choose_local(n_ranks, norma_index_ceil_divide(size->n_rows, size->block),
                                   norma_index_ceil_divide(size->n_columns, size->block));
}

int64_t norma_dense_workspace_local(const norma_dense_size *size, norma_grid_shape grid)
{
    int64_t n_ranks = (int64_t)grid.n_rows * grid.n_columns;
    int64_t k = fewer(size);
    if (n_ranks == 1 && !size->vectors)
        return LAPACK_BLOCK * (more(size) + LAPACK_BLOCK);
    if (n_ranks == 1 && norma_divide_fits_local(size->n_rows, size->n_columns))
        return norma_divide_workspace_local(size->n_rows, size->n_columns);
    if (n_ranks == 1) /* a long matrix is made square by QR first */
        return (more(size) >= k + k / 2 ? k * k : 0) +
               (2 + LAPACK_BLOCK) * (size->n_rows + size->n_columns);
    int64_t block = size->block;
    int64_t rows = norma_dmat_largest_share_local(more(size), 1, block, grid);
    int64_t columns = norma_dmat_largest_share_local(1, more(size), block, grid);
    int64_t panel = block * (2 * (rows + columns) + 3 * block) + more(size);
    if (!size->vectors)
        return panel;
    int64_t strips = norma_index_ceil_divide(size->n_rows, n_ranks) +
                     norma_index_ceil_divide(size->n_columns, n_ranks) + 2;
    return 1 + 6 * more(size) + k * strips + 4 * k + panel;
}

/* The largest 32-bit count on a grid. */
static int64_t largest_count(const norma_dense_size *size, norma_grid_shape grid)
{
    int64_t n_local =
        norma_dmat_largest_share_local(size->n_rows, size->n_columns, size->block, grid);
    int64_t n_work = norma_dense_workspace_local(size, grid);
    return n_local > n_work ? n_local : n_work;
}

typedef struct refinement {
    const norma_system *system;
    bool exact;
    double sigma_max;
    double *residual;   /* [n_system] */
    double *trial;      /* [n_features] */
    double *correction; /* [n_features] */
    double *gradient;   /* [n_share] */
} refinement;

/* Measures or allocates: src/base/mem_place.h. */
static norma_status place(refinement *r, int64_t n_system, int64_t n_features, int64_t n_share,
                          double *bytes)
{
    NORMA_TRY(NORMA_PLACE(r->residual, n_system, bytes));
    NORMA_TRY(NORMA_PLACE(r->trial, n_features, bytes));
    NORMA_TRY(NORMA_PLACE(r->correction, n_features, bytes));
    return NORMA_PLACE(r->gradient, n_share, bytes);
}

double norma_dense_bytes_local(const norma_dense_size *size, norma_grid_shape grid)
{
    refinement r;
    int64_t m = size->n_rows;
    int64_t n = size->n_columns;
    int64_t k = fewer(size);
    double numbers = (double)norma_dmat_largest_share_local(m, n, size->block, grid) +
                     (double)norma_dense_workspace_local(size, grid);
    if (size->vectors)
        numbers += (double)norma_dmat_largest_share_local(m, k, size->block, grid) +
                   (double)norma_dmat_largest_share_local(k, n, size->block, grid);
    if (size->vectors &&
        grid.n_rows * grid.n_columns > 1) /* PDGEMR2D sends and receives a factor */
        numbers += 2 * (double)norma_dmat_largest_share_local(k, more(size), size->block, grid);
    double bytes = 8 * numbers;
    (void)place(&r, m, n, norma_index_ceil_divide(n, (int64_t)grid.n_rows * grid.n_columns),
                &bytes);
    return bytes;
}

norma_status norma_dense_check_local(const norma_dense_size *size, int n_ranks)
{
    norma_grid_shape grid = norma_dense_grid_local(size, n_ranks);
    const char *what = size->vectors ? "svd" : "qr";
    double least = (double)size->n_rows * (double)size->n_columns / INT_MAX;
    if (more(size) > INT_MAX / 8 || least > INT_MAX / 8)
        return NORMA_FAIL(NORMA_LIMIT,
                          "%s of a %lld x %lld matrix: ScaLAPACK counts in 32 bits; use krylov",
                          what, (long long)size->n_rows, (long long)size->n_columns);
    int64_t count = largest_count(size, grid);
    if (count <= INT_MAX)
        return NORMA_OK;
    int needed = n_ranks > least ? n_ranks : (int)least;
    while (largest_count(size, norma_dense_grid_local(size, needed)) > INT_MAX)
        needed++;
    return NORMA_FAIL(NORMA_LIMIT,
                      "%s of a %lld x %lld matrix takes %lld numbers on one rank, and ScaLAPACK "
                      "counts to %d: run on at least %d ranks, or use krylov",
                      what, (long long)size->n_rows, (long long)size->n_columns, (long long)count,
                      INT_MAX, needed);
}

double norma_dense_flops_local(int64_t m, int64_t n, bool vectors)
{
    double more_ones = (double)(m > n ? m : n);
    double fewer_ones = (double)(m > n ? n : m);
    return vectors ? 14 * more_ones * fewer_ones * fewer_ones + 8 * pow(fewer_ones, 3)
                   : 2 * more_ones * fewer_ones * fewer_ones - 2 * pow(fewer_ones, 3) / 3;
}

/* Residual and gradient of x. */
static norma_dense_answer measure(refinement *r, const double *x)
{
    int64_t first = 0;
    norma_dense_answer answer = {0};
    norma_product_share_local(r->system->product, &first);
    answer.residual = norma_system_residual(r->system, x + first, r->residual);
    if (!r->exact)
        answer.gradient = norma_system_gradient(r->system, r->residual, r->gradient);
    return answer;
}

/* The residual that rounding x leaves; the floor is twice that. */
static double rounding(const refinement *r, const double *x)
{
    int64_t n_features = norma_product_n_features_local(r->system->product);
    return 5 * NORMA_ROUNDOFF * r->sigma_max * norma_replicated_norm_local(x, n_features);
}

/* True when x is as good as wanted, or within `factor` of it. */
static bool is_good(const refinement *r, const norma_dense_answer *a, const double *x,
                    double factor)
{
    double left = rounding(r, x);
    return a->residual <= factor * left ||
           (!r->exact &&
            a->gradient <= factor * 5 * r->sigma_max * (NORMA_ROUNDOFF * a->residual + left));
}

static norma_dense_answer run(refinement *r, norma_dense_inverse inverse, void *context, double *x,
                              int64_t *steps)
{
    int64_t n_features = norma_product_n_features_local(r->system->product);
    inverse(context, r->system->rhs, x);
    norma_dense_answer best = measure(r, x);
    double before = INFINITY;
    double size = r->exact ? best.residual : best.gradient;
    *steps = 0;
    /* One step at least: a factorization's own answer misses the floor by ten. */
    for (int step = 0; step < MAX_REFINEMENTS && size > 0 && size <= before / 2; step++) {
        if (step > 0 && is_good(r, &best, x, 0.2))
            break;
        inverse(context, r->residual, r->correction);
        memcpy(r->trial, x, (size_t)n_features * sizeof *x);
        norma_replicated_add_local(1, r->correction, r->trial, n_features);
        norma_dense_answer next = measure(r, r->trial);
        before = size;
        size = r->exact ? next.residual : next.gradient;
        if (!(size < before))
            break;
        memcpy(x, r->trial, (size_t)n_features * sizeof *x);
        best = next;
        ++*steps;
    }
    return best;
}

norma_status norma_dense_refine(const norma_system *system, norma_dense_inverse inverse,
                                void *context, bool exact, double sigma_max, double *x,
                                int64_t *steps, norma_dense_answer *answer)
{
    refinement r = {.system = system, .exact = exact, .sigma_max = sigma_max};
    int64_t first = 0;
    int64_t n_features = norma_product_n_features_local(system->product);
    int64_t n_share = norma_product_share_local(system->product, &first);
    norma_status status =
        norma_agree(system->comm, place(&r, system->rule->n_system, n_features, n_share, NULL));
    NORMA_GOTO(status, status);
    *answer = run(&r, inverse, context, x, steps);
    answer->exact = is_good(&(refinement){.system = system, .exact = true, .sigma_max = sigma_max},
                            answer, x, 200);
    if (!is_good(&r, answer, x, 200))
        status = NORMA_FAIL(NORMA_NUMERIC,
                            "the refined answer is neither exact nor stationary: residual %.3g "
                            "where rounding leaves %.3g, gradient %.3g: the system is too badly "
                            "conditioned",
                            answer->residual, rounding(&r, x), answer->gradient);
    status = norma_agree(system->comm, status);
done:
    NORMA_FREE(r.residual);
    NORMA_FREE(r.trial);
    NORMA_FREE(r.correction);
    NORMA_FREE(r.gradient);
    return status;
}
