#include "src/construct/deep_products.h"

#include "src/base/index.h"
#include "src/base/mem_place.h"

#include <cblas.h>
#include <string.h>

/* Columns of J'J that are filled at a time. */
enum { TILE = 256 };

/* Tap of the composite where tap q above layer l and tap p below it meet. */
static int64_t meet(const norma_deep *d, int64_t l, int64_t q, int64_t p)
{
    const norma_kernel_shape a = d->above_kernel[l];
    const norma_kernel_shape b = d->below_kernel[l];
    return (q / a.width + p / b.width) * d->composite.width + q % a.width + p % b.width;
}

void norma_deep_apply(const norma_deep *d, const double *step, double *map, double *room)
{
    const norma_deep_shape *s = &d->shape;
    int64_t c0 = s->width[0];
    int64_t out = s->width[s->n_layers];
    int64_t taps = norma_kernel_taps(d->composite);
    memset(room, 0, (size_t)d->n_equations * sizeof *room);
    for (int64_t l = 1; l <= s->n_layers; l++) {
        int64_t c1 = s->width[l];
        for (int64_t q = 0; q < norma_kernel_taps(d->above_kernel[l]); q++) {
            const double *above = d->above[l] + q * out * c1;
            for (int64_t i = 0; i < out; i++)
                for (int64_t c = 0; c < c1; c++)
                    d->room[l][i * c1 + c] = above[i * c1 + c] * step[c];
            for (int64_t p = 0; p < norma_kernel_taps(d->below_kernel[l]); p++)
                cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)out, (int)c0, (int)c1, 1,
                            d->room[l], (int)c1, d->below[l] + p * c0 * c1, (int)c1, 1,
                            room + meet(d, l, q, p) * out * c0, (int)c0);
        }
        step += c1;
    }
    for (int64_t e = 0; e < out * c0; e++)
        for (int64_t k = 0; k < taps; k++)
            map[e * taps + k] = room[k * out * c0 + e];
}

void norma_deep_apply_transposed(const norma_deep *d, const double *map, double *step, double *room)
{
    const norma_deep_shape *s = &d->shape;
    int64_t c0 = s->width[0];
    int64_t out = s->width[s->n_layers];
    int64_t taps = norma_kernel_taps(d->composite);
    for (int64_t e = 0; e < out * c0; e++)
        for (int64_t k = 0; k < taps; k++)
            room[k * out * c0 + e] = map[e * taps + k];
    memset(step, 0, (size_t)d->n_unknowns * sizeof *step);
    for (int64_t l = 1; l <= s->n_layers; l++) {
        int64_t c1 = s->width[l];
        for (int64_t q = 0; q < norma_kernel_taps(d->above_kernel[l]); q++)
            for (int64_t p = 0; p < norma_kernel_taps(d->below_kernel[l]); p++) {
                const double *above = d->above[l] + q * out * c1;
                cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)out, (int)c1, (int)c0,
                            1, room + meet(d, l, q, p) * out * c0, (int)c0,
                            d->below[l] + p * c0 * c1, (int)c1, 0, d->room[l], (int)c1);
                for (int64_t i = 0; i < out; i++)
                    for (int64_t c = 0; c < c1; c++)
                        step[c] += above[i * c1 + c] * d->room[l][i * c1 + c];
            }
        step += c1;
    }
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* Entries first .. *end of an ascending list lie in [from, to). */
static int64_t find_range(int64_t n, const int64_t *list, int64_t from, int64_t to, int64_t *end)
{
    int64_t first = 0;
    while (first < n && list[first] < from)
        first++;
    *end = first;
    while (*end < n && list[*end] < to)
        (*end)++;
    return first;
}

void norma_deep_jacobian_block(const norma_deep *d, int64_t n_rows, const int64_t *rows,
                               int64_t n_columns, const int64_t *columns, int64_t leading,
                               double *values)
{
    const norma_deep_shape *s = &d->shape;
    int64_t c0 = s->width[0];
    int64_t out = s->width[s->n_layers];
    int64_t taps = norma_kernel_taps(d->composite);
    int64_t offset = 0;
    int64_t end = 0;
    for (int64_t l = 1; l <= s->n_layers; l++) {
        int64_t c1 = s->width[l];
        const norma_kernel_shape a = d->above_kernel[l];
        const norma_kernel_shape b = d->below_kernel[l];
        for (int64_t j = find_range(n_columns, columns, offset, offset + c1, &end); j < end; j++)
            for (int64_t i = 0; i < n_rows; i++) {
                int64_t e = rows[i] / taps;
                int64_t k = rows[i] % taps;
                const double *up = d->above[l] + e / c0 * c1 + columns[j] - offset;
                const double *down = d->below[l] + e % c0 * c1 + columns[j] - offset;
                double sum = 0;
                for (int64_t q = 0; q < norma_kernel_taps(a); q++) {
                    int64_t y = k / d->composite.width - q / a.width;
                    int64_t x = k % d->composite.width - q % a.width;
                    if (y >= 0 && y < b.height && x >= 0 && x < b.width)
                        sum += up[q * out * c1] * down[(y * b.width + x) * c0 * c1];
                }
                values[j * leading + i] = sum;
            }
        offset += c1;
    }
}

