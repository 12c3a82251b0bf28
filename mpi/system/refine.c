#include "mpi/system/refine.h"

#include "mpi/linalg/replicated.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem_place.h"

#include <math.h>
#include <string.h>

#define MOST_STEPS 20
/* Vectors of GMRES before it starts again from the true residual, and how often it may. */
#define MOST_VECTORS 40
#define MOST_CYCLES 10
/* GMRES stops within a cycle when its residual has come down by this: the rest is better seen from
 * the true one. */
#define CYCLE_GAIN 1e-7
/* A residual counts as rounding up to this multiple of u ||S|| ||x||. */
#define ACCEPTED 5

struct norma_refine {
    const norma_system *system;
    norma_lu *lu;
    double sigma_max;
    int64_t n;
    double *residual;                                  /* [n] */
    double *correction;                                /* [n] */
    double *trial;                                     /* [n] */
    double *share;                                     /* [features of this rank] */
    double *basis;                                     /* [MOST_VECTORS + 1][n] */
    double hessenberg[MOST_VECTORS][MOST_VECTORS + 1]; /* by column; triangular in the end */
    double cosine[MOST_VECTORS], sine[MOST_VECTORS];
    double rotated[MOST_VECTORS + 1]; /* the right-hand side of the small problem */
};

/* Measures or allocates: src/base/mem_place.h. */
static norma_status place(norma_refine *r, int64_t n_share, double *bytes)
{
    NORMA_TRY(NORMA_PLACE(r->residual, r->n, bytes));
    NORMA_TRY(NORMA_PLACE(r->correction, r->n, bytes));
    NORMA_TRY(NORMA_PLACE(r->trial, r->n, bytes));
    NORMA_TRY(NORMA_PLACE(r->share, n_share, bytes));
    return NORMA_PLACE_ROWS(r->basis, r->n, MOST_VECTORS + 1, bytes);
}

double norma_refine_bytes_local(int64_t n_system)
{
    norma_refine r = {.n = n_system};
    double bytes = (double)sizeof r;
    (void)place(&r, n_system, &bytes);
    return bytes;
}

norma_status norma_refine_create(const norma_system *system, norma_lu *lu, double sigma_max,
                                 norma_refine **out)
{
    norma_refine *r = NULL;
    int64_t first = 0;
    norma_status status = NORMA_CALLOC(r, 1);
    if (status == NORMA_OK) {
        r->system = system;
        r->lu = lu;
        r->sigma_max = sigma_max;
        r->n = system->rule->n_system;
        status = place(r, norma_product_share_local(system->product, &first), NULL);
    }
    status = norma_agree(system->comm, status);
    if (status == NORMA_OK)
        *out = r;
    else
        norma_refine_destroy_local(&r);
    return status;
}

/* out = S in, or S' in. */
static void apply(norma_refine *r, bool transpose, const double *in, double *out)
{
    norma_product *product = r->system->product;
    int64_t first = 0;
    norma_product_share_local(product, &first);
    if (!transpose) {
        norma_product_apply(product, NORMA_PRODUCT_SYSTEM, in + first, out);
        return;
    }
    norma_product_apply_transpose_local(product, NORMA_PRODUCT_SYSTEM, in, r->share);
    norma_product_gather(product, r->share, out);
}

/* residual = b - S x; its norm. */
static double measure(norma_refine *r, bool transpose, const double *b, const double *x)
{
    apply(r, transpose, x, r->residual);
    for (int64_t e = 0; e < r->n; e++)
        r->residual[e] = b[e] - r->residual[e];
    return norma_replicated_norm_local(r->residual, r->n);
}

static double wanted(const norma_refine *r, const double *x)
{
    return NORMA_ROUNDOFF * r->sigma_max * norma_replicated_norm_local(x, r->n);
}

/* Column j of the small problem: rotated into the triangle; returns the residual that is left. */
static double rotate(norma_refine *r, int j)
{
    double *h = r->hessenberg[j];
    for (int i = 0; i < j; i++) {
        double upper = r->cosine[i] * h[i] + r->sine[i] * h[i + 1];
        h[i + 1] = r->cosine[i] * h[i + 1] - r->sine[i] * h[i];
        h[i] = upper;
    }
    double size = hypot(h[j], h[j + 1]);
    r->cosine[j] = size > 0 ? h[j] / size : 1;
    r->sine[j] = size > 0 ? h[j + 1] / size : 0;
    h[j] = size;
    r->rotated[j + 1] = -r->sine[j] * r->rotated[j];
    r->rotated[j] *= r->cosine[j];
    return fabs(r->rotated[j + 1]);
}

