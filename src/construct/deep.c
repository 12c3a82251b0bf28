#include "src/construct/deep.h"

#include "src/base/mem.h"
#include "src/random/tensor.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* The tensor field of the counters, and places for layers of a source in the layer field. */
enum { TENSOR_DEEP = 5, MOST = 4096 };

norma_kernel_shape norma_deep_composite(const norma_deep_shape *s)
{
    norma_kernel_shape k = {1, 1};
    for (int64_t l = 1; l <= s->n_layers; l++) {
        k.height += s->kernel[l].height - 1;
        k.width += s->kernel[l].width - 1;
    }
    return k;
}

int64_t norma_deep_equations(const norma_deep_shape *s)
{
    return s->width[s->n_layers] * s->width[0] * norma_kernel_taps(norma_deep_composite(s));
}

int64_t norma_deep_unknowns(const norma_deep_shape *s)
{
    int64_t n = 0;
    for (int64_t l = 1; l <= s->n_layers; l++)
        n += s->width[l];
    return n;
}

void norma_deep_kernels(const norma_deep_shape *s, norma_kernel_shape *below,
                        norma_kernel_shape *above)
{
    norma_kernel_shape low = {1, 1};
    norma_kernel_shape high = norma_deep_composite(s);
    for (int64_t l = 1; l <= s->n_layers; l++) {
        low.height += s->kernel[l].height - 1;
        low.width += s->kernel[l].width - 1;
        high.height -= s->kernel[l].height - 1;
        high.width -= s->kernel[l].width - 1;
        below[l] = low;
        above[l] = high;
    }
}

/* Numbers of a source; with d their places in its storage. */
static double place(const norma_deep_shape *s, norma_deep *d)
{
    enum { N_PARTS = 6 };
    norma_kernel_shape below[NORMA_DEEP_MOST + 1];
    norma_kernel_shape above[NORMA_DEEP_MOST + 1];
    double n = 0;
    int64_t offset = 0;
    int64_t c0 = s->width[0];
    int64_t out = s->width[s->n_layers];
    norma_deep_kernels(s, below, above);
    for (int part = 0; part < N_PARTS; part++)
        for (int64_t l = 1; l <= s->n_layers; l++) {
            int64_t c = s->width[l];
            const int64_t sizes[N_PARTS] = {c,
                                            c,
                                            norma_kernel_taps(s->kernel[l]) * c * s->width[l - 1],
                                            norma_kernel_taps(below[l]) * c0 * c,
                                            norma_kernel_taps(above[l]) * out * c,
                                            (c0 > out ? c0 : out) * c};
            n += (double)sizes[part];
            if (!d)
                continue;
            double **const places[N_PARTS] = {d->gamma, d->beta,  d->weight,
                                              d->below, d->above, d->room};
            places[part][l] = d->storage + offset;
            d->below_kernel[l] = below[l];
            d->above_kernel[l] = above[l];
            offset += sizes[part];
        }
    return n;
}

double norma_deep_source_bytes(const norma_deep_shape *s)
{
    return 8 * place(s, NULL);
}

double norma_deep_bytes(const norma_deep_shape *s)
{
    double n = (double)norma_deep_equations(s);
    double unknowns = (double)norma_deep_unknowns(s);
    return norma_deep_source_bytes(s) + 8 * (n * (2 * unknowns + n + 200) + 300 * unknowns);
}

double norma_deep_flops(const norma_deep_shape *s)
{
    double n = (double)norma_deep_equations(s);
    double unknowns = (double)norma_deep_unknowns(s);
    return 2 * n * n * (unknowns + n) + 160 * n * n;
}

