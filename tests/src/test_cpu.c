/* The choice of an instruction set, by the processor and by the environment. */
#include "tests/harness/harness.h"

#include "src/base/cpu.h"

#include <stdlib.h>
#include <string.h>

static norma_isa widest_here(void)
{
    norma_isa widest = NORMA_ISA_SCALAR;
    for (int isa = 0; isa < NORMA_N_ISAS; isa++)
        if (norma_cpu_supports((norma_isa)isa))
            widest = (norma_isa)isa;
    return widest;
}

static void environment_chooses(void **state)
{
    (void)state;
    for (int isa = 0; isa < NORMA_N_ISAS; isa++) {
        const char *name = norma_cpu_isa_name((norma_isa)isa);
        setenv("NORMA_ISA", name, 1);
        if (norma_cpu_supports((norma_isa)isa)) {
            norma_test_ok(norma_cpu_check());
            assert_int_equal(norma_cpu_isa(), isa);
        } else {
            norma_test_fails(norma_cpu_check(), NORMA_USAGE, name);
        }
    }
}

static void without_it_the_widest(void **state)
{
    (void)state;
    norma_cpu_set_isa(NORMA_ISA_SCALAR);
    setenv("NORMA_ISA", "", 1);
    norma_test_ok(norma_cpu_check());
    assert_int_equal(norma_cpu_isa(), widest_here());
    norma_cpu_set_isa(NORMA_ISA_SCALAR);
    unsetenv("NORMA_ISA");
    norma_test_ok(norma_cpu_check());
    assert_int_equal(norma_cpu_isa(), widest_here());
}

static void unknown_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"avx", "AVX2", "avx2 ", "sse2", "2", "scalar,avx2"};
    norma_cpu_set_isa(NORMA_ISA_SCALAR);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        setenv("NORMA_ISA", wrong[i], 1);
        norma_test_fails(norma_cpu_check(), NORMA_USAGE, wrong[i]);
        norma_test_fails(norma_cpu_check(), NORMA_USAGE, "scalar, avx2 or avx512");
        assert_int_equal(norma_cpu_isa(), NORMA_ISA_SCALAR);
    }
    unsetenv("NORMA_ISA");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(environment_chooses),
    cmocka_unit_test(without_it_the_widest),
    cmocka_unit_test(unknown_is_refused),
};

norma_test_main_serial("cpu", tests)