/* Vector j + 1 of the basis: S times the preconditioned vector j, orthogonal to those before. */
static void extend(norma_refine *r, bool transpose, int j)
{
    double *h = r->hessenberg[j];
    double *next = r->basis + (j + 1) * r->n;
    norma_lu_solve(r->lu, transpose, r->basis + j * r->n, r->correction);
    apply(r, transpose, r->correction, next);
    for (int i = 0; i <= j; i++) {
        h[i] = norma_replicated_dot_local(r->basis + i * r->n, next, r->n);
        norma_replicated_add_local(-h[i], r->basis + i * r->n, next, r->n);
    }
    h[j + 1] = norma_replicated_norm_local(next, r->n);
    if (h[j + 1] > 0)
        norma_replicated_scale_local(1 / h[j + 1], next, r->n);
}

/* correction = GMRES's approximate solution of S correction = residual, whose norm is `size`, down
 * to `enough`. Overwrites the residual. */
static void run_gmres(norma_refine *r, bool transpose, double size, double enough,
                      int64_t *iterations)
{
    double left = size;
    int k = 0;
    memcpy(r->basis, r->residual, (size_t)r->n * sizeof *r->basis);
    norma_replicated_scale_local(1 / size, r->basis, r->n);
    r->rotated[0] = size;
    while (k < MOST_VECTORS && left > enough && left > CYCLE_GAIN * size) {
        extend(r, transpose, k);
        left = rotate(r, k);
        k++;
    }
    *iterations += k;
    memset(r->residual, 0, (size_t)r->n * sizeof *r->residual);
    for (int i = k - 1; i >= 0; i--) {
        for (int j = i + 1; j < k; j++)
            r->rotated[i] -= r->hessenberg[j][i] * r->rotated[j];
        r->rotated[i] = r->hessenberg[i][i] > 0 ? r->rotated[i] / r->hessenberg[i][i] : 0;
        norma_replicated_add_local(r->rotated[i], r->basis + i * r->n, r->residual, r->n);
    }
    norma_lu_solve(r->lu, transpose, r->residual, r->correction);
}

/* Takes x + correction if its residual is smaller; the residual is then x's in any case. */
static double improve(norma_refine *r, bool transpose, const double *b, double size, double *x)
{
    memcpy(r->trial, x, (size_t)r->n * sizeof *x);
    norma_replicated_add_local(1, r->correction, r->trial, r->n);
    double after = measure(r, transpose, b, r->trial);
    if (!(after < size))
        return measure(r, transpose, b, x);
    memcpy(x, r->trial, (size_t)r->n * sizeof *x);
    return after;
}

norma_status norma_refine_solve(norma_refine *r, bool transpose, double tolerance, const double *b,
                                double *x, int64_t *iterations)
{
    norma_lu_solve(r->lu, transpose, b, x);
    double before = INFINITY;
    double size = measure(r, transpose, b, x);
    for (int step = 0; step < MOST_STEPS && size <= before / 2 && size > wanted(r, x); step++) {
        norma_lu_solve(r->lu, transpose, r->residual, r->correction);
        double moved = norma_replicated_norm_local(r->correction, r->n);
        before = size;
        size = improve(r, transpose, b, size, x);
        ++*iterations;
        if (size <= before / 2 && moved <= tolerance * norma_replicated_norm_local(x, r->n))
            return NORMA_OK;
    }
    before = INFINITY;
    for (int cycle = 0; cycle < MOST_CYCLES && size <= before / 2 && isfinite(size) &&
                        size > ACCEPTED * wanted(r, x);
         cycle++) {
        run_gmres(r, transpose, size, wanted(r, x), iterations);
        before = size;
        size = improve(r, transpose, b, size, x);
    }
    if (size <= ACCEPTED * wanted(r, x))
        return NORMA_OK;
    return NORMA_FAIL(NORMA_NUMERIC,
                      "factors in single precision are too far from the system: backward error "
                      "%.3g after %lld steps",
                      size / wanted(r, x) * NORMA_ROUNDOFF, (long long)*iterations);
}

void norma_refine_destroy_local(norma_refine **refine)
{
    if (*refine) {
        NORMA_FREE((*refine)->residual);
        NORMA_FREE((*refine)->correction);
        NORMA_FREE((*refine)->trial);
        NORMA_FREE((*refine)->share);
        NORMA_FREE((*refine)->basis);
        NORMA_FREE(*refine);
    }
}
