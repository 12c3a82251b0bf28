/* src/network: the source pair against the composite convolution it must equal, its bounds and
 * affine maps. */
#include "tests/harness/harness.h"

#include "src/base/mem.h"
#include "src/network/bounds.h"
#include "src/network/maps.h"
#include "src/network/source.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The default epsilon, in double and single precision. */
static const norma_maps_accuracy accuracies[] = {{NAN, DBL_EPSILON / 2}, {NAN, FLT_EPSILON / 2.0}};

enum { IMAGES = 5, C0 = 3, C2 = 4 };

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
} geometry;

static double noise(int64_t k)
{
    return sin(12.9898 * (double)k + 0.3) * cos(0.37 * (double)(k * k % 1009));
}

static void make_tensor(norma_tensor_role role, int64_t n_features, int64_t n_channels,
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

static void make_layer(fixture *f, const geometry *g)
{
    norma_test_ok(norma_network_create(1, &f->network));
    f->network->input = (norma_shape){C0, g->height, g->width};
    f->layer = &f->network->layers[0];
    f->layer->n_channels_out = C2;
    f->layer->n_channels_in = C0;
    f->layer->kernel = g->kt;
    memcpy(f->layer->stride, g->stride, sizeof g->stride);
    memcpy(f->layer->padding, g->padding, sizeof g->padding);
    norma_test_ok(norma_network_allocate(f->network));
    norma_test_ok(norma_network_infer_shapes(f->network));
    for (int i = 0; i < C2; i++)
        f->layer->bias[i] = noise(i + 400);
}

static void setup(fixture *f, const geometry *g)
{
    norma_kernel kernel;
    int64_t c1 = g->n_features;
    memset(f, 0, sizeof *f);
    make_layer(f, g);
    norma_test_ok(norma_kernel_init(&kernel, g->k1, g->k2, g->kt));
    norma_test_ok(norma_source_shape_init(&f->source.shape, f->layer, &kernel, c1));
    make_tensor(NORMA_TENSOR_FIRST, c1, C0, norma_kernel_taps(g->k1), &f->w1, &f->rows1);
    make_tensor(NORMA_TENSOR_SECOND, c1, C2, norma_kernel_taps(g->k2), &f->w2, &f->rows2);
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

static void teardown(fixture *f)
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

/* The composite kernel [c2][c0][K] with gamma1, gamma2, from its definition. */
static void compose(const fixture *f, double *composite)
{
    const norma_kernel *k = &f->source.shape.kernel;
    int64_t n_k = norma_kernel_taps(k->composite);
    int64_t n_q = norma_kernel_taps(k->first), n_p = norma_kernel_taps(k->second);
    memset(composite, 0, (size_t)(C2 * C0 * n_k) * sizeof *composite);
    for (int64_t J = 0; J < f->source.shape.n_features; J++)
        for (int64_t i = 0; i < C2; i++)
            for (int64_t j = 0; j < C0; j++)
                for (int64_t p = 0; p < n_p; p++)
                    for (int64_t q = 0; q < n_q; q++) {
                        int64_t row = p / k->second.width + q / k->first.width;
                        int64_t column = p % k->second.width + q % k->first.width;
                        composite[(i * C0 + j) * n_k + row * k->composite.width + column] +=
                            f->gamma2[i] * f->rows2[(J * C2 + i) * n_p + p] * f->gamma1[J] *
                            f->rows1[(J * C0 + j) * n_q + q];
                    }
}

/* expected = bias + the composite convolution, placed as the target's kernel lies in it. */
static void convolve_expected(const fixture *f)
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
                            int64_t row = y * layer->stride[0] + t / k->composite.width -
                                          k->offset.height - layer->padding[0];
                            int64_t column = x * layer->stride[1] + t % k->composite.width -
                                             k->offset.width - layer->padding[1];
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
static int64_t run(fixture *f, norma_activation_kind kind, int64_t budget, int n_threads)
{
    norma_source_work *work = NULL;
    int64_t n_clipped = 0;
    norma_activation activation = {kind, 0.2};
    f->source.activation = activation;
    norma_test_ok(norma_source_work_create(1, &f->source.shape, IMAGES, budget, n_threads, &work));
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
    {{1, 1}, {3, 3}, {3, 3}, {1, 1}, {1, 1}, 6, 5, 40},    /* second, group of 2 */
    {{3, 3}, {1, 1}, {3, 3}, {1, 1}, {1, 1}, 6, 5, 40},    /* first */
    {{3, 3}, {1, 1}, {3, 3}, {2, 3}, {1, 0}, 9, 8, 40},    /* first, stride on layer 1 */
    {{2, 3}, {2, 1}, {3, 3}, {1, 1}, {1, 1}, 7, 7, 40},    /* both, K = Kt */
    {{2, 3}, {3, 2}, {3, 3}, {2, 1}, {2, 1}, 8, 9, 40},    /* K - Kt = 1: uneven */
    {{3, 3}, {3, 3}, {1, 1}, {1, 2}, {0, 0}, 6, 7, 40},    /* 1 x 1 inside 5 x 5 */
    {{1, 1}, {3, 3}, {3, 3}, {2, 2}, {0, 0}, 10, 9, 40},   /* stride on layer 2, no padding */
    {{1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, 1, 1, 40},    /* fully connected: group of 64 */
    {{1, 1}, {3, 3}, {3, 3}, {1, 1}, {1, 1}, 33, 35, 300}, /* several blocks and tiles */
    {{1, 1}, {3, 3}, {3, 3}, {1, 1}, {3, 3}, 2, 2, 17},    /* more padding than image */
};

enum { N_GEOMETRIES = sizeof geometries / sizeof geometries[0] };

static void test_equals_composite(void **state)
{
    (void)state;
    for (int g = 0; g < N_GEOMETRIES; g++) {
        fixture f;
        setup(&f, &geometries[g]);
        convolve_expected(&f);
        for (int kind = 0; kind < NORMA_N_ACTIVATIONS; kind++) {
            int64_t n_clipped = run(&f, (norma_activation_kind)kind, 1 << 22, 2);
            double worst = norma_test_max_difference(f.out, f.expected, IMAGES * f.out_size);
            /* The maps' own estimate of what cancels bounds the rounding. */
            double allowed = 1e-15 * (f.maps->magnitude + 10) + f.maps->region.epsilon;
            if (!(worst <= allowed) || n_clipped != 0)
                fail_msg("geometry %d, %s: difference %g, allowed %g, clipped %d", g,
                         norma_activation_name((norma_activation_kind)kind), worst, allowed,
                         (int)n_clipped);
        }
        teardown(&f);
    }
}

/* In FP32 the same up to its rounding, and rounded: not the outputs of FP64, none that FP32 lacks.
 */
static void test_single_precision(void **state)
{
    (void)state;
    for (int g = 0; g < N_GEOMETRIES; g++)
        for (int kind = 0; kind < NORMA_N_ACTIVATIONS; kind++) {
            fixture f;
            setup(&f, &geometries[g]);
            convolve_expected(&f);
            f.source.single = true;
            int64_t n_clipped = run(&f, (norma_activation_kind)kind, 1 << 22, 2);
            double worst = norma_test_max_difference(f.out, f.expected, IMAGES * f.out_size);
            double allowed = 1e-6 * (f.maps->magnitude + 10) + f.maps->region.epsilon;
            if (!(worst <= allowed && worst > 1e-9) || n_clipped != 0)
                fail_msg("geometry %d, %s: difference %g, allowed %g, clipped %d", g,
                         norma_activation_name((norma_activation_kind)kind), worst, allowed,
                         (int)n_clipped);
            for (int64_t k = 0; k < IMAGES * f.out_size; k++)
                norma_test_check(f.out[k] == (float)f.out[k]);
            teardown(&f);
        }
}

/* Bits of an image depend on nothing but the image: budget, threads, neighbours. */
static void test_same_bits(void **state)
{
    (void)state;
    for (int g = 0; g < 2 * N_GEOMETRIES; g++) {
        fixture f;
        setup(&f, &geometries[g / 2]);
        f.source.single = g % 2 == 1;
        int64_t n_clipped = 0;
        size_t bytes = (size_t)f.out_size * sizeof(double);
        (void)run(&f, NORMA_ACTIVATION_RELU, 1 << 22, 1);
        memcpy(f.expected, f.out, IMAGES * bytes);
        (void)run(&f, NORMA_ACTIVATION_RELU, 0, 3);
        assert_memory_equal(f.expected, f.out, IMAGES * bytes);
        norma_source_work *work = NULL;
        norma_test_ok(norma_source_work_create(1, &f.source.shape, 1, 1 << 20, 2, &work));
        for (int64_t n = 0; n < IMAGES; n++)
            norma_source_propagate(work, &f.source, f.layer, 3 + n, 1, f.in + n * f.in_size,
                                   f.out + n * f.out_size, &n_clipped);
        assert_memory_equal(f.expected, f.out, IMAGES * bytes);
        norma_source_work_destroy(&work);
        teardown(&f);
    }
}

/* u_J by its definition over the positions of z. */
static double u_at(const fixture *f, int64_t J, int64_t n, int64_t y, int64_t x)
{
    const norma_source_shape *s = &f->source.shape;
    int64_t n_q = norma_kernel_taps(s->kernel.first);
    double sum = 0;
    for (int64_t j = 0; j < C0; j++)
        for (int64_t q = 0; q < n_q; q++) {
            int64_t row = y * s->stride1[0] + q / s->kernel.first.width - s->padding[0];
            int64_t column = x * s->stride1[1] + q % s->kernel.first.width - s->padding[1];
            if (row >= 0 && row < s->input.height && column >= 0 && column < s->input.width)
                sum +=
                    f->rows1[(J * C0 + j) * n_q + q] *
                    f->in[n * f->in_size + (j * s->input.height + row) * s->input.width + column];
        }
    return sum;
}

static void test_bounds_and_clipping(void **state)
{
    (void)state;
    for (int g = 0; g < 8; g++) {
        fixture f;
        setup(&f, &geometries[g]);
        int64_t c1 = f.source.shape.n_features, expected_clipped = 0, n_clipped = 0;
        (void)run(&f, NORMA_ACTIVATION_RELU, 1 << 22, 2);
        for (int64_t J = 0; J < c1; J++) {
            double lo = INFINITY, hi = -INFINITY, shift = J % 3 == 0 ? 0.05 : 10;
            for (int64_t n = 0; n < IMAGES; n++)
                for (int64_t y = 0; y < f.source.shape.z.height; y++)
                    for (int64_t x = 0; x < f.source.shape.z.width; x++) {
                        double u = u_at(&f, J, n, y, x);
                        lo = fmin(lo, u);
                        hi = fmax(hi, u);
                        expected_clipped += f.gamma1[J] * u + shift < 0;
                    }
            norma_test_check(fabs(lo - f.u_lo[J]) < 1e-13 && fabs(hi - f.u_hi[J]) < 1e-13);
            norma_test_check(f.lo[J] <= fmin(f.gamma1[J] * lo, f.gamma1[J] * hi));
            norma_test_check(f.hi[J] >= fmax(f.gamma1[J] * lo, f.gamma1[J] * hi));
            f.maps->beta1[J] = shift;
        }
        norma_source_work *work = NULL;
        norma_test_ok(norma_source_work_create(1, &f.source.shape, IMAGES, 1 << 20, 2, &work));
        norma_source_propagate(work, &f.source, f.layer, 3, IMAGES, f.in, f.out, &n_clipped);
        norma_test_check(expected_clipped > 0);
        assert_int_equal(n_clipped, expected_clipped);
        norma_source_work_destroy(&work);
        teardown(&f);
    }
}

/* Both ends of an approximate region count. */
static void test_clipping_on_both_sides(void **state)
{
    (void)state;
    fixture f;
    setup(&f, &geometries[0]);
    (void)run(&f, NORMA_ACTIVATION_TANH, 1 << 22, 2);
    double end = 0.3 * f.maps->region.high;
    int64_t n_below = 0, n_above = 0, n_clipped = 0;
    f.source.region[0] = -end;
    f.source.region[1] = 2 * end;
    for (int64_t J = 0; J < f.source.shape.n_features; J++)
        for (int64_t n = 0; n < IMAGES; n++)
            for (int64_t y = 0; y < f.source.shape.z.height; y++)
                for (int64_t x = 0; x < f.source.shape.z.width; x++) {
                    double z = f.maps->gamma1[J] * u_at(&f, J, n, y, x);
                    n_below += z < -end;
                    n_above += z > 2 * end;
                }
    norma_source_work *work = NULL;
    norma_test_ok(norma_source_work_create(1, &f.source.shape, IMAGES, 1 << 20, 2, &work));
    norma_source_propagate(work, &f.source, f.layer, 3, IMAGES, f.in, f.out, &n_clipped);
    norma_source_work_destroy(&work);
    norma_test_check(n_below > 0 && n_above > 0);
    assert_int_equal(n_clipped, n_below + n_above);
    teardown(&f);
}

/* Interval bounds hold the measured ones, and are reached by an input made for it. */
static void test_interval_bounds(void **state)
{
    (void)state;
    for (int g = 0; g < N_GEOMETRIES; g++) {
        fixture f;
        setup(&f, &geometries[g]);
        double range_lo[C0], range_hi[C0];
        for (int c = 0; c < C0; c++) {
            range_lo[c] = -1;
            range_hi[c] = 1;
        }
        (void)run(&f, NORMA_ACTIVATION_IDENTITY, 1 << 22, 1);
        norma_test_ok(norma_bounds_interval(&f.source.shape, f.w1, range_lo, range_hi, f.lo, f.hi));
        int64_t row = C0 * norma_kernel_taps(f.source.shape.kernel.first);
        for (int64_t J = 0; J < f.source.shape.n_features; J++) {
            long double reach = 0; /* exact enough to see a sum that was rounded inward */
            for (int64_t k = 0; k < row; k++)
                reach += fabsl(f.rows1[J * row + k]);
            norma_test_check(f.lo[J] <= f.u_lo[J] && f.u_hi[J] <= f.hi[J]);
            norma_test_check(f.hi[J] >= reach && f.lo[J] <= -reach);
            norma_test_check_close(f.hi[J], (double)reach, 1e-12);
        }
        teardown(&f);
    }
}

/* Inputs far from zero: only padding makes zeros part of what layer 1 sees. */
static void test_interval_bounds_with_padding(void **state)
{
    (void)state;
    for (int g = 0; g < N_GEOMETRIES; g++) {
        fixture f;
        setup(&f, &geometries[g]);
        double range_lo[C0] = {2, 2, 2}, range_hi[C0] = {3, 3, 3};
        for (int64_t k = 0; k < IMAGES * f.in_size; k++)
            f.in[k] = 2.5 + 0.5 * f.in[k];
        (void)run(&f, NORMA_ACTIVATION_IDENTITY, 1 << 22, 1);
        norma_test_ok(norma_bounds_interval(&f.source.shape, f.w1, range_lo, range_hi, f.lo, f.hi));
        for (int64_t J = 0; J < f.source.shape.n_features; J++)
            norma_test_check(f.lo[J] <= f.u_lo[J] && f.u_hi[J] <= f.hi[J]);
        teardown(&f);
    }
}

/* A batch norm in evaluation mode computes the affine map from what is exported. */
static void test_batch_norm(void **state)
{
    (void)state;
    double gamma[2] = {3, -0.25}, beta[2] = {0.5, 7}, weight[2], bias[2], mean[2], var[2];
    double eps = 1e-5;
    norma_maps_to_batch_norm(2, gamma, beta, eps, weight, bias, mean, var);
    for (int k = 0; k < 2; k++) {
        double z = 1.75;
        norma_test_check_close(weight[k] * (z - mean[k]) / sqrt(var[k] + eps) + bias[k],
                               gamma[k] * z + beta[k], 1e-15);
        norma_test_check(mean[k] == 0 && var[k] == 1 - eps);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    fixture f;
    norma_kernel kernel;
    setup(&f, &geometries[0]);
    norma_test_ok(norma_kernel_init(&kernel, (norma_kernel_shape){1, 1}, (norma_kernel_shape){5, 5},
                                    (norma_kernel_shape){5, 5}));
    norma_test_fails(norma_source_shape_init(&f.source.shape, f.layer, &kernel, 3), NORMA_CONFIG,
                     "5x5");
    (void)run(&f, NORMA_ACTIVATION_IDENTITY, 0, 1);
    norma_maps_destroy(&f.maps);
    f.gamma2[2] = INFINITY;
    norma_test_fails(norma_maps_create(&f.source.shape, f.w2, &f.source.activation, &accuracies[0],
                                       f.gamma1, f.lo, f.hi, f.gamma2, f.layer->bias, &f.maps),
                     NORMA_NUMERIC, "output channel 2");
    teardown(&f);
}

/* Features with gamma1 = 0 (beyond a minimal solution) are propagated and change nothing. */
static void test_unused_features(void **state)
{
    (void)state;
    fixture f;
    setup(&f, &geometries[0]);
    for (int64_t j = 20; j < 40; j++)
        f.gamma1[j] = 0;
    convolve_expected(&f);
    int64_t n_clipped = run(&f, NORMA_ACTIVATION_RELU, 1 << 20, 1);
    norma_test_check(n_clipped == 0);
    norma_test_check(norma_test_max_difference(f.out, f.expected, IMAGES * f.out_size) < 1e-12);
    norma_test_check_close(norma_source_flops(&f.source.shape),
                           2.0 * 40 * (C0 * 8 * 7 + C2 * 9 * 6 * 5), 0);
    teardown(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_equals_composite),
    cmocka_unit_test(test_single_precision),
    cmocka_unit_test(test_same_bits),
    cmocka_unit_test(test_bounds_and_clipping),
    cmocka_unit_test(test_clipping_on_both_sides),
    cmocka_unit_test(test_interval_bounds),
    cmocka_unit_test(test_interval_bounds_with_padding),
    cmocka_unit_test(test_batch_norm),
    cmocka_unit_test(test_refusals),
    cmocka_unit_test(test_unused_features),
};

norma_test_main_serial("src.source", tests)
