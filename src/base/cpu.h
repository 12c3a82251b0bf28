#ifndef NORMA_BASE_CPU_H
#define NORMA_BASE_CPU_H
/*
 * Which vector instruction set the kernels use: chosen at run time, never an illegal instruction.
 * It changes the speed and no bit of the random numbers.
 */
#include "src/base/status.h"

#include <stdbool.h>

typedef enum norma_isa {
    NORMA_ISA_SCALAR, /* any processor with a fused multiply-add */
    NORMA_ISA_AVX2,   /* AVX2 and FMA */
    NORMA_ISA_AVX512, /* AVX-512 F and DQ */
    NORMA_N_ISAS
} norma_isa;

/* Refuses a processor without fused multiply-add (NORMA_LIMIT), then takes the instruction set from
 * the environment variable NORMA_ISA (scalar, avx2 or avx512; unset or empty: the widest that the
 * processor has). NORMA_USAGE when its value is unknown or this processor or build lacks it. Called
 * once at start; without it the widest set is used. */
NORMA_MUST_USE norma_status norma_cpu_check(void);

/* Does this processor, with this build, run the set? */
bool norma_cpu_supports(norma_isa isa);

/* The widest set that this processor runs, whatever is in use. */
norma_isa norma_cpu_widest(void);

/* The set in use. */
norma_isa norma_cpu_isa(void);

/* Takes another set, which must be supported; for tests and benchmarks. */
void norma_cpu_set_isa(norma_isa isa);

/* "scalar", "avx2", "avx512"; a constant string. */
const char *norma_cpu_isa_name(norma_isa isa);

#endif
