#include "src/features/feature_sums.h"

#include "src/base/mem_place.h"

#include <cblas.h>
#include <string.h>

/* Features of a tile. */
#define TILE INT64_C(128)

/* The weights of a tile, one tap after the other, and its rows for the min rule. */
typedef struct tile {
    int64_t first; /* feature */
    int count;
    double *w1;     /* [|K1|][TILE][c0] */
    double *w2;     /* [|K2|][TILE][c2], zero for channels that left the system */
    double *pivots; /* [TILE][c2]: p_i */
    double *sums;   /* [TILE][c2]: v_i */
} tile;

typedef struct sums_work {
    const norma_width_rule *rule;
    const norma_khatri_rao_source *source;
    int64_t c0, c2, n_first, n_second, n_composite; /* channels and taps */
    double *first, *second; /* [TILE][…]: weights as the source gives them */
    double *row;            /* [c0 |K|] */
    double *squares;        /* [c2]: R_i */
    double *gram, *a, *b;   /* [TILE][TILE] */
    tile left, right;
} sums_work;

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

double norma_feature_sums_flops(const norma_khatri_rao_shape *shape, int64_t n_features)
{
    double first = (double)norma_kernel_taps(shape->kernel.first);
    double second = (double)norma_kernel_taps(shape->kernel.second);
    bool single = first == 1 || second == 1;
    double inner = (double)shape->n_channels_in * first * (single ? 1 : first) +
                   (double)shape->n_channels_out * second * (single ? 1 : second);
    return (double)n_features * (double)(n_features + TILE) * inner;
}

/* Measures or allocates: src/base/mem_place.h. */
static norma_status place_tile(const sums_work *w, tile *t, double *bytes)
{
    NORMA_TRY(NORMA_PLACE_ROWS(t->w1, TILE, w->c0 * w->n_first, bytes));
    NORMA_TRY(NORMA_PLACE_ROWS(t->w2, TILE, w->c2 * w->n_second, bytes));
    NORMA_TRY(NORMA_PLACE_ROWS(t->pivots, TILE, w->c2, bytes));
    return NORMA_PLACE_ROWS(t->sums, TILE, w->c2, bytes);
}

static void destroy_tile(tile *t)
{
    NORMA_FREE(t->w1);
    NORMA_FREE(t->w2);
    NORMA_FREE(t->pivots);
    NORMA_FREE(t->sums);
}

static void destroy(sums_work *w)
{
    destroy_tile(&w->left);
    destroy_tile(&w->right);
    NORMA_FREE(w->first);
    NORMA_FREE(w->second);
    NORMA_FREE(w->row);
    NORMA_FREE(w->squares);
    NORMA_FREE(w->gram);
    NORMA_FREE(w->a);
    NORMA_FREE(w->b);
}

static norma_status place(sums_work *w, double *bytes)
{
    NORMA_TRY(place_tile(w, &w->left, bytes));
    NORMA_TRY(place_tile(w, &w->right, bytes));
    NORMA_TRY(NORMA_PLACE_ROWS(w->first, TILE, w->c0 * w->n_first, bytes));
    NORMA_TRY(NORMA_PLACE_ROWS(w->second, TILE, w->c2 * w->n_second, bytes));
    NORMA_TRY(NORMA_PLACE_ROWS(w->row, w->c0, w->n_composite, bytes));
    NORMA_TRY(NORMA_PLACE(w->squares, w->c2, bytes));
    NORMA_TRY(NORMA_PLACE_ROWS(w->gram, TILE, TILE, bytes));
    NORMA_TRY(NORMA_PLACE_ROWS(w->a, TILE, TILE, bytes));
    return NORMA_PLACE_ROWS(w->b, TILE, TILE, bytes);
}

static sums_work sizes_of(const norma_khatri_rao_shape *shape)
{
    return (sums_work){.c0 = shape->n_channels_in,
                       .c2 = shape->n_channels_out,
                       .n_first = norma_kernel_taps(shape->kernel.first),
                       .n_second = norma_kernel_taps(shape->kernel.second),
                       .n_composite = norma_kernel_taps(shape->kernel.composite)};
}

/* out[taps][TILE][channels] = in[count][channels][taps]. */
static void take_apart(int count, int64_t n_channels, int64_t n_taps, const double *in, double *out)
{
    for (int f = 0; f < count; f++)
        for (int64_t c = 0; c < n_channels; c++)
            for (int64_t t = 0; t < n_taps; t++)
                out[(t * TILE + f) * n_channels + c] = *in++;
}

/* p_i and v_i of a tile's features; zero for channels that left the system. */
static void fill_rows(const sums_work *w, tile *t)
{
    const norma_width_rule *rule = w->rule;
    memset(t->pivots, 0, (size_t)(TILE * w->c2) * sizeof *t->pivots);
    memset(t->sums, 0, (size_t)(TILE * w->c2) * sizeof *t->sums);
    for (int f = 0; f < t->count; f++)
        for (int64_t k = 0; k < rule->n_active; k++) {
            int64_t i = rule->active[k];
            norma_khatri_rao_fill(&rule->shape, w->second + f * w->c2 * w->n_second,
                                  w->first + f * w->c0 * w->n_first, i, 0, rule->row_length,
                                  w->row);
            t->pivots[f * w->c2 + i] = w->row[rule->pivot[i]];
            t->sums[f * w->c2 + i] =
                cblas_ddot((int)rule->row_length, w->row, 1, rule->ratio + i * rule->row_length, 1);
        }
}

