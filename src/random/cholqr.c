#include "src/random/cholqr.h"

#include "src/base/index.h"
#include "src/base/mem.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { MAX_FACTORS = 5, BLOCK_ROWS = 64, GROUP_BLOCKS = 64 };

struct norma_cholqr {
    int64_t n;
    int64_t n_per_item;
    int n_factors;
    double *factors[MAX_FACTORS]; /* each [n][n], upper triangles used; owned */
};

/* Sums of outer products by level: a block of rows, a group of blocks, all. Upper triangles of
 * [n][n] are used. */
typedef struct gram_sum {
    int64_t n;
    int64_t n_blocks; /* in the group so far */
    double *block;
    double *group;
    double *total;
} gram_sum;

static void move_upper(int64_t n, double *from, double *to)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++) {
            to[i * n + j] += from[i * n + j];
            from[i * n + j] = 0;
        }
}

static void close_group(gram_sum *sum)
{
    move_upper(sum->n, sum->group, sum->total);
    sum->n_blocks = 0;
}

/* Adds one block of up to BLOCK_ROWS rows. Four rows a sweep: the additions to one entry still come
 * in the order of the rows. */
static void add_block(gram_sum *sum, int64_t n_rows, const double *rows)
{
    int64_t n = sum->n;
    for (int64_t i = 0; i < n; i++) {
        double *restrict g = sum->block + i * n;
        int64_t r = 0;
        for (; r + 4 <= n_rows; r += 4) {
            const double *x = rows + r * n;
            double a0 = x[i];
            double a1 = x[n + i];
            double a2 = x[2 * n + i];
            double a3 = x[3 * n + i];
            for (int64_t j = i; j < n; j++)
                g[j] =
                    (((g[j] + a0 * x[j]) + a1 * x[n + j]) + a2 * x[2 * n + j]) + a3 * x[3 * n + j];
        }
        for (; r < n_rows; r++) {
            const double *x = rows + r * n;
            for (int64_t j = i; j < n; j++)
                g[j] += x[i] * x[j];
        }
    }
    move_upper(n, sum->block, sum->group);
    if (++sum->n_blocks == GROUP_BLOCKS)
        close_group(sum);
}

/* items[count][n][n_per_item] to rows[count * n_per_item][n]. */
static void items_to_rows(int64_t count, int64_t n, int64_t n_per_item, const double *items,
                          double *rows)
{
    for (int64_t item = 0; item < count; item++)
        for (int64_t p = 0; p < n_per_item; p++)
            for (int64_t i = 0; i < n; i++)
                rows[(item * n_per_item + p) * n + i] = items[(item * n + i) * n_per_item + p];
}

/* The Gram matrix of A with the factors so far applied, into sum->total (its upper triangle). */
static void sum_gram(const norma_cholqr *cholqr, int64_t n_items, norma_cholqr_source source,
                     const void *context, double *items, double *rows, gram_sum *sum)
{
    int64_t n = cholqr->n;
    int64_t size = n * cholqr->n_per_item;
    memset(sum->total, 0, (size_t)(n * n) * sizeof *sum->total);
    for (int64_t first = 0; first < n_items; first += BLOCK_ROWS) {
        int64_t count = n_items - first < BLOCK_ROWS ? n_items - first : BLOCK_ROWS;
        int64_t n_rows = count * cholqr->n_per_item;
        source(context, first, count, items);
        for (int64_t item = 0; item < count; item++)
            norma_cholqr_apply(cholqr, items + item * size);
        if (cholqr->n_per_item > 1)
            items_to_rows(count, n, cholqr->n_per_item, items, rows);
        for (int64_t r = 0; r < n_rows; r += BLOCK_ROWS)
            add_block(sum, n_rows - r < BLOCK_ROWS ? n_rows - r : BLOCK_ROWS, rows + r * n);
    }
    close_group(sum);
}

/* max |G - 1| over the upper triangle; NaN if there is one. */
static double distance_from_identity(int64_t n, const double *gram)
{
    double worst = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++) {
            double distance = fabs(gram[i * n + j] - (i == j ? 1 : 0));
            if (!(distance <= worst))
                worst = distance;
        }
    return worst;
}

/* r = the upper triangular factor with r'r = gram + shift, positive diagonal. False when a pivot is
 * lost in the rounding of its diagonal entry. */
static bool factor(int64_t n, const double *gram, double shift, double *r)
{
    memcpy(r, gram, (size_t)(n * n) * sizeof *r);
    for (int64_t i = 0; i < n; i++) {
        double *restrict row = r + i * n;
        row[i] += shift;
        for (int64_t k = 0; k < i; k++) {
            const double *above = r + k * n;
            double a = above[i];
            for (int64_t j = i; j < n; j++)
                row[j] -= a * above[j];
        }
        if (!(row[i] > 100 * DBL_EPSILON * (double)n * (gram[i * n + i] + shift)))
            return false;
        double pivot = sqrt(row[i]);
        row[i] = pivot;
        for (int64_t j = i + 1; j < n; j++)
            row[j] /= pivot;
    }
    return true;
}

