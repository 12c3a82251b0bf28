/* Cosines between the gradients, in the last W, of the losses of single samples (RANK20 Prop. 19).
 * Sample j has the cotangent that holds column j of dL/dH_L alone. */
#include "src/gradient/gradient_state.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* products[N][N] = <G_i, G_j>, G_j = v_j h_j': chains whose samples do not mix. */
static void separate_products(norma_gradient *g, const double *h)
{
    const int d = (int)g->spec->width, n = (int)g->spec->batch;
    memcpy(g->spare, g->v, (size_t)d * (size_t)n * sizeof *g->v);
    norma_gradient_map_back(&g->map, g->spare);
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, n, d, 1, g->spare, n, g->spare, n, 0,
                g->samples, n);
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, n, d, 1, h, n, h, n, 0, g->products, n);
    for (int k = 0; k < n * n; k++)
        g->products[k] *= g->samples[k];
}

/* The same where normalization sends the gradient of a sample through the batch: G_j = V_j H', a
 * row of W at a time. */
static void mixed_products(norma_gradient *g, const double *h)
{
    const int d = (int)g->spec->width, n = (int)g->spec->batch;
    memset(g->products, 0, (size_t)n * (size_t)n * sizeof *g->products);
    for (int64_t row = 0; row < d; row++) {
        norma_gradient_map_back_samples(&g->map, g->v, row, g->samples);
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, d, n, 1, g->samples, n, h, n, 0,
                    g->spread, d);
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, d, 1, g->spread, d, g->spread, d,
                    1, g->products, n);
    }
}

void norma_gradient_cosine(norma_gradient *g)
{
    const int64_t n = g->spec->batch;
    const double *h = NULL, *z = NULL, *p = g->products;
    int64_t at = 0;
    norma_gradient_loaded(g, g->request.depth - 1, &h, &z);
    if (norma_gradient_map_mixes(g->spec))
        mixed_products(g, h);
    else
        separate_products(g, h);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) {
            double norms = sqrt(p[i * n + i]) * sqrt(p[j * n + j]);
            g->cosine[at++] = norms > 0 ? p[i * n + j] / norms : NAN;
        }
}
