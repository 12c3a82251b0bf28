#include "mpi/evaluate/evaluate_statistics.h"

#include "mpi/evaluate/evaluate_state.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/blas.h"
#include "mpi/runtime/runtime.h"
#include "src/base/mem_place.h"
#include "src/network/patch_moments.h"

#include <math.h>
#include <string.h>

/* Rows of weights whose moments are found at once: the same whatever the number of ranks. */
#define BLOCK 256

/* Positions of the first convolution along an axis: also those behind the last that a strided
 * second one takes, since a batch norm in between measures them. */
static int64_t first_positions(const norma_source_shape *s, int axis, int64_t input, int64_t taps)
{
    int64_t kernel = (taps - 1) * s->dilation[axis] + 1;
    return (s->padding[axis] + input + s->padding_far[axis] - kernel) / s->stride1[axis] + 1;
}

/* Patches of the first layer, and of the pair as one convolution. */
static norma_patch first_patch(const norma_source_shape *s)
{
    return (norma_patch){
        .input = s->input,
        .kernel = s->kernel.first,
        .stride = {s->stride1[0], s->stride1[1]},
        .dilation = {s->dilation[0], s->dilation[1]},
        .padding = {s->padding[0], s->padding[1]},
        .height = first_positions(s, 0, s->input.height, s->kernel.first.height),
        .width = first_positions(s, 1, s->input.width, s->kernel.first.width),
    };
}

static norma_patch composite_patch(const norma_source_shape *s)
{
    return (norma_patch){
        .input = s->input,
        .kernel = s->kernel.composite,
        .stride = {s->stride1[0] * s->stride2[0], s->stride1[1] * s->stride2[1]},
        .dilation = {s->dilation[0], s->dilation[1]},
        .padding = {s->padding[0], s->padding[1]},
        .height = s->conv.height,
        .width = s->conv.width,
    };
}

static bool same_patches(const norma_patch *a, const norma_patch *b)
{
    return a->kernel.height == b->kernel.height && a->kernel.width == b->kernel.width &&
           a->stride[0] == b->stride[0] && a->stride[1] == b->stride[1] && a->height == b->height &&
           a->width == b->width;
}

/* Largest |x| at the input of a layer, over all images. */
static double measure_largest(norma_evaluate *e, int64_t layer)
{
    int64_t size = norma_shape_size(e->network->layers[layer].input);
    double largest = 0;
    for (int64_t b = 0; b < norma_evaluate_n_batches_local(e); b++) {
        int64_t first = 0;
        int64_t n = norma_evaluate_batch_local(e, b, &first);
        norma_evaluate_advance_local(e, b, layer);
        const double *held = norma_evaluate_held_local(e);
        for (int64_t k = 0; k < n * size; k++)
            largest = fmax(largest, fabs(held[k]));
    }
    MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, e->comm);
    return largest;
}

static void reduce_sums(norma_evaluate *e, int64_t n, int64_t *sums)
{
    for (int64_t begin = 0; begin < n; begin += 1 << 24) {
        int count = (int)(n - begin < 1 << 24 ? n - begin : 1 << 24);
        MPI_Allreduce(MPI_IN_PLACE, sums + begin, count, MPI_INT64_T, MPI_SUM, e->comm);
    }
}

/* Measure or allocate: src/base/mem_place.h. */
static norma_status place_moments(int64_t n_inputs, double **moments, double *bytes)
{
    return NORMA_PLACE_UNSET(*moments, n_inputs + 1, n_inputs, bytes);
}

static norma_status place_rows(int64_t n_inputs, double **rows, double **scratch, double *bytes)
{
    NORMA_TRY(NORMA_PLACE_UNSET(*rows, BLOCK, n_inputs, bytes));
    return NORMA_PLACE_UNSET(*scratch, BLOCK, n_inputs, bytes);
}

