/* Walks the tables of chains: every name parses, has a summary, and runs small. */
#include "tests/harness/harness.h"

#include "src/chain/chain.h"
#include "src/chain/kernels/lanes.h"

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

/* One layer, measured by all observables that every chain defines. */
static void run_small(const norma_chain_spec *spec)
{
    norma_observable_set set = NORMA_OBSERVABLES_ALL & ~norma_observable_conditional();
    norma_chain_input input = {.kind = NORMA_CHAIN_INPUT_GAUSSIAN, .epsilon = NAN};
    norma_observable_request request;
    double values[64 * NORMA_LANES] = {0};
    norma_chain *chain = NULL;
    norma_observable_request_init(&request);
    request.wanted = set;
    request.n_singular = 3;
    norma_test_ok(norma_chain_create(spec, &input, &request, NORMA_LANES, &chain));
    norma_test_ok(norma_chain_start(chain, 1, 0, 0, 1));
    norma_test_ok(norma_chain_step(chain));
    norma_test_ok(norma_chain_measure(chain, set, values));
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

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_names),
    cmocka_unit_test(test_tables_run),
};

norma_test_main_serial("src.chain_tables", tests)
