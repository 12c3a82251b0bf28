#ifndef NORMA_BASE_PEAK_PEAK_H
#define NORMA_BASE_PEAK_PEAK_H
/*
 * The processor's own limit: fused multiply-adds on registers alone, independent of one another.
 * No library and no memory has a part in it, so a slow BLAS shows beside it.
 */
#include "src/base/cpu.h"

#include <stdbool.h>
#include <stdint.h>

/* Runs `rounds` rounds of multiply-adds in FP64, or FP32 where single, on one core with the given
 * instruction set, which norma_cpu_supports must allow. Returns the floating-point operations done:
 * two a multiply-add and element. Reentrant; uses no threads itself. */
double norma_peak_run(norma_isa isa, bool single, int64_t rounds);

#endif
