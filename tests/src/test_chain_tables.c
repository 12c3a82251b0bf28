/* Walks the tables of chains: every name parses, has a summary, and runs small. */
#include "tests/harness/harness.h"

#include "src/chain/chain.h"
#include "src/chain/kernels/lanes.h"
#include "src/chain/weights.h"

#include <math.h>
#include <string.h>

/* Every name of the tables of chains parses to its own number and has a summary. */
static void test_names(void **state)
{
    (void)state;
    norma_observable_set set = 0;
    norma_chain_preset p = NORMA_N_CHAIN_PRESETS;
    norma_chain_norm norm = NORMA_N_CHAIN_NORMS;
    norma_chain_order order = NORMA_N_CHAIN_ORDERS;
    const norma_names *const families[] = {&norma_chain_preset_names, &norma_chain_norm_names,
                                           &norma_chain_order_names,  &norma_chain_law_names,
                                           &norma_observable_names,   &norma_observable_choices};
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (int64_t i = norma_names_next(families[f], 0); i < families[f]->n;
             i = norma_names_next(families[f], i + 1)) {
            assert_int_equal(norma_names_index(families[f], norma_names_name(families[f], i)), i);
            assert_true(strlen(norma_names_summary(families[f], i)) > 4);
        }
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++) {
        norma_test_ok(norma_observable_parse(norma_observable_name((norma_observable)o), &set));
        assert_int_equal(set, NORMA_OBSERVABLE_BIT(o));
    }
    norma_test_ok(norma_chain_preset_parse("thesis5-pre-ln", &p));
    norma_test_ok(norma_chain_norm_parse("bn-centered", &norm));
    norma_test_ok(norma_chain_order_parse("act-norm", &order));
    assert_true(p == NORMA_CHAIN_THESIS5_PRE_LN && norm == NORMA_CHAIN_NORM_BN_CENTERED &&
                order == NORMA_CHAIN_ACT_NORM);
}

/* One layer, measured by all observables that every chain defines; each of them stores its values.
 */
static void run_small(const norma_chain_spec *spec)
{
    norma_observable_set set = NORMA_OBSERVABLES_ALL & ~norma_observable_conditional();
    norma_chain_input input = {.kind = NORMA_CHAIN_INPUT_GAUSSIAN, .epsilon = NAN};
    norma_observable_request request;
    const double untouched = -12345.678;
    double values[64 * NORMA_LANES];
    norma_chain *chain = NULL;
    norma_observable_request_init(&request);
    request.wanted = set;
    request.n_singular = 3;
    norma_test_ok(norma_chain_create(spec, &input, &request, NORMA_LANES, &chain));
    norma_test_ok(norma_chain_start(chain, 1, 0, 0, 1));
    norma_test_ok(norma_chain_step(chain));
    assert_true(norma_chain_n_values_all(chain) <= 64);
    for (int i = 0; i < 64 * NORMA_LANES; i++)
        values[i] = untouched;
    norma_test_ok(norma_chain_measure(chain, set, values));
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++)
        if ((set & NORMA_OBSERVABLE_BIT(o)) &&
            values[norma_chain_offset(chain, (norma_observable)o) * norma_chain_n_lanes(chain)] ==
                untouched)
            fail_msg("%s was not stored by %s", norma_observable_name((norma_observable)o),
                     norma_names_name(&norma_chain_preset_names, spec->preset));
    norma_chain_destroy(&chain);
}

/* Every preset and every law of the tables runs. */
static void test_tables_run(void **state)
{
    (void)state;
    norma_chain_spec spec;
    for (int p = 0; p < NORMA_N_CHAIN_PRESETS; p++) {
        norma_chain_spec_init((norma_chain_preset)p, 6, 4, &spec);
        assert_int_equal(spec.preset, p);
        run_small(&spec);
    }
    for (int d = 0; d < NORMA_N_DISTRIBUTIONS; d++) {
        norma_chain_spec_init(NORMA_CHAIN_RANK20, 6, 4, &spec);
        spec.weights = (norma_distribution)d;
        spec.keep_probability = 1; /* masks would leave rows without variance */
        if (norma_law_is_drawn((norma_distribution)d))
            run_small(&spec);
    }
}

