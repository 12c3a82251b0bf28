#include "src/features/khatri_rao.h"

#include "src/base/index.h"
#include "src/base/mem.h"

#include <cblas.h>
#include <limits.h>
#include <omp.h>
#include <stdbool.h>
#include <string.h>

/* n must leave room for n * c1 in 64 bits. */
#define MAX_ROWS ((int64_t)1 << 40)
/* Numbers of a block of the features that a product works on: large enough for BLAS, within cache.
 */
#define BLOCK_NUMBERS ((int64_t)1 << 15)

/* Of the two layers the one with more numbers a feature is called wide, the other narrow: what a
 * block of features needs beside its weights is as wide as the narrow one. */
struct norma_khatri_rao {
    norma_khatri_rao_shape shape;
    int64_t n_features;
    int64_t n_wide, n_narrow;
    int n_threads;       /* each has a contiguous part of the features */
    int64_t block;       /* features that a thread works on at a time */
    bool second_is_wide; /* A is the wide one, B the narrow one */
    double *first;       /* B [n_features][c0 |K1|] */
    double *second;      /* A [n_features][c2 |K2|] */
    double *unfolded;    /* R, or R' where B is the wide one: [n_wide][n_narrow] */
    double *folded;      /* A' diag(g) B, or its transpose: [n_threads][n_wide][n_narrow] */
    double *scaled;      /* [n_threads][block][n_narrow] */
    int64_t *tap;        /* [|K2|][|K1|]: p + q */
};

norma_status norma_khatri_rao_check(const norma_khatri_rao_shape *shape)
{
    int64_t channels = 0;
    int64_t n = 0;
    if (shape->n_channels_out < 1 || shape->n_channels_in < 1)
        return NORMA_FAIL(NORMA_CONFIG, "a layer with %lld output and %lld input channels",
                          (long long)shape->n_channels_out, (long long)shape->n_channels_in);
    if (__builtin_mul_overflow(shape->n_channels_out, shape->n_channels_in, &channels) ||
        __builtin_mul_overflow(channels, norma_kernel_taps(shape->kernel.composite), &n) ||
        n > MAX_ROWS)
        return NORMA_FAIL(NORMA_LIMIT,
                          "%lld x %lld channels with %lld taps: more than 2^40 equations",
                          (long long)shape->n_channels_out, (long long)shape->n_channels_in,
                          (long long)norma_kernel_taps(shape->kernel.composite));
    if (norma_khatri_rao_width_first(shape) > INT_MAX ||
        norma_khatri_rao_width_second(shape) > INT_MAX)
        return NORMA_FAIL(NORMA_LIMIT, "more than %d weights a feature in one layer", INT_MAX);
    return NORMA_OK;
}

int64_t norma_khatri_rao_n_rows(const norma_khatri_rao_shape *shape)
{
    return shape->n_channels_out * shape->n_channels_in *
           norma_kernel_taps(shape->kernel.composite);
}

int64_t norma_khatri_rao_width_first(const norma_khatri_rao_shape *shape)
{
    return shape->n_channels_in * norma_kernel_taps(shape->kernel.first);
}

int64_t norma_khatri_rao_width_second(const norma_khatri_rao_shape *shape)
{
    return shape->n_channels_out * norma_kernel_taps(shape->kernel.second);
}

double norma_khatri_rao_flops(const norma_khatri_rao_shape *shape, int64_t n_features)
{
    return 2 * (double)norma_khatri_rao_width_first(shape) *
           (double)norma_khatri_rao_width_second(shape) * (double)n_features;
}

/* The |K| taps of one channel pair: a [K2] convolved with b [K1]. */
static void convolve(const norma_kernel *kernel, const double *a, const double *b, double *out)
{
    int64_t n_first = norma_kernel_taps(kernel->first);
    int64_t n_second = norma_kernel_taps(kernel->second);
    if (n_first == 1) {
        for (int64_t p = 0; p < n_second; p++)
            out[p] = a[p] * b[0];
        return;
    }
    memset(out, 0, (size_t)norma_kernel_taps(kernel->composite) * sizeof *out);
    for (int64_t p_row = 0; p_row < kernel->second.height; p_row++) {
        for (int64_t p_column = 0; p_column < kernel->second.width; p_column++) {
            double weight = *a++;
            const double *from = b;
            for (int64_t q_row = 0; q_row < kernel->first.height; q_row++) {
                double *to = out + (p_row + q_row) * kernel->composite.width + p_column;
                for (int64_t q = 0; q < kernel->first.width; q++)
                    to[q] += weight * from[q];
                from += kernel->first.width;
            }
        }
    }
}

