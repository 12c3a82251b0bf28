#ifndef NORMA_TESTS_SOURCE_FIXTURE_H
#define NORMA_TESTS_SOURCE_FIXTURE_H
/* A target layer with a source pair beside it, in several geometries, and the composite convolution
 * that the pair must equal. */
#include "tests/harness/harness.h"
#include "tests/harness/planned_memory.h"

#include "src/base/mem.h"
#include "src/network/bounds.h"
#include "src/network/maps.h"
#include "src/network/source.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The default epsilon, in double and single precision. */
static const norma_maps_accuracy accuracies[] = {{NAN, DBL_EPSILON / 2}, {NAN, FLT_EPSILON / 2.0}};

enum { IMAGES = 5, C0 = 4, C2 = 8 };

/* A target layer, a source pair for it, images, and the result wanted. */
typedef struct fixture {
    norma_network *network;
    norma_layer *layer;
    norma_source_layer source;
    norma_tensor *w1, *w2;
    double *rows1, *rows2; /* all weights, [c1][...] */
    double *gamma1, *gamma2;
    double *u_lo, *u_hi, *lo, *hi;
    norma_maps *maps;
    int64_t in_size, out_size;
    double *in, *out, *expected;
} fixture;

typedef struct geometry {
    norma_kernel_shape k1, k2, kt;
    int64_t stride[2], padding[2], height, width, n_features;
    int64_t dilation[2], more[2], groups; /* more: padding_more */
} geometry;

static inline double noise(int64_t k)
{
    return sin(12.9898 * (double)k + 0.3) * cos(0.37 * (double)(k * k % 1009));
}

static inline void make_tensor(norma_tensor_role role, int64_t n_features, int64_t n_channels,
                               int64_t n_taps, norma_tensor **tensor, double **rows)
{
    norma_tensor_spec spec = {.distribution = NORMA_DISTRIBUTION_HE_NORMAL,
                              .role = role,
                              .seed = 11,
                              .stream = {NORMA_RNG_TEST, (int64_t)role, 0, 0, 0},
                              .n_features = n_features,
                              .n_channels = n_channels,
                              .n_taps = n_taps};
    norma_test_ok(norma_tensor_create(&spec, tensor));
    norma_test_ok(NORMA_ALLOC(*rows, n_features * n_channels * n_taps));
    norma_tensor_fill(*tensor, 0, n_features, *rows);
}

static inline void make_layer(fixture *f, const geometry *g)
{
    norma_test_ok(norma_network_create(1, &f->network));
    f->network->input = (norma_shape){C0, g->height, g->width};
    f->layer = &f->network->layers[0];
    f->layer->n_channels_out = C2;
    f->layer->n_channels_in = C0;
    f->layer->kernel = g->kt;
    memcpy(f->layer->stride, g->stride, sizeof g->stride);
    memcpy(f->layer->padding, g->padding, sizeof g->padding);
    memcpy(f->layer->padding_more, g->more, sizeof g->more);
    for (int axis = 0; axis < 2; axis++)
        f->layer->dilation[axis] = g->dilation[axis];
    f->layer->groups = g->groups;
    norma_test_ok(norma_network_allocate(f->network));
    norma_test_ok(norma_network_infer_shapes(f->network));
    for (int i = 0; i < C2; i++)
        f->layer->bias[i] = noise(i + 400);
}

static inline void setup(fixture *f, const geometry *g)
{
    norma_kernel kernel;
    int64_t c1 = g->n_features;
    memset(f, 0, sizeof *f);
    make_layer(f, g);
    norma_test_ok(norma_kernel_init(&kernel, g->k1, g->k2, g->kt));
    norma_test_ok(norma_source_shape_init(&f->source.shape, f->layer, &kernel, c1));
    make_tensor(NORMA_TENSOR_FIRST, c1, C0 / f->layer->groups, norma_kernel_taps(g->k1), &f->w1,
                &f->rows1);
    make_tensor(NORMA_TENSOR_SECOND, c1, C2 / f->layer->groups, norma_kernel_taps(g->k2), &f->w2,
                &f->rows2);
    f->source.w1 = f->w1;
    f->source.w2 = f->w2;
    f->in_size = norma_shape_size(f->layer->input);
    f->out_size = norma_shape_size(f->layer->output);
    norma_test_ok(NORMA_ALLOC(f->gamma1, c1));
    norma_test_ok(NORMA_ALLOC(f->gamma2, C2));
    norma_test_ok(NORMA_ALLOC(f->u_lo, 4 * c1));
    f->u_hi = f->u_lo + c1;
    f->lo = f->u_lo + 2 * c1;
    f->hi = f->u_lo + 3 * c1;
    norma_test_ok(NORMA_ALLOC(f->in, IMAGES * f->in_size));
    norma_test_ok(NORMA_ALLOC(f->out, IMAGES * f->out_size));
    norma_test_ok(NORMA_ALLOC(f->expected, IMAGES * f->out_size));
    for (int64_t j = 0; j < c1; j++) {
        f->gamma1[j] = 2 * noise(j + 100);
        f->u_lo[j] = INFINITY;
        f->u_hi[j] = -INFINITY;
    }
    for (int i = 0; i < C2; i++)
        f->gamma2[i] = 0.5 + noise(i + 300);
    for (int64_t k = 0; k < IMAGES * f->in_size; k++)
        f->in[k] = noise(k + 1000);
}