/* Some channels of a layer: all that is above and below them, [taps][c_L or c_0][n]. */
typedef struct part {
    int64_t first, n; /* in the list */
    double *above, *below;
} part;

struct norma_deep_block {
    const norma_deep *d;
    int64_t n_rows, n_columns;
    const int64_t *rows, *columns;                              /* borrowed */
    part row[NORMA_DEEP_MOST + 1], column[NORMA_DEEP_MOST + 1]; /* [1 ... L] */
    double *packed;       /* owned: all that is above and below the channels */
    double *over, *under; /* [TILE][n_rows], the first one owned with both */
};

/* Numbers above and below a channel of a layer, the most of all layers. */
static int64_t most_numbers(const norma_deep_shape *s)
{
    norma_kernel_shape below[NORMA_DEEP_MOST + 1];
    norma_kernel_shape above[NORMA_DEEP_MOST + 1];
    int64_t most = 0;
    norma_deep_kernels(s, below, above);
    for (int64_t l = 1; l <= s->n_layers; l++) {
        int64_t n = norma_kernel_taps(below[l]) * s->width[0] +
                    norma_kernel_taps(above[l]) * s->width[s->n_layers];
        most = n > most ? n : most;
    }
    return most;
}

/* Measures or allocates: src/base/mem_place.h. */
static norma_status place(norma_deep_block *b, const norma_deep_shape *s, double *bytes)
{
    NORMA_TRY(NORMA_PLACE_UNSET(b->packed, b->n_rows + b->n_columns, most_numbers(s), bytes));
    return NORMA_PLACE_UNSET(b->over, 2 * b->n_rows, TILE, bytes);
}

double norma_deep_block_bytes(const norma_deep_shape *s, int64_t n_rows, int64_t n_columns)
{
    norma_deep_block b = {.n_rows = n_rows, .n_columns = n_columns};
    double bytes = sizeof b;
    (void)place(&b, s, &bytes);
    return bytes;
}

static double *place_parts(const norma_deep *d, int64_t n, const int64_t *list, part *parts,
                           double *free)
{
    int64_t offset = 0;
    for (int64_t l = 1; l <= d->shape.n_layers; l++) {
        int64_t end = 0;
        parts[l].first = find_range(n, list, offset, offset + d->shape.width[l], &end);
        parts[l].n = end - parts[l].first;
        parts[l].above = free;
        free +=
            norma_kernel_taps(d->above_kernel[l]) * d->shape.width[d->shape.n_layers] * parts[l].n;
        parts[l].below = free;
        free += norma_kernel_taps(d->below_kernel[l]) * d->shape.width[0] * parts[l].n;
        offset += d->shape.width[l];
    }
    return free;
}

norma_status norma_deep_block_create(const norma_deep *d, int64_t n_rows, const int64_t *rows,
                                     int64_t n_columns, const int64_t *columns,
                                     norma_deep_block **out)
{
    norma_deep_block *b = NULL;
    int ignored = 0;
    NORMA_TRY(norma_index_to_int(n_rows, "rows of a block", &ignored));
    NORMA_TRY(norma_index_to_int(most_numbers(&d->shape), "taps and channels", &ignored));
    norma_status status = NORMA_CALLOC(b, 1);
    NORMA_GOTO(status, status);
    *b = (norma_deep_block){
        .d = d, .n_rows = n_rows, .rows = rows, .n_columns = n_columns, .columns = columns};
    NORMA_GOTO(status, place(b, &d->shape, NULL));
    b->under = b->over + TILE * n_rows;
    double *free = place_parts(d, n_rows, rows, b->row, b->packed);
    (void)place_parts(d, n_columns, columns, b->column, free);
    *out = b;
    b = NULL;
done:
    norma_deep_block_destroy(&b);
    return status;
}

void norma_deep_block_destroy(norma_deep_block **block)
{
    if (!*block)
        return;
    NORMA_FREE((*block)->packed);
    NORMA_FREE((*block)->over);
    NORMA_FREE(*block);
}

/* packed[n_lines][n] of lines[n_lines][width]. */
static void pack(int64_t n_lines, int64_t width, const double *lines, int64_t n,
                 const int64_t *channels, int64_t offset, double *packed)
{
    for (int64_t line = 0; line < n_lines; line++)
        for (int64_t c = 0; c < n; c++)
            packed[line * n + c] = lines[line * width + channels[c] - offset];
}

static void pack_parts(const norma_deep *d, const int64_t *list, const part *parts)
{
    const norma_deep_shape *s = &d->shape;
    int64_t offset = 0;
    for (int64_t l = 1; l <= s->n_layers; l++) {
        const part *p = &parts[l];
        pack(norma_kernel_taps(d->above_kernel[l]) * s->width[s->n_layers], s->width[l],
             d->above[l], p->n, list + p->first, offset, p->above);
        pack(norma_kernel_taps(d->below_kernel[l]) * s->width[0], s->width[l], d->below[l], p->n,
             list + p->first, offset, p->below);
        offset += s->width[l];
    }
}

