#include "src/align/complement.h"

#include "src/base/mem_place.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work,
             const int *lwork, int *info);
void dgeqp3_(const int *m, const int *n, double *a, const int *lda, int *jpvt, double *tau,
             double *work, const int *lwork, int *info);
void dtrcon_(const char *norm, const char *uplo, const char *diag, const int *n, const double *a,
             const int *lda, double *rcond, double *work, int *iwork, int *info);
void dormqr_(const char *side, const char *trans, const int *m, const int *n, const int *k,
             const double *a, const int *lda, const double *tau, double *c, const int *ldc,
             double *work, const int *lwork, int *info);

/* Columns that workspaces are made for at once. */
enum { BLOCK = 64 };

/* Reciprocal conditions of R from here on show a full rank without exchanges of columns. */
static const double safe = 1e-10;

typedef struct work {
    int n_rows, n_columns, n_least; /* n_least: the fewer of both */
    int n_buffer;
    double *matrix; /* [n_columns][n_rows] */
    double *tau;    /* [n_least] */
    double *buffer; /* [n_buffer] */
    int *whole;     /* [n_columns]: of dtrcon, exchanges of dgeqp3 */
    norma_align_fill fill;
    const void *context;
} work;

static int64_t buffer_length(int64_t n_rows, int64_t n_columns)
{
    int64_t most = n_rows > n_columns ? n_rows : n_columns;
    return (most + 66 + BLOCK) * BLOCK + 3 * n_columns;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Measures or allocates: src/base/mem_place.h. */
static norma_status place(work *w, int64_t n_rows, int64_t n_columns, double *bytes)
{
    NORMA_TRY(NORMA_PLACE_UNSET(w->matrix, n_columns, n_rows, bytes));
    NORMA_TRY(NORMA_PLACE(w->tau, smaller(n_rows, n_columns), bytes));
    NORMA_TRY(NORMA_PLACE_UNSET(w->buffer, buffer_length(n_rows, n_columns), 1, bytes));
    return NORMA_PLACE(w->whole, n_columns, bytes);
}

static norma_status place_basis(norma_align_complement *out, double *bytes)
{
    return NORMA_PLACE_ROWS(out->basis, out->n_parts, out->n_rows, bytes);
}

/* True where R of the plain factorization shows that the rank is full. */
static norma_status factor_plainly(work *w, bool *full)
{
    int info = 0;
    double condition = 0;
    *full = false;
    if (w->n_columns > w->n_rows)
        return NORMA_OK;
    w->fill(w->context, w->matrix);
    dgeqrf_(&w->n_rows, &w->n_columns, w->matrix, &w->n_rows, w->tau, w->buffer, &w->n_buffer,
            &info);
    if (info == 0)
        dtrcon_("1", "U", "N", &w->n_columns, w->matrix, &w->n_rows, &condition, w->buffer,
                w->whole, &info);
    *full = condition > safe;
    return info == 0 ? NORMA_OK : NORMA_FAIL(NORMA_LIBRARY, "dgeqrf refused argument %d", -info);
}

/* With exchanges of columns; *rank from the diagonal of R. */
static norma_status factor_by_exchanges(work *w, int64_t *rank)
{
    int info = 0;
    int most = w->n_rows > w->n_columns ? w->n_rows : w->n_columns;
    memset(w->whole, 0, (size_t)w->n_columns * sizeof *w->whole);
    w->fill(w->context, w->matrix);
    dgeqp3_(&w->n_rows, &w->n_columns, w->matrix, &w->n_rows, w->whole, w->tau, w->buffer,
            &w->n_buffer, &info);
    if (info != 0)
        return NORMA_FAIL(NORMA_LIBRARY, "dgeqp3 refused argument %d", -info);
    double least = fabs(w->matrix[0]) * 4 * DBL_EPSILON * most;
    for (*rank = 0; *rank < w->n_least; (*rank)++)
        if (!(fabs(w->matrix[*rank * ((int64_t)w->n_rows + 1)]) > least))
            break;
    return NORMA_OK;
}

/* The last columns of Q. */
static norma_status form(work *w, norma_align_complement *out)
{
    int info = 0;
    int n_parts = (int)out->n_parts;
    NORMA_TRY(place_basis(out, NULL));
    for (int64_t s = 0; s < out->n_parts; s++)
        out->basis[s * out->n_rows + out->rank + s] = 1;
    if (n_parts == 0 || out->rank == 0)
        return NORMA_OK;
    int rank = (int)out->rank;
    dormqr_("L", "N", &w->n_rows, &n_parts, &rank, w->matrix, &w->n_rows, w->tau, out->basis,
            &w->n_rows, w->buffer, &w->n_buffer, &info);
    return info == 0 ? NORMA_OK : NORMA_FAIL(NORMA_LIBRARY, "dormqr refused argument %d", -info);
}

norma_status norma_align_complement_init(int64_t n_rows, int64_t n_columns, norma_align_fill fill,
                                         const void *context, norma_align_complement *out)
{
    norma_status status = NORMA_OK;
    bool full = false;
    int64_t n_buffer = buffer_length(n_rows, n_columns);
    work w = {.fill = fill, .context = context};
    memset(out, 0, sizeof *out);
    if (n_rows > INT32_MAX || n_columns > INT32_MAX || n_buffer > INT32_MAX)
        return NORMA_FAIL(NORMA_LIMIT,
                          "a matrix of %lld x %lld: a QR factorization of LAPACK takes at most "
                          "about 3e7 rows or columns",
                          (long long)n_rows, (long long)n_columns);
    w.n_rows = (int)n_rows;
    w.n_columns = (int)n_columns;
    w.n_least = (int)smaller(n_rows, n_columns);
    w.n_buffer = (int)n_buffer;
    out->n_rows = n_rows;
    NORMA_GOTO(status, place(&w, n_rows, n_columns, NULL));
    NORMA_GOTO(status, factor_plainly(&w, &full));
    out->rank = n_columns;
    if (!full)
        NORMA_GOTO(status, factor_by_exchanges(&w, &out->rank));
    out->n_parts = n_rows - out->rank;
    status = form(&w, out);
done:
    NORMA_FREE(w.matrix);
    NORMA_FREE(w.tau);
    NORMA_FREE(w.buffer);
    NORMA_FREE(w.whole);
    return status;
}

double norma_align_complement_bytes(int64_t n_rows, int64_t n_columns)
{
    norma_align_complement out = {.n_rows = n_rows, .n_parts = n_rows - smaller(n_rows, n_columns)};
    double bytes = 0;
    work w;
    (void)place(&w, n_rows, n_columns, &bytes);
    (void)place_basis(&out, &bytes);
    return bytes;
}

void norma_align_complement_clear(norma_align_complement *complement)
{
    NORMA_FREE(complement->basis);
    memset(complement, 0, sizeof *complement);
}
