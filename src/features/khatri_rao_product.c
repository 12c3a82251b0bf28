#include "src/base/index.h"
#include "src/base/largest.h"
#include "src/features/khatri_rao_state.h"

#include <math.h>
#include <string.h>

/* Where (i,p),(j,q) lies in unfolded and folded. */
static int64_t place(const norma_khatri_rao *kr, int64_t second, int64_t first)
{
    int64_t wide = kr->size.second_is_wide ? second : first;
    int64_t narrow = kr->size.second_is_wide ? first : second;
    return kr->column_start[narrow] + wide * kr->column_step[narrow];
}

/* A power of two near the largest |x|; 1 in double precision and where there is none. */
static double unit_of(const norma_khatri_rao *kr, const double *x, int64_t n)
{
    const double largest = kr->mode.single ? norma_largest_magnitude(n, x) : 0;
    int exponent = 0;
    if (!(largest > 0) || !isfinite(largest))
        return 1;
    (void)frexp(largest, &exponent);
    return ldexp(1, exponent < -1000 ? -1000 : exponent);
}

/* unfolded[(i,p)][(j,q)] = r[i,j,p+q] / unit. */
static void unfold(norma_khatri_rao *kr, const double *r, double unit)
{
    const int64_t n_first = norma_kernel_taps(kr->shape.kernel.first);
    const int64_t n_second = norma_kernel_taps(kr->shape.kernel.second);
    const int64_t n_taps = norma_kernel_taps(kr->shape.kernel.composite);
    const int64_t n_in = kr->shape.n_channels_in;
#pragma omp parallel for schedule(static) num_threads(kr->size.n_threads)
    for (int64_t i = 0; i < kr->shape.n_channels_out; i++)
        for (int64_t j = 0; j < n_in; j++)
            for (int64_t p = 0; p < n_second; p++)
                for (int64_t q = 0; q < n_first; q++)
                    norma_khatri_rao_put(
                        kr, kr->unfolded, place(kr, i * n_second + p, j * n_first + q),
                        r[(i * n_in + j) * n_taps + kr->tap[p * n_first + q]] / unit);
}

/* y[i,j,k] = unit times the sum over p + q = k, and over threads, of folded[(i,p)][(j,q)]. */
static void fold_up(const norma_khatri_rao *kr, double unit, double *y)
{
    const int64_t n_first = norma_kernel_taps(kr->shape.kernel.first);
    const int64_t n_second = norma_kernel_taps(kr->shape.kernel.second);
    const int64_t n_taps = norma_kernel_taps(kr->shape.kernel.composite);
    const int64_t n_in = kr->shape.n_channels_in;
#pragma omp parallel for schedule(static) num_threads(kr->size.n_threads)
    for (int64_t i = 0; i < kr->shape.n_channels_out; i++) {
        memset(y + i * n_in * n_taps, 0, (size_t)(n_in * n_taps) * sizeof *y);
        for (int64_t j = 0; j < n_in; j++)
            for (int64_t p = 0; p < n_second; p++)
                for (int64_t q = 0; q < n_first; q++) {
                    int64_t from = place(kr, i * n_second + p, j * n_first + q);
                    double sum = 0;
                    for (int t = 0; t < kr->size.n_threads; t++)
                        sum += norma_khatri_rao_get(kr, kr->workers[t].folded, from);
                    y[(i * n_in + j) * n_taps + kr->tap[p * n_first + q]] += unit * sum;
                }
    }
}

/* A pass over the features and its effect on x: nothing, x = KR' r, or x <- KR' r + shift + keep x.
 */
typedef struct pass {
    const double *g; /* forward only: the vector to multiply by; NULL otherwise */
    double unit_dot; /* of the inner products */
    double unit_x;   /* that x, or g, is divided by on its way to folded */
    double shift, keep;
    double *x;
    bool forward; /* folded = A' diag(x or g) B as well */
} pass;

/* One block of features by one thread. */
static void run_block(const norma_khatri_rao *kr, const pass *p, const norma_khatri_rao_worker *w,
                      const norma_khatri_rao_block *block, int64_t first, int64_t count)
{
    double *factors = w->factors;
    if (!p->g) {
        kr->kernels->multiply(block, kr->unfolded);
        kr->kernels->dot(block, factors);
    }
    for (int64_t t = 0; t < count; t++) {
        double factor = 0;
        if (p->g) {
            factor = p->g[first + t];
        } else {
            factor = p->unit_dot * factors[t] + p->shift;
            if (p->keep != 0)
                factor += p->keep * p->x[first + t];
            p->x[first + t] = factor;
        }
        factors[t] = factor / p->unit_x;
    }
    if (!p->forward)
        return;
    for (int64_t t = count; t < block->n_tiles * kr->kernels->tile; t++)
        factors[t] = 0;
    kr->kernels->scale(block, factors);
    kr->kernels->accumulate(block, w->folded);
}

/* All features, a part of them by each thread: the only waiting is at the end. */
static void run_pass(norma_khatri_rao *kr, const pass *p)
{
    const norma_khatri_rao_sizes *s = &kr->size;
#pragma omp parallel for schedule(static, 1) num_threads(s->n_threads)
    for (int t = 0; t < s->n_threads; t++) {
        const norma_khatri_rao_worker *w = &kr->workers[t];
        if (p->forward)
            memset(w->folded, 0, (size_t)(s->wide * s->narrow * s->real));
        for (int64_t done = 0; done < w->count; done += s->block) {
            int64_t count = w->count - done < s->block ? w->count - done : s->block;
            int64_t row = kr->mode.regenerated ? 0 : done;
            unsigned char *wide = w->wide + row * s->wide * s->real;
            unsigned char *narrow = w->narrow + row * s->narrow * s->real;
            if (kr->mode.regenerated)
                norma_khatri_rao_pack(kr, w, w->first + done, count, wide, narrow);
            const norma_khatri_rao_block block = {
                .n_tiles = norma_index_ceil_divide(count, kr->kernels->tile),
                .wide_tiles = s->wide_tiles,
                .n_vectors = s->n_vectors,
                .wide = wide,
                .narrow = narrow,
                .scaled = w->scaled};
            run_block(kr, p, w, &block, w->first + done, count);
        }
    }
}

void norma_khatri_rao_apply(norma_khatri_rao *kr, const double *g, double *y)
{
    double weights = kr->mode.unit_first * kr->mode.unit_second;
    double unit = unit_of(kr, g, kr->n_features);
    run_pass(kr, &(pass){.g = g, .unit_x = unit, .forward = true});
    fold_up(kr, weights * unit, y);
}

void norma_khatri_rao_apply_transpose(norma_khatri_rao *kr, const double *r, double *x)
{
    double weights = kr->mode.unit_first * kr->mode.unit_second;
    double unit = unit_of(kr, r, norma_khatri_rao_n_rows(&kr->shape));
    unfold(kr, r, unit);
    run_pass(kr, &(pass){.unit_dot = weights * unit, .unit_x = 1, .x = x});
}

void norma_khatri_rao_apply_both(norma_khatri_rao *kr, const double *r, double shift, double keep,
                                 double *x, double *y)
{
    double weights = kr->mode.unit_first * kr->mode.unit_second;
    double unit = weights * unit_of(kr, r, norma_khatri_rao_n_rows(&kr->shape));
    unfold(kr, r, unit / weights);
    run_pass(kr, &(pass){.unit_dot = unit,
                         .unit_x = kr->mode.single ? unit : 1,
                         .shift = shift,
                         .keep = keep,
                         .x = x,
                         .forward = true});
    fold_up(kr, weights * (kr->mode.single ? unit : 1), y);
}
