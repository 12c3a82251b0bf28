#include "src/network/patch_moments.h"

#include "src/base/index.h"
#include "src/base/mem_place.h"
#include "src/operators/im2col.h"

#include <cblas.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>

/* The largest sum of all images is below 2^SUM_BITS quanta of `high`. Rounding one image to quanta
 * of `high` leaves at most half a quantum; the sum of these rests is below 2^SUM_BITS quanta of
 * `low`. */
enum { SUM_BITS = 61 };

/* Most inputs of a patch; beyond, the matrix of the products of all pairs is too large. */
static const int64_t most_inputs = 32767;

static norma_patch_moments sizes_of(const norma_patch *patch)
{
    int64_t n_inputs = patch->input.channels * norma_kernel_taps(patch->kernel);
    return (norma_patch_moments){
        .patch = *patch, .n_inputs = n_inputs, .n_sums = (n_inputs + 1) * (n_inputs + 1)};
}

/* Measures or allocates: src/base/mem_place.h. */
static norma_status place(norma_patch_moments *m, double *bytes)
{
    NORMA_TRY(NORMA_PLACE_ROWS(m->high, m->n_inputs + 1, m->n_inputs + 1, bytes));
    return NORMA_PLACE_ROWS(m->low, m->n_inputs + 1, m->n_inputs + 1, bytes);
}

/* columns[n_threads][n_inputs + 1][positions], sums[n_threads][n_sums]. */
static norma_status place_work(const norma_patch_moments *m, int n_threads, double **columns,
                               double **sums, double *bytes)
{
    const int64_t n = m->n_inputs + 1;
    NORMA_TRY(NORMA_PLACE_UNSET(*columns, n_threads * n, m->patch.height * m->patch.width, bytes));
    return NORMA_PLACE_ROWS(*sums, n_threads * n, n, bytes);
}

norma_status norma_patch_moments_create(const norma_patch *patch, int64_t n_images, double largest,
                                        norma_patch_moments **out)
{
    norma_status status = NORMA_OK;
    norma_patch_moments *m = NULL;
    int exponent = 0;
    int sum_exponent = 0;
    int image_exponent = 0;
    NORMA_GOTO(status, NORMA_CALLOC(m, 1));
    *m = sizes_of(patch);
    if (m->n_inputs > most_inputs) {
        status = NORMA_FAIL(NORMA_LIMIT,
                            "statistics of a convolution with %" PRId64
                            " inputs a position: at most %" PRId64 " are supported",
                            m->n_inputs, most_inputs);
        goto done;
    }
    NORMA_GOTO(status, place(m, NULL));
    (void)frexp(largest, &exponent); /* 0 for 0 */
    m->one = ldexp(1, exponent);
    (void)frexp((double)n_images * (double)(patch->height * patch->width), &sum_exponent);
    (void)frexp((double)n_images, &image_exponent);
    m->quantum = ldexp(1, sum_exponent + 2 * exponent - SUM_BITS);
    m->low_quantum = ldexp(m->quantum, image_exponent - 1 - SUM_BITS);
    if (!isfinite(m->quantum) || m->low_quantum < DBL_MIN) {
        status = NORMA_FAIL(NORMA_NUMERIC,
                            "statistics of inputs of magnitude %g: their squares leave the range "
                            "of double precision",
                            largest);
        goto done;
    }
    *out = m;
    m = NULL;
done:
    norma_patch_moments_destroy(&m);
    return status;
}

double norma_patch_moments_bytes(const norma_patch *patch, int n_threads)
{
    norma_patch_moments m = sizes_of(patch);
    double *columns = NULL;
    double *sums = NULL;
    double bytes = (double)sizeof m;
    (void)place(&m, &bytes);
    (void)place_work(&m, n_threads, &columns, &sums, &bytes);
    return bytes;
}

