#include "mpi/evaluate/evaluate.h"

#include "mpi/evaluate/evaluate_state.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/blas.h"
#include "mpi/runtime/runtime.h"
#include "src/base/index.h"
#include "src/base/mem.h"

#include <cblas.h>
#include <inttypes.h>
#include <math.h>
#include <omp.h>

/* Images of a batch: the activations of target and source take half the budget. */
static int64_t batch_images(const norma_slots *slots, int64_t n_local, int64_t budget)
{
    int64_t n = budget / 2 / (2 * slots->total * (int64_t)sizeof(double));
    if (n > n_local)
        n = n_local;
    return n > 1 ? n : 1;
}

norma_status norma_evaluate_allocate_local(const norma_slots *slots, int64_t n_batch,
                                           double ***buffers)
{
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
    NORMA_TRY(NORMA_CALLOC(*buffers, slots->n_slots));
    for (int64_t k = 0; k < slots->n_slots; k++)
        NORMA_TRY(NORMA_ALLOC((*buffers)[k], n_batch * slots->size[k]));
    return NORMA_OK;
}

void norma_evaluate_free_local(const norma_slots *slots, double ***buffers)
{
    for (int64_t k = 0; *buffers && k < slots->n_slots; k++)
        NORMA_FREE((*buffers)[k]);
    NORMA_FREE(*buffers);
}

norma_status norma_evaluate_create(MPI_Comm comm, const norma_network *network,
                                   const norma_images *images, int64_t n_images, int64_t budget,
                                   norma_evaluate **out)
{
    norma_status status = NORMA_OK;
    norma_evaluate *e = NULL;
    NORMA_GOTO(status, NORMA_CALLOC(e, 1));
    e->comm = comm;
    MPI_Comm_rank(comm, &e->rank);
    MPI_Comm_size(comm, &e->size);
    e->n_threads = omp_get_max_threads();
    e->budget = budget > 0 ? budget : NORMA_EVALUATE_BUDGET;
    e->network = network;
    e->images = images;
    e->n_images = images ? n_images : 0;
    e->held_batch = -1;
    if (e->n_images == 0)
        goto done;
    if (n_images > images->n_images)
        status = NORMA_FAIL(NORMA_CONFIG, "%" PRId64 " samples asked for, %" PRId64 " images held",
                            n_images, images->n_images);
    if (status == NORMA_OK)
        status = norma_images_check(images, network);
    if (status != NORMA_OK)
        goto done;
    e->n_local = norma_index_share(n_images, e->size, e->rank, &e->first);
    NORMA_GOTO(status, norma_network_place(network, &e->slots));
    e->n_batch = batch_images(&e->slots, e->n_local, e->budget);
    NORMA_GOTO(status, norma_forward_create(network, e->n_threads, &e->forward));
    status = norma_evaluate_allocate_local(&e->slots, e->n_batch, &e->buffers);
done:
    status = norma_agree(comm, status);
    if (status != NORMA_OK)
        norma_evaluate_destroy(&e);
    else
        *out = e;
    return status;
}

norma_status norma_evaluate_compare_with(norma_evaluate *e, const norma_network *network)
{
    NORMA_TRY(
        norma_evaluate_create(e->comm, network, e->images, e->n_images, e->budget, &e->other));
    /* Batches of the same images. */
    if (e->other->n_batch < e->n_batch)
        e->n_batch = e->other->n_batch;
    e->other->n_batch = e->n_batch;
    return NORMA_OK;
}

int64_t norma_evaluate_share_local(const norma_evaluate *e, int64_t *first, int64_t *n_local)
{
    *first = e->first;
    *n_local = e->n_local;
    return e->n_images;
}

int64_t norma_evaluate_n_batches_local(const norma_evaluate *e)
{
    return e->n_local > 0 ? norma_index_ceil_divide(e->n_local, e->n_batch) : 0;
}

int64_t norma_evaluate_batch_local(const norma_evaluate *e, int64_t batch, int64_t *first)
{
    int64_t begin = batch * e->n_batch;
    *first = e->first + begin;
    return e->n_local - begin < e->n_batch ? e->n_local - begin : e->n_batch;
}

