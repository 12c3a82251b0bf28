#include "src/operators/window.h"

#include <math.h>

/* The larger one; NaN when either is. */
static double larger(double a, double b)
{
    return b < a || a != a ? a : b;
}

/* The part of window number k along an axis of n pixels that lies inside: begin .. end - 1. */
static void clip(int64_t k, int64_t stride, int64_t padding, int64_t length, int64_t n,
                 int64_t *begin, int64_t *end)
{
    int64_t at = k * stride - padding;
    *begin = at > 0 ? at : 0;
    *end = at + length < n ? at + length : n;
}

/* The value of a window from its rows and columns inside of the plane. */
typedef double find_value(const norma_window *window, const double *plane, int64_t width,
                          const int64_t rows[2], const int64_t columns[2]);

static double find_max(const norma_window *window, const double *plane, int64_t width,
                       const int64_t rows[2], const int64_t columns[2])
{
    double largest = -INFINITY;
    (void)window;
    for (int64_t i = rows[0]; i < rows[1]; i++)
        for (int64_t j = columns[0]; j < columns[1]; j++)
            largest = larger(largest, plane[i * width + j]);
    return largest;
}

static double find_mean(const norma_window *window, const double *plane, int64_t width,
                        const int64_t rows[2], const int64_t columns[2])
{
    int64_t n = window->counts_padding ? norma_kernel_taps(window->kernel)
                                       : (rows[1] - rows[0]) * (columns[1] - columns[0]);
    double sum = 0;
    for (int64_t i = rows[0]; i < rows[1]; i++)
        for (int64_t j = columns[0]; j < columns[1]; j++)
            sum += plane[i * width + j];
    return sum / (double)n;
}

static inline void find_values(find_value *find, const norma_window *window, norma_shape in,
                               norma_shape out, const double *x, double *y)
{
    int64_t rows[2];
    int64_t columns[2];
    for (int64_t c = 0; c < out.channels; c++)
        for (int64_t i = 0; i < out.height; i++) {
            clip(i, window->stride[0], window->padding[0], window->kernel.height, in.height,
                 &rows[0], &rows[1]);
            for (int64_t j = 0; j < out.width; j++) {
                clip(j, window->stride[1], window->padding[1], window->kernel.width, in.width,
                     &columns[0], &columns[1]);
                *y++ = find(window, x + c * in.height * in.width, in.width, rows, columns);
            }
        }
}

void norma_window_max(const norma_window *window, norma_shape in, norma_shape out, const double *x,
                      double *y)
{
    find_values(find_max, window, in, out, x, y);
}

void norma_window_average(const norma_window *window, norma_shape in, norma_shape out,
                          const double *x, double *y)
{
    find_values(find_mean, window, in, out, x, y);
}

void norma_window_max2(norma_shape in, norma_shape out, const double *x, double *y)
{
    for (int64_t c = 0; c < out.channels; c++)
        for (int64_t i = 0; i < out.height; i++) {
            const double *upper = x + (c * in.height + 2 * i) * in.width;
            const double *lower = upper + in.width;
            for (int64_t j = 0; j < out.width; j++) {
                double a = larger(upper[2 * j], upper[2 * j + 1]);
                double b = larger(lower[2 * j], lower[2 * j + 1]);
                *y++ = larger(a, b);
            }
        }
}

void norma_window_average_all(norma_shape in, const double *x, double *y)
{
    int64_t n_pixels = in.height * in.width;
    for (int64_t c = 0; c < in.channels; c++) {
        double sum = 0;
        for (int64_t k = 0; k < n_pixels; k++)
            sum += x[c * n_pixels + k];
        y[c] = sum / (double)n_pixels;
    }
}

void norma_window_nearest(norma_shape in, norma_shape out, const double *x, double *y)
{
    for (int64_t c = 0; c < out.channels; c++)
        for (int64_t i = 0; i < out.height; i++) {
            const double *row = x + (c * in.height + i * in.height / out.height) * in.width;
            for (int64_t j = 0; j < out.width; j++)
                *y++ = row[j * in.width / out.width];
        }
}
