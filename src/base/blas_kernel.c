#include "src/base/blas_kernel.h"

#include <stddef.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* Vectors that a kernel set multiplies. */
typedef enum kind { KIND_UNKNOWN, KIND_SSE, KIND_AVX, KIND_FMA, KIND_AVX512 } kind;

static const struct {
    const char *name;
    kind kind;
} kernels[] = {
    {"Katmai", KIND_SSE},        {"Coppermine", KIND_SSE},
    {"Northwood", KIND_SSE},     {"Prescott", KIND_SSE},
    {"Banias", KIND_SSE},        {"Atom", KIND_SSE},
    {"Core2", KIND_SSE},         {"Penryn", KIND_SSE},
    {"Dunnington", KIND_SSE},    {"Nehalem", KIND_SSE},
    {"Athlon", KIND_SSE},        {"Opteron", KIND_SSE},
    {"Opteron_SSE3", KIND_SSE},  {"Barcelona", KIND_SSE},
    {"Bobcat", KIND_SSE},        {"Nano", KIND_SSE},
    {"Sandybridge", KIND_AVX},   {"Bulldozer", KIND_AVX},
    {"Piledriver", KIND_FMA},    {"Steamroller", KIND_FMA},
    {"Excavator", KIND_FMA},     {"Haswell", KIND_FMA},
    {"Zen", KIND_FMA},           {"SkylakeX", KIND_AVX512},
    {"Cooperlake", KIND_AVX512}, {"SapphireRapids", KIND_AVX512},
};

/* AMD's Zen 3 and Zen 4, whose 512-bit operations take two passes of 256 bits. */
enum { FAMILY_OF_TWO_PASSES = 25 };

static bool same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        int x = *a >= 'A' && *a <= 'Z' ? *a - 'A' + 'a' : *a;
        int y = *b >= 'A' && *b <= 'Z' ? *b - 'A' + 'a' : *b;
        if (x != y)
            return false;
    }
    return *a == *b;
}

static kind kind_of(const char *name)
{
    for (size_t i = 0; name && i < sizeof kernels / sizeof kernels[0]; i++)
        if (same_name(name, kernels[i].name))
            return kernels[i].kind;
    return KIND_UNKNOWN;
}

void norma_processor_read(norma_processor *p)
{
    memset(p, 0, sizeof *p);
#if defined(__x86_64__)
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    __builtin_cpu_init();
    p->avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    p->avx512 = p->avx2 && __builtin_cpu_supports("avx512f") &&
                __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    p->amd = __builtin_cpu_is("amd");
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx))
        return;
    unsigned family = eax >> 8 & 0xf;
    p->family = (int)(family == 0xf ? family + (eax >> 20 & 0xff) : family);
    p->model = (int)((eax >> 4 & 0xf) | (family >= 6 ? eax >> 12 & 0xf0 : 0));
#endif
}

const char *norma_blas_kernel_better(const char *in_use, const norma_processor *p)
{
    kind now = kind_of(in_use);
    bool two_passes = p->amd && p->family == FAMILY_OF_TWO_PASSES;
    if (now == KIND_UNKNOWN)
        return NULL;
    if (p->avx512 && now < KIND_AVX512 && !(two_passes && now == KIND_FMA))
        return "SkylakeX";
    if (p->avx2 && now < KIND_FMA)
        return p->amd ? "Zen" : "Haswell";
    return NULL;
}

bool norma_blas_kernel_runs(const char *name, const norma_processor *p)
{
    switch (kind_of(name)) {
    case KIND_SSE:
        return true;
    case KIND_AVX:
        return p->avx2 && !same_name(name, "Bulldozer"); /* which has instructions of its own */
    case KIND_FMA:
        return p->avx2 && (same_name(name, "Haswell") || same_name(name, "Zen"));
    case KIND_AVX512:
        return p->avx512 && same_name(name, "SkylakeX");
    default:
        return false;
    }
}