void norma_evaluate_advance_local(norma_evaluate *e, int64_t batch, int64_t layer)
{
    int64_t first = 0;
    int64_t n = norma_evaluate_batch_local(e, batch, &first);
    if (e->held_batch != batch || e->held_layer > layer) {
        norma_images_load(e->images, e->network, first, n, e->buffers[e->slots.of[0]]);
        e->held_batch = batch;
        e->held_layer = 0;
    }
    for (; e->held_layer < layer; e->held_layer++)
        norma_forward_step(e->forward, e->held_layer, n, &e->slots, e->buffers);
}

const double *norma_evaluate_held_local(const norma_evaluate *e)
{
    const norma_network *network = e->network;
    int64_t from = network->n_layers - 1;
    if (e->held_layer < network->n_layers)
        from = network->inputs[network->layers[e->held_layer].first_input];
    return e->buffers[e->slots.of[from + 1]];
}

/* --- bounds --------------------------------------------------------------------------------- */

static norma_status measure_u_local(norma_evaluate *e, int64_t layer,
                                    const norma_source_shape *shape, const norma_tensor *w1,
                                    double *lo, double *hi)
{
    norma_source_work *work = NULL;
    NORMA_TRY(norma_source_work_create(1, shape, e->n_batch, e->budget / 2, e->n_threads, &work));
    for (int64_t b = 0; b < norma_evaluate_n_batches_local(e); b++) {
        int64_t first = 0;
        int64_t n = norma_evaluate_batch_local(e, b, &first);
        norma_evaluate_advance_local(e, b, layer);
        norma_source_measure(work, shape, w1, first, n, norma_evaluate_held_local(e), lo, hi);
    }
    norma_source_work_destroy(&work);
    return NORMA_OK;
}

/* Ranges of the layer's input channels on this rank's images. */
static void measure_inputs_local(norma_evaluate *e, int64_t layer, double *lo, double *hi)
{
    norma_shape in = e->network->layers[layer].input;
    int64_t n_pixels = in.height * in.width;
    for (int64_t b = 0; b < norma_evaluate_n_batches_local(e); b++) {
        int64_t first = 0;
        int64_t n = norma_evaluate_batch_local(e, b, &first);
        norma_evaluate_advance_local(e, b, layer);
        const double *held = norma_evaluate_held_local(e);
        for (int64_t k = 0; k < n * in.channels; k++) {
            int64_t c = k % in.channels;
            for (int64_t p = 0; p < n_pixels; p++) {
                double x = held[k * n_pixels + p];
                lo[c] = x < lo[c] ? x : lo[c];
                hi[c] = x > hi[c] ? x : hi[c];
            }
        }
    }
}

/* The range over all ranks. */
static void reduce_range(norma_evaluate *e, int64_t n, double *lo, double *hi)
{
    for (int64_t begin = 0; begin < n; begin += 1 << 24) {
        int count = (int)(n - begin < 1 << 24 ? n - begin : 1 << 24);
        MPI_Allreduce(MPI_IN_PLACE, lo + begin, count, MPI_DOUBLE, MPI_MIN, e->comm);
        MPI_Allreduce(MPI_IN_PLACE, hi + begin, count, MPI_DOUBLE, MPI_MAX, e->comm);
    }
}

static void empty_range(int64_t n, double *lo, double *hi)
{
    for (int64_t k = 0; k < n; k++) {
        lo[k] = INFINITY;
        hi[k] = -INFINITY;
    }
}

/* Interval bounds from measured or declared ranges of the inputs. */
static norma_status bound_by_interval(norma_evaluate *e, int64_t layer,
                                      const norma_source_shape *shape, const norma_tensor *w1,
                                      norma_bound bound, double *lo, double *hi)
{
    int64_t c0 = e->network->layers[layer].n_channels_in;
    double *range = NULL;
    norma_status status = norma_agree(e->comm, NORMA_ALLOC(range, 2 * c0));
    if (status == NORMA_OK && bound == NORMA_BOUND_INTERVAL) {
        empty_range(c0, range, range + c0);
        measure_inputs_local(e, layer, range, range + c0);
        reduce_range(e, c0, range, range + c0);
    } else if (status == NORMA_OK) {
        status = norma_bounds_propagate(e->network, layer, range, range + c0);
    }
    if (status == NORMA_OK)
        status = norma_bounds_interval(shape, w1, range, range + c0, lo, hi);
    NORMA_FREE(range);
    return norma_agree(e->comm, status);
}

