#include "mpi/system/single_scale.h"

#include "mpi/runtime/agree.h"
#include "src/base/mem_place.h"

#include <math.h>
#include <string.h>

/* Features whose weights are held at a time. */
#define CHUNK 64

typedef struct work {
    const norma_system *system;
    int64_t n_share;           /* features of this rank */
    int64_t n_first, n_second; /* weights of a feature in either layer */
    int64_t c0, c2;            /* channels of both */
    double *first, *second;    /* [CHUNK][n_first], [CHUNK][n_second] */
    double *columns;           /* [share] */
    double *channels;          /* [c2 + c0]: largest scaled weight of each channel */
} work;

/* The power of two that brings a size to [1/2, 1); 1 for 0. */
static double inverse_power(double size)
{
    int exponent = 0;
    if (!(size > 0))
        return 1;
    frexp(size, &exponent);
    return ldexp(1, -exponent);
}

static double largest(const double *a, int64_t n)
{
    double size = 0;
    for (int64_t e = 0; e < n; e++)
        size = fmax(size, fabs(a[e]));
    return size;
}

/* A feature's scale in one layer, and what its channels have under it. */
static double scale_feature(const double *weights, int64_t n_channels, int64_t n_taps,
                            double *channels)
{
    double scale = inverse_power(largest(weights, n_channels * n_taps));
    for (int64_t i = 0; i < n_channels; i++)
        channels[i] = fmax(channels[i], scale * largest(weights + i * n_taps, n_taps));
    return scale;
}

static void scale_share(work *w)
{
    const norma_layer_problem *p = w->system->problem;
    int64_t start = 0;
    int64_t n_share = norma_product_share_local(w->system->product, &start);
    memset(w->channels, 0, (size_t)(w->c2 + w->c0) * sizeof *w->channels);
    for (int64_t J = 0; J < n_share; J += CHUNK) {
        int64_t count = n_share - J < CHUNK ? n_share - J : CHUNK;
        norma_tensor_fill(p->w1, start + J, count, w->first);
        norma_tensor_fill(p->w2, start + J, count, w->second);
        for (int64_t t = 0; t < count; t++)
            w->columns[J + t] = scale_feature(w->second + t * w->n_second, w->c2,
                                              w->n_second / w->c2, w->channels) *
                                scale_feature(w->first + t * w->n_first, w->c0, w->n_first / w->c0,
                                              w->channels + w->c2);
    }
}

/* The rows of output channel i in order, from `row` on; the pivot's is left out. Returns the row
 * after them. */
static int64_t scale_channel(const work *w, int64_t i, double *row_scale, int64_t row)
{
    const norma_width_rule *rule = w->system->rule;
    const double *inputs = w->channels + w->c2;
    int64_t n_taps = rule->row_length / w->c0;
    bool eliminates = rule->width == NORMA_WIDTH_MIN;
    int64_t pivot = eliminates ? rule->pivot[i] : -1;
    for (int64_t s = 0; s < rule->row_length; s++) {
        double size = inputs[s / n_taps];
        if (s == pivot)
            continue;
        if (eliminates)
            size = fmax(size, fabs(rule->ratio[i * rule->row_length + s]) * inputs[pivot / n_taps]);
        row_scale[row++] = inverse_power(w->channels[i]) * inverse_power(size);
    }
    return row;
}

/* Rows of M in the order of the rule, then the closing one. */
static void scale_rows(const work *w, const double *column_scale, double *row_scale)
{
    const norma_width_rule *rule = w->system->rule;
    int64_t row = 0;
    if (rule->width == NORMA_WIDTH_MAX)
        for (int64_t i = 0; i < w->c2; i++)
            row = scale_channel(w, i, row_scale, row);
    for (int64_t a = 0; a < rule->n_active; a++)
        row = scale_channel(w, rule->active[a], row_scale, row);
    if (row < rule->n_system)
        row_scale[row] = inverse_power(rule->closing * largest(column_scale, rule->n_system));
}

static work sizes_of(const norma_khatri_rao_shape *shape, int64_t n_share)
{
    return (work){.n_share = n_share,
                  .n_first = norma_khatri_rao_width_first(shape),
                  .n_second = norma_khatri_rao_width_second(shape),
                  .c0 = shape->n_channels_in,
                  .c2 = shape->n_channels_out};
}

/* Measures or allocates: src/base/mem_place.h. */
static norma_status place(work *w, double *bytes)
{
    NORMA_TRY(NORMA_PLACE_UNSET(w->first, CHUNK, w->n_first, bytes));
    NORMA_TRY(NORMA_PLACE_UNSET(w->second, CHUNK, w->n_second, bytes));
    NORMA_TRY(NORMA_PLACE(w->columns, w->n_share, bytes));
    return NORMA_PLACE(w->channels, w->c2 + w->c0, bytes);
}

double norma_single_scale_bytes_local(const norma_khatri_rao_shape *shape, int64_t n_share)
{
    work w = sizes_of(shape, n_share);
    double bytes = 0;
    (void)place(&w, &bytes);
    return bytes;
}

norma_status norma_single_scale(const norma_system *system, double *row_scale, double *column_scale)
{
    int64_t start = 0;
    work w = sizes_of(&system->rule->shape, norma_product_share_local(system->product, &start));
    w.system = system;
    norma_status status = norma_agree(system->comm, place(&w, NULL));
    if (status == NORMA_OK) {
        scale_share(&w);
        MPI_Allreduce(MPI_IN_PLACE, w.channels, (int)(w.c2 + w.c0), MPI_DOUBLE, MPI_MAX,
                      system->comm);
        norma_product_gather(system->product, w.columns, column_scale);
        scale_rows(&w, column_scale, row_scale);
    }
    NORMA_FREE(w.first);
    NORMA_FREE(w.second);
    NORMA_FREE(w.columns);
    NORMA_FREE(w.channels);
    return status;
}