norma_status norma_deep_create(const norma_deep_shape *shape, norma_deep **out)
{
    norma_deep *d = NULL;
    if (!(place(shape, NULL) < 1e15))
        return NORMA_FAIL(NORMA_LIMIT, "a deep source of %lld unknowns is too large",
                          (long long)norma_deep_unknowns(shape));
    norma_status status = NORMA_CALLOC(d, 1);
    NORMA_GOTO(status, status);
    d->shape = *shape;
    d->composite = norma_deep_composite(shape);
    d->n_equations = norma_deep_equations(shape);
    d->n_unknowns = norma_deep_unknowns(shape);
    NORMA_GOTO(status, NORMA_CALLOC(d->storage, (int64_t)place(shape, NULL)));
    (void)place(shape, d);
    *out = d;
    d = NULL;
done:
    norma_deep_destroy(&d);
    return status;
}

void norma_deep_destroy(norma_deep **deep)
{
    if (!*deep)
        return;
    NORMA_FREE((*deep)->storage);
    NORMA_FREE(*deep);
}

norma_status norma_deep_draw(norma_deep *d, const norma_tensor_spec *base, int64_t layer)
{
    const norma_deep_shape *s = &d->shape;
    double *drawn = NULL;
    if (layer >= MOST)
        return NORMA_FAIL(NORMA_LIMIT, "layer %lld: fewer than %d are drawn", (long long)layer,
                          MOST);
    for (int64_t l = 1; l <= s->n_layers; l++) {
        norma_tensor *tensor = NULL;
        norma_tensor_spec spec = *base;
        int64_t taps = norma_kernel_taps(s->kernel[l]);
        spec.role = NORMA_TENSOR_FIRST;
        spec.stream.tensor = TENSOR_DEEP;
        spec.stream.layer = layer * MOST + l;
        spec.n_features = s->width[l];
        spec.n_channels = s->width[l - 1];
        spec.n_taps = taps;
        NORMA_TRY(norma_tensor_create(&spec, &tensor));
        norma_status status = NORMA_ALLOC(drawn, s->width[l] * s->width[l - 1] * taps);
        if (status == NORMA_OK)
            norma_tensor_fill(tensor, 0, s->width[l], drawn);
        norma_tensor_destroy(&tensor);
        NORMA_TRY(status);
        int64_t n = s->width[l] * s->width[l - 1];
        for (int64_t e = 0; e < n; e++)
            for (int64_t q = 0; q < taps; q++)
                d->weight[l][q * n + e] = drawn[e * taps + q];
        NORMA_FREE(drawn);
    }
    return NORMA_OK;
}

/* --- products --------------------------------------------------------------------------------- */

/* Position of tap p of kernel a and tap q of kernel b in their composite of width `across`. */
static int64_t meet(norma_kernel_shape a, int64_t p, norma_kernel_shape b, int64_t q,
                    int64_t across)
{
    return (p / a.width + q / b.width) * across + p % a.width + q % b.width;
}

/* out[n_rows][n_columns] = matrix, with its columns times scale. */
static void scale_columns(int64_t n_rows, int64_t n_columns, const double *matrix,
                          const double *scale, double *out)
{
    for (int64_t r = 0; r < n_rows; r++)
        for (int64_t c = 0; c < n_columns; c++)
            out[r * n_columns + c] = matrix[r * n_columns + c] * scale[c];
}

/* below_l from below_(l-1), whose place for scaled columns is `scaled`. */
static void extend_below(norma_deep *d, int64_t l, double *scaled)
{
    const norma_deep_shape *s = &d->shape;
    int c0 = (int)s->width[0];
    int c1 = (int)s->width[l];
    int before = (int)s->width[l - 1];
    norma_kernel_shape from = d->below_kernel[l - 1];
    memset(d->below[l], 0,
           (size_t)(norma_kernel_taps(d->below_kernel[l]) * c0 * c1) * sizeof *d->below[l]);
    for (int64_t p = 0; p < norma_kernel_taps(from); p++) {
        scale_columns(c0, before, d->below[l - 1] + p * c0 * before, d->gamma[l - 1], scaled);
        for (int64_t q = 0; q < norma_kernel_taps(s->kernel[l]); q++)
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, c0, c1, before, 1, scaled, before,
                        d->weight[l] + q * c1 * before, before, 1,
                        d->below[l] +
                            meet(from, p, s->kernel[l], q, d->below_kernel[l].width) * c0 * c1,
                        c1);
    }
}