static norma_status check_range(int64_t n, const double *lo, const double *hi)
{
    for (int64_t j = 0; j < n; j++)
        if (!isfinite(lo[j]) || !isfinite(hi[j]))
            return NORMA_FAIL(NORMA_NUMERIC,
                              "the pre-activations of feature %" PRId64
                              " have no finite bounds: %g to %g",
                              j, lo[j], hi[j]);
    return NORMA_OK;
}

int norma_evaluate_enter_threads_local(void)
{
    int before = openblas_get_num_threads();
    norma_blas_set_threads_local(1);
    return before;
}

norma_status norma_evaluate_bounds(norma_evaluate *e, int64_t layer,
                                   const norma_source_shape *shape, const norma_tensor *w1,
                                   norma_bound bound, double *lo, double *hi)
{
    norma_status status = NORMA_OK;
    if (bound != NORMA_BOUND_INTERVAL_DEEP && e->n_images == 0)
        return norma_agree(e->comm, NORMA_FAIL(NORMA_CONFIG,
                                               "bound %s is measured on samples: give a data set "
                                               "(--dataset) or use --bound interval-deep",
                                               norma_bound_name(bound)));
    int blas_threads = norma_evaluate_enter_threads_local();
    if (bound == NORMA_BOUND_DATA) {
        empty_range(shape->n_features, lo, hi);
        status = norma_agree(e->comm, measure_u_local(e, layer, shape, w1, lo, hi));
        if (status == NORMA_OK)
            reduce_range(e, shape->n_features, lo, hi);
    } else {
        status = bound_by_interval(e, layer, shape, w1, bound, lo, hi);
    }
    norma_blas_set_threads_local(blas_threads);
    if (status != NORMA_OK)
        return status;
    return norma_agree(e->comm, check_range(shape->n_features, lo, hi));
}

norma_status norma_evaluate_cost_local(const norma_network *network, int64_t n_shapes,
                                       const norma_source_shape *shapes, int64_t n_images,
                                       int n_ranks, int n_threads, int64_t budget,
                                       norma_evaluate_cost *cost)
{
    int64_t first = 0;
    int64_t n_local = norma_index_share(n_images, n_ranks, 0, &first);
    norma_slots slots;
    *cost = (norma_evaluate_cost){0};
    if (n_images == 0)
        return NORMA_OK;
    norma_status status = norma_network_place(network, &slots);
    if (budget <= 0)
        budget = NORMA_EVALUATE_BUDGET;
    if (status != NORMA_OK)
        goto done;
    int64_t n_batch = batch_images(&slots, n_local, budget);
    int64_t activations = n_batch * slots.total * (int64_t)sizeof(double);
    cost->image_values = slots.total;
    cost->image_values_all = slots.values;
    cost->held = activations + norma_forward_bytes(network, n_threads);
    for (int64_t k = 0; k < n_shapes; k++) {
        int64_t bytes = norma_source_work_bytes(1, &shapes[k], n_batch, budget / 2, n_threads);
        cost->bounds = bytes > cost->bounds ? bytes : cost->bounds;
        cost->n_flops += (double)n_images * norma_source_flops(&shapes[k]);
    }
    cost->bounds += cost->held;
    cost->run = cost->held + activations + n_images * NORMA_EVALUATE_RECORD_BYTES +
                norma_source_work_bytes(n_shapes, shapes, n_batch, budget / 2, n_threads);
done:
    norma_slots_clear(&slots);
    return status;
}

void norma_evaluate_destroy(norma_evaluate **evaluate)
{
    if (!*evaluate)
        return;
    norma_evaluate_destroy(&(*evaluate)->other);
    norma_forward_destroy(&(*evaluate)->forward);
    norma_evaluate_free_local(&(*evaluate)->slots, &(*evaluate)->buffers);
    norma_slots_clear(&(*evaluate)->slots);
    NORMA_FREE(*evaluate);
}