/* sums[n][n] (upper triangle) = products of the entries of an image's patches, summed. */
static void sum_image(const norma_patch_moments *m, const double *image, double *columns,
                      double *sums)
{
    const norma_patch *p = &m->patch;
    int n = (int)m->n_inputs + 1;
    int64_t n_positions = p->height * p->width;
    double *last = columns + m->n_inputs * n_positions;
    norma_im2col(p->input, p->kernel, p->stride, p->dilation, p->padding,
                 (norma_shape){p->input.channels, p->height, p->width}, image, n_positions,
                 columns);
    for (int64_t k = 0; k < n_positions; k++)
        last[k] = m->one;
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasNoTrans, n, (int)n_positions, 1, columns,
                (int)n_positions, 0, sums, n);
}

/* Adds sums rounded to quanta, as integers: the order of the images does not matter. */
static void add_sums(norma_patch_moments *m, const double *sums)
{
    int64_t n = m->n_inputs + 1;
    for (int64_t a = 0; a < n; a++)
        for (int64_t b = a; b < n; b++) {
            int64_t at = a * n + b;
            int64_t high = llrint(sums[at] / m->quantum);
            double rest = sums[at] - (double)high * m->quantum;
            m->high[at] += high;
            m->low[at] += llrint(rest / m->low_quantum);
        }
}

norma_status norma_patch_moments_add(norma_patch_moments *m, int64_t n_images, int n_threads,
                                     const double *in)
{
    int64_t in_size = norma_shape_size(m->patch.input);
    int64_t columns_size = (m->n_inputs + 1) * m->patch.height * m->patch.width;
    double *columns = NULL;
    double *sums = NULL;
    norma_status status = NORMA_OK;
    NORMA_GOTO(status, place_work(m, n_threads, &columns, &sums, NULL));
#pragma omp parallel for schedule(static) num_threads(n_threads)
    for (int64_t thread = 0; thread < n_threads; thread++) {
        int64_t first = 0;
        int64_t count = norma_index_share(n_images, n_threads, thread, &first);
        double *mine = sums + thread * m->n_sums;
        for (int64_t k = first; k < first + count; k++) {
            sum_image(m, in + k * in_size, columns + thread * columns_size, mine);
#pragma omp critical(norma_patch_moments)
            add_sums(m, mine);
        }
    }
    m->n_images += n_images;
done:
    NORMA_FREE(sums);
    NORMA_FREE(columns);
    return status;
}

void norma_patch_moments_finish(const norma_patch_moments *m, double *mean, double *covariance)
{
    int64_t n = m->n_inputs;
    double count = (double)m->n_images * (double)(m->patch.height * m->patch.width);
    for (int64_t a = 0; a < n; a++) {
        int64_t at = a * (n + 1) + n;
        double sum = (double)m->high[at] * m->quantum + (double)m->low[at] * m->low_quantum;
        mean[a] = sum / m->one / count;
    }
    for (int64_t a = 0; a < n; a++)
        for (int64_t b = a; b < n; b++) {
            int64_t at = a * (n + 1) + b;
            double sum = (double)m->high[at] * m->quantum + (double)m->low[at] * m->low_quantum;
            covariance[a * n + b] = sum / count - mean[a] * mean[b];
            covariance[b * n + a] = covariance[a * n + b];
        }
}

void norma_patch_moments_project(int64_t n_inputs, const double *mean, const double *covariance,
                                 int64_t n_rows, const double *weights, double *scratch,
                                 double *projected_mean, double *projected_variance)
{
    int n = (int)n_inputs;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n_rows, n, n, 1, weights, n,
                covariance, n, 0, scratch, n);
    for (int64_t k = 0; k < n_rows; k++) {
        const double *row = weights + k * n_inputs;
        projected_mean[k] = cblas_ddot(n, row, 1, mean, 1);
        projected_variance[k] = fmax(cblas_ddot(n, row, 1, scratch + k * n_inputs, 1), 0);
    }
}

void norma_patch_moments_destroy(norma_patch_moments **moments)
{
    if (!*moments)
        return;
    NORMA_FREE((*moments)->high);
    NORMA_FREE((*moments)->low);
    NORMA_FREE(*moments);
}