/* E x, E x^2 and E x^4 of an entry of W, from the formulas of src/random/law.h. */
static void expect_moments(const norma_law *law, double d, double keep, double m[3])
{
    double fan = law->fan == NORMA_LAW_FAN_ONE ? 1 : law->fan == NORMA_LAW_FAN_IN ? d : 2 * d;
    double variance = law->gain / fan;
    double fourth = 0; /* over the variance squared */
    m[0] = 0;
    switch (law->source) {
    case NORMA_LAW_NORMALS:
    case NORMA_LAW_HAAR:
    case NORMA_LAW_PAIRS:
    case NORMA_LAW_GIVEN:
        fourth = 3;
        break;
    case NORMA_LAW_UNIFORMS:
        fourth = 1.8;
        break;
    case NORMA_LAW_SIGNS:
        fourth = 1;
        break;
    case NORMA_LAW_POSITIVE:
        m[0] = law->gain / sqrt(fan) / 2;
        variance = law->gain * law->gain / fan / 3;
        fourth = 1.8;
        break;
    }
    m[1] = keep * variance;
    m[2] = keep * fourth * variance * variance;
    m[0] *= keep;
}

/* The weights that chains draw, alone and in lanes, have the moments of their law. */
static void test_moments_of_weights(void **state)
{
    enum { D = 96, N = D * D };
    static double rows[N], lanes[N * NORMA_LANES];
    const norma_chain_draw draw = {.seed = 3, .layer = 1};
    norma_chain_spec spec;
    (void)state;
    for (int w = 0; w < NORMA_N_DISTRIBUTIONS; w++) {
        const norma_law *law = norma_law_get((norma_distribution)w);
        norma_chain_spec_init(NORMA_CHAIN_RANK20, D, 4, &spec);
        spec.weights = (norma_distribution)w;
        spec.weight_scale = 1;
        spec.keep_probability = 0.4;
        if (!norma_law_is_drawn(spec.weights) || law->source == NORMA_LAW_HAAR)
            continue;
        double expected[3], sum[3] = {0};
        double factor = norma_chain_weights_factor(&spec);
        expect_moments(law, D, norma_law_has(spec.weights, NORMA_LAW_MASKED) ? 0.4 : 1, expected);
        norma_chain_weights_rows(&spec, &draw, 0, D, rows);
        for (int64_t i = 0; i < N; i++)
            for (int k = 0; k < 3; k++)
                sum[k] += pow(factor * rows[i], k == 0 ? 1 : 2 * k) / N;
        double scale = sqrt(expected[1]);
        if (fabs(sum[0] - expected[0]) > 0.05 * scale || fabs(sum[1] / expected[1] - 1) > 0.08 ||
            fabs(sum[2] / expected[2] - 1) > 0.25)
            fail_msg("%s: moments %g %g %g, expected %g %g %g", law->name, sum[0], sum[1], sum[2],
                     expected[0], expected[1], expected[2]);
        if (!norma_law_has(spec.weights, NORMA_LAW_LANES))
            continue;
        norma_chain_weights_lanes(&spec, &draw, 0, D, NORMA_LANES, lanes);
        for (int64_t i = 0; i < N; i++)
            if (lanes[i * NORMA_LANES] != rows[i])
                fail_msg("%s: element %lld is %g in lanes, %g alone", law->name, (long long)i,
                         lanes[i * NORMA_LANES], rows[i]);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_names),
    cmocka_unit_test(test_tables_run),
    cmocka_unit_test(test_moments_of_weights),
};

norma_test_main_serial("src.chain_tables", tests)
