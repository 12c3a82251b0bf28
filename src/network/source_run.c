#include "src/network/source.h"

#include "src/base/index.h"
#include "src/network/forward.h"
#include "src/network/source_skip.h"
#include "src/network/source_work.h"
#include "src/operators/im2col.h"

#include <cblas.h>
#include <omp.h>
#include <string.h>

/* One pass over the features for images that fit into the arena. */
typedef struct pass {
    const norma_source_work *work;
    const norma_source_shape *shape;
    norma_source_layout layout;
    bool single;                   /* columns, products, weights, hidden values are floats */
    int64_t first, n_images;       /* their numbers in the data set */
    int64_t first_group, n_groups; /* groups they touch */
    double *columns;               /* [n_groups][c0 |K1|][n_columns] */
    double *products;              /* [n_groups][c2 |K2|][n_columns], or NULL */
} pass;

/* A tile of a group: its columns and those among them that belong to images of this pass. */
typedef struct tile {
    int64_t group;            /* from 0 in this pass */
    int64_t begin, n_columns; /* within the group */
    int64_t real, real_end;   /* within the tile */
} tile;

/* Features that are propagated at once: they belong to one group of channels. */
typedef struct block {
    int64_t first, count;
    int64_t part; /* the group of channels */
} block;

static void pass_init(pass *p, const norma_source_work *work, const norma_source_shape *shape,
                      bool with_products, int64_t first, int64_t n_images)
{
    p->work = work;
    p->shape = shape;
    norma_source_layout_init(&p->layout, shape);
    int64_t n_columns = norma_source_layout_columns(&p->layout);
    int64_t n_products = with_products ? norma_source_layout_products(&p->layout) : 0;
    p->first = first;
    p->n_images = norma_source_layout_fit(&p->layout, work->arena_size, n_columns + n_products,
                                          first, n_images);
    p->first_group = first / p->layout.group;
    p->n_groups = norma_source_layout_groups(&p->layout, first, p->n_images);
    p->columns = work->arena;
    p->single = false;
    p->products = with_products ? work->arena + p->n_groups * n_columns : NULL;
}

/* The first n values of x as floats, from its beginning on. */
static void narrow(double *x, int64_t n)
{
    float part[512];
    for (int64_t begin = 0; begin < n; begin += 512) {
        int64_t count = n - begin < 512 ? n - begin : 512;
        for (int64_t k = 0; k < count; k++)
            part[k] = (float)x[begin + k];
        memcpy((float *)x + begin, part, (size_t)count * sizeof *part);
    }
}

static int64_t clamp(int64_t n, int64_t lo, int64_t hi)
{
    return n < lo ? lo : n > hi ? hi : n;
}

static tile pass_tile(const pass *p, int64_t index)
{
    const norma_source_layout *layout = &p->layout;
    tile t;
    t.group = index / layout->n_tiles;
    t.begin = index % layout->n_tiles * layout->tile;
    t.n_columns = clamp(layout->n_columns - t.begin, 0, layout->tile);
    int64_t image = (p->first_group + t.group) * layout->group; /* at place 0 */
    int64_t begin = (p->first - image) * layout->n_pixels;
    int64_t end = (p->first + p->n_images - image) * layout->n_pixels;
    t.real = clamp(begin - t.begin, 0, t.n_columns);
    t.real_end = clamp(end - t.begin, 0, t.n_columns);
    return t;
}

/* The inputs as columns; zeros where a group lacks an image; products start at zero. */
static void pass_gather(const pass *p, const double *in)
{
    const norma_source_layout *layout = &p->layout;
    int64_t columns_size = norma_source_layout_columns(layout);
    int64_t products_size = norma_source_layout_products(layout);
    int64_t in_size = norma_shape_size(p->shape->input);
#pragma omp parallel for schedule(static) num_threads(p->work->n_threads)
    for (int64_t g = 0; g < p->n_groups; g++) {
        double *columns = p->columns + g * columns_size;
        int64_t place_0 = (p->first_group + g) * layout->group - p->first;
        if (place_0 < 0 || place_0 + layout->group > p->n_images)
            memset(columns, 0, (size_t)columns_size * sizeof *columns);
        for (int64_t place = 0; place < layout->group; place++) {
            int64_t n = place_0 + place;
            if (n >= 0 && n < p->n_images)
                norma_im2col(p->shape->input, p->shape->kernel.first, p->shape->stride1,
                             p->shape->dilation, p->shape->padding, p->shape->z, in + n * in_size,
                             layout->n_columns, columns + place * layout->n_pixels);
        }
        if (p->single)
            narrow(columns, columns_size);
        if (p->products)
            memset(p->products + g * products_size, 0, (size_t)products_size * sizeof(double));
    }
}

