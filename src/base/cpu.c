#include "src/base/cpu.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[NORMA_N_ISAS] = {"scalar", "avx2", "avx512"};

/* NORMA_N_ISAS: not chosen yet. */
static atomic_int chosen = NORMA_N_ISAS;

static bool has_fma(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("fma");
#else
    return true; /* part of the base instruction set of every other 64-bit machine we build for */
#endif
}

bool norma_cpu_supports(norma_isa isa)
{
    if (isa == NORMA_ISA_SCALAR)
        return has_fma();
#ifdef NORMA_X86_KERNELS
    bool avx2 = has_fma() && __builtin_cpu_supports("avx2");
    if (isa == NORMA_ISA_AVX2)
        return avx2;
    if (isa == NORMA_ISA_AVX512)
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
#endif
    return false;
}

norma_isa norma_cpu_widest(void)
{
    if (norma_cpu_supports(NORMA_ISA_AVX512))
        return NORMA_ISA_AVX512;
    return norma_cpu_supports(NORMA_ISA_AVX2) ? NORMA_ISA_AVX2 : NORMA_ISA_SCALAR;
}

norma_isa norma_cpu_isa(void)
{
    int isa = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (isa == NORMA_N_ISAS) {
        isa = (int)norma_cpu_widest();
        atomic_store_explicit(&chosen, isa, memory_order_relaxed);
    }
    return (norma_isa)isa;
}

void norma_cpu_set_isa(norma_isa isa)
{
    atomic_store_explicit(&chosen, (int)isa, memory_order_relaxed);
}

const char *norma_cpu_isa_name(norma_isa isa)
{
    return names[isa];
}

norma_status norma_cpu_check(void)
{
    const char *asked = getenv("NORMA_ISA");
    if (!has_fma())
        return NORMA_FAIL(NORMA_LIMIT, "this processor has no fused multiply-add (FMA), which "
                                       "Norma's random numbers need");
    if (!asked || !asked[0]) {
        norma_cpu_set_isa(norma_cpu_widest());
        return NORMA_OK;
    }
    for (int isa = 0; isa < NORMA_N_ISAS; isa++) {
        if (strcmp(asked, names[isa]) != 0)
            continue;
        if (!norma_cpu_supports((norma_isa)isa))
            return NORMA_FAIL(NORMA_USAGE,
                              "NORMA_ISA=%s: this processor or build lacks it; the widest here is "
                              "%s",
                              asked, names[norma_cpu_widest()]);
        norma_cpu_set_isa((norma_isa)isa);
        return NORMA_OK;
    }
    return NORMA_FAIL(NORMA_USAGE, "NORMA_ISA=%s is unknown: scalar, avx2 or avx512", asked);
}
