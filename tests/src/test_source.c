/* src/network: the source pair against the composite convolution it must equal, its bounds and
 * affine maps. */
#include "tests/harness/source_fixture.h"

#include <float.h>
#include <math.h>
#include <string.h>

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
    int64_t n_in = C0 / s->groups, group = J * s->groups / s->n_features;
    for (int64_t j = 0; j < n_in; j++)
        for (int64_t q = 0; q < n_q; q++) {
            int64_t row = y * s->stride1[0] + q / s->kernel.first.width * s->dilation[0];
            int64_t column = x * s->stride1[1] + q % s->kernel.first.width * s->dilation[1];
            row -= s->padding[0];
            column -= s->padding[1];
            if (row >= 0 && row < s->input.height && column >= 0 && column < s->input.width)
                sum +=
                    f->rows1[(J * n_in + j) * n_q + q] *
                    f->in[n * f->in_size +
                          ((group * n_in + j) * s->input.height + row) * s->input.width + column];
        }
    return sum;
}

static void test_bounds_and_clipping(void **state)
{
    (void)state;
    for (int g = 0; g < N_GEOMETRIES; g++) {
        fixture f;
        if (geometries[g].n_features > 100)
            continue; /* slow */
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
            range_lo[c] = -1 - c;
            range_hi[c] = 1 + c;
        }
        (void)run(&f, NORMA_ACTIVATION_IDENTITY, 1 << 22, 1);
        norma_test_ok(norma_bounds_interval(&f.source.shape, f.w1, range_lo, range_hi, f.lo, f.hi));
        int64_t n_q = norma_kernel_taps(f.source.shape.kernel.first), n_in = C0 / f.layer->groups;
        int64_t row = n_in * n_q;
        for (int64_t J = 0; J < f.source.shape.n_features; J++) {
            long double reach = 0; /* exact enough to see a sum that was rounded inward */
            int64_t c = J * f.layer->groups / f.source.shape.n_features * n_in;
            for (int64_t k = 0; k < row; k++)
                reach +=
                    (long double)fabs(f.rows1[J * row + k]) * (long double)range_hi[c + k / n_q];
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
        double range_lo[C0] = {2, 2, 2, 2}, range_hi[C0] = {3, 3, 3, 3};
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
    norma_maps_to_batch_norm(2, gamma, beta, eps, &(norma_bn_statistics){0}, weight, bias, mean,
                             var);
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
