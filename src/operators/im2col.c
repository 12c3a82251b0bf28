#include "src/operators/im2col.h"

#include "src/base/index.h"

#include <string.h>

/* out[x] = row[x stride + shift] for x < n, zero where the index leaves [0, width). */
static void gather_row(const double *row, int64_t width, int64_t stride, int64_t shift, int64_t n,
                       double *out)
{
    int64_t begin = shift < 0 ? norma_index_ceil_divide(-shift, stride) : 0;
    int64_t end = shift < width ? norma_index_ceil_divide(width - shift, stride) : 0;
    if (begin > n)
        begin = n;
    if (end > n)
        end = n;
    if (end < begin)
        end = begin;
    memset(out, 0, (size_t)begin * sizeof *out);
    if (stride == 1 && end > begin)
        memcpy(out + begin, row + begin + shift, (size_t)(end - begin) * sizeof *out);
    else
        for (int64_t x = begin; x < end; x++)
            out[x] = row[x * stride + shift];
    memset(out + end, 0, (size_t)(n - end) * sizeof *out);
}

void norma_im2col(norma_shape in, norma_kernel_shape kernel, const int64_t stride[2],
                  const int64_t dilation[2], const int64_t padding[2], norma_shape out,
                  const double *image, int64_t ld, double *columns)
{
    int64_t down = dilation ? dilation[0] : 1;
    int64_t right = dilation ? dilation[1] : 1;
    for (int64_t c = 0; c < in.channels; c++) {
        const double *plane = image + c * in.height * in.width;
        for (int64_t a = 0; a < kernel.height; a++)
            for (int64_t b = 0; b < kernel.width; b++) {
                for (int64_t y = 0; y < out.height; y++) {
                    int64_t row = y * stride[0] + a * down - padding[0];
                    double *to = columns + y * out.width;
                    if (row < 0 || row >= in.height)
                        memset(to, 0, (size_t)out.width * sizeof *to);
                    else
                        gather_row(plane + row * in.width, in.width, stride[1],
                                   b * right - padding[1], out.width, to);
                }
                columns += ld;
            }
    }
}
