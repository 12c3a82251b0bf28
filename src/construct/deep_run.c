/* Running a deep linear source: shifts and outputs. */
#include "src/base/mem.h"
#include "src/construct/construction.h"
#include "src/construct/deep.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The range of z_l[c] = gamma_l (W_l * ... * x)[c] for inputs in [lo, hi]. */
static void bound(const norma_deep *d, int64_t l, int64_t c, const double *lo, const double *hi,
                  double range[2])
{
    int64_t c0 = d->shape.width[0];
    int64_t taps = norma_kernel_taps(d->composite);
    range[0] = range[1] = 0;
    for (int64_t p = 0; p < norma_kernel_taps(d->below_kernel[l]); p++)
        for (int64_t j = 0; j < c0; j++) {
            double w = d->gamma[l][c] * d->below[l][(p * c0 + j) * d->shape.width[l] + c];
            range[0] += fmin(w * lo[j * taps], w * hi[j * taps]);
            range[1] += fmax(w * lo[j * taps], w * hi[j * taps]);
        }
}

/* Of a layer's units and the ones before. */
typedef struct opening {
    double *shift, *shift_before; /* b, added to z */
    double *reach, *reach_before; /* largest |z + b| */
    double *variance;             /* [c_L] */
} opening;

/* Sums over the inputs of unit c of layer l: absolute values, squares, products with the shifts. */
typedef struct terms {
    double absolute, square, shift;
} terms;

static terms sum_terms(const norma_deep *d, const opening *o, int64_t l, int64_t c)
{
    int64_t before = d->shape.width[l - 1];
    terms sum = {0, 0, 0};
    for (int64_t q = 0; q < norma_kernel_taps(d->shape.kernel[l]); q++)
        for (int64_t m = 0; m < before; m++) {
            double w = d->weight[l][(q * d->shape.width[l] + c) * before + m];
            double size = fabs(w) * o->reach_before[m];
            sum.absolute += size;
            sum.square += size * size;
            sum.shift += w * o->shift_before[m];
        }
    return sum;
}

/* The variance that rounding of size error2 in channel c of layer l gives the outputs. */
static void pass_error(const norma_deep *d, int64_t l, int64_t c, double error2, opening *o)
{
    int64_t last = d->shape.n_layers;
    int64_t out = d->shape.width[last];
    for (int64_t q = 0; q < norma_kernel_taps(d->above_kernel[l]); q++)
        for (int64_t i = 0; i < out; i++) {
            double up = d->above[l][(q * out + i) * d->shape.width[l] + c];
            o->variance[i] += up * up * error2;
        }
}

static void open_layer(norma_deep *d, const norma_activation *activation, int64_t l,
                       const double *lo, const double *hi, const double *bias, opening *o,
                       double *magnitude)
{
    const double u = DBL_EPSILON / 2;
    bool is_last = l == d->shape.n_layers;
    for (int64_t c = 0; c < d->shape.width[l]; c++) {
        double range[2];
        double gamma = d->gamma[l][c];
        bound(d, l, c, lo, hi, range);
        terms sum = sum_terms(d, o, l, c);
        double margin = 1e-6 * (range[1] - range[0]) + 1e-9 * fmax(fabs(range[0]), fabs(range[1])) +
                        u * (double)d->shape.width[l - 1] * fabs(gamma) * sum.absolute;
        bool closed = activation->kind != NORMA_ACTIVATION_IDENTITY && range[0] < margin;
        double shift = is_last ? bias[c] : closed ? margin - range[0] : 0;
        d->beta[l][c] = shift - gamma * sum.shift;
        o->shift[c] = shift;
        o->reach[c] = fmax(fabs(range[0] + shift), fabs(range[1] + shift));
        pass_error(d, l, c,
                   u * u *
                       (gamma * gamma * sum.square + d->beta[l][c] * d->beta[l][c] +
                        o->reach[c] * o->reach[c]),
                   o);
        if (is_last)
            *magnitude = fmax(*magnitude, fabs(gamma) * sum.absolute + fabs(d->beta[l][c]));
    }
}