/* Entry k of the same convolution; the same bits. */
static double convolve_at(const norma_kernel *kernel, const double *a, const double *b, int64_t k)
{
    int64_t row = k / kernel->composite.width;
    int64_t column = k % kernel->composite.width;
    double sum = 0;
    for (int64_t p_row = 0; p_row < kernel->second.height; p_row++) {
        int64_t q_row = row - p_row;
        if (q_row < 0 || q_row >= kernel->first.height)
            continue;
        for (int64_t p_column = 0; p_column < kernel->second.width; p_column++) {
            int64_t q_column = column - p_column;
            if (q_column >= 0 && q_column < kernel->first.width)
                sum += a[p_row * kernel->second.width + p_column] *
                       b[q_row * kernel->first.width + q_column];
        }
    }
    return sum;
}

/* Taps k .. k + count - 1 of one channel pair. */
static void fill_pair(const norma_kernel *kernel, const double *a, const double *b, int64_t k,
                      int64_t count, double *out)
{
    if (norma_kernel_taps(kernel->first) == 1) {
        for (int64_t t = 0; t < count; t++)
            out[t] = a[k + t] * b[0];
    } else if (count == norma_kernel_taps(kernel->composite)) {
        convolve(kernel, a, b, out);
    } else {
        for (int64_t t = 0; t < count; t++)
            out[t] = convolve_at(kernel, a, b, k + t);
    }
}

void norma_khatri_rao_fill(const norma_khatri_rao_shape *shape, const double *second,
                           const double *first, int64_t i, int64_t start, int64_t count,
                           double *out)
{
    const norma_kernel *kernel = &shape->kernel;
    int64_t n_first = norma_kernel_taps(kernel->first);
    int64_t n_second = norma_kernel_taps(kernel->second);
    int64_t n_taps = norma_kernel_taps(kernel->composite);
    const double *a = second + i * n_second;
    if (n_second == 1) { /* (j, k) runs as (j, q) does */
        for (int64_t t = 0; t < count; t++)
            out[t] = a[0] * first[start + t];
        return;
    }
    while (count > 0) {
        int64_t k = start % n_taps;
        int64_t n = n_taps - k < count ? n_taps - k : count;
        fill_pair(kernel, a, first + start / n_taps * n_first, k, n, out);
        out += n;
        start += n;
        count -= n;
    }
}

static void set_sizes(norma_khatri_rao *kr, const norma_khatri_rao_shape *shape, int64_t n_features)
{
    int64_t n_first = norma_khatri_rao_width_first(shape);
    int64_t n_second = norma_khatri_rao_width_second(shape);
    kr->shape = *shape;
    kr->n_features = n_features;
    kr->second_is_wide = n_second >= n_first;
    kr->n_wide = kr->second_is_wide ? n_second : n_first;
    kr->n_narrow = kr->second_is_wide ? n_first : n_second;
    kr->n_threads = omp_get_max_threads();
    int64_t part = norma_index_ceil_divide(n_features, kr->n_threads);
    kr->block = BLOCK_NUMBERS / kr->n_narrow;
    kr->block = kr->block < 128 ? 128 : kr->block;
    kr->block = kr->block < part ? kr->block : part;
}

double norma_khatri_rao_bytes(const norma_khatri_rao_shape *shape, int64_t n_features)
{
    norma_khatri_rao kr = {0};
    set_sizes(&kr, shape, n_features);
    double wide = (double)kr.n_wide;
    double narrow = (double)kr.n_narrow;
    return 8 * ((double)n_features * (wide + narrow) + (1 + kr.n_threads) * wide * narrow +
                kr.n_threads * (double)kr.block * narrow);
}

