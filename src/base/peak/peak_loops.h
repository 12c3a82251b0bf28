/*
 * The loops of src/base/peak/peak_kernel.h, written once; included by the file of each instruction
 * set and by nobody else. That file defines FMA_BYTES, the length of a vector, and FMA_KERNELS, the
 * name of the table; it is compiled so that a product and a sum become one instruction.
 */
#include "src/base/peak/peak_kernel.h"

/* Independent sums: two units with a latency of four or five cycles, within 16 registers. */
#define FMA_EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
enum { FMA_SUMS = 12 };

/* Sums stay finite: x becomes x / 2 + 1/2, whose fixed point is 1. The fence keeps the compiler
 * from joining rounds or dropping them. */
#define FMA_DECLARE(i) vector sum##i = {0};
#define FMA_STEP(i) sum##i = sum##i * factor + half;
#define FMA_FENCE(i) __asm__ volatile("" : "+" FMA_REGISTER(sum##i));

#if defined(__x86_64__)
#define FMA_REGISTER(x) "x"(x)
#else
#define FMA_REGISTER(x) "w"(x)
#endif

#define FMA_LOOP(name, real)                                                                       \
    static double name(int64_t rounds)                                                             \
    {                                                                                              \
        typedef real vector __attribute__((vector_size(FMA_BYTES)));                               \
        enum { WIDTH = FMA_BYTES / sizeof(real) };                                                 \
        vector half = {0};                                                                         \
        half += (real)0.5;                                                                         \
        vector factor = half;                                                                      \
        FMA_EACH(FMA_DECLARE)                                                                      \
        for (int64_t round = 0; round < rounds; round++) {                                         \
            FMA_EACH(FMA_STEP)                                                                     \
            FMA_EACH(FMA_FENCE)                                                                    \
        }                                                                                          \
        return 2.0 * FMA_SUMS * WIDTH * (double)rounds;                                            \
    }

FMA_LOOP(fma_fp64, double)
FMA_LOOP(fma_fp32, float)

const norma_peak_kernels FMA_KERNELS = {fma_fp64, fma_fp32};
