#ifndef NORMA_BASE_BLAS_KERNEL_H
#define NORMA_BASE_BLAS_KERNEL_H
/*
 * Which of OpenBLAS's kernel sets suits a processor.
 *
 * OpenBLAS picks its kernels at load from family and model, and takes those of the oldest
 * processors for a model newer than itself. Its environment variable OPENBLAS_CORETYPE names
 * others. Of the sets for AVX-512 only SkylakeX is ever chosen here: the newer ones of old versions
 * have computed wrong results.
 */
#include <stdbool.h>

/* The features of a processor that decide; those that the system keeps are false. */
typedef struct norma_processor {
    bool avx2;   /* AVX2 and FMA */
    bool avx512; /* also AVX-512 F, CD, BW, DQ and VL, for which SkylakeX is compiled */
    bool amd;
    int family, model; /* display values; 0 where they are unknown */
} norma_processor;

/* Reads the features of this processor. All are false where the architecture is not amd64. */
void norma_processor_read(norma_processor *processor);

/* The kernel set that this processor should use instead of `in_use`, the name that
 * openblas_get_corename gives; a constant string. NULL when `in_use` is at least as new, is a name
 * that this version of Norma does not know, or when the processor has nothing to gain. */
const char *norma_blas_kernel_better(const char *in_use, const norma_processor *processor);

/* Can this processor run a kernel set of this name? False for unknown names. */
bool norma_blas_kernel_runs(const char *name, const norma_processor *processor);

#endif
