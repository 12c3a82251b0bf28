#include "experiments/reconstruct/plan.h"

#include "experiments/reconstruct/construct/alignment.h"
#include "experiments/reconstruct/construct/layer_values.h"
#include "experiments/reconstruct/construct/structure.h"
#include "experiments/reconstruct/construct/systems.h"
#include "experiments/reconstruct/output.h"
#include "experiments/reconstruct/solver.h"
#include "mpi/evaluate/evaluate_statistics.h"
#include "mpi/plan/expect.h"
#include "mpi/runtime/log.h"
#include "mpi/runtime/progress.h"
#include "src/base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The peak memory of a cell depends on the number of ranks. */
typedef struct need {
    const norma_config *config;
    const norma_reconstruct_inputs *inputs;
    const norma_reconstruct_cell *cell;
    norma_solver_options options;
    int n_threads;
    int64_t group_size; /* ranks that solve a layer together; 0: all */
    int64_t base;       /* bytes of the process before it computes */
} need;

/* Ranks that solve a layer together, of n_ranks. */
static int solving_ranks(const need *n, int64_t n_ranks)
{
    return (int)(n->group_size > 0 ? n->group_size : n_ranks);
}

/* Bytes that stay from layer to layer on every rank: maps, embedded kernels, prepared tensors. */
static double kept_bytes(const norma_reconstruct_cell *cell)
{
    double numbers = 0;
    for (int64_t i = 0; i < cell->n_layers; i++) {
        const norma_reconstruct_layer *layer = &cell->layers[i];
        if (!layer->wanted)
            continue;
        numbers += 2.0 * (double)layer->n_features +
                   2.0 * (double)layer->source_shape.n_channels_out +
                   (double)layer->groups * (double)norma_khatri_rao_n_rows(&layer->shape);
    }
    return 8 * numbers;
}

static norma_status evaluation_cost(const need *n, int64_t n_ranks, norma_evaluate_cost *cost)
{
    norma_source_shape *shapes = NULL;
    int64_t n_shapes = 0;
    *cost = (norma_evaluate_cost){0};
    const norma_images *images = norma_reconstruct_cell_images(n->cell, n->inputs);
    if (!images)
        return NORMA_OK;
    NORMA_TRY(NORMA_ALLOC(shapes, n->cell->n_layers));
    for (int64_t i = 0; i < n->cell->n_layers; i++)
        if (n->cell->layers[i].wanted)
            shapes[n_shapes++] = n->cell->layers[i].source_shape;
    norma_status status = norma_evaluate_cost_local(
        n->cell->network, n_shapes, shapes, images->n_images, (int)n_ranks, n->n_threads, 0, cost);
    NORMA_FREE(shapes);
    NORMA_TRY(status);
    double statistics = 0;
    for (int64_t i = 0; i < n->cell->n_layers; i++)
        if (n->cell->layers[i].wanted && n->cell->statistics == NORMA_STATISTICS_DATASET)
            statistics = fmax(statistics, norma_evaluate_statistics_bytes_local(
                                              &n->cell->layers[i].source_shape, n->n_threads));
    cost->bounds = (int64_t)fmax((double)cost->bounds, (double)cost->held + statistics);
    return NORMA_OK;
}

/* norma_plan_bytes_function: the peak of a rank. A limit that forbids the number of ranks gives -1;
 * its own message is for the solver to say. */
static int64_t peak_bytes(const void *context, int64_t n_ranks)
{
    const need *n = context;
    double peak = 0;
    norma_evaluate_cost group = {0}, all = {0}; /* bounds are a group's own, on all images */
    if (n_ranks > 2147483647 || evaluation_cost(n, solving_ranks(n, n_ranks), &group) != NORMA_OK ||
        evaluation_cost(n, n_ranks, &all) != NORMA_OK)
        return -1;
    for (int64_t i = 0; i < n->cell->n_layers; i++) {
        if (!n->cell->layers[i].wanted)
            continue;
        norma_layer_estimate estimate;
        if (norma_reconstruct_systems_estimate(n->cell, i, &n->options, solving_ranks(n, n_ranks),
                                               &estimate) != NORMA_OK) {
            norma_status_clear();
            return -1;
        }
        double values = 0;
        if (norma_reconstruct_values_wanted(n->config) &&
            norma_reconstruct_values_bytes(n->cell, i, solving_ranks(n, n_ranks), n->n_threads,
                                           &values) != NORMA_OK) {
            norma_status_clear();
            return -1;
        }
        peak = fmax(peak, fmax(estimate.bytes, values));
    }
    double kept = 0;
    double search =
        norma_reconstruct_alignment_bytes(n->cell, &kept); /* before anything is solved */
    peak = fmax(peak + (double)group.held, fmax((double)group.bounds, (double)all.run));
    peak = fmax(peak, search) + kept;
    peak += kept_bytes(n->cell) + (double)n->base;
    return peak < 9e18 ? (int64_t)peak : INT64_MAX;
}

