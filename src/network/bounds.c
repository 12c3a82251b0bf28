#include "src/network/bounds.h"

#include "src/base/mem.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

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
    return shape->padding[0] > 0 || shape->padding[1] > 0 || shape->padding_far[0] > 0 ||
           shape->padding_far[1] > 0;
}

norma_status norma_bounds_interval(const norma_source_shape *shape, const norma_tensor *w1,
                                   const double *range_lo, const double *range_hi, double *lo,
                                   double *hi)
{
    int64_t n_taps = norma_kernel_taps(shape->kernel.first);
    int64_t n_in = shape->n_channels_in / shape->groups;
    int64_t n_features = shape->n_features / shape->groups;
    int64_t row_size = n_in * n_taps;
    bool zeros = sees_zeros(shape);
    double *rows = NULL;
    NORMA_TRY(NORMA_ALLOC(rows, BLOCK * row_size));
    for (int64_t first = 0; first < shape->n_features; first += BLOCK) {
        int64_t count = shape->n_features - first < BLOCK ? shape->n_features - first : BLOCK;
        norma_tensor_fill(w1, first, count, rows);
        for (int64_t j = 0; j < count; j++) {
            interval_sum sum = {0};
            int64_t c = (first + j) / n_features * n_in;
            for (int64_t k = 0; k < row_size; k++) {
                double a = range_lo[c + k / n_taps];
                double b = range_hi[c + k / n_taps];
                add_product(&sum, rows[j * row_size + k], zeros ? fmin(a, 0) : a,
                            zeros ? fmax(b, 0) : b);
            }
            close_sum(&sum, &lo[first + j], &hi[first + j]);
        }
    }
    NORMA_FREE(rows);
    return NORMA_OK;
}

/* Does a layer see zeros beside the values of its input? */
static bool has_padding(const norma_layer *layer)
{
    return layer->padding[0] > 0 || layer->padding[1] > 0 ||
           layer->padding[0] + layer->padding_more[0] > 0 ||
           layer->padding[1] + layer->padding_more[1] > 0;
}

