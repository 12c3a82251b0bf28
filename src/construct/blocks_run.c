/* Running a source of blocks: its composite map, its shifts, its outputs. */
#include "src/base/mem.h"
#include "src/construct/blocks.h"
#include "src/construct/construction.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* Inputs that go through the layers together. */
enum { BATCH = 64 };

/* next[D][(i + 1) k] = diag(gamma_i) W_i [map, A_i]: z_i as a linear map of the inputs of blocks
 * 0 .. i, where map[D][i k] is that of z_(i-1). Both have rows of c0 numbers. */
static void compose_block(const norma_blocks *b, int64_t i, double *map, double *next)
{
    int64_t d = b->shape.width;
    int64_t k = b->shape.n_inner;
    int64_t c0 = b->shape.n_in;
    int n = (int)((i + 1) * k);
    for (int64_t j = 0; j < d; j++)
        memcpy(map + j * c0 + i * k, b->entry + (i * d + j) * k, (size_t)k * sizeof *map);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)d, n, (int)d, 1,
                b->inner + i * d * d, (int)d, map, (int)c0, 0, next, (int)c0);
    for (int64_t j = 0; j < d; j++)
        cblas_dscal(n, b->gamma[i * d + j], next + j * c0, 1);
}

norma_status norma_blocks_compose(const norma_blocks *b, double *out)
{
    int d = (int)b->shape.width;
    int c0 = (int)b->shape.n_in;
    double *maps = NULL;
    NORMA_TRY(NORMA_CALLOC(maps, 2 * (int64_t)d * c0));
    double *map = maps;
    double *next = maps + (int64_t)d * c0;
    for (int64_t i = 0; i < b->n_blocks; i++) {
        compose_block(b, i, map, next);
        double *swapped = map;
        map = next;
        next = swapped;
    }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)b->shape.n_out, c0, d, 1,
                b->readout, d, map, c0, 0, out, c0);
    NORMA_FREE(maps);
    return NORMA_OK;
}

/* --- shifts ----------------------------------------------------------------------------------- */

/* The state from which the shifts of one layer follow: bounds of the inputs, and arrays over the
 * units of this layer and of the layer before. */
typedef struct opening {
    const double *lo, *hi;        /* [c0]: bounds of the inputs */
    double *map, *next;           /* [D][c0]: z of the layer before, of this one, as linear maps */
    double *shift, *shift_before; /* [D]: b, added to z */
    double *reach, *reach_before; /* [D]: largest |z + b| */
    double *variance;             /* [c2]: of the outputs' rounding errors */
} opening;

/* range = the smallest and the largest z_j of layer i, from its map and the bounds of the inputs.
 */
static void bound(const norma_blocks *b, const opening *o, int64_t i, int64_t j, double range[2])
{
    const double *row = o->next + j * b->shape.n_in;
    range[0] = range[1] = 0;
    for (int64_t e = 0; e < (i + 1) * b->shape.n_inner; e++) {
        range[0] += fmin(row[e] * o->lo[e], row[e] * o->hi[e]);
        range[1] += fmax(row[e] * o->lo[e], row[e] * o->hi[e]);
    }
}

/* Sums over the terms of unit j's pre-activation: absolute values, squares, and W_i's product with
 * the shifts before. */
typedef struct terms {
    double absolute, square, shift;
} terms;

static terms sum_terms(const norma_blocks *b, const opening *o, int64_t i, int64_t j)
{
    int64_t d = b->shape.width;
    const double *row = b->inner + (i * d + j) * d;
    terms sum = {0, 0, 0};
    for (int64_t l = 0; l < d; l++) {
        const double *entry = b->entry + (i * d + l) * b->shape.n_inner;
        double size = o->reach_before[l];
        for (int64_t e = 0; e < b->shape.n_inner; e++) {
            int64_t input = i * b->shape.n_inner + e;
            size += fabs(entry[e]) * fmax(fabs(o->lo[input]), fabs(o->hi[input]));
        }
        sum.absolute += fabs(row[l]) * size;
        sum.square += row[l] * row[l] * size * size;
        sum.shift += row[l] * o->shift_before[l];
    }
    return sum;
}

static void open_block(norma_blocks *b, const norma_activation *activation, int64_t i, opening *o)
{
    const double u = DBL_EPSILON / 2;
    int64_t d = b->shape.width;
    compose_block(b, i, o->map, o->next);
    for (int64_t j = 0; j < d; j++) {
        double range[2];
        double gamma = b->gamma[i * d + j];
        bound(b, o, i, j, range);
        terms sum = sum_terms(b, o, i, j);
        double margin = 1e-6 * (range[1] - range[0]) + 1e-9 * fmax(fabs(range[0]), fabs(range[1])) +
                        u * (double)d * fabs(gamma) * sum.absolute;
        double shift = activation->kind == NORMA_ACTIVATION_IDENTITY || range[0] >= margin
                           ? 0
                           : margin - range[0];
        b->beta[i * d + j] = shift - gamma * sum.shift;
        o->shift[j] = shift;
        o->reach[j] = fmax(fabs(range[0] + shift), fabs(range[1] + shift));
        double error2 = gamma * gamma * sum.square + b->beta[i * d + j] * b->beta[i * d + j] +
                        o->reach[j] * o->reach[j];
        for (int64_t c = 0; c < b->shape.n_out; c++) {
            double left = b->left[(i * b->shape.n_out + c) * d + j];
            o->variance[c] += u * u * left * left * error2;
        }
    }
    double *swapped[] = {o->map, o->shift, o->reach};
    o->map = o->next;
    o->shift = o->shift_before;
    o->reach = o->reach_before;
    o->next = swapped[0];
    o->shift_before = swapped[1];
    o->reach_before = swapped[2];
}

