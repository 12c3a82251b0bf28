#include "src/network/bounds.h"

#include "src/base/mem.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *name, *summary;
} table[NORMA_N_BOUNDS] = {
    [NORMA_BOUND_DATA] = {"data", "pre-activations measured on the samples"},
    [NORMA_BOUND_INTERVAL] = {"interval", "inputs of a layer measured per channel, interval "
                                          "arithmetic inside the layer"},
    [NORMA_BOUND_INTERVAL_DEEP] = {"interval-deep", "interval arithmetic from the declared range "
                                                    "of the network's input on"},
};

const norma_names norma_bound_names = NORMA_NAMES("bound", "bounds", table);

/* Unit roundoff. */
#define ROUNDOFF (DBL_EPSILON / 2)

/* Features whose weights are held at once. */
#define BLOCK 256

norma_status norma_bound_from_name(const char *name, norma_bound *out)
{
    int64_t i = 0;
    NORMA_TRY(norma_names_find(&norma_bound_names, name, &i));
    *out = (norma_bound)i;
    return NORMA_OK;
}

const char *norma_bound_name(norma_bound bound)
{
    return table[bound].name;
}

/* An interval sum under way: its ends and the sum of magnitudes that bounds its rounding. */
typedef struct interval_sum {
    double lo, hi, magnitude;
    int64_t n_terms;
} interval_sum;

static void add_product(interval_sum *sum, double w, double lo, double hi)
{
    double a = w * lo;
    double b = w * hi;
    sum->lo += fmin(a, b);
    sum->hi += fmax(a, b);
    sum->magnitude += fmax(fabs(a), fabs(b));
    sum->n_terms++;
}

/* The ends, moved outward by what rounding can have changed (here and in the sums they bound). */
static void close_sum(const interval_sum *sum, double *lo, double *hi)
{
    double slack = 2 * (double)(sum->n_terms + 4) * ROUNDOFF * sum->magnitude;
    *lo = sum->lo - slack;
    *hi = sum->hi + slack;
}

/* Does layer 1 see zeros beside the image's values? */
static bool sees_zeros(const norma_source_shape *shape)
{
    const norma_kernel *kernel = &shape->kernel;
    return shape->padding[0] > 0 || shape->padding[1] > 0 ||
           kernel->composite.height > kernel->target.height ||
           kernel->composite.width > kernel->target.width;
}

norma_status norma_bounds_interval(const norma_source_shape *shape, const norma_tensor *w1,
                                   const double *range_lo, const double *range_hi, double *lo,
                                   double *hi)
{
    int64_t n_taps = norma_kernel_taps(shape->kernel.first);
    int64_t row_size = shape->n_channels_in * n_taps;
    bool zeros = sees_zeros(shape);
    double *rows = NULL;
    NORMA_TRY(NORMA_ALLOC(rows, BLOCK * row_size));
    for (int64_t first = 0; first < shape->n_features; first += BLOCK) {
        int64_t count = shape->n_features - first < BLOCK ? shape->n_features - first : BLOCK;
        norma_tensor_fill(w1, first, count, rows);
        for (int64_t j = 0; j < count; j++) {
            interval_sum sum = {0};
            for (int64_t k = 0; k < row_size; k++) {
                double a = range_lo[k / n_taps];
                double b = range_hi[k / n_taps];
                add_product(&sum, rows[j * row_size + k], zeros ? fmin(a, 0) : a,
                            zeros ? fmax(b, 0) : b);
            }
            close_sum(&sum, &lo[first + j], &hi[first + j]);
        }
    }
    NORMA_FREE(rows);
    return NORMA_OK;
}

