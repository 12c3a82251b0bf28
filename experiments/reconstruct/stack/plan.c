/* Sizes of stacks, how many ranks compute one together, and their plan. */
#include "experiments/reconstruct/plan.h"
#include "experiments/reconstruct/options.h"
#include "experiments/reconstruct/stack/stack.h"
#include "experiments/reconstruct/stack/weights.h"
#include "mpi/runtime/log.h"

#include <math.h>
#include <string.h>

/* Inputs that a network is run on where --samples says nothing. */
enum { N_INPUTS = 1000 };

static void raise(int64_t *most, int64_t value)
{
    if (value > *most)
        *most = value;
}

/* The largest layer of a cell, what a rank holds for all of them, and their frozen weights; of base
 * the number of ranks and threads is looked at. */
static norma_status measure_cell(const norma_stack_place *base,
                                 const norma_reconstruct_inputs *inputs,
                                 const norma_stack_kind *kind, int64_t number,
                                 norma_stack_size *most, double *n_weights)
{
    *n_weights = 0;
    norma_reconstruct_cell cell;
    norma_stack_place place = *base;
    norma_status status = norma_reconstruct_cell_init(base->config, inputs, number, true, &cell);
    place.cell = &cell;
    memset(most, 0, sizeof *most);
    for (place.number = 0; status == NORMA_OK && place.number < cell.n_layers; place.number++) {
        norma_stack_size size;
        if (!cell.layers[place.number].wanted)
            continue;
        double weights = 0;
        status = kind->size(&place, &size);
        if (status == NORMA_OK)
            status = norma_stack_weights_count(kind, &place, &weights);
        *n_weights += weights;
        if (status != NORMA_OK) {
            norma_status_context(status, "layer %lld: ", (long long)place.number);
            break;
        }
        raise(&most->n_equations, size.n_equations);
        raise(&most->n_minimum, size.n_minimum);
        raise(&most->n_features, size.n_features);
        raise(&most->n_stages, size.n_stages);
        raise(&most->n_scales, size.n_scales);
        raise(&most->n_shifts, size.n_shifts);
        most->bytes += size.bytes;
        most->flops += size.flops;
        most->together = most->together || size.together;
    }
    norma_reconstruct_cell_clear(&cell);
    return status;
}

static bool saves(const norma_config *config)
{
    if (norma_config_has(config, "save"))
        return norma_config_list_holds(config, "save", NORMA_RECONSTRUCT_SAVE_GAMMA);
    return norma_config_is_single(config);
}

static int64_t count_inputs(const norma_config *config, const norma_reconstruct_inputs *inputs)
{
    const norma_images *images = norma_reconstruct_images(inputs);
    if (images)
        return images->n_images;
    return norma_config_is_given(config, "samples") ? norma_config_get_integer(config, 0, "samples")
                                                    : N_INPUTS;
}

norma_status norma_stack_layout_init(const norma_config *config,
                                     const norma_reconstruct_inputs *inputs,
                                     const norma_stack_kind *kind, norma_stack_layout *l)
{
    *l = (norma_stack_layout){.kind = kind,
                              .n_cells = norma_config_get_sweep(config)->n_cells,
                              .n_replicas = norma_config_get_integer(config, 0, "replicas"),
                              .n_layers = 1,
                              .n_inputs = count_inputs(config, inputs),
                              .saves_weights = norma_stack_weights_wanted(config)};
    if (inputs->target)
        l->n_layers = norma_target_network_local(inputs->target)->n_layers;
    const norma_stack_place alone = {.config = config, .n_ranks = 1, .n_threads = 1};
    for (int64_t number = 0; number < l->n_cells; number++) {
        norma_stack_size most;
        double n_weights = 0;
        NORMA_TRY(measure_cell(&alone, inputs, kind, number, &most, &n_weights));
        raise(&l->n_stages, most.n_stages);
        if (l->saves_weights)
            l->n_weights = fmax(l->n_weights, n_weights);
        if (!saves(config))
            continue;
        raise(&l->n_scales, most.n_scales);
        raise(&l->n_shifts, most.n_shifts);
    }
    return NORMA_OK;
}

/* --- ranks that compute a replica together -----------------------------------------------------
 */

/* A cell; the ranks of a replica are `fixed`, or 0: all that there are. */
typedef struct need {
    const norma_job_context *job;
    const norma_reconstruct_inputs *inputs;
    const norma_stack_kind *kind;
    int64_t number, fixed;
} need;

