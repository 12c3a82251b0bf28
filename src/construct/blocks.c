#include "src/construct/blocks.h"

#include "src/base/mem.h"
#include "src/construct/nearest.h"
#include "src/random/tensor.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

const double norma_blocks_digits = 15.954589770191003;

/* The tensor field of the counters; 0 and 1 are the layers of source pairs. */
enum { TENSOR_ENTRY = 2, TENSOR_INNER = 3, TENSOR_READOUT = 4 };

/* Digits that a suggested shape leaves. */
static const double enough = 6;

static int64_t n_blocks_of(const norma_blocks_shape *s)
{
    return s->n_in / s->n_inner;
}

static double n_numbers(const norma_blocks_shape *s)
{
    double m = (double)n_blocks_of(s);
    double width = (double)s->width;
    double c2 = (double)s->n_out;
    return (m + 1) * c2 * width + m * width * (width + (double)s->n_inner + 2) + c2;
}

double norma_blocks_bytes(const norma_blocks_shape *s)
{
    double equations = (double)s->n_out * (double)s->n_inner;
    double width = (double)s->width;
    return 8 * (n_numbers(s) + width * (equations + 3 * (double)s->n_in + (double)s->n_inner + 64) +
                2 * (double)s->n_out * (double)s->n_in + 64 * equations) +
           (double)n_blocks_of(s) * sizeof(norma_block_report);
}

double norma_blocks_flops(const norma_blocks_shape *s)
{
    double equations = (double)s->n_out * (double)s->n_inner;
    double width = (double)s->width;
    double system = 2 * fmin(equations, width) * equations * width + 160 * equations * equations;
    double products = 2 * width * width * ((double)s->n_out + (double)s->n_inner);
    return (double)n_blocks_of(s) * (system + products);
}

norma_status norma_blocks_create(const norma_blocks_shape *shape, norma_blocks **out)
{
    norma_blocks *b = NULL;
    int64_t d = shape->width;
    int64_t m = n_blocks_of(shape);
    if (!(n_numbers(shape) < 1e17))
        return NORMA_FAIL(NORMA_LIMIT, "%lld blocks of width %lld are too many numbers",
                          (long long)m, (long long)d);
    norma_status status = NORMA_CALLOC(b, 1);
    NORMA_GOTO(status, status);
    b->shape = *shape;
    b->n_blocks = m;
    NORMA_GOTO(status, NORMA_CALLOC(b->reports, m));
    NORMA_GOTO(status, NORMA_CALLOC(b->storage, (int64_t)n_numbers(shape)));
    b->readout = b->storage;
    b->inner = b->readout + shape->n_out * d;
    b->entry = b->inner + m * d * d;
    b->left = b->entry + m * d * shape->n_inner;
    b->gamma = b->left + m * shape->n_out * d;
    b->beta = b->gamma + m * d;
    b->beta_out = b->beta + m * d;
    *out = b;
    b = NULL;
done:
    norma_blocks_destroy(&b);
    return status;
}

void norma_blocks_destroy(norma_blocks **blocks)
{
    if (!*blocks)
        return;
    NORMA_FREE((*blocks)->reports);
    NORMA_FREE((*blocks)->storage);
    NORMA_FREE(*blocks);
}

/* A matrix of n_rows x n_columns, by the law of `base`. */
static norma_tensor_spec describe(const norma_tensor_spec *base, int64_t tensor_number,
                                  int64_t layer, int64_t n_rows, int64_t n_columns)
{
    norma_tensor_spec spec = *base;
    spec.role = NORMA_TENSOR_FIRST;
    spec.stream.tensor = tensor_number;
    spec.stream.layer = layer;
    spec.n_features = n_rows;
    spec.n_channels = n_columns;
    spec.n_taps = 1;
    return spec;
}

static norma_status draw(const norma_tensor_spec *base, int64_t tensor_number, int64_t layer,
                         int64_t n_rows, int64_t n_columns, double *out)
{
    norma_tensor *tensor = NULL;
    const norma_tensor_spec spec = describe(base, tensor_number, layer, n_rows, n_columns);
    NORMA_TRY(norma_tensor_create(&spec, &tensor));
    norma_tensor_fill(tensor, 0, n_rows, out);
    norma_tensor_destroy(&tensor);
    return NORMA_OK;
}

