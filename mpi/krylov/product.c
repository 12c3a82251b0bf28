#include "mpi/krylov/product.h"

#include "mpi/krylov/survey.h"
#include "mpi/runtime/agree.h"
#include "src/base/index.h"
#include "src/base/mem_place.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Behind the n sums over features of an all-reduce: the sum of x and that of its squares. */
enum { SUM, SQUARES };

struct norma_product {
    MPI_Comm comm;
    norma_width_rule *rule;
    const norma_tensor *w1, *w2;
    int64_t n_features, first, n_share;
    norma_khatri_rao *kr;     /* double precision */
    norma_khatri_rao *single; /* NULL: none */
    norma_khatri_rao *used;   /* one of them */
    double *full;   /* [n + NORMA_PRODUCT_EXTRA]: what goes into KR', and what comes out of KR */
    int *counts;    /* [ranks]: shares, for gathering */
    int *positions; /* [ranks] */
    norma_survey found;
};

/* norma_khatri_rao_source.fill of this rank's features. */
static void draw(const void *context, int64_t start, int64_t count, double *first, double *second)
{
    const norma_product *product = context;
    norma_tensor_fill(product->w1, product->first + start, count, first);
    norma_tensor_fill(product->w2, product->first + start, count, second);
}

/* The closing row: columns are measured one by one and added in the order of features, so that it
 * has the same bits on any number of ranks. */
static norma_status close_rule(norma_product *product)
{
    double *all = NULL;
    double sum = 0;
    norma_status status = norma_agree(product->comm, NORMA_ALLOC(all, product->n_features));
    if (status == NORMA_OK) {
        norma_product_gather(product, product->found.squares, all);
        for (int64_t J = 0; J < product->n_features; J++)
            sum += all[J];
        norma_width_rule_set_closing(product->rule, sum, product->n_features);
    }
    NORMA_FREE(all);
    return status;
}

/* A power of two near the largest weight. */
static double unit_of(double largest)
{
    int exponent = 0;
    (void)frexp(largest, &exponent);
    return largest > 0 ? ldexp(1, exponent) : 1;
}

/* Measures or allocates what is kept beside the weights: src/base/mem_place.h. */
static norma_status place(norma_product *product, int64_t n, int n_ranks, double *bytes)
{
    NORMA_TRY(NORMA_PLACE(product->counts, n_ranks, bytes));
    NORMA_TRY(NORMA_PLACE(product->positions, n_ranks, bytes));
    return NORMA_PLACE(product->full, n + NORMA_PRODUCT_EXTRA, bytes);
}

/* Sizes, room and weights of this rank. */
static norma_status prepare_local(norma_product *product, const norma_product_mode *mode)
{
    const norma_khatri_rao_shape *shape = &product->rule->shape;
    int size = 0;
    int rank = 0;
    int ignored = 0;
    MPI_Comm_size(product->comm, &size);
    MPI_Comm_rank(product->comm, &rank);
    NORMA_TRY(norma_index_to_int(product->rule->n + NORMA_PRODUCT_EXTRA, "equations of a layer",
                                 &ignored));
    NORMA_TRY(norma_index_to_int(product->n_features, "features of a layer", &ignored));
    NORMA_TRY(place(product, product->rule->n, size, NULL));
    for (int r = 0; r < size; r++) {
        int64_t first = 0;
        product->counts[r] = (int)norma_index_share(product->n_features, size, r, &first);
        product->positions[r] = (int)first;
    }
    product->n_share = product->counts[rank];
    product->first = product->positions[rank];
    const norma_khatri_rao_source source = {draw, product};
    const norma_khatri_rao_mode exact = {.regenerated = mode->regenerated};
    NORMA_TRY(norma_khatri_rao_create(shape, product->n_share, &source, &exact, &product->kr));
    product->used = product->kr;
    NORMA_TRY(norma_survey_run_local(product->rule, product->kr, product->first, product->n_share,
                                     &product->found));
    if (!mode->single)
        return NORMA_OK;
    const norma_khatri_rao_source copied = {norma_khatri_rao_read, product->kr};
    const norma_khatri_rao_mode rounded = {.single = true,
                                           .regenerated = mode->regenerated,
                                           .unit_first = unit_of(product->found.largest_first),
                                           .unit_second = unit_of(product->found.largest_second)};
    return norma_khatri_rao_create(shape, product->n_share, &copied, &rounded, &product->single);
}

