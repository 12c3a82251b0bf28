#include "mpi/evaluate/evaluate.h"

#include "mpi/evaluate/evaluate_state.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/blas.h"
#include "mpi/runtime/progress.h"
#include "mpi/runtime/runtime.h"
#include "src/base/index.h"
#include "src/base/mem.h"
#include "src/network/forward.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The contribution of one image; gathered in the order of the images, so that sums over them do not
 * depend on how they were spread. */
typedef struct image_record {
    double max_error, sum_squares, max_output;
    double decision_target, decision_source;
} image_record;

#define RECORD_SIZE ((int)(sizeof(image_record) / sizeof(double)))
_Static_assert(sizeof(image_record) == 5 * sizeof(double), "NORMA_EVALUATE_RECORD_BYTES says 5");

/* Memory and counts of one run on this rank. */
typedef struct run_state {
    norma_source_work *work; /* owned; NULL when every layer is the target's own */
    double **buffers;        /* [n_slots][n_batch][slot], as those of the target; owned */
    image_record *records;   /* [n_images]; this rank's part is filled before the gather; owned */
    int64_t n_clipped;
    double seconds;
    norma_progress progress;
    double n_done; /* flops of this rank's images */
} run_state;

/* Makes the work space for all layers that are source pairs. */
static norma_status create_work(const norma_evaluate *e, const norma_source_layer *source,
                                norma_source_work **out)
{
    norma_source_shape *shapes = NULL;
    norma_status status = NORMA_OK;
    int64_t n = 0;
    NORMA_TRY(NORMA_ALLOC(shapes, e->network->n_layers));
    for (int64_t l = 0; l < e->network->n_layers; l++)
        if (source[l].w1)
            shapes[n++] = source[l].shape;
    if (n > 0)
        status = norma_source_work_create(n, shapes, e->n_batch, e->budget / 2, e->n_threads, out);
    NORMA_FREE(shapes);
    return status;
}

static norma_status run_create(const norma_evaluate *e, const norma_source_layer *source,
                               run_state *run)
{
    NORMA_TRY(create_work(e, source, &run->work));
    NORMA_TRY(norma_evaluate_allocate_local(&e->slots, e->n_batch, &run->buffers));
    return NORMA_ALLOC(run->records, e->n_images);
}

static void run_destroy(const norma_evaluate *e, run_state *run)
{
    norma_source_work_destroy(&run->work);
    norma_evaluate_free_local(&e->slots, &run->buffers);
    NORMA_FREE(run->records);
}

/* A layer that is not in pairs: the target's own. Around pairs in single precision sums, products
 * and pools of values give values of single precision. */
static void run_own_local(norma_evaluate *e, bool single, int64_t l, int64_t n, run_state *run)
{
    const norma_layer *layer = &e->network->layers[l];
    norma_forward_step(e->forward, l, n, &e->slots, run->buffers);
    double *out = run->buffers[e->slots.of[l + 1]];
    int64_t size = n * norma_shape_size(layer->output);
    if (single && !norma_layer_has_kernel(layer))
        for (int64_t k = 0; k < size; k++)
            out[k] = (float)out[k];
}

static bool any_single(const norma_evaluate *e, const norma_source_layer *source)
{
    for (int64_t l = 0; l < e->network->n_layers; l++)
        if (source[l].w1 && source[l].single)
            return true;
    return false;
}

/* The source network on one batch; the outputs are then in the last layer's slot. */
static void run_source_local(norma_evaluate *e, const norma_source_layer *source, int64_t batch,
                             run_state *run)
{
    int64_t first = 0;
    int64_t n = norma_evaluate_batch_local(e, batch, &first);
    bool single = any_single(e, source);
    norma_images_load(e->images, e->network, first, n, run->buffers[e->slots.of[0]]);
    for (int64_t l = 0; l < e->network->n_layers; l++) {
        int64_t from = e->network->inputs[e->network->layers[l].first_input];
        const double *in = run->buffers[e->slots.of[from + 1]];
        double *out = run->buffers[e->slots.of[l + 1]];
        double started = MPI_Wtime();
        if (source[l].w1) {
            norma_source_propagate(run->work, &source[l], &e->network->layers[l], first, n, in, out,
                                   &run->n_clipped);
            run->seconds += MPI_Wtime() - started;
            run->n_done += (double)n * norma_source_flops(&source[l].shape);
            norma_progress_update_local(&run->progress, (int64_t)run->n_done);
        } else {
            run_own_local(e, single, l, n, run);
        }
    }
}

/* Copies the outputs of n images, the first of which has number `first`, for the caller. */
static void store_local(const norma_evaluate *e, int64_t first, int64_t n, int64_t size,
                        const double *target, const double *source)
{
    if (!e->outputs_target)
        return;
    memcpy(e->outputs_target + (first - e->first) * size, target,
           (size_t)(n * size) * sizeof *target);
    memcpy(e->outputs_source + (first - e->first) * size, source,
           (size_t)(n * size) * sizeof *source);
}

void norma_evaluate_store_outputs_local(norma_evaluate *e, double *target, double *source)
{
    e->outputs_target = target;
    e->outputs_source = source;
}

