#include "src/operators/elementwise.h"

#include <math.h>

static bool fit(int64_t a, int64_t b, int64_t *out)
{
    *out = a > b ? a : b;
    return a == b || a == 1 || b == 1;
}

bool norma_elementwise_shape(norma_shape a, norma_shape b, norma_shape *out)
{
    norma_shape shape = {0, 0, 0};
    bool fits = fit(a.channels, b.channels, &shape.channels) &&
                fit(a.height, b.height, &shape.height) && fit(a.width, b.width, &shape.width);
    if (fits)
        *out = shape;
    return fits;
}

/* Steps from one value to the next along each axis; 0 along an axis that is repeated. */
static void find_steps(norma_shape from, int64_t steps[3])
{
    steps[0] = from.channels == 1 ? 0 : from.height * from.width;
    steps[1] = from.height == 1 ? 0 : from.width;
    steps[2] = from.width == 1 ? 0 : 1;
}

/* Takes n values of x, `step` apart, into y. */
typedef void take_row(int64_t n, const double *x, int64_t step, double *y);

static void copy_row(int64_t n, const double *x, int64_t step, double *y)
{
    for (int64_t j = 0; j < n; j++)
        y[j] = x[j * step];
}

static void add_row(int64_t n, const double *x, int64_t step, double *y)
{
    for (int64_t j = 0; j < n; j++)
        y[j] += x[j * step];
}

static void multiply_row(int64_t n, const double *x, int64_t step, double *y)
{
    for (int64_t j = 0; j < n; j++)
        y[j] *= x[j * step];
}

static inline void take_rows(take_row *take, norma_shape shape, norma_shape from, const double *x,
                             double *y)
{
    int64_t steps[3];
    find_steps(from, steps);
    for (int64_t c = 0; c < shape.channels; c++)
        for (int64_t i = 0; i < shape.height; i++, y += shape.width)
            take(shape.width, x + c * steps[0] + i * steps[1], steps[2], y);
}

void norma_elementwise_copy(norma_shape shape, norma_shape from, const double *x, double *y)
{
    take_rows(copy_row, shape, from, x, y);
}

void norma_elementwise_add(norma_shape shape, norma_shape from, const double *x, double *y)
{
    take_rows(add_row, shape, from, x, y);
}

void norma_elementwise_multiply(norma_shape shape, norma_shape from, const double *x, double *y)
{
    take_rows(multiply_row, shape, from, x, y);
}

void norma_elementwise_affine(norma_shape shape, const double *scale, const double *shift,
                              const double *x, double *y)
{
    int64_t n_pixels = shape.height * shape.width;
    for (int64_t c = 0; c < shape.channels; c++)
        for (int64_t k = 0; k < n_pixels; k++)
            y[c * n_pixels + k] = scale[c] * x[c * n_pixels + k] + shift[c];
}

void norma_elementwise_clip(int64_t n, const double limits[2], const double *x, double *y)
{
    for (int64_t k = 0; k < n; k++) {
        double low = x[k] < limits[0] ? limits[0] : x[k];
        y[k] = low > limits[1] ? limits[1] : low;
    }
}

void norma_elementwise_softmax(norma_shape shape, const double *x, double *y)
{
    int64_t n_pixels = shape.height * shape.width;
    for (int64_t k = 0; k < n_pixels; k++) {
        double largest = -INFINITY;
        double sum = 0;
        for (int64_t c = 0; c < shape.channels; c++)
            largest = fmax(largest, x[c * n_pixels + k]);
        for (int64_t c = 0; c < shape.channels; c++) {
            y[c * n_pixels + k] = exp(x[c * n_pixels + k] - largest);
            sum += y[c * n_pixels + k];
        }
        for (int64_t c = 0; c < shape.channels; c++)
            y[c * n_pixels + k] /= sum;
    }
}