/* Refuses the layers of a cell that the solver would refuse, with its message. */
static norma_status check_layers(const need *n, int64_t n_ranks)
{
    for (int64_t i = 0; i < n->cell->n_layers; i++) {
        if (!n->cell->layers[i].wanted)
            continue;
        norma_layer_estimate estimate;
        norma_status status = norma_reconstruct_systems_estimate(
            n->cell, i, &n->options, solving_ranks(n, n_ranks), &estimate);
        if (status != NORMA_OK)
            return norma_status_context(status, "layer %lld: ", (long long)i);
    }
    return NORMA_OK;
}

static norma_status print_layers(const need *n, const norma_plan_machine *machine,
                                 const norma_rates *rates, double *flops, double *seconds,
                                 double *longest)
{
    for (int64_t i = 0; i < n->cell->n_layers; i++) {
        const norma_reconstruct_layer *layer = &n->cell->layers[i];
        if (!layer->wanted)
            continue;
        norma_layer_problem problem = norma_reconstruct_problem(n->cell, i);
        norma_layer_estimate estimate;
        char bytes[32];
        char grid[48];
        norma_expected expected;
        int n_ranks = solving_ranks(n, machine->n_ranks);
        NORMA_TRY(norma_reconstruct_systems_estimate(n->cell, i, &n->options, n_ranks, &estimate));
        NORMA_TRY(norma_reconstruct_systems_expect(layer->groups, &problem, &n->options, n_ranks,
                                                   rates, &expected));
        norma_plan_format_bytes_local(estimate.bytes, bytes, sizeof bytes);
        for (char *c = bytes; *c; c++)
            if (*c == ' ')
                *c = '_';
        snprintf(grid, sizeof grid, "%dx%d", estimate.grid_rows, estimate.grid_columns);
        norma_log_result("%6lld %5lld %5lld %9lld %9lld %12s %9s %5d %14s %10.3e %9.3g",
                         (long long)i, (long long)layer->source_shape.n_channels_out,
                         (long long)layer->source_shape.n_channels_in, (long long)estimate.n_rows,
                         (long long)layer->n_features, norma_solver_name(estimate.solver), grid,
                         estimate.n_idle, bytes, estimate.flops, expected.total);
        *flops += estimate.flops;
        *seconds += expected.total;
        *longest = fmax(*longest, expected.total);
    }
    return NORMA_OK;
}

static void print_groups(const norma_reconstruct_groups *groups, int64_t n_ranks)
{
    norma_text text;
    norma_text_init(&text);
    norma_reconstruct_groups_describe(groups, n_ranks, &text);
    if (text.data)
        norma_log_result("# %s", text.data);
    norma_text_clear(&text);
}

/* Operations of the orders of channels, and the memory of the rank that finds them. */
static void print_orders(const need *n)
{
    char bytes[32];
    double kept = 0;
    if (!n->cell->aligns)
        return;
    norma_plan_format_bytes_local(norma_reconstruct_alignment_bytes(n->cell, &kept), bytes,
                                  sizeof bytes);
    norma_log_result("# orders of channels: %.3e flops a replica before its searches, %s on the "
                     "rank that finds them",
                     norma_reconstruct_alignment_flops(n->cell), bytes);
}

static norma_status print_cell(const need *n, const norma_plan_machine *machine,
                               const norma_reconstruct_groups *groups, const norma_rates *rates)
{
    norma_evaluate_cost evaluation;
    double solve_flops = 0;
    double seconds = 0;
    double longest = 0;
    char peak[32];
    char available[32];
    char written[32];
    char time[32];
    double replicas = (double)norma_config_get_integer(n->config, 0, "replicas");
    double cells = (double)norma_config_get_sweep(n->config)->n_cells;
    norma_log_result("#layer    c2    c0    n_rows        c1       solver      grid  idle "
                     "bytes_per_rank      flops   seconds");
    norma_rates of_group = *rates; /* neighbours: perhaps on one node */
    norma_rates_place_local(&of_group, solving_ranks(n, machine->n_ranks), machine->ranks_per_node);
    NORMA_TRY(print_layers(n, machine, &of_group, &solve_flops, &seconds, &longest));
    if (norma_reconstruct_structure_wanted(n->config))
        NORMA_TRY(norma_reconstruct_structure_print(n->config, n->inputs, n->cell->number,
                                                    norma_reconstruct_memory_per_rank(machine)));
    NORMA_TRY(evaluation_cost(n, machine->n_ranks, &evaluation));
    norma_plan_format_bytes_local((double)peak_bytes(n, machine->n_ranks), peak, sizeof peak);
    norma_plan_format_bytes_local((double)machine->node_memory, available, sizeof available);
    norma_plan_format_bytes_local(
        (double)norma_reconstruct_output_bytes(n->config, n->inputs, n->cell), written,
        sizeof written);
    double orders = norma_reconstruct_alignment_flops(n->cell);
    double total = replicas * (solve_flops + evaluation.n_flops + orders);
    /* Solves are spread over groups. */
    int64_t n_groups = machine->n_ranks / solving_ranks(n, machine->n_ranks);
    seconds = fmax(replicas * seconds / (double)n_groups, longest);
    seconds +=
        replicas * norma_expect_evaluation_local(evaluation.n_flops, (int)machine->n_ranks, rates);
    seconds += ceil(replicas / (double)machine->n_ranks) * orders / rates->dgemm;
    norma_progress_format_seconds_local(seconds, time, sizeof time);
    norma_log_result("# ranks %lld, %lld a node", (long long)machine->n_ranks,
                     (long long)(machine->n_ranks < machine->ranks_per_node
                                     ? machine->n_ranks
                                     : machine->ranks_per_node));
    print_groups(groups, machine->n_ranks);
    norma_log_result("# memory a rank %s, node memory %s", peak, available);
    if (evaluation.image_values > 0)
        norma_log_result("# activations of an image: %lld values at once, of %lld in all",
                         (long long)evaluation.image_values,
                         (long long)evaluation.image_values_all);
    norma_log_result("# flops a cell %.3e: solution %.3e, evaluation %.3e", total,
                     replicas * solve_flops, replicas * evaluation.n_flops);
    print_orders(n);
    norma_log_result("# file at most %s", written);
    norma_log_result(
        "# time a cell about %s at %.3g GFLOP/s a rank (DGEMM measured here, %.0f%% of "
        "the processor's limit); cells %.0f",
        time, 1e-9 * rates->dgemm, 100 * rates->dgemm / rates->fma_double, cells);
    return NORMA_OK;
}

