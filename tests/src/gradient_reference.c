#include "tests/src/gradient_reference.h"

#include "src/chain/weights.h"
#include "tests/harness/harness.h"

#include <math.h>
#include <string.h>

static long double phi(const norma_activation *a, long double x)
{
    const long double root2 = sqrtl(2.0L), p = a->parameter;
    switch (a->kind) {
    case NORMA_ACTIVATION_RELU:
        return x > 0 ? x : 0;
    case NORMA_ACTIVATION_LEAKY_RELU:
        return x > 0 ? x : p * x;
    case NORMA_ACTIVATION_TANH:
        return tanhl(x);
    case NORMA_ACTIVATION_SIGMOID:
        return 1 / (1 + expl(-x));
    case NORMA_ACTIVATION_GELU:
        return x * (1 + erfl(x / root2)) / 2;
    case NORMA_ACTIVATION_SILU:
        return x / (1 + expl(-x));
    case NORMA_ACTIVATION_SOFTPLUS:
        return log1pl(expl(x));
    case NORMA_ACTIVATION_RELU6:
        return fminl(fmaxl(x, 0), 6);
    case NORMA_ACTIVATION_HARD_SIGMOID:
        return fminl(fmaxl(p * x + 0.5L, 0), 1);
    case NORMA_ACTIVATION_HARD_SWISH:
        return x * fminl(fmaxl(x / 6 + 0.5L, 0), 1);
    case NORMA_ACTIVATION_CLIP:
        return fminl(fmaxl(x, -p), p);
    case NORMA_ACTIVATION_SIN:
        return sinl(x);
    case NORMA_ACTIVATION_SELU:
        return (long double)1.0507009873554804934193349852946 *
               (x > 0 ? x : (long double)1.6732632423543772848170429916717 * expm1l(x));
    case NORMA_ACTIVATION_EXP:
        return expl(x);
    case NORMA_ACTIVATION_ERF:
        return erfl(x);
    case NORMA_ACTIVATION_HERMITE: /* degree 3 */
        return (x * x * x - 3 * x) / sqrtl(6.0L);
    default:
        return x;
    }
}

/* norm times scale, in place. */
static void normalize(const norma_chain_spec *spec, long double scale, long double x[D][N])
{
    const bool rows =
        spec->norm == NORMA_CHAIN_NORM_BN || spec->norm == NORMA_CHAIN_NORM_BN_CENTERED;
    const bool centered =
        spec->norm == NORMA_CHAIN_NORM_LN || spec->norm == NORMA_CHAIN_NORM_BN_CENTERED;
    const int lines = rows ? D : N, length = rows ? N : D;
    for (int i = 0; i < lines && spec->norm != NORMA_CHAIN_NORM_NONE; i++) {
        long double mean = 0, square = 0;
        for (int j = 0; j < length; j++)
            mean += (rows ? x[i][j] : x[j][i]) / length;
        for (int j = 0; j < length; j++) {
            long double *at = rows ? &x[i][j] : &x[j][i];
            *at -= centered ? mean : 0;
            square += *at * *at;
        }
        long double norm = sqrtl(square / length + spec->bn_eps) * sqrtl(length);
        for (int j = 0; j < length; j++)
            *(rows ? &x[i][j] : &x[j][i]) *= scale * (spec->unit_norm ? 1 : sqrtl(length)) / norm;
    }
    for (int k = 0; k < D * N && spec->norm == NORMA_CHAIN_NORM_NONE; k++)
        x[k / N][k % N] *= scale;
}

static void activate(const norma_chain_spec *spec, int layer, long double x[D][N])
{
    const long double gain = spec->gain * powl(layer + 1, -spec->gain_exponent);
    for (int k = 0; k < D * N; k++)
        x[k / N][k % N] = spec->act_scale * phi(&spec->activation, gain * x[k / N][k % N]);
}

void run_layer(const reference *r, int layer, long double h[D][N], long double out[D][N])
{
    const norma_chain_spec *spec = r->spec;
    const bool skip = !isinf(spec->residual);
    for (int i = 0; i < D; i++)
        for (int j = 0; j < N; j++) {
            long double sum = 0;
            for (int k = 0; k < D; k++)
                sum += r->w[layer][i][k] * h[k][j];
            out[i][j] = skip ? h[i][j] + spec->residual * sum : sum;
        }
    if (spec->order == NORMA_CHAIN_NORM_ACT) {
        normalize(spec, 1, out);
        activate(spec, layer, out);
        for (int k = 0; k < D * N; k++)
            out[k / N][k % N] *= spec->scale;
    } else {
        activate(spec, layer, out);
        normalize(spec, spec->scale, out);
    }
}

