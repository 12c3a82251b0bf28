#include "src/random/haar.h"

#include "src/base/mem.h"
#include "src/random/cholqr.h"

#include <stdbool.h>
#include <string.h>

struct norma_haar {
    uint64_t seed;
    norma_rng_stream stream;
    int64_t n_features;
    int64_t n_rows;
    int64_t n_columns;
    norma_cholqr *cholqr; /* features on the longer side; owned */
    double *values;       /* otherwise: [n_features][n_columns][n_rows]; owned */
};

static void normals(const norma_haar *haar, int64_t first, int64_t count, double *out)
{
    int64_t size = haar->n_columns * haar->n_rows;
    norma_rng_fill_normal(haar->seed, &haar->stream, first * size, count * size, out);
}

static void normals_source(const void *context, int64_t first, int64_t count, double *out)
{
    normals(context, first, count, out);
}

/* A stored matrix [n_rows][n_columns], a row an item. */
typedef struct stored {
    int64_t n_columns;
    const double *values;
} stored;

static void stored_source(const void *context, int64_t first, int64_t count, double *out)
{
    const stored *s = context;
    memcpy(out, s->values + first * s->n_columns,
           (size_t)(count * s->n_columns) * sizeof *s->values);
}

/* tall[i][J * n_rows + p] = values[J][i][p], or back. */
static void transpose(const norma_haar *haar, double *values, double *tall, bool back)
{
    int64_t n_short = haar->n_features * haar->n_rows;
    for (int64_t feature = 0; feature < haar->n_features; feature++)
        for (int64_t i = 0; i < haar->n_columns; i++)
            for (int64_t p = 0; p < haar->n_rows; p++) {
                double *value = values + (feature * haar->n_columns + i) * haar->n_rows + p;
                double *entry = tall + i * n_short + feature * haar->n_rows + p;
                if (back)
                    *value = *entry;
                else
                    *entry = *value;
            }
}

/* Features on the shorter side: every feature is a combination of all of them. */
static norma_status make_values(norma_haar *haar)
{
    norma_status status = NORMA_OK;
    norma_cholqr *cholqr = NULL;
    double *tall = NULL;
    int64_t n_short = haar->n_features * haar->n_rows;
    NORMA_GOTO(status, NORMA_ALLOC(haar->values, n_short * haar->n_columns));
    NORMA_GOTO(status, NORMA_ALLOC(tall, n_short * haar->n_columns));
    normals(haar, 0, haar->n_features, haar->values);
    transpose(haar, haar->values, tall, false);
    stored rows = {n_short, tall};
    NORMA_GOTO(status,
               norma_cholqr_create(haar->n_columns, 1, n_short, stored_source, &rows, &cholqr));
    for (int64_t i = 0; i < haar->n_columns; i++)
        norma_cholqr_apply(cholqr, tall + i * n_short);
    transpose(haar, haar->values, tall, true);
done:
    norma_cholqr_destroy(&cholqr);
    NORMA_FREE(tall);
    return status;
}

norma_status norma_haar_create(uint64_t seed, const norma_rng_stream *stream, int64_t n_features,
                               int64_t n_rows, int64_t n_columns, norma_haar **out)
{
    norma_status status = NORMA_OK;
    norma_haar *haar = NULL;
    NORMA_GOTO(status, NORMA_CALLOC(haar, 1));
    haar->seed = seed;
    haar->stream = *stream;
    haar->n_features = n_features;
    haar->n_rows = n_rows;
    haar->n_columns = n_columns;
    if (n_features * n_rows >= n_columns)
        NORMA_GOTO(status, norma_cholqr_create(n_features, n_rows, n_columns, normals_source, haar,
                                               &haar->cholqr));
    else
        NORMA_GOTO(status, make_values(haar));
    *out = haar;
    haar = NULL;
done:
    norma_haar_destroy(&haar);
    return status;
}

void norma_haar_fill(const norma_haar *haar, int64_t first, int64_t count, double *out)
{
    int64_t size = haar->n_columns * haar->n_rows;
    if (haar->values) {
        memcpy(out, haar->values + first * size, (size_t)(count * size) * sizeof *out);
        return;
    }
    normals(haar, first, count, out);
    for (int64_t feature = 0; feature < count; feature++)
        norma_cholqr_apply(haar->cholqr, out + feature * size);
}

void norma_haar_destroy(norma_haar **haar)
{
    if (!*haar)
        return;
    norma_cholqr_destroy(&(*haar)->cholqr);
    NORMA_FREE((*haar)->values);
    NORMA_FREE(*haar);
}
