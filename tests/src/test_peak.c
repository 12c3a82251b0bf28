/* Multiply-adds on registers: what they count, on every instruction set of this processor. */
#include "tests/harness/harness.h"

#include "src/base/peak/peak.h"

static void operations_are_counted(void **state)
{
    static const int widths[NORMA_N_ISAS] = {2, 4, 8}; /* doubles of a vector */
    (void)state;
    for (int isa = 0; isa < NORMA_N_ISAS; isa++) {
        if (!norma_cpu_supports((norma_isa)isa))
            continue;
        double one = norma_peak_run((norma_isa)isa, false, 1);
        assert_true(one > 0 && one / (2 * widths[isa]) == (int)(one / (2 * widths[isa])));
        assert_true(norma_peak_run((norma_isa)isa, false, 1000) == 1000 * one);
        assert_true(norma_peak_run((norma_isa)isa, true, 1000) == 2000 * one);
        assert_true(norma_peak_run((norma_isa)isa, true, 0) == 0);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(operations_are_counted),
};

norma_test_main_serial("peak", tests)