norma_status norma_deep_open(norma_deep *d, const norma_activation *activation, const double *lo,
                             const double *hi, const double *bias, double *magnitude,
                             double *rounding)
{
    const norma_deep_shape *s = &d->shape;
    int64_t taps = norma_kernel_taps(d->composite);
    int64_t most = 0;
    double *room = NULL;
    NORMA_TRY(norma_construction_check_opening(activation));
    for (int64_t l = 0; l <= s->n_layers; l++)
        most = s->width[l] > most ? s->width[l] : most;
    NORMA_TRY(NORMA_CALLOC(room, 5 * most));
    opening o = {.shift = room,
                 .shift_before = room + most,
                 .reach = room + 2 * most,
                 .reach_before = room + 3 * most,
                 .variance = room + 4 * most};
    norma_deep_update(d);
    for (int64_t j = 0; j < s->width[0]; j++)
        o.reach_before[j] = fmax(fabs(lo[j * taps]), fabs(hi[j * taps]));
    *magnitude = *rounding = 0;
    for (int64_t l = 1; l <= s->n_layers; l++) {
        open_layer(d, activation, l, lo, hi, bias, &o, magnitude);
        double *swapped[] = {o.shift, o.reach};
        o.shift = o.shift_before;
        o.reach = o.reach_before;
        o.shift_before = swapped[0];
        o.reach_before = swapped[1];
    }
    for (int64_t i = 0; i < s->width[s->n_layers]; i++)
        *rounding = fmax(*rounding, sqrt(o.variance[i]));
    NORMA_FREE(room);
    return NORMA_OK;
}

/* --- outputs ---------------------------------------------------------------------------------- */

/* One image through layer l: in[c_(l-1)][extent], out[c_l][the extent less the kernel, plus 1]. */
static void run_layer(const norma_deep *d, const norma_activation *activation, int64_t l,
                      norma_kernel_shape extent, const double *in, double *out, int64_t *n_clipped)
{
    const norma_kernel_shape k = d->shape.kernel[l];
    int64_t before = d->shape.width[l - 1];
    int64_t width = d->shape.width[l];
    int64_t high = extent.height - k.height + 1;
    int64_t wide = extent.width - k.width + 1;
    for (int64_t c = 0; c < width; c++)
        for (int64_t at = 0; at < high * wide; at++) {
            double sum = 0;
            for (int64_t q = 0; q < norma_kernel_taps(k); q++) {
                const double *w = d->weight[l] + (q * width + c) * before;
                int64_t pixel = (at / wide + q / k.width) * extent.width + at % wide + q % k.width;
                for (int64_t m = 0; m < before; m++)
                    sum += w[m] * in[m * norma_kernel_taps(extent) + pixel];
            }
            double value = d->gamma[l][c] * sum + d->beta[l][c];
            if (l < d->shape.n_layers) {
                if (activation->kind != NORMA_ACTIVATION_IDENTITY)
                    *n_clipped += value < 0;
                value = norma_activation_value(activation, value);
            }
            out[c * high * wide + at] = value;
        }
}

norma_status norma_deep_run(const norma_deep *d, const norma_activation *activation, int64_t n,
                            const double *x, double *y, int64_t *n_clipped)
{
    const norma_deep_shape *s = &d->shape;
    int64_t taps = norma_kernel_taps(d->composite);
    int64_t most = 0;
    double *room = NULL;
    for (int64_t l = 0; l <= s->n_layers; l++)
        most = s->width[l] > most ? s->width[l] : most;
    NORMA_TRY(NORMA_ALLOC(room, 2 * most * taps));
    for (int64_t e = 0; e < n; e++) {
        norma_kernel_shape extent = d->composite;
        double *in = room;
        double *out = room + most * taps;
        memcpy(in, x + e * s->width[0] * taps, (size_t)(s->width[0] * taps) * sizeof *in);
        for (int64_t l = 1; l <= s->n_layers; l++) {
            double *swapped = in;
            run_layer(d, activation, l, extent, in, out, n_clipped);
            extent.height -= s->kernel[l].height - 1;
            extent.width -= s->kernel[l].width - 1;
            in = out;
            out = swapped;
        }
        memcpy(y + e * s->width[s->n_layers], in, (size_t)s->width[s->n_layers] * sizeof *y);
    }
    NORMA_FREE(room);
    return NORMA_OK;
}