static norma_status measure_need(const need *n, int64_t n_ranks, norma_stack_size *most)
{
    double n_weights = 0;
    const norma_stack_place base = {.config = n->job->config,
                                    .n_ranks = n->fixed > 0 ? n->fixed : n_ranks,
                                    .n_threads = n->job->runtime->n_threads};
    NORMA_TRY(measure_cell(&base, n->inputs, n->kind, n->number, most, &n_weights));
    most->bytes += (double)n->job->machine.base_memory;
    return NORMA_OK;
}

/* norma_plan_bytes_function */
static int64_t bytes_of_rank(const void *context, int64_t n_ranks)
{
    norma_stack_size most;
    if (measure_need(context, n_ranks, &most) == NORMA_OK)
        return (int64_t)fmin(most.bytes, 9e18);
    norma_status_clear();
    return -1;
}

norma_status norma_stack_choose_group(const norma_job_context *job,
                                      const norma_reconstruct_inputs *inputs,
                                      const norma_stack_kind *kind, int64_t recorded, int64_t *out)
{
    const norma_plan_machine *machine = &job->machine;
    int64_t n_cells = norma_config_get_sweep(job->config)->n_cells;
    int64_t n_tasks = n_cells * norma_config_get_integer(job->config, 0, "replicas");
    int64_t room = machine->node_memory / machine->ranks_per_node;
    bool together = false;
    *out = norma_reconstruct_group_option(job->config);
    if (*out == 0)
        *out = recorded;
    if (*out > 0)
        return NORMA_OK;
    *out = n_tasks < machine->n_ranks ? machine->n_ranks / n_tasks : 1;
    for (int64_t number = 0; number < n_cells; number++) {
        need n = {.job = job, .inputs = inputs, .kind = kind, .number = number, .fixed = 1};
        norma_stack_size most;
        NORMA_TRY(measure_need(&n, 1, &most));
        together = together || most.together;
        for (n.fixed = *out; most.together && n.fixed <= machine->n_ranks; n.fixed++) {
            int64_t bytes = bytes_of_rank(&n, n.fixed);
            *out = n.fixed;
            if (bytes >= 0 && bytes <= room)
                break;
        }
    }
    if (!together)
        *out = 1;
    return NORMA_OK;
}

/* --- plan ------------------------------------------------------------------------------------- */

static norma_status plan_cell(const need *n, bool print)
{
    const norma_job_context *job = n->job;
    norma_stack_size most;
    char memory[32];
    norma_text where;
    NORMA_TRY(norma_plan_check_local(&job->machine, "a replica", bytes_of_rank, n,
                                     "narrower layers need less"));
    NORMA_TRY(measure_need(n, job->machine.n_ranks, &most));
    if (!print)
        return NORMA_OK;
    norma_text_init(&where);
    norma_config_describe_cell(job->config, n->number, &where);
    norma_plan_format_bytes_local(most.bytes, memory, sizeof memory);
    norma_log_result("%6lld %10lld %10lld %10lld %12lld %12s %10.3g %s", (long long)n->number,
                     (long long)most.n_equations, (long long)most.n_minimum,
                     (long long)most.n_features, (long long)most.n_stages, memory, most.flops,
                     where.data ? where.data : "");
    norma_text_clear(&where);
    return NORMA_OK;
}

norma_status norma_stack_plan(norma_job_context *job, const norma_reconstruct_inputs *inputs,
                              const norma_stack_kind *kind, bool print)
{
    need n = {.job = job, .inputs = inputs, .kind = kind};
    int64_t n_cells = norma_config_get_sweep(job->config)->n_cells;
    if (job->group_size > job->machine.n_ranks)
        return NORMA_FAIL(norma_config_blame(job->config, "group-size"),
                          "%s: groups of %lld ranks need as many; there are %lld",
                          norma_config_where(job->config, "group-size"), (long long)job->group_size,
                          (long long)job->machine.n_ranks);
    n.fixed = job->group_size < job->machine.n_ranks || job->group_size == 1 ? job->group_size : 0;
    if (print)
        norma_log_result("#%5s %10s %10s %10s %12s %12s %10s %s", "cell", "equations", "minimum",
                         "features", kind->stage, "bytes/rank", "flops", "of a replica");
    for (; n.number < n_cells; n.number++)
        NORMA_TRY(plan_cell(&n, print));
    return NORMA_OK;
}