/* Rows first .. first + count - 1 of a tensor, row J times scale[J] unless scale is NULL. */
static void fill_block(const norma_source_work *work, const norma_tensor *tensor, int64_t first,
                       int64_t count, const double *scale, int64_t row_size, double *out)
{
#pragma omp parallel for schedule(static) num_threads(work->n_threads)
    for (int64_t chunk = 0; chunk < work->n_threads; chunk++) {
        int64_t begin = 0;
        int64_t n = norma_index_share(count, work->n_threads, chunk, &begin);
        double *rows = out + begin * row_size;
        if (n > 0)
            norma_tensor_fill(tensor, first + begin, n, rows);
        for (int64_t j = 0; scale && j < n; j++)
            for (int64_t k = 0; k < row_size; k++)
                rows[j * row_size + k] *= scale[first + begin + j];
    }
}

/* The block that begins with feature `first`; it ends with its part of the channels. */
static block block_from(const pass *p, int64_t first)
{
    int64_t n = p->layout.n_features;
    return (block){
        .first = first, .count = clamp(n - first % n, 0, NORMA_SOURCE_BLOCK), .part = first / n};
}

/* Both blocks of weights. */
static void fill_weights(const pass *p, const norma_source_layer *source, const block *b)
{
    const norma_source_work *work = p->work;
    fill_block(work, source->w1, b->first, b->count, source->gamma1, p->layout.size_first,
               work->w1);
    fill_block(work, source->w2, b->first, b->count, NULL, p->layout.size_second, work->w2);
    if (p->single) {
        narrow(work->w1, b->count * p->layout.size_first);
        narrow(work->w2, b->count * p->layout.size_second);
    }
}

/* hidden[count][layout tile] = W1 block * columns of the tile. */
static void multiply_first(const pass *p, const tile *t, const block *b, double *hidden)
{
    const norma_source_layout *layout = &p->layout;
    int k = (int)layout->size_first;
    int count = (int)b->count;
    int64_t at = b->part * layout->size_first * layout->n_columns + t->begin;
    const double *columns = p->columns + t->group * norma_source_layout_columns(layout);
    if (p->single) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, count, (int)t->n_columns, k, 1,
                    (const float *)p->work->w1, k, (const float *)columns + at,
                    (int)layout->n_columns, 0, (float *)hidden, (int)layout->tile);
        return;
    }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, count, (int)t->n_columns, k, 1,
                p->work->w1, k, columns + at, (int)layout->n_columns, 0, hidden, (int)layout->tile);
}

/* products of the tile += (W2 block)^T * hidden. */
static void multiply_second(const pass *p, const tile *t, const block *b, const double *hidden)
{
    const norma_source_layout *layout = &p->layout;
    int m = (int)layout->size_second;
    int count = (int)b->count;
    int64_t at = b->part * layout->size_second * layout->n_columns + t->begin;
    double *products = p->products + t->group * norma_source_layout_products(layout);
    if (p->single) {
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, m, (int)t->n_columns, count, 1,
                    (const float *)p->work->w2, m, (const float *)hidden, (int)layout->tile, 1,
                    (float *)products + at, (int)layout->n_columns);
        return;
    }
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, m, (int)t->n_columns, count, 1,
                p->work->w2, m, hidden, (int)layout->tile, 1, products + at,
                (int)layout->n_columns);
}

/* z = phi(z + shift) for n values; returns how many lie outside the linear region. */
static int64_t activate(const norma_source_layer *source, double shift, int64_t n, double *z)
{
    int64_t n_clipped = 0;
    double low = source->region[0];
    double high = source->region[1];
    if (source->activation.kind == NORMA_ACTIVATION_RELU) {
        for (int64_t k = 0; k < n; k++) {
            double x = z[k] + shift;
            n_clipped += x < 0;
            z[k] = x < 0 ? 0 : x; /* NaN stays NaN */
        }
    } else {
        for (int64_t k = 0; k < n; k++) {
            z[k] += shift;
            n_clipped += z[k] < low || z[k] > high;
        }
        norma_activation_apply(&source->activation, n, z);
    }
    return n_clipped;
}

/* The same in single precision, n at most a tile; phi itself is rounded once. */
static int64_t activate_single(const norma_source_layer *source, double shift, int64_t n, float *z)
{
    double x[NORMA_SOURCE_TILE];
    for (int64_t k = 0; k < n; k++)
        x[k] = z[k] + (float)shift;
    int64_t n_clipped = activate(source, 0, n, x);
    for (int64_t k = 0; k < n; k++)
        z[k] = (float)x[k];
    return n_clipped;
}