/* Repeats passes until the Gram matrix at the start of one was near to the identity. */
static norma_status make_factors(norma_cholqr *cholqr, int64_t n_items, norma_cholqr_source source,
                                 const void *context, double *items, double *rows, gram_sum *sum)
{
    int64_t n = cholqr->n;
    double n_rows = (double)(n_items * cholqr->n_per_item);
    for (int pass = 0; pass < MAX_FACTORS; pass++) {
        double *r = NULL;
        sum_gram(cholqr, n_items, source, context, items, rows, sum);
        double distance = distance_from_identity(n, sum->total);
        NORMA_TRY(NORMA_ALLOC(r, n * n));
        cholqr->factors[pass] = r;
        if (!factor(n, sum->total, 0, r)) {
            double trace = 0;
            for (int64_t i = 0; i < n; i++)
                trace += sum->total[i * n + i];
            double shift =
                11 * (n_rows * (double)n + (double)n * (double)(n + 1)) * DBL_EPSILON * trace;
            distance = INFINITY;
            if (!isfinite(trace) || !factor(n, sum->total, shift, r))
                break;
        }
        cholqr->n_factors = pass + 1;
        if (pass > 0 && distance < 0.1)
            return NORMA_OK;
    }
    return NORMA_FAIL(NORMA_NUMERIC, "a matrix to be made orthogonal has no full column rank");
}

norma_status norma_cholqr_create(int64_t n_items, int64_t n_per_item, int64_t n,
                                 norma_cholqr_source source, const void *context,
                                 norma_cholqr **out)
{
    norma_status status = NORMA_OK;
    norma_cholqr *cholqr = NULL;
    double *items = NULL;
    double *rows = NULL;
    gram_sum sum = {.n = n};
    int64_t n_square = 0;
    int64_t n_chunk = 0;
    NORMA_GOTO(status, norma_index_multiply(n, n, "a Gram matrix", &n_square));
    NORMA_GOTO(status, norma_index_multiply(n * BLOCK_ROWS, n_per_item, "a block", &n_chunk));
    NORMA_GOTO(status, NORMA_CALLOC(cholqr, 1));
    cholqr->n = n;
    cholqr->n_per_item = n_per_item;
    NORMA_GOTO(status, NORMA_ALLOC(items, n_chunk));
    if (n_per_item > 1)
        NORMA_GOTO(status, NORMA_ALLOC(rows, n_chunk));
    NORMA_GOTO(status, NORMA_CALLOC(sum.block, n_square));
    NORMA_GOTO(status, NORMA_CALLOC(sum.group, n_square));
    NORMA_GOTO(status, NORMA_ALLOC(sum.total, n_square));
    NORMA_GOTO(status,
               make_factors(cholqr, n_items, source, context, items, rows ? rows : items, &sum));
    *out = cholqr;
    cholqr = NULL;
done:
    NORMA_FREE(items);
    NORMA_FREE(rows);
    NORMA_FREE(sum.block);
    NORMA_FREE(sum.group);
    NORMA_FREE(sum.total);
    norma_cholqr_destroy(&cholqr);
    return status;
}

static void solve_one(int64_t n, const double *r, double *restrict x)
{
    for (int64_t i = 0; i < n; i++) {
        const double *row = r + i * n;
        x[i] /= row[i];
        double a = x[i];
        for (int64_t j = i + 1; j < n; j++)
            x[j] -= a * row[j];
    }
}

static void solve_many(int64_t n, const double *r, int64_t n_per_item, double *restrict x)
{
    for (int64_t i = 0; i < n; i++) {
        const double *row = r + i * n;
        double *xi = x + i * n_per_item;
        for (int64_t p = 0; p < n_per_item; p++)
            xi[p] /= row[i];
        for (int64_t j = i + 1; j < n; j++)
            for (int64_t p = 0; p < n_per_item; p++)
                x[j * n_per_item + p] -= xi[p] * row[j];
    }
}

void norma_cholqr_apply(const norma_cholqr *cholqr, double *x)
{
    for (int f = 0; f < cholqr->n_factors; f++) {
        if (cholqr->n_per_item == 1)
            solve_one(cholqr->n, cholqr->factors[f], x);
        else
            solve_many(cholqr->n, cholqr->factors[f], cholqr->n_per_item, x);
    }
}

int norma_cholqr_n_factors(const norma_cholqr *cholqr)
{
    return cholqr->n_factors;
}

void norma_cholqr_destroy(norma_cholqr **cholqr)
{
    if (!*cholqr)
        return;
    for (int f = 0; f < MAX_FACTORS; f++)
        NORMA_FREE((*cholqr)->factors[f]);
    NORMA_FREE(*cholqr);
}