/* Sets beta_out. *magnitude = the largest sum of absolute terms of an output, *rounding = the
 * standard deviation of its rounding error. */
static void open_readout(norma_blocks *b, const double *bias, const opening *o, double *magnitude,
                         double *rounding)
{
    const double u = DBL_EPSILON / 2;
    int64_t d = b->shape.width;
    *magnitude = 0;
    *rounding = 0;
    for (int64_t c = 0; c < b->shape.n_out; c++) {
        double absolute = 0;
        double square = 0;
        b->beta_out[c] = bias[c];
        for (int64_t j = 0; j < d; j++) {
            double weight = b->readout[c * d + j];
            b->beta_out[c] -= weight * o->shift_before[j];
            absolute += fabs(weight) * o->reach_before[j];
            square += weight * weight * o->reach_before[j] * o->reach_before[j];
        }
        square += b->beta_out[c] * b->beta_out[c];
        *magnitude = fmax(*magnitude, absolute + fabs(b->beta_out[c]));
        *rounding = fmax(*rounding, sqrt(o->variance[c] + u * u * square));
    }
}

norma_status norma_blocks_open(norma_blocks *b, const norma_activation *activation,
                               const double *lo, const double *hi, const double *bias,
                               double *magnitude, double *rounding)
{
    int64_t d = b->shape.width;
    int64_t size = d * b->shape.n_in;
    double *storage = NULL;
    NORMA_TRY(norma_construction_check_opening(activation));
    NORMA_TRY(NORMA_CALLOC(storage, 2 * size + 4 * d + b->shape.n_out));
    opening o = {.lo = lo,
                 .hi = hi,
                 .map = storage,
                 .next = storage + size,
                 .shift = storage + 2 * size,
                 .shift_before = storage + 2 * size + d,
                 .reach = storage + 2 * size + 2 * d,
                 .reach_before = storage + 2 * size + 3 * d,
                 .variance = storage + 2 * size + 4 * d};
    for (int64_t i = 0; i < b->n_blocks; i++)
        open_block(b, activation, i, &o);
    open_readout(b, bias, &o, magnitude, rounding);
    NORMA_FREE(storage);
    return NORMA_OK;
}

/* --- outputs ---------------------------------------------------------------------------------- */

/* Applies layer i to n inputs: z[n][D] becomes its output; sum[n][D] is workspace. Adds the units
 * that fall below zero to *n_clipped. */
static void run_block(const norma_blocks *b, const norma_activation *activation, int64_t i, int n,
                      const double *x, double *z, double *sum, int64_t *n_clipped)
{
    int64_t d = b->shape.width;
    int k = (int)b->shape.n_inner;
    memcpy(sum, z, (size_t)(n * d) * sizeof *sum);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, (int)d, k, 1, x + i * k,
                (int)b->shape.n_in, b->entry + i * d * k, k, 1, sum, (int)d);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, (int)d, (int)d, 1, sum, (int)d,
                b->inner + i * d * d, (int)d, 0, z, (int)d);
    for (int64_t s = 0; s < n; s++)
        for (int64_t j = 0; j < d; j++) {
            double value = b->gamma[i * d + j] * z[s * d + j] + b->beta[i * d + j];
            if (activation->kind != NORMA_ACTIVATION_IDENTITY)
                *n_clipped += value < 0;
            z[s * d + j] = norma_activation_value(activation, value);
        }
}

norma_status norma_blocks_run(const norma_blocks *b, const norma_activation *activation, int64_t n,
                              const double *x, double *y, int64_t *n_clipped)
{
    int d = (int)b->shape.width;
    int c2 = (int)b->shape.n_out;
    double *storage = NULL;
    NORMA_TRY(NORMA_ALLOC(storage, 2 * (int64_t)BATCH * d));
    double *z = storage;
    double *sum = storage + (int64_t)BATCH * d;
    for (int64_t first = 0; first < n; first += BATCH) {
        int count = n - first < BATCH ? (int)(n - first) : BATCH;
        double *out = y + first * c2;
        memset(z, 0, (size_t)((int64_t)count * d) * sizeof *z);
        for (int64_t i = 0; i < b->n_blocks; i++)
            run_block(b, activation, i, count, x + first * b->shape.n_in, z, sum, n_clipped);
        for (int64_t s = 0; s < count; s++)
            memcpy(out + s * c2, b->beta_out, (size_t)c2 * sizeof *out);
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, count, c2, d, 1, z, d, b->readout, d,
                    1, out, c2);
    }
    NORMA_FREE(storage);
    return NORMA_OK;
}