static norma_status compare_local(const norma_evaluate *e, int64_t batch, const double *target,
                                  const double *source, image_record *records)
{
    int64_t size = norma_shape_size(e->network->layers[e->network->n_layers - 1].output);
    int64_t first = 0;
    int64_t n_images = norma_evaluate_batch_local(e, batch, &first);
    store_local(e, first, n_images, size, target, source);
    for (int64_t n = 0; n < n_images; n++) {
        const double *t = target + n * size;
        const double *s = source + n * size;
        image_record *r = &records[first + n];
        memset(r, 0, sizeof *r);
        for (int64_t k = 0; k < size; k++) {
            double difference = fabs(s[k] - t[k]);
            r->max_error = fmax(r->max_error, difference);
            r->sum_squares += difference * difference;
            r->max_output = fmax(r->max_output, fabs(t[k]));
        }
        if (!isfinite(r->sum_squares))
            return NORMA_FAIL(NORMA_NUMERIC,
                              "the networks' outputs for image %" PRId64 " are not finite",
                              first + n);
        r->decision_target = (double)norma_index_of_largest(size, t);
        r->decision_source = (double)norma_index_of_largest(size, s);
    }
    return NORMA_OK;
}

/* Every rank's records to every rank, in the order of the images. */
static norma_status gather_records(const norma_evaluate *e, image_record *records)
{
    int *counts = NULL;
    int total = 0;
    norma_status status = norma_index_to_int(e->n_images * RECORD_SIZE, "samples", &total);
    if (status == NORMA_OK)
        status = NORMA_ALLOC(counts, 2 * (int64_t)e->size);
    status = norma_agree(e->comm, status);
    if (status == NORMA_OK) {
        for (int r = 0; r < e->size; r++) {
            int64_t first = 0;
            counts[r] = (int)norma_index_share(e->n_images, e->size, r, &first) * RECORD_SIZE;
            counts[e->size + r] = (int)first * RECORD_SIZE;
        }
        MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, records, counts, counts + e->size,
                       MPI_DOUBLE, e->comm);
    }
    NORMA_FREE(counts);
    return status;
}

static void summarize_local(const norma_evaluate *e, const image_record *records,
                            norma_evaluate_result *result)
{
    int64_t n_outputs = norma_shape_size(e->network->layers[e->network->n_layers - 1].output);
    int64_t n_right_target = 0;
    int64_t n_right_source = 0;
    double sum = 0;
    for (int64_t n = 0; n < e->n_images; n++) {
        const image_record *r = &records[n];
        sum += r->sum_squares;
        result->output_max_error = fmax(result->output_max_error, r->max_error);
        result->output_max = fmax(result->output_max, r->max_output);
        result->n_decisions_differing += r->decision_target != r->decision_source;
        if (e->images->labels) {
            n_right_target += (int64_t)r->decision_target == e->images->labels[n];
            n_right_source += (int64_t)r->decision_source == e->images->labels[n];
        }
    }
    double n = (double)e->n_images;
    result->mean_square = sum / (n * (double)n_outputs);
    result->mean_square_targets = NAN;
    result->output_rmse = sqrt(result->mean_square);
    result->accuracy_target = e->images->labels ? (double)n_right_target / n : NAN;
    result->accuracy_source = e->images->labels ? (double)n_right_source / n : NAN;
}

/* Of this rank's images. */
static int64_t local_flops(const norma_evaluate *e, const norma_source_layer *source)
{
    double flops = 0;
    for (int64_t l = 0; l < e->network->n_layers; l++)
        if (source[l].w1)
            flops += (double)e->n_local * norma_source_flops(&source[l].shape);
    return flops < 9e18 ? (int64_t)flops : INT64_MAX;
}

norma_status norma_evaluate_run(norma_evaluate *e, const norma_source_layer *source,
                                norma_evaluate_result *result)
{
    norma_status status = NORMA_OK;
    run_state run = {0};
    memset(result, 0, sizeof *result);
    if (e->n_images == 0)
        return norma_agree(e->comm, NORMA_FAIL(NORMA_CONFIG, "no images to run the networks on"));
    status = norma_agree(e->comm, run_create(e, source, &run));
    if (status != NORMA_OK)
        goto done;
    norma_evaluate *target = e->other ? e->other : e;
    int blas_threads = norma_evaluate_enter_threads_local();
    norma_progress_init_local(&run.progress, "source network", NULL, local_flops(e, source));
    for (int64_t b = 0; b < norma_evaluate_n_batches_local(e) && status == NORMA_OK; b++) {
        norma_evaluate_advance_local(target, b, target->network->n_layers);
        run_source_local(e, source, b, &run);
        status = compare_local(e, b, norma_evaluate_held_local(target),
                               run.buffers[e->slots.of[e->network->n_layers]], run.records);
    }
    norma_progress_finish_local(&run.progress);
    norma_blas_set_threads_local(blas_threads);
    NORMA_GOTO(status, norma_agree(e->comm, status));
    NORMA_GOTO(status, gather_records(e, run.records));
    summarize_local(e, run.records, result);
    result->n_images = e->n_images;
    MPI_Allreduce(&run.n_clipped, &result->n_clipped, 1, MPI_INT64_T, MPI_SUM, e->comm);
    MPI_Allreduce(&run.seconds, &result->seconds, 1, MPI_DOUBLE, MPI_MAX, e->comm);
    for (int64_t l = 0; l < e->network->n_layers; l++)
        if (source[l].w1)
            result->n_flops += (double)e->n_images * norma_source_flops(&source[l].shape);
done:
    run_destroy(e, &run);
    return status;
}