/* above_(l-1) from above_l. */
static void extend_above(norma_deep *d, int64_t l, double *scaled)
{
    const norma_deep_shape *s = &d->shape;
    int out = (int)s->width[s->n_layers];
    int c1 = (int)s->width[l];
    int before = (int)s->width[l - 1];
    norma_kernel_shape from = d->above_kernel[l];
    memset(d->above[l - 1], 0,
           (size_t)(norma_kernel_taps(d->above_kernel[l - 1]) * out * before) *
               sizeof *d->above[l - 1]);
    for (int64_t q = 0; q < norma_kernel_taps(from); q++) {
        scale_columns(out, c1, d->above[l] + q * out * c1, d->gamma[l], scaled);
        for (int64_t p = 0; p < norma_kernel_taps(s->kernel[l]); p++)
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, out, before, c1, 1, scaled, c1,
                        d->weight[l] + p * c1 * before, before, 1,
                        d->above[l - 1] +
                            meet(from, q, s->kernel[l], p, d->above_kernel[l - 1].width) * out *
                                before,
                        before);
    }
}

void norma_deep_update(norma_deep *d)
{
    const norma_deep_shape *s = &d->shape;
    int64_t last = s->n_layers;
    int64_t first = s->width[1];
    int64_t out = s->width[last];
    for (int64_t q = 0; q < norma_kernel_taps(s->kernel[1]); q++)
        for (int64_t j = 0; j < s->width[0]; j++)
            for (int64_t c = 0; c < first; c++)
                d->below[1][(q * s->width[0] + j) * first + c] =
                    d->weight[1][(q * first + c) * s->width[0] + j];
    for (int64_t l = 2; l <= last; l++)
        extend_below(d, l, d->room[l - 1]);
    for (int64_t i = 0; i < out * out; i++)
        d->above[last][i] = i % (out + 1) == 0;
    for (int64_t l = last; l >= 2; l--)
        extend_above(d, l, d->room[l]);
}

void norma_deep_compose(const norma_deep *d, double *map)
{
    int64_t last = d->shape.n_layers;
    int64_t c0 = d->shape.width[0];
    int64_t out = d->shape.width[last];
    int64_t taps = norma_kernel_taps(d->composite);
    for (int64_t i = 0; i < out; i++)
        for (int64_t j = 0; j < c0; j++)
            for (int64_t k = 0; k < taps; k++)
                map[(i * c0 + j) * taps + k] =
                    d->gamma[last][i] * d->below[last][(k * c0 + j) * out + i];
}

void norma_deep_jacobian(const norma_deep *d, int64_t stride, double *rows)
{
    const norma_deep_shape *s = &d->shape;
    int64_t c0 = s->width[0];
    int64_t out = s->width[s->n_layers];
    int64_t taps = norma_kernel_taps(d->composite);
    int64_t column = 0;
    for (int64_t r = 0; r < d->n_equations; r++)
        memset(rows + r * stride, 0, (size_t)d->n_unknowns * sizeof *rows);
    for (int64_t l = 1; l <= s->n_layers; l++) {
        int64_t c1 = s->width[l];
        for (int64_t q = 0; q < norma_kernel_taps(d->above_kernel[l]); q++)
            for (int64_t p = 0; p < norma_kernel_taps(d->below_kernel[l]); p++) {
                int64_t k = meet(d->above_kernel[l], q, d->below_kernel[l], p, d->composite.width);
                for (int64_t e = 0; e < out * c0; e++) {
                    const double *up = d->above[l] + (q * out + e / c0) * c1;
                    const double *down = d->below[l] + (p * c0 + e % c0) * c1;
                    double *row = rows + (e * taps + k) * stride + column;
                    for (int64_t c = 0; c < c1; c++)
                        row[c] += up[c] * down[c];
                }
            }
        column += c1;
    }
}