static inline void teardown(fixture *f)
{
    norma_maps_destroy(&f->maps);
    norma_tensor_destroy(&f->w1);
    norma_tensor_destroy(&f->w2);
    norma_network_destroy(&f->network);
    NORMA_FREE(f->rows1);
    NORMA_FREE(f->rows2);
    NORMA_FREE(f->gamma1);
    NORMA_FREE(f->gamma2);
    NORMA_FREE(f->u_lo);
    NORMA_FREE(f->in);
    NORMA_FREE(f->out);
    NORMA_FREE(f->expected);
}

/* The composite kernel [c2][c0][K] with gamma1, gamma2, from its definition; zero between groups.
 */
static inline void compose(const fixture *f, double *composite)
{
    const norma_kernel *k = &f->source.shape.kernel;
    int64_t n_k = norma_kernel_taps(k->composite);
    int64_t n_q = norma_kernel_taps(k->first), n_p = norma_kernel_taps(k->second);
    memset(composite, 0, (size_t)(C2 * C0 * n_k) * sizeof *composite);
    int64_t groups = f->layer->groups, n_in = C0 / groups, n_out = C2 / groups;
    for (int64_t J = 0; J < f->source.shape.n_features; J++)
        for (int64_t i = 0; i < n_out; i++)
            for (int64_t j = 0; j < n_in; j++)
                for (int64_t p = 0; p < n_p; p++)
                    for (int64_t q = 0; q < n_q; q++) {
                        int64_t g = J * groups / f->source.shape.n_features;
                        int64_t channels = (g * n_out + i) * C0 + g * n_in + j;
                        int64_t row = p / k->second.width + q / k->first.width;
                        int64_t column = p % k->second.width + q % k->first.width;
                        composite[channels * n_k + row * k->composite.width + column] +=
                            f->gamma2[g * n_out + i] * f->rows2[(J * n_out + i) * n_p + p] *
                            f->gamma1[J] * f->rows1[(J * n_in + j) * n_q + q];
                    }
}

/* expected = bias + the composite convolution, placed as the target's kernel lies in it. */
static inline void convolve_expected(const fixture *f)
{
    const norma_kernel *k = &f->source.shape.kernel;
    const norma_layer *layer = f->layer;
    int64_t n_k = norma_kernel_taps(k->composite);
    double *composite = NULL;
    norma_test_ok(NORMA_ALLOC(composite, C2 * C0 * n_k));
    compose(f, composite);
    double *out = f->expected;
    for (int64_t n = 0; n < IMAGES; n++)
        for (int64_t i = 0; i < C2; i++)
            for (int64_t y = 0; y < layer->hidden.height; y++)
                for (int64_t x = 0; x < layer->hidden.width; x++, out++) {
                    *out = layer->bias[i];
                    for (int64_t j = 0; j < C0; j++)
                        for (int64_t t = 0; t < n_k; t++) {
                            int64_t down = t / k->composite.width - k->offset.height;
                            int64_t right = t % k->composite.width - k->offset.width;
                            int64_t row = y * layer->stride[0] + down * layer->dilation[0] -
                                          layer->padding[0];
                            int64_t column = x * layer->stride[1] + right * layer->dilation[1] -
                                             layer->padding[1];
                            if (row >= 0 && row < layer->input.height && column >= 0 &&
                                column < layer->input.width)
                                *out += composite[(i * C0 + j) * n_k + t] *
                                        f->in[n * f->in_size +
                                              (j * layer->input.height + row) * layer->input.width +
                                              column];
                        }
                }
    NORMA_FREE(composite);
}

/* Data bounds, maps, run (in single precision if the source says so); returns the number clipped.
 */
