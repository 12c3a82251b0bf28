/* W' V under law exact: src/gradient/weights.h has the formula. */
#include "src/gradient/weights.h"

#include "src/chain/lapack.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* Signs that make R's diagonal positive, as in the forward pass. */
static double sign_of(const double *x, int64_t d, int64_t j)
{
    return x[j + j * d] < 0 ? -1 : 1;
}

/* x, column-major [d, k] with Householder's factors, becomes Q, with R's diagonal positive. */
static norma_status form_q(norma_gradient_weights *w, int64_t k, double *x)
{
    const int64_t d = w->spec->width;
    int rows = (int)d, columns = (int)k, info = 0, lwork = (int)w->n_lapack;
    for (int64_t j = 0; j < k; j++)
        w->sign[j] = sign_of(x, d, j);
    dorgqr_(&rows, &columns, &columns, x, &rows, w->tau, w->lapack, &lwork, &info);
    if (info != 0)
        return NORMA_FAIL(NORMA_LIBRARY, "DORGQR returned %d", info);
    for (int64_t j = 0; j < k; j++)
        cblas_dscal(rows, w->sign[j], x + j * d, 1);
    return NORMA_OK;
}

/* q = Q of H = Q R. */
static norma_status make_q(norma_gradient_weights *w, const double *h)
{
    const int64_t d = w->spec->width, n = w->spec->batch;
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < n; j++)
            w->q[i + j * d] = h[i * n + j];
    NORMA_TRY(norma_gradient_qr(w, d, n, w->q));
    return form_q(w, n, w->q);
}

/* image[d][N] = W Q as the forward pass drew it, with its factor. */
static norma_status make_image(norma_gradient_weights *w)
{
    const int64_t d = w->spec->width, n = w->spec->batch;
    const double factor = norma_chain_weights_factor(w->spec);
    if (!w->haar) {
        norma_chain_weights_exact(&w->draw, d, n, w->image);
        for (int64_t k = 0; k < d * n; k++)
            w->image[k] *= factor;
        return NORMA_OK;
    }
    norma_chain_weights_reflectors(&w->draw, NORMA_CHAIN_TENSOR_EXACT, d, n, w->reflectors, w->tau,
                                   w->sign);
    memset(w->image, 0, (size_t)(d * n) * sizeof *w->image);
    for (int64_t i = 0; i < n; i++)
        w->image[i * n + i] = 1;
    return norma_gradient_reflect(w, n, false, n, w->image);
}

/* fresh, column-major [d, k]: normals of the backward pass. */
static void draw_fresh(const norma_gradient_weights *w, int64_t k)
{
    const norma_rng_stream stream = {NORMA_RNG_CHAIN_GRADIENT, 0, w->draw.layer, w->draw.replica,
                                     w->draw.cell};
    norma_rng_fill_normal(w->draw.seed, &stream, 0, w->spec->width * k, w->fresh);
}

/* x, column-major [d, k], minus Q Q' x. */
static void project_off(const norma_gradient_weights *w, int64_t k, double *x)
{
    const int d = (int)w->spec->width, n = (int)w->spec->batch, columns = (int)k;
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, n, columns, d, 1, w->q, d, x, d, 0,
                w->small, n);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, d, columns, n, -1, w->q, d, w->small, n,
                1, x, d);
}

/* columns, column-major [d, N] = V. */
static void copy_columns(norma_gradient_weights *w, const double *v)
{
    const int64_t d = w->spec->width, n = w->spec->batch;
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < n; j++)
            w->columns[i + j * d] = v[i * n + j];
}

/* triangle, column-major [k, N]: the upper trapezoid of `columns`. */
static void take_triangle(norma_gradient_weights *w, int64_t k)
{
    const int64_t d = w->spec->width, n = w->spec->batch;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < k; i++)
            w->triangle[i + j * k] = i <= j ? w->columns[i + j * d] : 0;
}

