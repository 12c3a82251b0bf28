/* src/network: skip connections, their weights and their run beside a source pair. */
#include "tests/harness/source_fixture.h"

#include "src/network/skip.h"

/* expected += factor_i (Ws * x)_i, by the definition. */
static void add_skip(const fixture *f, const double *skip, bool outer)
{
    const norma_layer *layer = f->layer;
    int64_t n_taps = norma_kernel_taps(layer->kernel);
    double *out = f->expected;
    for (int64_t n = 0; n < IMAGES; n++)
        for (int64_t i = 0; i < C2; i++)
            for (int64_t y = 0; y < layer->hidden.height; y++)
                for (int64_t x = 0; x < layer->hidden.width; x++, out++)
                    for (int64_t e = 0; e < C0 * n_taps; e++) {
                        int64_t t = e % n_taps;
                        int64_t down = t / layer->kernel.width * layer->dilation[0];
                        int64_t right = t % layer->kernel.width * layer->dilation[1];
                        int64_t row = y * layer->stride[0] + down - layer->padding[0];
                        int64_t column = x * layer->stride[1] + right - layer->padding[1];
                        if (row >= 0 && row < layer->input.height && column >= 0 &&
                            column < layer->input.width)
                            *out += (outer ? f->gamma2[i] : 1) * skip[i * C0 * n_taps + e] *
                                    f->in[n * f->in_size +
                                          (e / n_taps * layer->input.height + row) *
                                              layer->input.width +
                                          column];
                    }
}

/* A skip beside the pair, in front of gamma2 or behind it, at every border, stride and split. */
static void test_skip(void **state)
{
    (void)state;
    for (int g = 0; g < 4 * N_GEOMETRIES; g++) {
        fixture f;
        double *skip = NULL;
        if (geometries[g / 4].groups > 1)
            continue; /* there is none beside such pairs */
        setup(&f, &geometries[g / 4]);
        int64_t n = C2 * C0 * norma_kernel_taps(f.layer->kernel);
        bool outer = g % 2 == 1;
        norma_test_ok(NORMA_ALLOC(skip, n));
        for (int64_t k = 0; k < n; k++)
            skip[k] = noise(k + 7000);
        convolve_expected(&f);
        add_skip(&f, skip, outer);
        f.source.single = g / 2 % 2 == 1;
        f.source.shape.with_skip = true;
        f.source.residual = outer ? NORMA_RESIDUAL_OUTER : NORMA_RESIDUAL_INNER;
        f.source.skip = skip;
        int64_t n_clipped = run(&f, NORMA_ACTIVATION_RELU, 1 << 22, 2);
        double worst = norma_test_max_difference(f.out, f.expected, IMAGES * f.out_size);
        double allowed = (f.source.single ? 1e-6 : 1e-15) * (f.maps->magnitude + 20);
        if (!(worst <= allowed) || n_clipped != 0)
            fail_msg("geometry %d, outer %d, single %d: difference %g, allowed %g, clipped %d",
                     g / 4, outer, f.source.single, worst, allowed, (int)n_clipped);
        NORMA_FREE(skip);
        teardown(&f);
    }
}

/* Weights by kind: the identity and 1 x 1 ones on the middle tap, drawn ones of a layer's own
 * stream. */
static void test_weights(void **state)
{
    (void)state;
    norma_layer layer = {.n_channels_out = 3, .n_channels_in = 3, .kernel = {4, 4}};
    norma_skip_spec spec = {.kind = NORMA_SKIP_IDENTITY};
    double values[9], skip[144], other[144];
    norma_test_ok(norma_skip_fill(&spec, &layer, skip));
    for (int k = 0; k < 144; k++)
        norma_test_check(skip[k] ==
                         (k % 16 == 5 && k / 16 % 4 == 0)); /* row 1, column 1 of 4 x 4 */
    for (int k = 0; k < 9; k++)
        values[k] = noise(k);
    spec = (norma_skip_spec){.kind = NORMA_SKIP_GIVEN, .values = values};
    norma_test_ok(norma_skip_fill(&spec, &layer, skip));
    for (int k = 0; k < 144; k++)
        norma_test_check(skip[k] == (k % 16 == 5 ? values[k / 16] : 0));
    spec = (norma_skip_spec){.kind = NORMA_SKIP_DRAWN,
                             .whole_kernel = true,
                             .distribution = NORMA_DISTRIBUTION_HE_NORMAL,
                             .seed = 5,
                             .stream = {.purpose = NORMA_RNG_SKIP_WEIGHTS}};
    norma_test_ok(norma_skip_fill(&spec, &layer, skip));
    spec.stream.layer = 1;
    norma_test_ok(norma_skip_fill(&spec, &layer, other));
    double squares = 0;
    for (int k = 0; k < 144; k++) {
        norma_test_check(skip[k] != 0 && skip[k] != other[k]);
        squares += skip[k] * skip[k];
    }
    norma_test_check(squares > 0.5 * 144 * 2 / 48 && squares < 2 * 144 * 2.0 / 48); /* 2 / fan_in */
    layer.n_channels_in = 2;
    spec.kind = NORMA_SKIP_IDENTITY;
    norma_test_fails(norma_skip_fill(&spec, &layer, skip), NORMA_CONFIG, "not 3 and 2");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_skip),
    cmocka_unit_test(test_weights),
};

norma_test_main_serial("src.skip", tests)
