#ifndef NORMA_TESTS_MPI_LAYER_PROBLEM_H
#define NORMA_TESTS_MPI_LAYER_PROBLEM_H
/* Layer problems to solve in tests: a few shapes, any number of features, values by index. */
#include "tests/harness/layer_fixture.h"
#include "tests/harness/mpi_harness.h"

#include "mpi/layer/layer_solve.h"

static const struct {
    int64_t c2, c0;
    const char *split;
    int64_t height, width;
} shapes[] = {
    {1, 1, "second", 1, 1},   {2, 1, "second", 1, 1}, {5, 4, "second", 1, 1},
    {3, 2, "second", 3, 3},   {2, 3, "first", 3, 3},  {2, 2, "3x2+2x3", 3, 3},
    {12, 12, "second", 1, 1},
};
enum { n_shapes = sizeof shapes / sizeof shapes[0] };

typedef struct fixture {
    norma_layer_problem problem;
    norma_tensor *w1, *w2;
    double *target, *skip, *first, *second; /* skip: NULL without a residual */
    int64_t n, n_minimum;
} fixture;

/* A layer with c1 = minimum + excess features (negative: fewer), at least 1. */
static inline fixture fixture_create_of(norma_khatri_rao_shape s, norma_width width,
                                        norma_residual residual, int64_t excess)
{
    fixture f = {0};
    int64_t n_channels = s.n_channels_out * s.n_channels_in;
    double *bare = fixture_alloc(n_channels * norma_kernel_taps(s.kernel.target));
    f.n = norma_khatri_rao_n_rows(&s);
    f.target = fixture_alloc(f.n);
    fixture_fill(3, n_channels * norma_kernel_taps(s.kernel.target), bare);
    norma_kernel_embed(&s.kernel, n_channels, bare, f.target);
    if (residual != NORMA_RESIDUAL_NONE) {
        f.skip = fixture_alloc(f.n);
        fixture_fill(4, n_channels * norma_kernel_taps(s.kernel.target), bare);
        norma_kernel_embed(&s.kernel, n_channels, bare, f.skip);
    }
    NORMA_FREE(bare);
    f.n_minimum = norma_width_rule_minimum(width, residual, &s, f.target, f.skip);
    int64_t c1 = f.n_minimum + excess > 1 ? f.n_minimum + excess : 1;
    f.first = fixture_alloc(c1 * norma_khatri_rao_width_first(&s));
    f.second = fixture_alloc(c1 * norma_khatri_rao_width_second(&s));
    fixture_fill(1, c1 * norma_khatri_rao_width_first(&s), f.first);
    fixture_fill(2, c1 * norma_khatri_rao_width_second(&s), f.second);
    f.w1 = fixture_tensor(&s, NORMA_TENSOR_FIRST, c1, f.first);
    f.w2 = fixture_tensor(&s, NORMA_TENSOR_SECOND, c1, f.second);
    f.problem = (norma_layer_problem){.shape = s,
                                      .n_features = c1,
                                      .width = width,
                                      .target = f.target,
                                      .w1 = f.w1,
                                      .w2 = f.w2,
                                      .residual = residual,
                                      .skip = f.skip};
    return f;
}

static inline fixture fixture_create_residual(int shape, norma_width width, norma_residual residual,
                                              int64_t excess)
{
    return fixture_create_of(fixture_shape(shapes[shape].c2, shapes[shape].c0, shapes[shape].split,
                                           shapes[shape].height, shapes[shape].width),
                             width, residual, excess);
}

static inline fixture fixture_create(int shape, norma_width width, int64_t excess)
{
    return fixture_create_residual(shape, width, NORMA_RESIDUAL_NONE, excess);
}

static inline void fixture_destroy(fixture *f)
{
    norma_tensor_destroy(&f->w1);
    norma_tensor_destroy(&f->w2);
    NORMA_FREE(f->target);
    NORMA_FREE(f->skip);
    NORMA_FREE(f->first);
    NORMA_FREE(f->second);
}

#endif
