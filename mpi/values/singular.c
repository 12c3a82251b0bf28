#include "mpi/values/singular.h"

#include "mpi/linalg/scalapack.h"
#include "mpi/runtime/agree.h"
#include "mpi/values/band.h"
#include "mpi/values/chase.h"
#include "src/base/index.h"
#include "src/base/mem_place.h"

#include <limits.h>
#include <math.h>
#include <omp.h>
#include <string.h>

/* Matrices with fewer rows or columns are left to the library. */
#define TWO_STAGE_FROM 512
#define LIBRARY_BLOCK 64
/* The band's width: wider panels multiply faster, wider bands take longer to chase. */
#define STAGE_BLOCK 64
#define LARGE_STAGE_BLOCK 96
#define LARGE_FROM 1500
/* Of a power of two whose inverse is a normal number as well. */
#define LEAST_EXPONENT (-1000)

static int64_t fewer(int64_t n_rows, int64_t n_columns)
{
    return n_rows < n_columns ? n_rows : n_columns;
}

norma_singular_method norma_singular_choose_local(norma_singular_method method, int64_t n_rows,
                                                  int64_t n_columns)
{
    if (method != NORMA_SINGULAR_AUTO)
        return method;
    return fewer(n_rows, n_columns) < TWO_STAGE_FROM ? NORMA_SINGULAR_LIBRARY
                                                     : NORMA_SINGULAR_TWO_STAGE;
}

int64_t norma_singular_block_local(norma_singular_method method, int64_t n_rows, int64_t n_columns)
{
    if (norma_singular_choose_local(method, n_rows, n_columns) == NORMA_SINGULAR_LIBRARY)
        return LIBRARY_BLOCK;
    return fewer(n_rows, n_columns) < LARGE_FROM ? STAGE_BLOCK : LARGE_STAGE_BLOCK;
}

norma_grid_shape norma_singular_grid_local(norma_singular_method method, int64_t n_rows,
                                           int64_t n_columns, int n_ranks)
{
    int64_t block = norma_singular_block_local(method, n_rows, n_columns);
    /* PDGESVD never returns from 1 x 2 elements on as many processes. */
    if (fewer(n_rows, n_columns) == 1)
        return (norma_grid_shape){1, 1};
    return norma_grid_choose_local(n_ranks, norma_index_ceil_divide(n_rows, block),
                                   norma_index_ceil_divide(n_columns, block));
}

norma_status norma_singular_check_local(norma_singular_method method, int64_t n_rows,
                                        int64_t n_columns, int n_ranks)
{
    int64_t block = norma_singular_block_local(method, n_rows, n_columns);
    int64_t longest = n_rows > n_columns ? n_rows : n_columns;
    double least = (double)n_rows * (double)n_columns / (double)NORMA_DMAT_MAX_LOCAL;
    if (longest > INT_MAX / (4 * block) || least > INT_MAX / 8)
        return NORMA_FAIL(NORMA_LIMIT,
                          "all singular values of a %lld x %lld matrix: the libraries count in 32 "
                          "bits; use the method quadrature",
                          (long long)n_rows, (long long)n_columns);
    int needed = n_ranks;
    while (norma_dmat_largest_share_local(
               n_rows, n_columns, block,
               norma_singular_grid_local(method, n_rows, n_columns, needed)) > NORMA_DMAT_MAX_LOCAL)
        needed = needed > least ? needed + 1 : (int)least + 1;
    if (needed == n_ranks)
        return NORMA_OK;
    return NORMA_FAIL(NORMA_LIMIT,
                      "a %lld x %lld matrix leaves more than %lld numbers to one rank: run on at "
                      "least %d ranks, or use the method quadrature",
                      (long long)n_rows, (long long)n_columns, (long long)NORMA_DMAT_MAX_LOCAL,
                      needed);
}

/* Divides the matrix by a power of two that makes its largest entry about 1, so that sums of
 * squares stay within range; *scale is that power, 0 for a matrix of zeros. Collective. */
static norma_status scale_entries(norma_dmat *a, double *scale)
{
    double largest = 0;
    int exponent = 0;
    int64_t n = a->n_local_rows * a->n_local_columns;
    for (int64_t i = 0; i < n; i++) {
        double size = fabs(a->data[i]);
        if (!(size <= largest)) /* NaN as well */
            largest = size;
        if (!isfinite(size))
            break;
    }
    if (isnan(largest))
        largest = INFINITY; /* a maximum that knows no NaN */
    MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, a->grid->comm);
    if (!isfinite(largest))
        return NORMA_FAIL(NORMA_NUMERIC, "the matrix has entries that are not finite");
    *scale = 0;
    if (largest == 0)
        return NORMA_OK;
    (void)frexp(largest, &exponent);
    exponent = exponent < LEAST_EXPONENT ? LEAST_EXPONENT : exponent;
    *scale = ldexp(1, exponent);
    double factor = ldexp(1, -exponent);
    for (int64_t i = 0; i < n; i++)
        a->data[i] *= factor;
    return NORMA_OK;
}