double norma_reconstruct_memory_per_rank(const norma_plan_machine *machine)
{
    int64_t on_node =
        machine->n_ranks < machine->ranks_per_node ? machine->n_ranks : machine->ranks_per_node;
    return (double)machine->node_memory / (double)on_node;
}

static need need_of(const norma_config *config, const norma_reconstruct_inputs *inputs,
                    const norma_plan_machine *machine, int n_threads,
                    const norma_reconstruct_cell *cell)
{
    return (need){.config = config,
                  .inputs = inputs,
                  .cell = cell,
                  .options = norma_reconstruct_solver_options(
                      cell, norma_reconstruct_memory_per_rank(machine)),
                  .n_threads = n_threads,
                  .base = machine->base_memory};
}

norma_status norma_reconstruct_plan_fits(const norma_config *config,
                                         const norma_reconstruct_inputs *inputs,
                                         const norma_plan_machine *machine, int n_threads,
                                         int64_t number, int64_t group_size, bool *out)
{
    norma_reconstruct_cell cell;
    norma_status status = norma_reconstruct_cell_init(config, inputs, number, true, &cell);
    need n = need_of(config, inputs, machine, n_threads, &cell);
    n.group_size = group_size;
    double bytes = status == NORMA_OK ? (double)peak_bytes(&n, machine->n_ranks) : 0;
    norma_reconstruct_cell_clear(&cell);
    *out = bytes >= 0 && bytes <= norma_reconstruct_memory_per_rank(machine);
    return status;
}

norma_status norma_reconstruct_plan(const norma_config *config,
                                    const norma_reconstruct_inputs *inputs,
                                    const norma_plan_machine *machine, int n_threads,
                                    const norma_reconstruct_groups *groups,
                                    const norma_rates *rates)
{
    int64_t n_cells = norma_config_get_sweep(config)->n_cells;
    int64_t fixed = norma_reconstruct_group_option(config);
    if (fixed > machine->n_ranks)
        return NORMA_FAIL(norma_config_blame(config, "group-size"),
                          "%s: groups of %lld ranks cannot be made from %lld",
                          norma_config_where(config, "group-size"), (long long)fixed,
                          (long long)machine->n_ranks);
    norma_status status = NORMA_OK;
    for (int64_t i = 0; i < n_cells && status == NORMA_OK; i++) {
        norma_reconstruct_cell cell;
        norma_text where;
        norma_text_init(&where);
        status = norma_reconstruct_cell_init(config, inputs, i, true, &cell);
        need n = need_of(config, inputs, machine, n_threads, &cell);
        if (fixed > 0 || groups->size < machine->n_ranks)
            n.group_size = groups->size;
        norma_config_describe_cell(config, i, &where);
        if (status == NORMA_OK)
            status = check_layers(&n, machine->n_ranks);
        if (status == NORMA_OK && rates && (i == 0 || n_cells <= 20)) {
            if (n_cells > 1)
                norma_log_result("# cell %lld: %s", (long long)i, where.data ? where.data : "");
            status = print_cell(&n, machine, groups, rates);
        }
        if (status == NORMA_OK)
            status = norma_plan_check_local(machine, n_cells > 1 && where.data ? where.data : "run",
                                            peak_bytes, &n,
                                            norma_solver_describe(cell.solver)->stores_matrix
                                                ? "--solver krylov needs no matrix"
                                                : NULL);
        norma_text_clear(&where);
        norma_reconstruct_cell_clear(&cell);
    }
    return status;
}