static long double sample_loss(const reference *r, const long double *o, int sample)
{
    const int c = (int)r->loss.classes;
    long double sum = 0, most = o[0];
    switch (r->loss.kind) {
    case NORMA_GRADIENT_LOSS_COTANGENT:
        for (int k = 0; k < c; k++)
            sum += r->cotangent[k][sample] * o[k];
        return sum;
    case NORMA_GRADIENT_LOSS_MSE:
        for (int k = 0; k < c; k++)
            sum += (o[k] - (k == r->label[sample])) * (o[k] - (k == r->label[sample])) / N;
        return sum;
    default:
        for (int k = 0; k < c; k++)
            most = fmaxl(most, o[k]);
        for (int k = 0; k < c; k++)
            sum += expl(o[k] - most);
        return (logl(sum) + most - o[r->label[sample]]) / N;
    }
}

long double loss_of(const reference *r)
{
    long double h[2][D][N], sum = 0, o[MOST_CLASSES] = {0};
    memcpy(h[0], r->h0, sizeof r->h0);
    for (int l = 0; l < L; l++)
        run_layer(r, l, h[l % 2], h[(l + 1) % 2]);
    for (int j = 0; j < N; j++) {
        if (r->only >= 0 && j != r->only)
            continue;
        for (int c = 0; c < r->loss.classes; c++) {
            o[c] = 0;
            for (int i = 0; i < D; i++)
                o[c] += r->readout[i][c] * h[L % 2][i][j];
        }
        sum += sample_loss(r, o, j);
    }
    return sum;
}

void differentiate(reference *r, int layer, double *out)
{
    const long double step = 1e-6L;
    for (int k = 0; k < D * D; k++) {
        long double *w = &r->w[layer][k / D][k % D], was = *w;
        *w = was + step;
        long double above = loss_of(r);
        *w = was - step;
        out[k] = (double)((above - loss_of(r)) / (2 * step));
        *w = was;
    }
}

/* W of a layer, from its reflectors for Haar weights. */
static void make_weights(const norma_chain_spec *spec, uint64_t seed, int layer,
                         long double w[D][D])
{
    const norma_chain_draw draw = {seed, 0, 0, layer};
    double rows[D * D] = {0}, tau[D], sign[D];
    if (norma_law_get(spec->weights)->source != NORMA_LAW_HAAR) {
        norma_chain_weights_rows(spec, &draw, 0, D, rows);
        for (int k = 0; k < D * D; k++)
            w[k / D][k % D] = rows[k] * (long double)norma_chain_weights_factor(spec);
        return;
    }
    norma_chain_weights_reflectors(&draw, NORMA_CHAIN_TENSOR_WEIGHTS, D, D, rows, tau, sign);
    for (int j = 0; j < D; j++) {
        long double x[D] = {0};
        x[j] = sign[j];
        for (int k = D - 1; k >= 0; k--) {
            long double dot = x[k];
            for (int i = k + 1; i < D; i++)
                dot += rows[k * D + i] * x[i];
            for (int i = k; i < D; i++)
                x[i] -= tau[k] * (i == k ? 1 : rows[k * D + i]) * dot;
        }
        for (int i = 0; i < D; i++)
            w[i][j] = x[i];
    }
}

static const norma_chain_input gaussian = {.kind = NORMA_CHAIN_INPUT_GAUSSIAN, .epsilon = NAN};

void make_reference(const norma_chain_spec *spec, const norma_gradient_loss_spec *loss,
                    uint64_t seed, reference *r)
{
    norma_observable_request nothing;
    norma_chain *chain = NULL;
    norma_gradient_loss made = {0};
    double h[D * N];
    int64_t exponent = 0;
    memset(r, 0, sizeof *r);
    r->spec = spec;
    r->loss = *loss;
    r->only = -1;
    norma_observable_request_init(&nothing);
    nothing.wanted = 0;
    norma_test_ok(norma_chain_create(spec, &gaussian, &nothing, 1, &chain));
    norma_test_ok(norma_chain_start(chain, seed, 0, 0, 1));
    norma_chain_get_matrix(chain, 0, h, &exponent);
    norma_chain_destroy(&chain);
    for (int k = 0; k < D * N; k++)
        r->h0[k / N][k % N] = ldexpl(h[k], (int)exponent);
    for (int l = 0; l < L; l++)
        make_weights(spec, seed, l, r->w[l]);
    norma_test_ok(norma_gradient_loss_place(&made, loss, D, N, NULL));
    norma_test_ok(norma_gradient_loss_start(&made, seed, 0, 0));
    for (int i = 0; i < D; i++)
        for (int c = 0; c < loss->classes; c++)
            r->readout[i][c] = made.readout[i * loss->classes + c];
    for (int k = 0; k < loss->classes * N; k++)
        r->cotangent[k / N][k % N] = made.cotangent[k];
    for (int j = 0; j < N; j++)
        r->label[j] = made.labels[j];
    norma_gradient_loss_clear(&made);
}