norma_status norma_blocks_draw(norma_blocks *b, const norma_tensor_spec *spec, int64_t layer)
{
    int64_t d = b->shape.width;
    int64_t k = b->shape.n_inner;
    if (b->n_blocks >= NORMA_BLOCKS_MOST || layer >= NORMA_BLOCKS_MOST)
        return NORMA_FAIL(NORMA_LIMIT, "%lld blocks of layer %lld: fewer than %d of each are drawn",
                          (long long)b->n_blocks, (long long)layer, NORMA_BLOCKS_MOST);
    const norma_tensor_spec inner = describe(spec, TENSOR_INNER, layer, d, d);
    b->gain = 1 / sqrt((double)d * norma_tensor_variance(&inner));
    NORMA_TRY(draw(spec, TENSOR_READOUT, layer * NORMA_BLOCKS_MOST, b->shape.n_out, d, b->readout));
    for (int64_t i = 0; i < b->n_blocks; i++) {
        NORMA_TRY(
            draw(spec, TENSOR_INNER, layer * NORMA_BLOCKS_MOST + i, d, d, b->inner + i * d * d));
        NORMA_TRY(
            draw(spec, TENSOR_ENTRY, layer * NORMA_BLOCKS_MOST + i, d, k, b->entry + i * d * k));
    }
    return NORMA_OK;
}

/* --- solution --------------------------------------------------------------------------------- */

typedef struct work {
    double *passed;     /* (W_i A_i)' [k][D] */
    double *transposed; /* [c2 k][D] */
    double *t;          /* [c2 k] */
    double *copy;       /* [c2][D] */
} work;

static norma_status allocate(const norma_blocks_shape *s, work *w)
{
    memset(w, 0, sizeof *w);
    NORMA_TRY(NORMA_ALLOC(w->passed, s->n_inner * s->width));
    NORMA_TRY(NORMA_ALLOC(w->transposed, s->n_out * s->n_inner * s->width));
    NORMA_TRY(NORMA_ALLOC(w->t, s->n_out * s->n_inner));
    return NORMA_ALLOC(w->copy, s->n_out * s->width);
}

static void release(work *w)
{
    NORMA_FREE(w->passed);
    NORMA_FREE(w->transposed);
    NORMA_FREE(w->t);
    NORMA_FREE(w->copy);
}

/* The system of block i, its right side in w->t. */
static void assemble(const norma_blocks *b, int64_t i, const double *target, work *w)
{
    const norma_blocks_shape *s = &b->shape;
    int d = (int)s->width;
    int k = (int)s->n_inner;
    const double *left = b->left + i * s->n_out * d;
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasTrans, k, d, d, 1, b->entry + i * d * k, k,
                b->inner + i * d * (int64_t)d, d, 0, w->passed, d);
    for (int64_t o = 0; o < s->n_out; o++)
        for (int64_t e = 0; e < k; e++) {
            double *row = w->transposed + (o * k + e) * d;
            for (int64_t j = 0; j < d; j++)
                row[j] = left[o * d + j] * w->passed[e * d + j];
            w->t[o * k + e] = target[o * s->n_in + i * k + e];
        }
}

/* How well gamma_i solves it, with the system assembled anew. */
static void measure(const norma_blocks *b, int64_t i, double scale, work *w,
                    norma_block_report *report)
{
    const norma_blocks_shape *s = &b->shape;
    int d = (int)s->width;
    const double *gamma = b->gamma + i * d;
    double error2 = 0;
    for (int64_t r = 0; r < s->n_out * s->n_inner; r++) {
        double error = cblas_ddot(d, w->transposed + r * d, 1, gamma, 1) - w->t[r];
        error2 += error * error;
    }
    report->relative_error = sqrt(error2) / scale;
    report->digits_lost = fmax(0, log10(report->relative_error / (DBL_EPSILON / 2)));
    report->max_abs_gamma = fabs(gamma[cblas_idamax(d, gamma, 1)]);
}

static norma_status check_zero(const norma_blocks *b, int64_t i, double centre,
                               const norma_nearest *about)
{
    if (about->target > 0 || i == 0 ||
        (centre != 0 && b->shape.width > b->shape.n_out * b->shape.n_inner))
        return NORMA_OK;
    return NORMA_FAIL(NORMA_CONFIG,
                      "block %lld of the target, inputs %lld to %lld, has no weight: its scales "
                      "would be 0 and end the blocks before it; choose larger blocks, or scales "
                      "nearest to one and a larger width",
                      (long long)i, (long long)(i * b->shape.n_inner),
                      (long long)((i + 1) * b->shape.n_inner - 1));
}

