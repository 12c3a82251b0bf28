#include "src/construct/nearest.h"

#include "src/base/index.h"
#include "src/base/mem.h"
#include "src/base/rng.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* LAPACK, column-major. */
void dgels_(const char *trans, const int *m, const int *n, const int *nrhs, double *a,
            const int *lda, double *b, const int *ldb, double *work, const int *lwork, int *info);

/* Steps of each power iteration. */
enum { N_STEPS = 40 };

/* --- singular values at both ends of a triangular matrix -------------------------------------- */

typedef struct triangle {
    int n, leading;
    CBLAS_UPLO half;
    const double *values; /* column-major */
} triangle;

/* x := x / ||x||, and the norm; 0 where x has no direction. */
static double normalize(int n, double *x)
{
    double norm = cblas_dnrm2(n, x, 1);
    if (!(norm > 0) || !isfinite(norm))
        return 0;
    cblas_dscal(n, 1 / norm, x, 1);
    return norm;
}

static void start(int n, double *x)
{
    const norma_rng_stream stream = {.purpose = NORMA_RNG_START_VECTOR};
    norma_rng_fill_normal(1, &stream, 0, n, x);
    (void)normalize(n, x);
}

/* Both by power iterations, the smallest with the inverse; work[n]. */
static void edges(const triangle *t, double *work, double sigma[2])
{
    double square = 0;
    start(t->n, work);
    for (int s = 0; s < N_STEPS; s++) {
        cblas_dtrmv(CblasColMajor, t->half, CblasNoTrans, CblasNonUnit, t->n, t->values, t->leading,
                    work, 1);
        cblas_dtrmv(CblasColMajor, t->half, CblasTrans, CblasNonUnit, t->n, t->values, t->leading,
                    work, 1);
        square = normalize(t->n, work);
    }
    sigma[0] = sqrt(square);
    sigma[1] = 0;
    for (int64_t k = 0; k < t->n; k++)
        if (t->values[k * ((int64_t)t->leading + 1)] == 0)
            return;
    start(t->n, work);
    for (int s = 0; s < N_STEPS; s++) {
        cblas_dtrsv(CblasColMajor, t->half, CblasTrans, CblasNonUnit, t->n, t->values, t->leading,
                    work, 1);
        cblas_dtrsv(CblasColMajor, t->half, CblasNoTrans, CblasNonUnit, t->n, t->values, t->leading,
                    work, 1);
        square = normalize(t->n, work);
    }
    sigma[1] = square > 0 ? 1 / sqrt(square) : 0;
}

/* --- dgels ------------------------------------------------------------------------------------ */

/* A is [columns][rows] column-major of rows x columns: R or L and the solution of A' x = b. */
static norma_status factor(int rows, int columns, double *a, double *b, double sigma[2])
{
    int one = 1;
    int n_work = -1;
    int info = 0;
    double best = 0;
    double *work = NULL;
    int longest = rows > columns ? rows : columns;
    int least = rows < columns ? rows : columns;
    dgels_("T", &rows, &columns, &one, a, &rows, b, &longest, &best, &n_work, &info);
    n_work = (int)best > least ? (int)best : least;
    NORMA_TRY(NORMA_ALLOC(work, n_work));
    dgels_("T", &rows, &columns, &one, a, &rows, b, &longest, work, &n_work, &info);
    if (info >= 0)
        edges(&(triangle){.n = least,
                          .leading = rows,
                          .half = rows >= columns ? CblasUpper : CblasLower,
                          .values = a},
              work, sigma);
    NORMA_FREE(work);
    return info < 0 ? NORMA_FAIL(NORMA_LIBRARY, "dgels refused argument %d", -info) : NORMA_OK;
}

norma_status norma_nearest_solve(int64_t n_equations, int64_t n_unknowns, double *transposed,
                                 const double *t, double centre, double *g, norma_nearest *about)
{
    int rows = 0;
    int columns = 0;
    double sigma[2] = {0, 0};
    double *b = NULL;
    NORMA_TRY(norma_index_to_int(n_unknowns, "unknowns", &rows));
    NORMA_TRY(norma_index_to_int(n_equations, "equations", &columns));
    NORMA_TRY(NORMA_CALLOC(b, n_equations > n_unknowns ? n_equations : n_unknowns));
    for (int64_t r = 0; r < n_equations; r++) {
        double sum = 0;
        for (int64_t j = 0; j < n_unknowns; j++)
            sum += transposed[r * n_unknowns + j];
        b[r] = t[r] - centre * sum;
    }
    about->target = cblas_dnrm2(columns, t, 1);
    about->distance = cblas_dnrm2(columns, b, 1);
    norma_status status = factor(rows, columns, transposed, b, sigma);
    about->sigma_max = sigma[0];
    about->sigma_min = sigma[1];
    for (int64_t j = 0; j < n_unknowns; j++)
        g[j] = centre + b[j];
    NORMA_FREE(b);
    return status;
}

norma_status norma_nearest_edges(int64_t n_rows, int64_t n_columns, double *matrix, double sigma[2])
{
    int rows = 0;
    int columns = 0;
    double *b = NULL;
    NORMA_TRY(norma_index_to_int(n_columns, "columns", &rows));
    NORMA_TRY(norma_index_to_int(n_rows, "rows", &columns));
    NORMA_TRY(NORMA_CALLOC(b, n_rows > n_columns ? n_rows : n_columns));
    sigma[0] = sigma[1] = 0;
    norma_status status = factor(rows, columns, matrix, b, sigma);
    NORMA_FREE(b);
    return status;
}