/* Normal laws: fresh = (1 - QQ') F with W's variance, triangle = r of V = q r; *k = N. */
static norma_status draw_normal(norma_gradient_weights *w, const double *v, int64_t *k)
{
    const int64_t n = w->spec->batch;
    const double factor = norma_chain_weights_factor(w->spec);
    *k = n;
    copy_columns(w, v);
    NORMA_TRY(norma_gradient_qr(w, w->spec->width, n, w->columns));
    take_triangle(w, n);
    draw_fresh(w, n);
    for (int64_t i = 0; i < w->spec->width * n; i++)
        w->fresh[i] *= factor;
    project_off(w, n, w->fresh);
    return NORMA_OK;
}

/* columns, column-major [d, N] = V in an orthonormal basis whose last d - N vectors span the
 * complement of the image: by the reflectors of the image's QR factorization. */
static norma_status rotate_columns(norma_gradient_weights *w, const double *v)
{
    const int64_t d = w->spec->width, n = w->spec->batch;
    int rows = (int)d, columns = (int)n, info = 0, lwork = (int)w->n_lapack;
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < n; j++)
            w->complement[i + j * d] = w->image[i * n + j];
    NORMA_TRY(norma_gradient_qr(w, d, n, w->complement));
    copy_columns(w, v);
    dormqr_("L", "T", &rows, &columns, &columns, w->complement, &rows, w->tau, w->columns, &rows,
            w->lapack, &lwork, &info);
    return info == 0 ? NORMA_OK : NORMA_FAIL(NORMA_LIBRARY, "DORMQR returned %d", info);
}

/* Haar weights: fresh = F, triangle = r of (1 - ZZ')V = q r; *k = min(N, d - N). */
static norma_status draw_haar(norma_gradient_weights *w, const double *v, int64_t *k)
{
    const int64_t d = w->spec->width, n = w->spec->batch, rest = d - n;
    *k = n < rest ? n : rest;
    NORMA_TRY(rotate_columns(w, v));
    for (int64_t j = 0; j < n; j++) { /* the coordinates in the complement come first */
        memmove(w->columns + j * d, w->columns + j * d + n, (size_t)rest * sizeof *w->columns);
        memset(w->columns + j * d + rest, 0, (size_t)n * sizeof *w->columns);
    }
    if (n < rest) {
        NORMA_TRY(norma_gradient_qr(w, d, n, w->columns));
        take_triangle(w, n);
    } else {
        for (int64_t j = 0; j < n; j++)
            memcpy(w->triangle + j * rest, w->columns + j * d, (size_t)rest * sizeof *w->triangle);
    }
    draw_fresh(w, *k);
    project_off(w, *k, w->fresh);
    NORMA_TRY(norma_gradient_qr(w, d, *k, w->fresh));
    NORMA_TRY(form_q(w, *k, w->fresh));
    project_off(w, *k, w->fresh); /* once more: what rounding left of Q in it */
    return NORMA_OK;
}

norma_status norma_gradient_exact_back(norma_gradient_weights *w, const double *h, const double *v,
                                       double *out)
{
    const norma_chain_spec *spec = w->spec;
    const int d = (int)spec->width, n = (int)spec->batch;
    const double alpha = norma_gradient_weights_strength(spec);
    int64_t k = 0;
    NORMA_TRY(make_q(w, h));
    NORMA_TRY(make_image(w));
    NORMA_TRY(w->haar ? draw_haar(w, v, &k) : draw_normal(w, v, &k));
    if (!isinf(spec->residual))
        memcpy(out, v, (size_t)(spec->width * spec->batch) * sizeof *out);
    /* out += alpha F r, both column-major, that is row-major transposed */
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasTrans, d, n, (int)k, alpha, w->fresh, d,
                w->triangle, (int)k, isinf(spec->residual) ? 0 : 1, out, n);
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, n, d, 1, w->image, n, v, n, 0, w->small,
                n);
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, d, n, n, alpha, w->q, d, w->small, n, 1,
                out, n);
    return NORMA_OK;
}