/* Ranges of a layer's outputs from those of its inputs. */
static void propagate_layer(const norma_layer *layer, const double *in_lo, const double *in_hi,
                            double *out_lo, double *out_hi)
{
    int64_t n_taps = norma_kernel_taps(layer->kernel);
    int64_t row_size = layer->n_channels_in * n_taps;
    bool zeros = layer->padding[0] > 0 || layer->padding[1] > 0;
    for (int64_t i = 0; i < layer->n_channels_out; i++) {
        interval_sum sum = {0};
        double lo = 0;
        double hi = 0;
        for (int64_t k = 0; k < row_size; k++) {
            double a = in_lo[k / n_taps];
            double b = in_hi[k / n_taps];
            add_product(&sum, layer->weight[i * row_size + k], zeros ? fmin(a, 0) : a,
                        zeros ? fmax(b, 0) : b);
        }
        add_product(&sum, layer->bias[i], 1, 1);
        close_sum(&sum, &lo, &hi);
        norma_activation_interval(&layer->activation, lo, hi, &out_lo[i], &out_hi[i]);
        /* The activation's own rounding, and that of an average. */
        double n = layer->pool == NORMA_POOL_GLOBAL_AVERAGE
                       ? (double)(layer->hidden.height * layer->hidden.width)
                       : 0;
        double slack = (n + 16) * ROUNDOFF * fmax(fabs(out_lo[i]), fabs(out_hi[i]));
        out_lo[i] -= slack;
        out_hi[i] += slack;
    }
}

/* Ranges per channel become ranges per input of a linear layer that flattens its input. */
static void flatten(int64_t n_given, int64_t n_wanted, double *lo, double *hi)
{
    int64_t n_pixels = n_wanted / n_given;
    if (n_pixels == 1)
        return;
    for (int64_t k = n_wanted - 1; k >= 0; k--) {
        lo[k] = lo[k / n_pixels];
        hi[k] = hi[k / n_pixels];
    }
}

norma_status norma_bounds_propagate(const norma_network *network, int64_t layer, double *range_lo,
                                    double *range_hi)
{
    norma_status status = NORMA_OK;
    double *lo = NULL;
    double *hi = NULL;
    int64_t size = network->input.channels;
    if (!(network->input_min <= network->input_max))
        return NORMA_FAIL(NORMA_CONFIG,
                          "interval-deep bounds need the range of the inputs: the target declares "
                          "no input_min, input_max");
    for (int64_t l = 0; l < network->n_layers; l++) {
        if (network->layers[l].n_channels_in > size)
            size = network->layers[l].n_channels_in;
        if (network->layers[l].n_channels_out > size)
            size = network->layers[l].n_channels_out;
    }
    NORMA_GOTO(status, NORMA_ALLOC(lo, 2 * size));
    NORMA_GOTO(status, NORMA_ALLOC(hi, 2 * size));
    int64_t n = network->input.channels;
    for (int64_t c = 0; c < n; c++) {
        lo[c] = network->input_min;
        hi[c] = network->input_max;
    }
    for (int64_t l = 0;; l++) {
        flatten(n, network->layers[l].n_channels_in, lo, hi);
        n = network->layers[l].n_channels_in;
        if (l == layer)
            break;
        propagate_layer(&network->layers[l], lo, hi, lo + size, hi + size);
        n = network->layers[l].n_channels_out;
        memcpy(lo, lo + size, (size_t)n * sizeof *lo);
        memcpy(hi, hi + size, (size_t)n * sizeof *hi);
    }
    memcpy(range_lo, lo, (size_t)n * sizeof *lo);
    memcpy(range_hi, hi, (size_t)n * sizeof *hi);
done:
    NORMA_FREE(lo);
    NORMA_FREE(hi);
    return status;
}

void norma_bounds_scale(int64_t n, const double *gamma1, const double *u_lo, const double *u_hi,
                        double roundoff, double *lo, double *hi)
{
    double of_range = fmax(1e-6, 200 * roundoff);
    double of_size = fmax(1e-9, 200 * roundoff);
    for (int64_t j = 0; j < n; j++) {
        double a = gamma1[j] * u_lo[j];
        double b = gamma1[j] * u_hi[j];
        double least = fmin(a, b);
        double most = fmax(a, b);
        double margin = of_range * (most - least) + of_size * fmax(fabs(least), fabs(most));
        lo[j] = least - margin;
        hi[j] = most + margin;
    }
}