/* The library's values; sigma on the ranks of the grid. */
static norma_status run_library_local(const norma_dmat *a, double *sigma)
{
    static const int one = 1;
    int m = (int)a->rows.n;
    int n = (int)a->columns.n;
    bool alone = a->grid->shape.n_rows * a->grid->shape.n_columns == 1;
    int *integers = NULL;
    double *work = NULL;
    double size = 0;
    int n_work = -1;
    int info = 0;
    norma_status status = NORMA_ALLOC(integers, alone ? 8 * fewer(m, n) : 0);
    for (int pass = 0; status == NORMA_OK && pass < 2; pass++) {
        double *space = pass == 0 ? &size : work;
        if (alone)
            dgesdd_("N", &m, &n, a->data, &m, sigma, NULL, &one, NULL, &one, space, &n_work,
                    integers, &info);
        else
            pdgesvd_("N", "N", &m, &n, a->data, &one, &one, a->descriptor, sigma, NULL, &one, &one,
                     a->descriptor, NULL, &one, &one, a->descriptor, space, &n_work, &info);
        if (pass == 0 && info == 0) {
            n_work = (int)size + 1;
            status = NORMA_ALLOC(work, n_work);
        }
    }
    if (status == NORMA_OK && info < 0)
        status = NORMA_FAIL(NORMA_LIBRARY,
                            "the singular value decomposition refused its argument %d", -info);
    if (status == NORMA_OK && info > 0)
        status = NORMA_FAIL(NORMA_NUMERIC, "the singular values did not converge (code %d)", info);
    NORMA_FREE(integers);
    NORMA_FREE(work);
    return status;
}

/* The band, and what the values of the bidiagonal matrix take. Measure or allocate:
 * src/base/mem_place.h. */
static norma_status place_band(int64_t n, int64_t block, double **band, double *bytes)
{
    return NORMA_PLACE_UNSET(*band, n, block + 1, bytes);
}

static norma_status place_finish(int64_t n, double **beside, double **work, double *bytes)
{
    NORMA_TRY(NORMA_PLACE(*beside, n, bytes));
    return NORMA_PLACE_UNSET(*work, 4, n, bytes);
}

/* Chases the band and finds the values of what is left; on rank 0. */
static norma_status finish_local(int64_t n, int64_t width, const double *band, double *sigma)
{
    double *beside = NULL;
    double *work = NULL;
    int size = (int)n;
    int info = 0;
    norma_status status = place_finish(n, &beside, &work, NULL);
    NORMA_GOTO(status, status);
    NORMA_GOTO(status, norma_chase_bidiagonal_local(n, width, band, sigma, beside));
    dlasq1_(&size, sigma, beside, work, &info);
    if (info != 0)
        status = NORMA_FAIL(NORMA_NUMERIC,
                            "the singular values of the bidiagonal matrix did not converge (code "
                            "%d)",
                            info);
done:
    NORMA_FREE(beside);
    NORMA_FREE(work);
    return status;
}

static norma_status run_two_stage(norma_dmat *a, double *sigma)
{
    int rank = 0;
    int64_t n = fewer(a->rows.n, a->columns.n);
    double *band = NULL;
    MPI_Comm_rank(a->grid->comm, &rank);
    norma_status status = NORMA_OK;
    if (rank == 0)
        status = place_band(n, a->rows.block, &band, NULL);
    NORMA_GOTO(status, norma_agree(a->grid->comm, status));
    NORMA_GOTO(status, norma_band_reduce(a, band));
    if (rank == 0)
        status = finish_local(n, a->rows.block, band, sigma);
    status = norma_agree(a->grid->comm, status);
done:
    NORMA_FREE(band);
    return status;
}

norma_status norma_singular_compute(norma_singular_method method, norma_dmat *a, double *sigma)
{
    int64_t n = fewer(a->rows.n, a->columns.n);
    double scale = 0;
    NORMA_TRY(norma_agree(a->grid->comm, scale_entries(a, &scale)));
    if (scale == 0) {
        memset(sigma, 0, (size_t)n * sizeof *sigma);
        return NORMA_OK;
    }
    method = norma_singular_choose_local(method, a->rows.n, a->columns.n);
    if (method == NORMA_SINGULAR_TWO_STAGE) {
        NORMA_TRY(run_two_stage(a, sigma));
    } else {
        norma_status status = NORMA_OK;
        if (a->grid->row >= 0)
            status = run_library_local(a, sigma);
        NORMA_TRY(norma_agree(a->grid->comm, status));
    }
    MPI_Bcast(sigma, (int)n, MPI_DOUBLE, 0, a->grid->comm);
    for (int64_t i = 0; i < n; i++)
        sigma[i] *= scale;
    return NORMA_OK;
}

/* Numbers of workspace of the library. */
static double library_numbers(int64_t n_rows, int64_t n_columns, int64_t block,
                              norma_grid_shape grid)
{
    double together = (double)n_rows + (double)n_columns;
    if (grid.n_rows * grid.n_columns == 1)
        return 4 * (double)fewer(n_rows, n_columns) + (double)block * together;
    return 6 * together + 4 * (double)block * together;
}

double norma_singular_bytes_local(norma_singular_method method, int64_t n_rows, int64_t n_columns,
                                  norma_grid_shape grid, int n_threads)
{
    int64_t n = fewer(n_rows, n_columns);
    int64_t block = norma_singular_block_local(method, n_rows, n_columns);
    double matrix = 8 * (double)norma_dmat_largest_share_local(n_rows, n_columns, block, grid);
    if (norma_singular_choose_local(method, n_rows, n_columns) == NORMA_SINGULAR_LIBRARY)
        return matrix + 8 * library_numbers(n_rows, n_columns, block, grid);
    double first = norma_band_bytes_local(n_rows, n_columns, block, grid);
    double second = norma_chase_bytes_local(n, block, n_threads);
    double band = 0;
    double *array = NULL;
    (void)place_band(n, block, &array, &band);
    (void)place_finish(n, &array, &array, &second);
    return matrix + band + (first > second ? first : second);
}

double norma_singular_flops_local(int64_t n_rows, int64_t n_columns)
{
    double n = (double)fewer(n_rows, n_columns);
    return 4 * n * (double)n_rows * (double)n_columns - 4 * n * n * n / 3;
}