/* left_i, then block i; true in *lost where no digit is left. */
static norma_status solve_block(norma_blocks *b, int64_t i, const double *target, double centre,
                                double scale, work *w, bool *lost)
{
    const norma_blocks_shape *s = &b->shape;
    int d = (int)s->width;
    int64_t size = s->n_out * d;
    norma_block_report *report = &b->reports[i];
    norma_nearest about;
    double sigma[2];
    memcpy(w->copy, b->left + i * size, (size_t)size * sizeof *w->copy);
    NORMA_TRY(norma_nearest_edges(s->n_out, d, w->copy, sigma));
    report->condition_left = sigma[1] > 0 ? sigma[0] / sigma[1] : INFINITY;
    assemble(b, i, target, w);
    NORMA_TRY(norma_nearest_solve(s->n_out * s->n_inner, d, w->transposed, w->t, centre,
                                  b->gamma + i * d, &about));
    NORMA_TRY(check_zero(b, i, centre, &about));
    scale = about.target > 0 ? about.target : scale;
    double size_gamma =
        fabs(centre) * sqrt((double)d) + fmin(about.distance, about.target) / about.sigma_min;
    report->condition = about.sigma_min > 0 ? about.sigma_max / about.sigma_min : INFINITY;
    report->digits_predicted =
        about.sigma_min > 0 ? fmax(0, log10(about.sigma_max * size_gamma / scale)) : INFINITY;
    *lost = !(fmax(report->digits_predicted, log10(report->condition)) < norma_blocks_digits);
    if (*lost)
        return NORMA_OK;
    assemble(b, i, target, w);
    measure(b, i, scale, w, report);
    return NORMA_OK;
}

/* left_(i-1) from left_i. */
static void pass_on(norma_blocks *b, int64_t i, work *w)
{
    int d = (int)b->shape.width;
    int64_t size = b->shape.n_out * d;
    for (int64_t o = 0; o < b->shape.n_out; o++)
        for (int64_t j = 0; j < d; j++)
            w->copy[o * d + j] = b->left[i * size + o * d + j] * b->gamma[i * d + j];
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)b->shape.n_out, d, d, 1, w->copy, d,
                b->inner + i * d * (int64_t)d, d, 0, b->left + (i - 1) * size, d);
}

norma_status norma_blocks_solve(norma_blocks *b, const double *target, norma_blocks_centre near,
                                int64_t *lost)
{
    const double centres[] = {0, 1, b->gain};
    const double centre = centres[near];
    const norma_blocks_shape *s = &b->shape;
    work w;
    *lost = -1;
    norma_status status = allocate(s, &w);
    NORMA_GOTO(status, status);
    double scale = cblas_dnrm2((int)(s->n_out * s->n_in), target, 1) / sqrt((double)b->n_blocks);
    if (scale == 0)
        NORMA_GOTO(status, NORMA_FAIL(NORMA_CONFIG, "all weights of the target are zero"));
    memcpy(b->left + (b->n_blocks - 1) * s->n_out * s->width, b->readout,
           (size_t)(s->n_out * s->width) * sizeof *b->left);
    for (int64_t i = b->n_blocks - 1; i >= 0; i--) {
        bool none = false;
        NORMA_GOTO(status, solve_block(b, i, target, centre, scale, &w, &none));
        if (none) {
            *lost = i;
            break;
        }
        if (i > 0)
            pass_on(b, i, &w);
    }
done:
    release(&w);
    return status;
}

/* --- a shape that would do -------------------------------------------------------------------- */

/* Digits that the worst block keeps; below 0 where none are. */
static norma_status try_shape(const norma_blocks_shape *shape, const norma_tensor_spec *spec,
                              int64_t layer, const double *target, norma_blocks_centre centre,
                              double *left)
{
    norma_blocks *b = NULL;
    int64_t lost = -1;
    *left = -1;
    NORMA_TRY(norma_blocks_create(shape, &b));
    norma_status status = norma_blocks_draw(b, spec, layer);
    NORMA_GOTO(status, status);
    NORMA_GOTO(status, norma_blocks_solve(b, target, centre, &lost));
    if (lost >= 0)
        goto done;
    *left = norma_blocks_digits;
    for (int64_t i = 0; i < b->n_blocks; i++)
        *left = fmin(*left, norma_blocks_digits - b->reports[i].digits_predicted);
done:
    norma_blocks_destroy(&b);
    return status;
}

norma_status norma_blocks_suggest(const norma_blocks_shape *shape, const norma_tensor_spec *spec,
                                  int64_t layer, const double *target, norma_blocks_centre centre,
                                  double most_flops, norma_blocks_shape *out, double *digits_left,
                                  bool *found)
{
    const double own = (double)shape->width / (double)(shape->n_out * shape->n_inner);
    const double factors[] = {fmax(own, 1), 1.5, 2, 3};
    *found = false;
    for (int64_t k = shape->n_inner; k <= shape->n_in; k++) {
        for (int f = 0; shape->n_in % k == 0 && f < 4; f++) {
            norma_blocks_shape candidate = *shape;
            candidate.n_inner = k;
            candidate.width = (int64_t)ceil(factors[f] * (double)(shape->n_out * k));
            if ((f > 0 && factors[f] <= own) || (k == shape->n_inner && f == 0))
                continue;
            if (norma_blocks_flops(&candidate) > most_flops)
                return NORMA_OK;
            NORMA_TRY(try_shape(&candidate, spec, layer, target, centre, digits_left));
            *found = *digits_left >= enough;
            *out = candidate;
            if (*found)
                return NORMA_OK;
        }
    }
    return NORMA_OK;
}
