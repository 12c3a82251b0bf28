#include "mpi/product.h"

#include "mpi/agree.h"
#include "src/base/index.h"
#include "src/base/mem.h"

#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <string.h>

/* Weights beyond this have products whose squares leave the range of doubles. */
#define LARGEST_WEIGHT 1e70

/* Features that a thread draws at a time. */
#define CHUNK 64

/* Behind the n sums over features of an all-reduce: the sum of x and that of its squares. */
enum { SUM, SQUARES, N_EXTRA };

struct norma_product {
    MPI_Comm comm;
    norma_width_rule *rule;
    int64_t n_features, first, n_share;
    norma_khatri_rao *kr;
    double *full;   /* [n + N_EXTRA]: what goes into KR', and what comes out of KR */
    int *counts;    /* [ranks]: shares, for gathering */
    int *positions; /* [ranks] */
    int64_t n_zero, first_zero;
};

/* Weights of one layer for this rank's features; screened. */
static norma_status fill_weights(const norma_tensor *tensor, const char *name, int64_t first,
                                 int64_t count, int64_t width, double *out)
{
    int64_t n_chunks = norma_index_ceil_divide(count, CHUNK);
#pragma omp parallel for schedule(dynamic)
    for (int64_t c = 0; c < n_chunks; c++) {
        int64_t n = count - c * CHUNK < CHUNK ? count - c * CHUNK : CHUNK;
        norma_tensor_fill(tensor, first + c * CHUNK, n, out + c * CHUNK * width);
    }
    for (int64_t e = 0; e < count * width; e++)
        if (!(fabs(out[e]) <= LARGEST_WEIGHT))
            return NORMA_FAIL(
                NORMA_CONFIG,
                "source weight %s of feature %lld, number %lld of its %lld, is %g: %s", name,
                (long long)(first + e / width), (long long)(e % width), (long long)width, out[e],
                isfinite(out[e]) ? "too large for double precision" : "a finite value is expected");
    return NORMA_OK;
}

static bool all_zero(const double *row, int64_t width)
{
    for (int64_t e = 0; e < width; e++)
        if (row[e] != 0)
            return false;
    return true;
}

