/* The spectral norm of the Jacobian dH_(a + K) / dH_a of a window of layers. */
#include "src/gradient/gradient_state.h"

#include <cblas.h>
#include <math.h>

enum { N_POWER_STEPS = 20, TENSOR_TANGENT = 4 };

static const double log_2 = 0.69314718055994530942;

/* One layer of the window; the tangent comes back in tangent[0], its scale in *exponent. */
static norma_status pass_layer(norma_gradient *g, int64_t layer, bool back, int64_t *exponent)
{
    const int64_t count = g->spec->width * g->spec->batch;
    const double *h = NULL, *z = NULL;
    double **u = g->tangent;
    norma_gradient_loaded(g, layer, &h, &z);
    norma_gradient_take_weights(g, layer);
    norma_gradient_map_set(&g->map, layer, z);
    if (back) {
        norma_gradient_map_back(&g->map, u[0]);
        NORMA_TRY(norma_gradient_weights_back(&g->weights, h, u[0], u[1]));
    } else {
        NORMA_TRY(norma_gradient_weights_apply(&g->weights, u[0], u[1]));
        norma_gradient_map_forward(&g->map, u[1]);
    }
    double *swap = u[0];
    u[0] = u[1];
    u[1] = swap;
    if (g->spec->norm != NORMA_CHAIN_NORM_NONE)
        *exponent -= g->exponent[layer % g->segment];
    if (norma_gradient_rescale(count, u[0], exponent))
        return NORMA_OK;
    return NORMA_FAIL(NORMA_NUMERIC, "layer %lld, replica %lld: the Jacobian is not finite",
                      (long long)layer, (long long)g->draw.replica);
}

/* log of the factor by which the window, or its transpose, stretches tangent[0]. */
static norma_status pass_window(norma_gradient *g, int64_t first, bool back, double *log_factor)
{
    const int64_t k = g->request.jacobian;
    const int count = (int)(g->spec->width * g->spec->batch);
    int64_t exponent = 0;
    const double before = cblas_dnrm2(count, g->tangent[0], 1);
    for (int64_t i = 0; i < k; i++)
        NORMA_TRY(pass_layer(g, back ? first + k - 1 - i : first + i, back, &exponent));
    const double after = cblas_dnrm2(count, g->tangent[0], 1);
    *log_factor = log(after / before) + (double)exponent * log_2;
    return NORMA_OK;
}

norma_status norma_gradient_jacobian(norma_gradient *g, int64_t window)
{
    const int64_t count = g->spec->width * g->spec->batch, first = window * g->request.jacobian;
    const norma_rng_stream stream = {NORMA_RNG_CHAIN_GRADIENT, TENSOR_TANGENT, first,
                                     g->draw.replica, g->draw.cell};
    double ahead = 0, back = 0;
    norma_rng_fill_normal(g->draw.seed, &stream, 0, count, g->tangent[0]);
    for (int i = 0; i < N_POWER_STEPS; i++) {
        NORMA_TRY(pass_window(g, first, false, &ahead));
        back = ahead;
        if (isinf(ahead)) /* the Jacobian is 0 to rounding */
            break;
        NORMA_TRY(pass_window(g, first, true, &back));
        if (isinf(back))
            break;
    }
    g->log_jacobian[window] = back;
    return NORMA_OK;
}