/* Columns begin .. end - 1 of row j of a tile's hidden values. */
static int64_t activate_part(const pass *p, const norma_source_layer *source, int64_t j,
                             double shift, int64_t begin, int64_t end, double *hidden)
{
    int64_t at = j * p->layout.tile + begin;
    return p->single ? activate_single(source, shift, end - begin, (float *)hidden + at)
                     : activate(source, shift, end - begin, hidden + at);
}

static int64_t activate_tile(const pass *p, const tile *t, const norma_source_layer *source,
                             const block *b, double *hidden)
{
    int64_t n_clipped = 0;
    for (int64_t j = 0; j < b->count; j++) {
        double shift = source->beta1[b->first + j];
        (void)activate_part(p, source, j, shift, 0, t->real, hidden);
        n_clipped += activate_part(p, source, j, shift, t->real, t->real_end, hidden);
        (void)activate_part(p, source, j, shift, t->real_end, t->n_columns, hidden);
    }
    return n_clipped;
}

/* y[height][width] of conv += the products of one tap, moved. */
static void add_tap(const norma_source_shape *shape, const double *from, double *y)
{
    for (int64_t r = 0; r < shape->conv.height; r++) {
        const double *row = from + r * shape->stride2[0] * shape->z.width;
        double *to = y + r * shape->conv.width;
        for (int64_t c = 0; c < shape->conv.width; c++)
            to[c] += row[c * shape->stride2[1]];
    }
}

/* The same in single precision; y holds values of it. */
static void add_tap_single(const norma_source_shape *shape, const float *from, double *y)
{
    for (int64_t r = 0; r < shape->conv.height; r++) {
        const float *row = from + r * shape->stride2[0] * shape->z.width;
        double *to = y + r * shape->conv.width;
        for (int64_t c = 0; c < shape->conv.width; c++)
            to[c] = (float)to[c] + row[c * shape->stride2[1]];
    }
}

/* The affine map of an output channel on y[n], with its skip[n] (or NULL) where it belongs. */
static void finish_channel(const norma_source_layer *source, int64_t i, int64_t n,
                           const double *skip, double *y)
{
    double gamma = source->gamma2[i];
    double beta = source->beta2[i];
    bool outer = skip && source->residual == NORMA_RESIDUAL_OUTER;
    bool inner = skip && !outer;
    for (int64_t k = 0; k < n; k++) {
        if (source->single) {
            float sum = outer ? (float)y[k] + (float)skip[k] : (float)y[k];
            sum = (float)gamma * sum + (float)beta;
            y[k] = inner ? sum + (float)skip[k] : sum;
        } else {
            double sum = gamma * (outer ? y[k] + skip[k] : y[k]) + beta;
            y[k] = inner ? sum + skip[k] : sum;
        }
    }
}

/* y of one image from its products and skip: sum over taps p, moved; then gamma2, beta2. */
static void collect(const pass *p, const norma_source_layer *source, int64_t n, const double *skip,
                    double *y)
{
    const norma_source_shape *shape = p->shape;
    const norma_source_layout *layout = &p->layout;
    norma_kernel_shape k2 = shape->kernel.second;
    int64_t image = p->first + n;
    int64_t n_pixels = shape->conv.height * shape->conv.width;
    const double *products = p->products + (image / layout->group - p->first_group) *
                                               norma_source_layout_products(layout);
    int64_t at = image % layout->group * layout->n_pixels;
    for (int64_t i = 0; i < shape->n_channels_out; i++) {
        memset(y, 0, (size_t)n_pixels * sizeof *y);
        for (int64_t tap = 0; tap < k2.height * k2.width; tap++) {
            int64_t from = at + tap / k2.width * shape->dilation[0] * shape->z.width +
                           tap % k2.width * shape->dilation[1];
            if (p->single)
                add_tap_single(shape, (const float *)products + from, y);
            else
                add_tap(shape, products + from, y);
            at += layout->n_columns;
        }
        finish_channel(source, i, n_pixels, skip ? skip + i * n_pixels : NULL, y);
        y += n_pixels;
    }
}

static void pass_finish(const pass *p, const norma_source_layer *source, const norma_layer *layer,
                        const double *in, double *out)
{
    const norma_source_work *work = p->work;
    int64_t in_size = norma_shape_size(layer->input);
    int64_t out_size = norma_shape_size(layer->output);
#pragma omp parallel for schedule(static) num_threads(work->n_threads)
    for (int64_t n = 0; n < p->n_images; n++) {
        double *y = work->conv + omp_get_thread_num() * work->conv_size;
        const double *skip = NULL;
        if (source->skip)
            skip = norma_source_skip_apply(source, work->skip_weights, in + n * in_size,
                                           work->skip + omp_get_thread_num() * work->skip_size);
        collect(p, source, n, skip, y);
        norma_forward_finish(layer, y, out + n * out_size);
        for (int64_t k = 0; p->single && k < out_size; k++)
            out[n * out_size + k] = (float)out[n * out_size + k];
    }
}