static void find_zero_features(norma_product *product)
{
    int64_t n_first = norma_khatri_rao_width_first(&product->rule->shape);
    int64_t n_second = norma_khatri_rao_width_second(&product->rule->shape);
    const double *first = norma_khatri_rao_first(product->kr);
    const double *second = norma_khatri_rao_second(product->kr);
    int64_t earliest = INT64_MAX;
    for (int64_t t = 0; t < product->n_share; t++) {
        if (all_zero(first + t * n_first, n_first) || all_zero(second + t * n_second, n_second)) {
            product->n_zero++;
            if (earliest == INT64_MAX)
                earliest = product->first + t;
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &product->n_zero, 1, MPI_INT64_T, MPI_SUM, product->comm);
    MPI_Allreduce(&earliest, &product->first_zero, 1, MPI_INT64_T, MPI_MIN, product->comm);
    if (product->first_zero == INT64_MAX)
        product->first_zero = -1;
}

/* squares[share] = sums of squares of this rank's columns of M. */
static void measure_columns(const norma_product *product, double *columns, double *squares)
{
    const norma_width_rule *rule = product->rule;
    int64_t n_first = norma_khatri_rao_width_first(&rule->shape);
    int64_t n_second = norma_khatri_rao_width_second(&rule->shape);
    const double *first = norma_khatri_rao_first(product->kr);
    const double *second = norma_khatri_rao_second(product->kr);
#pragma omp parallel for schedule(static)
    for (int64_t t = 0; t < product->n_share; t++) {
        double *column = columns + rule->n_rows * omp_get_thread_num();
        double sum = 0;
        norma_width_rule_fill(rule, second + t * n_second, first + t * n_first, 0, rule->n_rows,
                              column);
        for (int64_t r = 0; r < rule->n_rows; r++)
            sum += column[r] * column[r];
        squares[t] = sum;
    }
}

/* The closing row: columns are measured one by one and added in the order of features, so that it
 * has the same bits on any number of ranks. */
static norma_status close_rule(norma_product *product)
{
    norma_width_rule *rule = product->rule;
    double *columns = NULL;
    double *squares = NULL;
    double *all = NULL;
    double sum = 0;
    norma_status status = NORMA_ALLOC(columns, rule->n_rows * omp_get_max_threads());
    if (status == NORMA_OK)
        status = NORMA_ALLOC(squares, product->n_share);
    if (status == NORMA_OK)
        status = NORMA_ALLOC(all, product->n_features);
    NORMA_GOTO(status, norma_agree(product->comm, status));
    measure_columns(product, columns, squares);
    norma_product_gather(product, squares, all);
    for (int64_t J = 0; J < product->n_features; J++)
        sum += all[J];
    norma_width_rule_set_closing(rule, sum, product->n_features);
done:
    NORMA_FREE(columns);
    NORMA_FREE(squares);
    NORMA_FREE(all);
    return status;
}

/* Sizes, room and weights of this rank. */
static norma_status prepare_local(norma_product *product, const norma_tensor *w1,
                                  const norma_tensor *w2)
{
    const norma_khatri_rao_shape *shape = &product->rule->shape;
    int size = 0;
    int rank = 0;
    int ignored = 0;
    MPI_Comm_size(product->comm, &size);
    MPI_Comm_rank(product->comm, &rank);
    NORMA_TRY(norma_index_to_int(product->rule->n + N_EXTRA, "equations of a layer", &ignored));
    NORMA_TRY(norma_index_to_int(product->n_features, "features of a layer", &ignored));
    NORMA_TRY(NORMA_ALLOC(product->counts, size));
    NORMA_TRY(NORMA_ALLOC(product->positions, size));
    NORMA_TRY(NORMA_ALLOC(product->full, product->rule->n + N_EXTRA));
    for (int r = 0; r < size; r++) {
        int64_t first = 0;
        product->counts[r] = (int)norma_index_share(product->n_features, size, r, &first);
        product->positions[r] = (int)first;
    }
    product->n_share = product->counts[rank];
    product->first = product->positions[rank];
    NORMA_TRY(norma_khatri_rao_create(shape, product->n_share, &product->kr));
    NORMA_TRY(fill_weights(w1, "W1", product->first, product->n_share,
                           norma_khatri_rao_width_first(shape),
                           norma_khatri_rao_first(product->kr)));
    return fill_weights(w2, "W2", product->first, product->n_share,
                        norma_khatri_rao_width_second(shape), norma_khatri_rao_second(product->kr));
}

norma_status norma_product_create(MPI_Comm comm, norma_width_rule *rule, const norma_tensor *w1,
                                  const norma_tensor *w2, int64_t n_features, norma_product **out)
{
    norma_product *product = NULL;
    norma_status status = NORMA_CALLOC(product, 1);
    if (status == NORMA_OK) {
        product->comm = comm;
        product->rule = rule;
        product->n_features = n_features;
        status = prepare_local(product, w1, w2);
    }
    NORMA_GOTO(status, norma_agree(comm, status));
    find_zero_features(product);
    if (rule->closed)
        NORMA_GOTO(status, close_rule(product));
    *out = product;
    product = NULL;
done:
    norma_product_destroy_local(&product);
    return status;
}

double norma_product_bytes_local(const norma_khatri_rao_shape *shape, int64_t n_features,
                                 int n_ranks)
{
    int64_t first = 0;
    int64_t share = norma_index_share(n_features, n_ranks, 0, &first);
    double n = (double)norma_khatri_rao_n_rows(shape);
    return norma_khatri_rao_bytes(shape, share) + 8 * (n + N_EXTRA + (double)n_ranks);
}

int64_t norma_product_n_rows_local(const norma_product *product, norma_product_form form)
{
    switch (form) {
    case NORMA_PRODUCT_FULL:
        return product->rule->n;
    case NORMA_PRODUCT_ROWS:
        return product->rule->n_rows;
    default:
        return product->rule->n_system;
    }
}

int64_t norma_product_n_features_local(const norma_product *product)
{
    return product->n_features;
}

int64_t norma_product_share_local(const norma_product *product, int64_t *first)
{
    *first = product->first;
    return product->n_share;
}

int64_t norma_product_zero_features_local(const norma_product *product, int64_t *first)
{
    *first = product->first_zero;
    return product->n_zero;
}

double norma_product_flops_local(const norma_product *product)
{
    return norma_khatri_rao_flops(&product->rule->shape, product->n_features);
}

/* Whether the form's last row is the closing one. */
static bool is_closed(const norma_product *product, norma_product_form form)
{
    return form == NORMA_PRODUCT_SYSTEM && product->rule->closed;
}

/* full <- what KR' has to be applied to. Returns what is added to every feature. */
static double spread_rows(norma_product *product, norma_product_form form, const double *y)
{
    if (form == NORMA_PRODUCT_FULL)
        memcpy(product->full, y, (size_t)product->rule->n * sizeof *y);
    else
        norma_width_rule_expand(product->rule, y, product->full);
    return is_closed(product, form) ? product->rule->closing * y[product->rule->n_rows] : 0;
}

/* full holds KR x of this rank's share: sums over ranks, then forms the rows y. */
static void collect_rows(norma_product *product, norma_product_form form, const double *x,
                         double *y)
{
    const norma_width_rule *rule = product->rule;
    double *extra = product->full + rule->n;
    extra[SUM] = extra[SQUARES] = 0;
    for (int64_t t = 0; t < product->n_share; t++) {
        extra[SUM] += x[t];
        extra[SQUARES] += x[t] * x[t];
    }
    MPI_Allreduce(MPI_IN_PLACE, product->full, (int)(rule->n + N_EXTRA), MPI_DOUBLE, MPI_SUM,
                  product->comm);
    if (form == NORMA_PRODUCT_FULL)
        memcpy(y, product->full, (size_t)rule->n * sizeof *y);
    else
        norma_width_rule_restrict(rule, product->full, y);
    if (is_closed(product, form))
        y[rule->n_rows] = rule->closing * extra[SUM];
}

void norma_product_apply(norma_product *product, norma_product_form form, const double *x,
                         double *y)
{
    norma_khatri_rao_apply(product->kr, x, product->full);
    collect_rows(product, form, x, y);
}

void norma_product_apply_transpose_local(norma_product *product, norma_product_form form,
                                         const double *y, double *x)
{
    double shift = spread_rows(product, form, y);
    norma_khatri_rao_apply_transpose(product->kr, product->full, x);
    for (int64_t t = 0; t < product->n_share; t++)
        x[t] += shift;
}

double norma_product_apply_both(norma_product *product, norma_product_form form, const double *u,
                                double keep, double *x, double *y)
{
    double shift = spread_rows(product, form, u);
    norma_khatri_rao_apply_both(product->kr, product->full, shift, keep, x, product->full);
    collect_rows(product, form, x, y);
    return product->full[product->rule->n + SQUARES];
}

void norma_product_gather(const norma_product *product, const double *x, double *all)
{
    MPI_Allgatherv(x, (int)product->n_share, MPI_DOUBLE, all, product->counts, product->positions,
                   MPI_DOUBLE, product->comm);
}

void norma_product_destroy_local(norma_product **product)
{
    if (*product) {
        norma_khatri_rao_destroy(&(*product)->kr);
        NORMA_FREE((*product)->full);
        NORMA_FREE((*product)->counts);
        NORMA_FREE((*product)->positions);
        NORMA_FREE(*product);
    }
}