/* Ranges of a layer's outputs from those of its inputs. */
static void propagate_layer(const norma_layer *layer, const double *in_lo, const double *in_hi,
                            double *out_lo, double *out_hi)
{
    int64_t n_taps = norma_kernel_taps(layer->kernel);
    int64_t n_in = layer->n_channels_in / layer->groups;
    int64_t n_out = layer->n_channels_out / layer->groups;
    int64_t row_size = n_in * n_taps;
    bool zeros = has_padding(layer);
    for (int64_t i = 0; i < layer->n_channels_out; i++) {
        interval_sum sum = {0};
        double lo = 0;
        double hi = 0;
        for (int64_t k = 0; k < row_size; k++) {
            double a = in_lo[i / n_out * n_in + k / n_taps];
            double b = in_hi[i / n_out * n_in + k / n_taps];
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

/* The ranges of all values of a network, channel by channel: those of value v (0: the input, l + 1:
 * of layer l) begin at first[v]. */
typedef struct range_set {
    const norma_network *network; /* borrowed */
    int64_t *first;               /* [n_layers + 2]; owned */
    double *lo, *hi;              /* [first[n_layers + 1]]; owned */
} range_set;

static void clear_ranges(range_set *set)
{
    NORMA_FREE(set->first);
    NORMA_FREE(set->lo);
    NORMA_FREE(set->hi);
}

static norma_status create_ranges(const norma_network *network, int64_t n_layers, range_set *set)
{
    *set = (range_set){.network = network};
    NORMA_TRY(NORMA_ALLOC(set->first, n_layers + 2));
    set->first[0] = 0;
    set->first[1] = network->input.channels;
    for (int64_t l = 0; l < n_layers; l++)
        set->first[l + 2] = set->first[l + 1] + network->layers[l].n_channels_out;
    NORMA_TRY(NORMA_ALLOC(set->lo, set->first[n_layers + 1]));
    NORMA_TRY(NORMA_ALLOC(set->hi, set->first[n_layers + 1]));
    for (int64_t c = 0; c < network->input.channels; c++) {
        set->lo[c] = network->input_min;
        set->hi[c] = network->input_max;
    }
    return NORMA_OK;
}

/* The range of channel c of a layer's input number k, of n channels that the layer sees there: each
 * channel of the value is repeated for its pixels, or for all channels where it has one. */
static void input_range(const range_set *set, const norma_layer *layer, int64_t k, int64_t n,
                        int64_t c, double *lo, double *hi)
{
    int64_t value = set->network->inputs[layer->first_input + k] + 1;
    int64_t n_given = set->first[value + 1] - set->first[value];
    int64_t at = set->first[value] + (n > n_given ? c / (n / n_given) : c);
    *lo = set->lo[at];
    *hi = set->hi[at];
}

/* a joined with the range b of a layer's next input. */
static void join_ranges(norma_layer_kind kind, const double b[2], double a[2])
{
    if (kind == NORMA_LAYER_ADD) {
        a[0] += b[0];
        a[1] += b[1];
        return;
    }
    const double ends[4] = {a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]};
    a[0] = fmin(fmin(ends[0], ends[1]), fmin(ends[2], ends[3]));
    a[1] = fmax(fmax(ends[0], ends[1]), fmax(ends[2], ends[3]));
}

/* Moves the ends of a range outward by n roundings of its largest number. */
static void widen(double n, double range[2])
{
    double slack = n * ROUNDOFF * fmax(fabs(range[0]), fabs(range[1]));
    range[0] -= slack;
    range[1] += slack;
}

static norma_status propagate_kernel(const range_set *set, int64_t l)
{
    const norma_layer *layer = &set->network->layers[l];
    int64_t n = layer->n_channels_in;
    double *in = NULL;
    NORMA_TRY(NORMA_ALLOC(in, 2 * n));
    for (int64_t c = 0; c < n; c++)
        input_range(set, layer, 0, n, c, &in[c], &in[n + c]);
    propagate_layer(layer, in, in + n, set->lo + set->first[l + 1], set->hi + set->first[l + 1]);
    NORMA_FREE(in);
    return NORMA_OK;
}

/* The range of channel c of a reshape: of all input channels that give it values. */
static void reshape_range(const range_set *set, const norma_layer *layer, int64_t c,
                          double range[2])
{
    int64_t pixels = layer->input.height * layer->input.width;
    int64_t n = layer->output.height * layer->output.width;
    range[0] = INFINITY;
    range[1] = -INFINITY;
    for (int64_t from = c * n / pixels; from <= ((c + 1) * n - 1) / pixels; from++) {
        double lo = 0;
        double hi = 0;
        input_range(set, layer, 0, layer->input.channels, from, &lo, &hi);
        range[0] = fmin(range[0], lo);
        range[1] = fmax(range[1], hi);
    }
}

/* The range of output channel c of a layer that is neither convolutional nor linear. */
static void node_range(const range_set *set, const norma_layer *layer, int64_t c, double range[2])
{
    int64_t n = layer->n_channels_out;
    int64_t k = 0;
    double pixels = (double)(layer->input.height * layer->input.width);
    if (layer->kind == NORMA_LAYER_CONCAT) {
        int64_t value = set->network->inputs[layer->first_input] + 1;
        while (c >= set->first[value + 1] - set->first[value]) {
            c -= set->first[value + 1] - set->first[value];
            value = set->network->inputs[layer->first_input + ++k] + 1;
        }
        n = set->first[value + 1] - set->first[value];
    }
    if (layer->kind == NORMA_LAYER_RESHAPE)
        reshape_range(set, layer, c, range);
    else
        input_range(set, layer, k, n, c, &range[0], &range[1]);
    if (layer->kind == NORMA_LAYER_BATCHNORM) {
        interval_sum sum = {0};
        add_product(&sum, layer->weight[c], range[0], range[1]);
        add_product(&sum, layer->bias[c], 1, 1);
        close_sum(&sum, &range[0], &range[1]);
    } else if (layer->kind == NORMA_LAYER_SOFTMAX) {
        range[0] = 0;
        range[1] = 1 + 4 * ROUNDOFF;
    } else if (layer->kind == NORMA_LAYER_CLIP) {
        range[0] = fmin(fmax(range[0], layer->clip[0]), layer->clip[1]);
        range[1] = fmin(fmax(range[1], layer->clip[0]), layer->clip[1]);
    } else if (layer->kind == NORMA_LAYER_AVERAGE_POOL) {
        if (layer->counts_padding && has_padding(layer)) {
            range[0] = fmin(range[0], 0);
            range[1] = fmax(range[1], 0);
        }
        widen((double)norma_kernel_taps(layer->kernel) + 2, range);
    } else if (layer->kind == NORMA_LAYER_GLOBAL_AVERAGE) {
        widen(pixels + 2, range);
    } else if (layer->kind == NORMA_LAYER_ADD || layer->kind == NORMA_LAYER_MULTIPLY) {
        double largest = fmax(fabs(range[0]), fabs(range[1]));
        for (k = 1; k < layer->n_inputs; k++) {
            double next[2];
            input_range(set, layer, k, n, c, &next[0], &next[1]);
            join_ranges(layer->kind, next, range);
            largest = fmax(largest + fmax(fabs(next[0]), fabs(next[1])),
                           fmax(fabs(range[0]), fabs(range[1])));
        }
        double slack = 2 * (double)layer->n_inputs * ROUNDOFF * largest;
        range[0] -= slack;
        range[1] += slack;
    }
    if (layer->activation.kind == NORMA_ACTIVATION_IDENTITY)
        return;
    norma_activation_interval(&layer->activation, range[0], range[1], &range[0], &range[1]);
    widen(16, range);
}

norma_status norma_bounds_propagate(const norma_network *network, int64_t layer, double *range_lo,
                                    double *range_hi)
{
    norma_status status = NORMA_OK;
    range_set set = {0};
    if (!(network->input_min <= network->input_max))
        return NORMA_FAIL(NORMA_CONFIG,
                          "interval-deep bounds need the range of the inputs: the target declares "
                          "no input_min, input_max");
    NORMA_GOTO(status, create_ranges(network, layer, &set));
    for (int64_t l = 0; l < layer; l++) {
        const norma_layer *step = &network->layers[l];
        if (norma_layer_has_kernel(step)) {
            NORMA_GOTO(status, propagate_kernel(&set, l));
            continue;
        }
        for (int64_t c = 0; c < step->n_channels_out; c++) {
            double range[2];
            node_range(&set, step, c, range);
            set.lo[set.first[l + 1] + c] = range[0];
            set.hi[set.first[l + 1] + c] = range[1];
        }
    }
    int64_t n = network->layers[layer].n_channels_in;
    for (int64_t c = 0; c < n; c++)
        input_range(&set, &network->layers[layer], 0, n, c, &range_lo[c], &range_hi[c]);
done:
    clear_ranges(&set);
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