/* Two kernels, a displacement between them, the rows of the numbers for a tap. */
typedef struct overlap {
    norma_kernel_shape left, right;
    int64_t y, x; /* tap of the left one less tap of the right one */
    int64_t n_lines;
} overlap;

/* sum[n_columns][n_rows] = sum over pairs of taps of left' right, where left is
 * [taps][n_lines][n_rows] and right is [taps][n_lines][stride], of which n_columns are taken. */
static void correlate(const overlap *o, int64_t n_rows, const double *left, int64_t n_columns,
                      int64_t stride, const double *right, double *sum)
{
    double kept = 0;
    for (int64_t a = 0; a < norma_kernel_taps(o->left); a++) {
        int64_t y = a / o->left.width - o->y;
        int64_t x = a % o->left.width - o->x;
        if (y < 0 || y >= o->right.height || x < 0 || x >= o->right.width)
            continue;
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, (int)n_rows, (int)n_columns,
                    (int)o->n_lines, 1, left + a * o->n_lines * n_rows, (int)n_rows,
                    right + (y * o->right.width + x) * o->n_lines * stride, (int)stride, kept, sum,
                    (int)n_rows);
        kept = 1;
    }
}

/* The rows of layer l in n columns of layer m from its column `from` of the list. */
static void fill_tile(norma_deep_block *b, int64_t l, int64_t m, int64_t from, int64_t n,
                      int64_t leading, double *values)
{
    const norma_deep *d = b->d;
    const part *rows = &b->row[l];
    const part *columns = &b->column[m];
    int64_t n_rows = rows->n;
    double *to = values + (columns->first + from) * leading + rows->first;
    overlap above = {.left = d->above_kernel[l],
                     .right = d->above_kernel[m],
                     .n_lines = d->shape.width[d->shape.n_layers]};
    overlap below = {
        .left = d->below_kernel[l], .right = d->below_kernel[m], .n_lines = d->shape.width[0]};
    for (int64_t j = 0; j < n; j++)
        memset(to + j * leading, 0, (size_t)n_rows * sizeof *to);
    for (int64_t y = 1 - above.right.height; y < above.left.height; y++)
        for (int64_t x = 1 - above.right.width; x < above.left.width; x++) {
            if (y >= below.right.height || -y >= below.left.height || x >= below.right.width ||
                -x >= below.left.width)
                continue;
            above.y = y;
            above.x = x;
            below.y = -y;
            below.x = -x;
            correlate(&above, n_rows, rows->above, n, columns->n, columns->above + from, b->over);
            correlate(&below, n_rows, rows->below, n, columns->n, columns->below + from, b->under);
            for (int64_t j = 0; j < n; j++)
                for (int64_t i = 0; i < n_rows; i++)
                    to[j * leading + i] += b->over[j * n_rows + i] * b->under[j * n_rows + i];
        }
}

void norma_deep_block_fill(norma_deep_block *b, int64_t leading, double *values)
{
    int64_t last = b->d->shape.n_layers;
    pack_parts(b->d, b->rows, b->row);
    pack_parts(b->d, b->columns, b->column);
    for (int64_t m = 1; m <= last; m++)
        for (int64_t l = 1; l <= last; l++)
            for (int64_t from = 0; b->row[l].n > 0 && from < b->column[m].n; from += TILE) {
                int64_t left = b->column[m].n - from;
                fill_tile(b, l, m, from, left < TILE ? left : TILE, leading, values);
            }
}

/* Sum over pairs of taps that are (y, x) apart, and over lines, of the products of column c of
 * lines[taps][n_lines][width]. */
static double correlate_column(norma_kernel_shape k, int64_t y, int64_t x, int64_t n_lines,
                               int64_t width, const double *lines, int64_t c)
{
    double sum = 0;
    for (int64_t a = 0; a < norma_kernel_taps(k); a++) {
        int64_t row = a / k.width - y;
        int64_t column = a % k.width - x;
        if (row < 0 || row >= k.height || column < 0 || column >= k.width)
            continue;
        const double *left = lines + a * n_lines * width + c;
        const double *right = lines + (row * k.width + column) * n_lines * width + c;
        for (int64_t i = 0; i < n_lines; i++)
            sum += left[i * width] * right[i * width];
    }
    return sum;
}

void norma_deep_column_squares(const norma_deep *d, double *squares)
{
    const norma_deep_shape *s = &d->shape;
    for (int64_t l = 1; l <= s->n_layers; l++) {
        const norma_kernel_shape a = d->above_kernel[l];
        for (int64_t c = 0; c < s->width[l]; c++) {
            double sum = 0;
            for (int64_t y = 1 - a.height; y < a.height; y++)
                for (int64_t x = 1 - a.width; x < a.width; x++)
                    sum += correlate_column(a, y, x, s->width[s->n_layers], s->width[l],
                                            d->above[l], c) *
                           correlate_column(d->below_kernel[l], -y, -x, s->width[0], s->width[l],
                                            d->below[l], c);
            squares[c] = sum;
        }
        squares += s->width[l];
    }
}
