#include "src/features/khatri_rao.h"

#include <limits.h>
#include <string.h>

/* n must leave room for n * c1 in 64 bits. */
#define MAX_ROWS ((int64_t)1 << 40)

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