static void load(const sums_work *w, int64_t n_features, int64_t index, tile *t)
{
    const norma_width_rule *rule = w->rule;
    t->first = index * TILE;
    t->count = (int)smaller(TILE, n_features - t->first);
    w->source->fill(w->source->context, t->first, t->count, w->first, w->second);
    take_apart(t->count, w->c0, w->n_first, w->first, t->w1);
    take_apart(t->count, w->c2, w->n_second, w->second, t->w2);
    if (rule->width != NORMA_WIDTH_MIN)
        return;
    for (int64_t i = 0; i < w->c2; i++)
        for (int64_t f = 0; rule->pivot[i] < 0 && f < TILE * w->n_second; f++)
            t->w2[f * w->c2 + i] = 0;
    fill_rows(w, t);
}

/* out[left][right] += left tap times right tap, inner products over n channels. */
static void add_product(const sums_work *w, const double *left, const double *right, int64_t n,
                        double factor, double *out)
{
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, w->left.count, w->right.count, (int)n,
                factor, left, (int)n, right, (int)n, 1, out, (int)TILE);
}

/* out = the sum over taps t of left_t right_(t+d)', d = (down, across). */
static void correlate(const sums_work *w, norma_kernel_shape shape, int64_t down, int64_t across,
                      int64_t n, const double *left, const double *right, double *out)
{
    memset(out, 0, (size_t)(TILE * TILE) * sizeof *out);
    for (int64_t y = 0; y < shape.height; y++)
        for (int64_t x = 0; x < shape.width; x++) {
            if (y + down < 0 || y + down >= shape.height || x + across < 0 ||
                x + across >= shape.width)
                continue;
            int64_t here = y * shape.width + x;
            int64_t there = (y + down) * shape.width + x + across;
            add_product(w, left + here * TILE * n, right + there * TILE * n, n, 1, out);
        }
}

/* gram[left][right] = the entries of M'M between two tiles. */
static void fill_gram(const sums_work *w)
{
    const norma_kernel *k = &w->rule->shape.kernel;
    int64_t down = smaller(k->first.height, k->second.height) - 1;
    int64_t across = smaller(k->first.width, k->second.width) - 1;
    memset(w->gram, 0, (size_t)(TILE * TILE) * sizeof *w->gram);
    for (int64_t y = -down; y <= down; y++)
        for (int64_t x = -across; x <= across; x++) {
            correlate(w, k->second, y, x, w->c2, w->left.w2, w->right.w2, w->a);
            correlate(w, k->first, -y, -x, w->c0, w->left.w1, w->right.w1, w->b);
            for (int f = 0; f < w->left.count; f++)
                for (int g = 0; g < w->right.count; g++)
                    w->gram[f * TILE + g] += w->a[f * TILE + g] * w->b[f * TILE + g];
        }
    if (w->rule->width != NORMA_WIDTH_MIN)
        return;
    add_product(w, w->left.pivots, w->right.sums, w->c2, -1, w->gram);
    /* R_i p_i - v_i beside p_i', in the place of v_i of the left tile for a moment */
    for (int f = 0; f < w->left.count; f++)
        for (int64_t i = 0; i < w->c2; i++) {
            double *sum = w->left.sums + f * w->c2 + i;
            *sum = w->squares[i] * w->left.pivots[f * w->c2 + i] - *sum;
        }
    add_product(w, w->left.sums, w->right.pivots, w->c2, 1, w->gram);
    for (int f = 0; f < w->left.count; f++)
        for (int64_t i = 0; i < w->c2; i++) {
            double *sum = w->left.sums + f * w->c2 + i;
            *sum = w->squares[i] * w->left.pivots[f * w->c2 + i] - *sum;
        }
}

static void add_tiles(const sums_work *w, bool same, norma_feature_sums *out)
{
    double fourths = 0;
    fill_gram(w);
    for (int f = 0; f < w->left.count; f++)
        fourths += cblas_ddot(w->right.count, w->gram + f * TILE, 1, w->gram + f * TILE, 1);
    out->fourths += same ? fourths : 2 * fourths;
    for (int f = 0; same && f < w->left.count; f++)
        out->squares += w->gram[f * TILE + f];
}

norma_status norma_feature_sums_compute(const norma_width_rule *rule,
                                        const norma_khatri_rao_source *source, int64_t n_features,
                                        bool fourths, int part, int n_parts,
                                        norma_feature_sums *out)
{
    int64_t n_tiles = (n_features + TILE - 1) / TILE;
    sums_work w = sizes_of(&rule->shape);
    w.rule = rule;
    w.source = source;
    *out = (norma_feature_sums){0, 0};
    norma_status status = place(&w, NULL);
    for (int64_t i = 0; rule->width == NORMA_WIDTH_MIN && status == NORMA_OK && i < w.c2; i++) {
        const double *ratio = rule->ratio + i * rule->row_length;
        w.squares[i] = cblas_ddot((int)rule->row_length, ratio, 1, ratio, 1);
    }
    /* Row by row of tiles; parts take rows in turn, so that long and short ones mix. */
    for (int64_t i = part; status == NORMA_OK && i < n_tiles; i += n_parts) {
        load(&w, n_features, i, &w.left);
        for (int64_t j = i; j < (fourths ? n_tiles : i + 1); j++) {
            load(&w, n_features, j, &w.right);
            add_tiles(&w, i == j, out);
        }
    }
    if (!fourths)
        out->fourths = 0;
    destroy(&w);
    return status;
}

double norma_feature_sums_bytes(const norma_khatri_rao_shape *shape)
{
    sums_work w = sizes_of(shape);
    double bytes = 0;
    (void)place(&w, &bytes);
    return bytes;
}