static int64_t pass_propagate(const pass *p, const norma_source_layer *source)
{
    const norma_source_work *work = p->work;
    int64_t n_features = p->shape->n_features;
    int64_t n_tiles = p->n_groups * p->layout.n_tiles;
    int64_t n_clipped = 0;
    for (int64_t first = 0; first < n_features;) {
        const block b = block_from(p, first);
        fill_weights(p, source, &b);
#pragma omp parallel for schedule(dynamic) num_threads(work->n_threads) reduction(+ : n_clipped)
        for (int64_t index = 0; index < n_tiles; index++) {
            tile t = pass_tile(p, index);
            double *hidden = work->hidden + omp_get_thread_num() * work->hidden_size;
            multiply_first(p, &t, &b, hidden);
            n_clipped += activate_tile(p, &t, source, &b, hidden);
            multiply_second(p, &t, &b, hidden);
        }
        first += b.count;
    }
    return n_clipped;
}

void norma_source_propagate(norma_source_work *work, const norma_source_layer *source,
                            const norma_layer *layer, int64_t first, int64_t n_images,
                            const double *in, double *out, int64_t *n_clipped)
{
    int64_t in_size = norma_shape_size(layer->input);
    int64_t out_size = norma_shape_size(layer->output);
    int64_t done = 0;
    if (source->skip)
        norma_source_skip_prepare(source, work->skip_weights);
    while (done < n_images) {
        pass p;
        pass_init(&p, work, &source->shape, true, first + done, n_images - done);
        p.single = source->single;
        pass_gather(&p, in + done * in_size);
        *n_clipped += pass_propagate(&p, source);
        pass_finish(&p, source, layer, in + done * in_size, out + done * out_size);
        done += p.n_images;
    }
}

/* Widens this thread's range by the tile's hidden values. */
static void measure_tile(const pass *p, const tile *t, int64_t count, const double *hidden,
                         double *range)
{
    for (int64_t j = 0; j < count; j++) {
        const double *row = hidden + j * p->layout.tile;
        double lo = range[j];
        double hi = range[NORMA_SOURCE_BLOCK + j];
        for (int64_t k = t->real; k < t->real_end; k++) {
            lo = row[k] < lo ? row[k] : lo;
            hi = row[k] > hi ? row[k] : hi;
        }
        range[j] = lo;
        range[NORMA_SOURCE_BLOCK + j] = hi;
    }
}

static void pass_measure(const pass *p, const norma_tensor *w1, double *lo, double *hi)
{
    const norma_source_work *work = p->work;
    int64_t n_features = p->shape->n_features;
    int64_t n_tiles = p->n_groups * p->layout.n_tiles;
    for (int64_t first = 0; first < n_features;) {
        const block b = block_from(p, first);
        const int64_t count = b.count;
        fill_block(work, w1, first, count, NULL, p->layout.size_first, work->w1);
#pragma omp parallel num_threads(work->n_threads)
        {
            double *hidden = work->hidden + omp_get_thread_num() * work->hidden_size;
            double *range = work->range + INT64_C(2) * omp_get_thread_num() * NORMA_SOURCE_BLOCK;
            memcpy(range, lo + first, (size_t)count * sizeof *range);
            memcpy(range + NORMA_SOURCE_BLOCK, hi + first, (size_t)count * sizeof *range);
#pragma omp barrier
#pragma omp for schedule(dynamic)
            for (int64_t index = 0; index < n_tiles; index++) {
                tile t = pass_tile(p, index);
                multiply_first(p, &t, &b, hidden);
                measure_tile(p, &t, count, hidden, range);
            }
#pragma omp critical(norma_source_measure)
            for (int64_t j = 0; j < count; j++) {
                double least = range[j];
                double most = range[NORMA_SOURCE_BLOCK + j];
                lo[first + j] = least < lo[first + j] ? least : lo[first + j];
                hi[first + j] = most > hi[first + j] ? most : hi[first + j];
            }
        }
        first += count;
    }
}

void norma_source_measure(norma_source_work *work, const norma_source_shape *shape,
                          const norma_tensor *w1, int64_t first, int64_t n_images, const double *in,
                          double *lo, double *hi)
{
    int64_t in_size = norma_shape_size(shape->input);
    int64_t done = 0;
    while (done < n_images) {
        pass p;
        pass_init(&p, work, shape, false, first + done, n_images - done);
        pass_gather(&p, in + done * in_size);
        pass_measure(&p, w1, lo, hi);
        done += p.n_images;
    }
}