norma_status norma_khatri_rao_create(const norma_khatri_rao_shape *shape, int64_t n_features,
                                     norma_khatri_rao **out)
{
    norma_khatri_rao *kr = NULL;
    norma_status status = norma_khatri_rao_check(shape);
    if (status != NORMA_OK)
        return status;
    NORMA_GOTO(status, NORMA_CALLOC(kr, 1));
    set_sizes(kr, shape, n_features);
    int64_t n_first = norma_kernel_taps(shape->kernel.first);
    int64_t n_second = norma_kernel_taps(shape->kernel.second);
    NORMA_GOTO(status, NORMA_ALLOC(kr->first, n_features * norma_khatri_rao_width_first(shape)));
    NORMA_GOTO(status, NORMA_ALLOC(kr->second, n_features * norma_khatri_rao_width_second(shape)));
    NORMA_GOTO(status, NORMA_ALLOC(kr->unfolded, kr->n_wide * kr->n_narrow));
    NORMA_GOTO(status, NORMA_ALLOC(kr->folded, kr->n_threads * kr->n_wide * kr->n_narrow));
    NORMA_GOTO(status, NORMA_ALLOC(kr->scaled, kr->n_threads * kr->block * kr->n_narrow));
    NORMA_GOTO(status, NORMA_ALLOC(kr->tap, n_first * n_second));
    for (int64_t p = 0; p < n_second; p++)
        for (int64_t q = 0; q < n_first; q++)
            kr->tap[p * n_first + q] = norma_kernel_composite_tap(&shape->kernel, q, p);
    *out = kr;
    kr = NULL;
done:
    norma_khatri_rao_destroy(&kr);
    return status;
}

double *norma_khatri_rao_first(norma_khatri_rao *kr)
{
    return kr->first;
}

double *norma_khatri_rao_second(norma_khatri_rao *kr)
{
    return kr->second;
}

int64_t norma_khatri_rao_n_features(const norma_khatri_rao *kr)
{
    return kr->n_features;
}

/* Where (i,p),(j,q) lies in unfolded and folded: p and q advance by these strides. */
typedef struct fold {
    int64_t n_first, n_second, n_taps;
    int64_t step_second, step_first;
} fold;

static fold fold_of(const norma_khatri_rao *kr)
{
    const norma_kernel *kernel = &kr->shape.kernel;
    return (fold){.n_first = norma_kernel_taps(kernel->first),
                  .n_second = norma_kernel_taps(kernel->second),
                  .n_taps = norma_kernel_taps(kernel->composite),
                  .step_second = kr->second_is_wide ? kr->n_narrow : 1,
                  .step_first = kr->second_is_wide ? 1 : kr->n_narrow};
}

/* unfolded[(i,p)][(j,q)] = r[i,j,p+q]. */
static void unfold(norma_khatri_rao *kr, const double *r)
{
    const fold f = fold_of(kr);
    for (int64_t i = 0; i < kr->shape.n_channels_out; i++)
        for (int64_t j = 0; j < kr->shape.n_channels_in; j++, r += f.n_taps)
            for (int64_t p = 0; p < f.n_second; p++)
                for (int64_t q = 0; q < f.n_first; q++)
                    kr->unfolded[(i * f.n_second + p) * f.step_second +
                                 (j * f.n_first + q) * f.step_first] =
                        r[kr->tap[p * f.n_first + q]];
}

/* y[i,j,k] = sum over p + q = k, and over threads, of folded[(i,p)][(j,q)]. */
static void fold_up(norma_khatri_rao *kr, double *y)
{
    const fold f = fold_of(kr);
    const int64_t size = kr->n_wide * kr->n_narrow;
    for (int t = 1; t < kr->n_threads; t++)
        for (int64_t e = 0; e < size; e++)
            kr->folded[e] += kr->folded[t * size + e];
    memset(y, 0, (size_t)norma_khatri_rao_n_rows(&kr->shape) * sizeof *y);
    for (int64_t i = 0; i < kr->shape.n_channels_out; i++)
        for (int64_t j = 0; j < kr->shape.n_channels_in; j++, y += f.n_taps)
            for (int64_t p = 0; p < f.n_second; p++)
                for (int64_t q = 0; q < f.n_first; q++)
                    y[kr->tap[p * f.n_first + q]] +=
                        kr->folded[(i * f.n_second + p) * f.step_second +
                                   (j * f.n_first + q) * f.step_first];
}

static const double *wide_rows(const norma_khatri_rao *kr, int64_t first)
{
    return (kr->second_is_wide ? kr->second : kr->first) + first * kr->n_wide;
}

static const double *narrow_rows(const norma_khatri_rao *kr, int64_t first)
{
    return (kr->second_is_wide ? kr->first : kr->second) + first * kr->n_narrow;
}