static void agree_on_zero_features(norma_product *product)
{
    norma_survey *found = &product->found;
    MPI_Allreduce(MPI_IN_PLACE, &found->n_zero, 1, MPI_INT64_T, MPI_SUM, product->comm);
    MPI_Allreduce(MPI_IN_PLACE, &found->first_zero, 1, MPI_INT64_T, MPI_MIN, product->comm);
    if (found->first_zero == INT64_MAX)
        found->first_zero = -1;
}

norma_status norma_product_create(MPI_Comm comm, norma_width_rule *rule, const norma_tensor *w1,
                                  const norma_tensor *w2, int64_t n_features,
                                  const norma_product_mode *mode, norma_product **out)
{
    const norma_product_mode plain = {0};
    norma_product *product = NULL;
    norma_status status = NORMA_CALLOC(product, 1);
    if (status == NORMA_OK) {
        product->comm = comm;
        product->rule = rule;
        product->w1 = w1;
        product->w2 = w2;
        product->n_features = n_features;
        status = prepare_local(product, mode ? mode : &plain);
    }
    NORMA_GOTO(status, norma_agree(comm, status));
    agree_on_zero_features(product);
    if (rule->closed)
        NORMA_GOTO(status, close_rule(product));
    NORMA_FREE(product->found.squares);
    *out = product;
    product = NULL;
done:
    norma_product_destroy_local(&product);
    return status;
}

double norma_product_bytes_local(const norma_khatri_rao_shape *shape, int64_t n_features,
                                 int n_ranks, const norma_product_mode *mode)
{
    int64_t first = 0;
    int64_t share = norma_index_share(n_features, n_ranks, 0, &first);
    norma_product product;
    norma_khatri_rao_mode of_kr = {.regenerated = mode && mode->regenerated};
    double bytes = norma_khatri_rao_bytes(shape, share, &of_kr);
    of_kr.single = true;
    if (mode && mode->single)
        bytes += norma_khatri_rao_bytes(shape, share, &of_kr);
    bytes += (double)sizeof product;
    (void)place(&product, norma_khatri_rao_n_rows(shape), n_ranks, &bytes);
    return bytes;
}

bool norma_product_set_single_local(norma_product *product, bool single)
{
    product->used = single && product->single ? product->single : product->kr;
    return product->used == product->single;
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

MPI_Comm norma_product_comm_local(const norma_product *product)
{
    return product->comm;
}

int64_t norma_product_share_local(const norma_product *product, int64_t *first)
{
    *first = product->first;
    return product->n_share;
}

int64_t norma_product_zero_features_local(const norma_product *product, int64_t *first)
{
    *first = product->found.first_zero;
    return product->found.n_zero;
}

double norma_product_flops_local(const norma_product *product)
{
    return norma_khatri_rao_flops(&product->rule->shape, product->n_features);
}

/* True when the form's last row is the closing one. */
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
    MPI_Allreduce(MPI_IN_PLACE, product->full, (int)(rule->n + NORMA_PRODUCT_EXTRA), MPI_DOUBLE,
                  MPI_SUM, product->comm);
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
    norma_khatri_rao_apply(product->used, x, product->full);
    collect_rows(product, form, x, y);
}

void norma_product_apply_transpose_local(norma_product *product, norma_product_form form,
                                         const double *y, double *x)
{
    double shift = spread_rows(product, form, y);
    norma_khatri_rao_apply_transpose(product->used, product->full, x);
    for (int64_t t = 0; t < product->n_share; t++)
        x[t] += shift;
}

double norma_product_apply_both(norma_product *product, norma_product_form form, const double *u,
                                double keep, double *x, double *y)
{
    double shift = spread_rows(product, form, u);
    norma_khatri_rao_apply_both(product->used, product->full, shift, keep, x, product->full);
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
        norma_khatri_rao_destroy(&(*product)->single);
        norma_khatri_rao_destroy(&(*product)->kr);
        NORMA_FREE((*product)->found.squares);
        NORMA_FREE((*product)->full);
        NORMA_FREE((*product)->counts);
        NORMA_FREE((*product)->positions);
        NORMA_FREE(*product);
    }
}