/* Mean and covariance of the patches, moments[n_inputs + n_inputs^2] (owned by the caller). */
static norma_status measure_patches(norma_evaluate *e, int64_t layer, const norma_patch *patch,
                                    double **moments)
{
    norma_patch_moments *m = NULL;
    norma_status status = NORMA_OK;
    double largest = measure_largest(e, layer);
    if (!isfinite(largest))
        status =
            NORMA_FAIL(NORMA_NUMERIC, "the inputs of layer %lld are not finite", (long long)layer);
    if (status == NORMA_OK)
        status = norma_patch_moments_create(patch, e->n_images, largest, &m);
    NORMA_GOTO(status, norma_agree(e->comm, status));
    for (int64_t b = 0; b < norma_evaluate_n_batches_local(e) && status == NORMA_OK; b++) {
        int64_t first = 0;
        int64_t n = norma_evaluate_batch_local(e, b, &first);
        norma_evaluate_advance_local(e, b, layer);
        status = norma_patch_moments_add(m, n, e->n_threads, norma_evaluate_held_local(e));
    }
    if (status == NORMA_OK)
        status = place_moments(m->n_inputs, moments, NULL);
    NORMA_GOTO(status, norma_agree(e->comm, status));
    reduce_sums(e, m->n_sums, m->high);
    reduce_sums(e, m->n_sums, m->low);
    m->n_images = e->n_images;
    norma_patch_moments_finish(m, *moments, *moments + m->n_inputs);
done:
    norma_patch_moments_destroy(&m);
    return status;
}

/* Rows of which mean and variance are asked for. */
typedef struct row_set {
    int64_t n_rows;
    const norma_tensor *tensor; /* or ... */
    const double *values;       /* [n_rows][n_inputs] */
} row_set;

/* Blocks of rows are dealt out to the ranks. */
static norma_status project(norma_evaluate *e, int64_t n_inputs, const double *moments,
                            const row_set *set, double *mean, double *variance)
{
    double *rows = NULL;
    double *scratch = NULL;
    norma_status status = norma_agree(e->comm, place_rows(n_inputs, &rows, &scratch, NULL));
    NORMA_GOTO(status, status);
    memset(mean, 0, (size_t)set->n_rows * sizeof *mean);
    memset(variance, 0, (size_t)set->n_rows * sizeof *variance);
    for (int64_t block = e->rank; block * BLOCK < set->n_rows; block += e->size) {
        int64_t first = block * BLOCK;
        int64_t count = set->n_rows - first < BLOCK ? set->n_rows - first : BLOCK;
        const double *weights = set->values ? set->values + first * n_inputs : rows;
        if (!set->values)
            norma_tensor_fill(set->tensor, first, count, rows);
        norma_patch_moments_project(n_inputs, moments, moments + n_inputs, count, weights, scratch,
                                    mean + first, variance + first);
    }
    MPI_Allreduce(MPI_IN_PLACE, mean, (int)set->n_rows, MPI_DOUBLE, MPI_SUM, e->comm);
    MPI_Allreduce(MPI_IN_PLACE, variance, (int)set->n_rows, MPI_DOUBLE, MPI_SUM, e->comm);
done:
    NORMA_FREE(scratch);
    NORMA_FREE(rows);
    return status;
}

norma_status norma_evaluate_statistics(norma_evaluate *e, int64_t layer,
                                       const norma_source_shape *shape, const norma_tensor *w1,
                                       const double *kernel, double *mean1, double *variance1,
                                       double *mean2, double *variance2)
{
    norma_status status = NORMA_OK;
    double *moments = NULL;
    norma_patch first = first_patch(shape);
    norma_patch composite = composite_patch(shape);
    int64_t n_first = first.input.channels * norma_kernel_taps(first.kernel);
    int64_t n_composite = first.input.channels * norma_kernel_taps(composite.kernel);
    if (e->n_images == 0)
        return norma_agree(e->comm, NORMA_FAIL(NORMA_CONFIG, "no images to measure statistics on"));
    int blas_threads = norma_evaluate_enter_threads_local();
    NORMA_GOTO(status, measure_patches(e, layer, &first, &moments));
    NORMA_GOTO(status,
               project(e, n_first, moments, &(row_set){.n_rows = shape->n_features, .tensor = w1},
                       mean1, variance1));
    if (!same_patches(&first, &composite)) {
        NORMA_FREE(moments);
        NORMA_GOTO(status, measure_patches(e, layer, &composite, &moments));
    }
    status =
        project(e, n_composite, moments,
                &(row_set){.n_rows = shape->n_channels_out, .values = kernel}, mean2, variance2);
done:
    norma_blas_set_threads_local(blas_threads);
    NORMA_FREE(moments);
    return status;
}

double norma_evaluate_statistics_bytes_local(const norma_source_shape *shape, int n_threads)
{
    norma_patch first = first_patch(shape);
    norma_patch composite = composite_patch(shape);
    double bytes = fmax(norma_patch_moments_bytes(&first, n_threads),
                        norma_patch_moments_bytes(&composite, n_threads));
    const int64_t n_inputs = composite.input.channels * norma_kernel_taps(composite.kernel);
    double *array = NULL;
    (void)place_moments(n_inputs, &array, &bytes);
    (void)place_rows(n_inputs, &array, &array, &bytes);
    return bytes;
}