static inline int64_t run(fixture *f, norma_activation_kind kind, int64_t budget, int n_threads)
{
    norma_source_work *work = NULL;
    int64_t n_clipped = 0;
    norma_activation activation = {kind, 0.2};
    f->source.activation = activation;
    norma_test_takes(
        (double)norma_source_work_bytes(1, &f->source.shape, IMAGES, budget, n_threads),
        norma_source_work_create(1, &f->source.shape, IMAGES, budget, n_threads, &work));
    norma_source_measure(work, &f->source.shape, f->w1, 3, IMAGES, f->in, f->u_lo, f->u_hi);
    const norma_maps_accuracy *accuracy = &accuracies[f->source.single];
    norma_bounds_scale(f->source.shape.n_features, f->gamma1, f->u_lo, f->u_hi, accuracy->roundoff,
                       f->lo, f->hi);
    norma_maps_destroy(&f->maps);
    norma_test_ok(norma_maps_create(&f->source.shape, f->w2, &activation, accuracy, f->gamma1,
                                    f->lo, f->hi, f->gamma2, f->layer->bias, &f->maps));
    norma_maps_use(f->maps, &f->source);
    norma_source_propagate(work, &f->source, f->layer, 3, IMAGES, f->in, f->out, &n_clipped);
    norma_source_work_destroy(&work);
    return n_clipped;
}

static const geometry geometries[] = {
    /* second, group of 2 */
    {{1, 1}, {3, 3}, {3, 3}, {1, 1}, {1, 1}, 6, 5, 40, {1, 1}, {0, 0}, 1},
    /* first */
    {{3, 3}, {1, 1}, {3, 3}, {1, 1}, {1, 1}, 6, 5, 40, {1, 1}, {0, 0}, 1},
    /* first, stride on layer 1 */
    {{3, 3}, {1, 1}, {3, 3}, {2, 3}, {1, 0}, 9, 8, 40, {1, 1}, {0, 0}, 1},
    /* both, K = Kt */
    {{2, 3}, {2, 1}, {3, 3}, {1, 1}, {1, 1}, 7, 7, 40, {1, 1}, {0, 0}, 1},
    /* K - Kt = 1: uneven */
    {{2, 3}, {3, 2}, {3, 3}, {2, 1}, {2, 1}, 8, 9, 40, {1, 1}, {0, 0}, 1},
    /* 1 x 1 inside 5 x 5 */
    {{3, 3}, {3, 3}, {1, 1}, {1, 2}, {0, 0}, 6, 7, 40, {1, 1}, {0, 0}, 1},
    /* stride on layer 2, no padding */
    {{1, 1}, {3, 3}, {3, 3}, {2, 2}, {0, 0}, 10, 9, 40, {1, 1}, {0, 0}, 1},
    /* fully connected: group of 64 */
    {{1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, 1, 1, 40, {1, 1}, {0, 0}, 1},
    /* several blocks and tiles */
    {{1, 1}, {3, 3}, {3, 3}, {1, 1}, {1, 1}, 33, 35, 300, {1, 1}, {0, 0}, 1},
    /* more padding than image */
    {{1, 1}, {3, 3}, {3, 3}, {1, 1}, {3, 3}, 2, 2, 17, {1, 1}, {0, 0}, 1},
    /* dilation, second */
    {{1, 1}, {3, 3}, {3, 3}, {1, 1}, {2, 1}, 8, 7, 40, {2, 3}, {0, 0}, 1},
    /* dilation, first */
    {{3, 3}, {1, 1}, {3, 3}, {2, 1}, {2, 1}, 9, 8, 40, {3, 1}, {0, 0}, 1},
    /* dilation, uneven */
    {{2, 3}, {3, 2}, {3, 3}, {2, 1}, {2, 1}, 9, 9, 40, {2, 2}, {0, 0}, 1},
    /* unequal padding */
    {{1, 1}, {3, 3}, {3, 3}, {2, 1}, {2, 1}, 8, 7, 40, {1, 1}, {-2, 3}, 1},
    /* both */
    {{2, 3}, {3, 2}, {3, 3}, {1, 2}, {0, 2}, 7, 8, 40, {2, 1}, {1, -2}, 1},
    /* groups, second */
    {{1, 1}, {3, 3}, {3, 3}, {1, 1}, {1, 1}, 6, 5, 40, {1, 1}, {0, 0}, 2},
    /* groups, both */
    {{2, 3}, {3, 2}, {3, 3}, {1, 2}, {1, 0}, 7, 8, 40, {2, 1}, {0, 1}, 4},
    /* several blocks */
    {{3, 3}, {1, 1}, {3, 3}, {2, 1}, {1, 1}, 12, 11, 600, {1, 1}, {0, 0}, 2},
};

enum { N_GEOMETRIES = sizeof geometries / sizeof geometries[0] };

#endif
