#ifndef NORMA_TESTS_LAYER_FIXTURE_H
#define NORMA_TESTS_LAYER_FIXTURE_H
/*
 * Layers to test linear algebra with: weights that are a fixed function of their index, and KR by
 * its definition, entry by entry.
 */
#include "tests/harness/harness.h"

#include "src/base/mem.h"
#include "src/features/khatri_rao.h"
#include "src/random/tensor.h"

/* A number in (-1, 1), a fixed function of (what, index), uncorrelated between neighbours. */
static inline double fixture_value(uint64_t what, int64_t index)
{
    uint64_t z = (uint64_t)index * 0x9e3779b97f4a7c15u + (what + 1) * 0xd1342543de82ef95u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (double)(int64_t)(z >> 11) * 0x1p-52 - 1 + 0x1p-53;
}

static inline void fixture_fill(uint64_t what, int64_t n, double *out)
{
    for (int64_t e = 0; e < n; e++)
        out[e] = fixture_value(what, e);
}

static inline double *fixture_alloc(int64_t n)
{
    double *p = NULL;
    norma_status status = NORMA_CALLOC(p, n);
    if (status != NORMA_OK)
        fail_msg("out of memory");
    return p;
}

static inline norma_khatri_rao_shape fixture_shape(int64_t c2, int64_t c0, const char *split,
                                                   int64_t height, int64_t width)
{
    norma_khatri_rao_shape shape = {.n_channels_out = c2, .n_channels_in = c0};
    norma_kernel_shape target = {height, width};
    if (norma_kernel_split(&shape.kernel, split, target) != NORMA_OK)
        fail_msg("%s", norma_status_error()->message);
    return shape;
}

/* KR[(i,j,k), J] by the definition, from the feature's weights second [c2][|K2|], first [c0][|K1|]
 * of feature J. */
static inline double fixture_kr(const norma_khatri_rao_shape *shape, const double *second,
                                const double *first, int64_t row)
{
    int64_t n_taps = norma_kernel_taps(shape->kernel.composite);
    int64_t n_first = norma_kernel_taps(shape->kernel.first);
    int64_t n_second = norma_kernel_taps(shape->kernel.second);
    int64_t i = row / n_taps / shape->n_channels_in;
    int64_t j = row / n_taps % shape->n_channels_in;
    double sum = 0;
    for (int64_t p = 0; p < n_second; p++)
        for (int64_t q = 0; q < n_first; q++)
            if (norma_kernel_composite_tap(&shape->kernel, q, p) == row % n_taps)
                sum += second[i * n_second + p] * first[j * n_first + q];
    return sum;
}

/* The tensor of n_features rows with these values, which are borrowed. */
static inline norma_tensor *fixture_tensor(const norma_khatri_rao_shape *shape,
                                           norma_tensor_role role, int64_t n_features,
                                           const double *values)
{
    bool first = role == NORMA_TENSOR_FIRST;
    norma_tensor *tensor = NULL;
    norma_tensor_spec spec = {
        .distribution = NORMA_DISTRIBUTION_GIVEN,
        .role = role,
        .n_features = n_features,
        .n_channels = first ? shape->n_channels_in : shape->n_channels_out,
        .n_taps = norma_kernel_taps(first ? shape->kernel.first : shape->kernel.second),
        .values = values};
    if (norma_tensor_create(&spec, &tensor) != NORMA_OK)
        fail_msg("%s", norma_status_error()->message);
    return tensor;
}

/* Weights of a structured product, as arrays. */
typedef struct fixture_weights {
    int64_t width_first, width_second;
    const double *first, *second; /* [features][width] */
} fixture_weights;

/* norma_khatri_rao_source.fill with fixture_weights as context. */
static inline void fixture_copy_weights(const void *context, int64_t start, int64_t count,
                                        double *first, double *second)
{
    const fixture_weights *w = context;
    for (int64_t e = 0; e < count * w->width_first; e++)
        first[e] = w->first[start * w->width_first + e];
    for (int64_t e = 0; e < count * w->width_second; e++)
        second[e] = w->second[start * w->width_second + e];
}

#endif
