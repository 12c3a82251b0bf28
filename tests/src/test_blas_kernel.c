/* The choice of OpenBLAS's kernels from the name of those in use and a processor's features. */
#include "tests/harness/harness.h"

#include "src/base/blas_kernel.h"

#include <string.h>

static const norma_processor emerald_rapids = {true, true, false, 6, 207};
static const norma_processor skylake_server = {true, true, false, 6, 85};
static const norma_processor knights_landing = {true, false, false, 6, 87};
static const norma_processor raptor_lake = {true, false, false, 6, 183};
static const norma_processor raptor_lake_hidden = {false, false, false, 6, 183};
static const norma_processor zen5 = {true, true, true, 26, 2};
static const norma_processor zen5_hidden = {true, false, true, 26, 2};
static const norma_processor zen4 = {true, true, true, 25, 17};
static const norma_processor zen3 = {true, false, true, 25, 1};
static const norma_processor excavator = {true, false, true, 21, 96};
static const norma_processor arm = {false, false, false, 0, 0};

static const struct {
    const char *in_use;
    const norma_processor *processor;
    const char *expected;
} cases[] = {
    {"Prescott", &emerald_rapids, "SkylakeX"},
    {"Nehalem", &emerald_rapids, "SkylakeX"},
    {"Haswell", &emerald_rapids, "SkylakeX"},
    {"SkylakeX", &emerald_rapids, NULL},
    {"Cooperlake", &emerald_rapids, NULL},
    {"SapphireRapids", &emerald_rapids, NULL},
    {"Sapphirerapids", &emerald_rapids, NULL},
    {"Haswell", &skylake_server, "SkylakeX"},
    {"Prescott", &knights_landing, "Haswell"},
    {"Haswell", &knights_landing, NULL},
    {"Prescott", &raptor_lake, "Haswell"}, /* as a hypervisor shows it */
    {"Sandybridge", &raptor_lake, "Haswell"},
    {"Haswell", &raptor_lake, NULL},
    {"Prescott", &raptor_lake_hidden, NULL}, /* the hypervisor hides AVX2 */
    {"Barcelona", &zen5, "SkylakeX"},
    {"Prescott", &zen5, "SkylakeX"},
    {"Zen", &zen5, "SkylakeX"},
    {"Haswell", &zen5, "SkylakeX"},
    {"Cooperlake", &zen5, NULL},
    {"Prescott", &zen5_hidden, "Zen"},
    {"Zen", &zen5_hidden, NULL},
    {"Prescott", &zen4, "SkylakeX"},
    {"Zen", &zen4, NULL}, /* twice the width takes twice the time */
    {"Haswell", &zen4, NULL},
    {"Barcelona", &zen3, "Zen"},
    {"Zen", &zen3, NULL},
    {"Excavator", &excavator, NULL},
    {"Bulldozer", &excavator, "Zen"},
    {"neoversen1", &arm, NULL},
    {"armv8", &arm, NULL},
    {"Unknown", &emerald_rapids, NULL},
    {"Graniterapids", &emerald_rapids, NULL},
    {"", &emerald_rapids, NULL},
    {NULL, &emerald_rapids, NULL},
};

static void each_processor_gets_its_kernels(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *found = norma_blas_kernel_better(cases[i].in_use, cases[i].processor);
        const char *expected = cases[i].expected;
        if (found != expected && (!found || !expected || strcmp(found, expected) != 0))
            fail_msg("case %zu, %s in use: found %s, expected %s", i,
                     cases[i].in_use ? cases[i].in_use : "none", found ? found : "none",
                     expected ? expected : "none");
    }
}

/* A second decision must not ask for another change: a restart happens once. */
static void the_choice_is_final_and_runs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *better = norma_blas_kernel_better(cases[i].in_use, cases[i].processor);
        if (!better)
            continue;
        assert_null(norma_blas_kernel_better(better, cases[i].processor));
        assert_true(norma_blas_kernel_runs(better, cases[i].processor));
    }
    assert_false(norma_blas_kernel_runs("SkylakeX", &knights_landing));
    assert_false(norma_blas_kernel_runs("Haswell", &raptor_lake_hidden));
    assert_false(norma_blas_kernel_runs("Graniterapids", &emerald_rapids));
    assert_true(norma_blas_kernel_runs("prescott", &raptor_lake_hidden));
}

static void this_processor_is_consistent(void **state)
{
    norma_processor here;
    (void)state;
    norma_processor_read(&here);
    assert_true(here.avx2 || !here.avx512);
#if defined(__x86_64__)
    assert_true(here.family >= 6);
#else
    assert_null(norma_blas_kernel_better("Prescott", &here));
#endif
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_processor_gets_its_kernels),
    cmocka_unit_test(the_choice_is_final_and_runs),
    cmocka_unit_test(this_processor_is_consistent),
};

norma_test_main_serial("blas_kernel", tests)