/* scaled[count][narrow] = wide weights times unfolded. */
static void multiply_unfolded(const norma_khatri_rao *kr, int64_t first, int64_t count,
                              double *scaled)
{
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)count, (int)kr->n_narrow,
                (int)kr->n_wide, 1, wide_rows(kr, first), (int)kr->n_wide, kr->unfolded,
                (int)kr->n_narrow, 0, scaled, (int)kr->n_narrow);
}

/* folded += wide weights' times scaled. */
static void accumulate_folded(const norma_khatri_rao *kr, int64_t first, int64_t count,
                              const double *scaled, double *folded)
{
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)kr->n_wide, (int)kr->n_narrow,
                (int)count, 1, wide_rows(kr, first), (int)kr->n_wide, scaled, (int)kr->n_narrow, 1,
                folded, (int)kr->n_narrow);
}

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t t = 0; t < n; t++)
        sum += a[t] * b[t];
    return sum;
}

static void scale(double factor, const double *from, int64_t n, double *to)
{
    for (int64_t t = 0; t < n; t++)
        to[t] = factor * from[t];
}

/* What a pass over the features does to x: nothing, x = KR' r, or x <- KR' r + shift + keep x. */
typedef struct pass {
    const double *g; /* forward only: the vector to multiply by; NULL otherwise */
    double shift, keep;
    double *x;
    bool forward; /* folded = A' diag(x or g) B as well */
} pass;

/* One block of features by one thread. */
static void run_block(const norma_khatri_rao *kr, const pass *p, int64_t first, int64_t count,
                      double *scaled, double *folded)
{
    int64_t width = kr->n_narrow;
    const double *narrow = narrow_rows(kr, first);
    if (!p->g)
        multiply_unfolded(kr, first, count, scaled);
    for (int64_t t = 0; t < count; t++, narrow += width) {
        double *row = scaled + t * width;
        double factor = 0;
        if (p->g) {
            factor = p->g[first + t];
        } else {
            factor = dot(row, narrow, width) + p->shift;
            if (p->keep != 0)
                factor += p->keep * p->x[first + t];
            p->x[first + t] = factor;
        }
        if (p->forward)
            scale(factor, narrow, width, row);
    }
    if (p->forward)
        accumulate_folded(kr, first, count, scaled, folded);
}

/* All features, a part of them by each thread with a BLAS of one thread: the only waiting is at the
 * end. */
static void run_pass(norma_khatri_rao *kr, const pass *p)
{
    const int n_blas_threads = openblas_get_num_threads();
    const int64_t size = kr->n_wide * kr->n_narrow;
    openblas_set_num_threads(1);
#pragma omp parallel for schedule(static, 1) num_threads(kr->n_threads)
    for (int t = 0; t < kr->n_threads; t++) {
        int64_t first = 0;
        int64_t left = norma_index_share(kr->n_features, kr->n_threads, t, &first);
        double *folded = kr->folded + t * size;
        if (p->forward)
            memset(folded, 0, (size_t)size * sizeof *folded);
        for (; left > 0; left -= kr->block, first += kr->block)
            run_block(kr, p, first, left < kr->block ? left : kr->block,
                      kr->scaled + t * kr->block * kr->n_narrow, folded);
    }
    openblas_set_num_threads(n_blas_threads);
}

void norma_khatri_rao_apply(norma_khatri_rao *kr, const double *g, double *y)
{
    run_pass(kr, &(pass){.g = g, .forward = true});
    fold_up(kr, y);
}

void norma_khatri_rao_apply_transpose(norma_khatri_rao *kr, const double *r, double *x)
{
    unfold(kr, r);
    run_pass(kr, &(pass){.x = x});
}

void norma_khatri_rao_apply_both(norma_khatri_rao *kr, const double *r, double shift, double keep,
                                 double *x, double *y)
{
    unfold(kr, r);
    run_pass(kr, &(pass){.shift = shift, .keep = keep, .x = x, .forward = true});
    fold_up(kr, y);
}

void norma_khatri_rao_destroy(norma_khatri_rao **kr)
{
    if (*kr) {
        NORMA_FREE((*kr)->first);
        NORMA_FREE((*kr)->second);
        NORMA_FREE((*kr)->unfolded);
        NORMA_FREE((*kr)->folded);
        NORMA_FREE((*kr)->scaled);
        NORMA_FREE((*kr)->tap);
        NORMA_FREE(*kr);
    }
}
