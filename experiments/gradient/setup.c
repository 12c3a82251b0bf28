#include "experiments/gradient/setup.h"

#include "experiments/gradient/record.h"
#include "experiments/layers/options.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem.h"
#include "src/config/config_common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Classes where the option is not given. */
enum { FEW_CLASSES = 10 };

static norma_status make_loss(const norma_gradient_setup *setup, int64_t i,
                              norma_gradient_cell *cell)
{
    const norma_config *config = setup->config;
    norma_gradient_loss_spec *loss = &cell->request.loss;
    loss->kind = (norma_gradient_loss_kind)norma_config_get_choice(config, i, "loss");
    loss->readout = (norma_gradient_readout)norma_config_get_choice(config, i, "readout");
    loss->classes = loss->kind == NORMA_GRADIENT_LOSS_COTANGENT ||
                            loss->readout == NORMA_GRADIENT_READOUT_IDENTITY
                        ? cell->spec.width
                        : (int64_t)FEW_CLASSES;
    if (norma_config_has(config, "classes"))
        loss->classes = norma_config_get_integer(config, i, "classes");
    if (loss->kind == NORMA_GRADIENT_LOSS_COTANGENT ||
        norma_config_get_choice(config, 0, "labels") == 0)
        return NORMA_OK;
    loss->labels = setup->inputs.labels;
    if (loss->labels && cell->input.kind == NORMA_CHAIN_INPUT_GIVEN)
        return NORMA_OK;
    return NORMA_FAIL(norma_config_blame(config, "labels"),
                      "%s: dataset needs an --input that is a data set with labels",
                      norma_config_where(config, "labels"));
}

/* The Jacobians need W itself. */
static void settle_law(const norma_gradient_setup *setup, norma_chain_spec *spec)
{
    if (setup->window > 0 && spec->law == NORMA_CHAIN_LAW_AUTO)
        spec->law = NORMA_CHAIN_LAW_PATHWISE;
}

static double cost_of(const norma_chain_spec *spec)
{
    double d = (double)spec->width;
    double n = (double)spec->batch;
    double columns = spec->law == NORMA_CHAIN_LAW_EXACT ? n : d;
    return 4 * d * n * columns + 20 * d * columns + 60 * d * n;
}

static norma_status make_cell(const norma_gradient_setup *setup, int64_t i)
{
    const norma_config *config = setup->config;
    norma_gradient_cell *cell = &setup->cells[i];
    cell->number = i;
    cell->depth = norma_config_get_integer(config, i, "depth");
    cell->seed = norma_config_get_seed(config, i, "seed");
    if (norma_config_get_choice(config, 0, "cell-streams") == NORMA_CELL_STREAMS_INDEPENDENT)
        cell->stream_cell = norma_config_get_cell_number(config, i);
    cell->first_replica = norma_config_get_integer(config, 0, "replica-offset");
    NORMA_TRY(norma_layer_spec_read(&setup->inputs, i, &cell->spec));
    settle_law(setup, &cell->spec);
    NORMA_TRY(norma_chain_spec_finish(&cell->spec));
    NORMA_TRY(norma_layer_inputs_check_depth(&setup->inputs, cell->depth));
    NORMA_TRY(norma_layer_inputs_make(&setup->inputs, i, &cell->spec, &cell->input));
    norma_gradient_request *request = &cell->request;
    request->depth = cell->depth;
    request->jacobian = setup->window;
    request->per_sample = norma_config_get_flag(config, "per-sample");
    request->isometry_gap = setup->isometry;
    request->n_members = norma_config_get_integer(config, 0, "group-size");
    request->segment =
        norma_config_has(config, "segment") ? norma_config_get_integer(config, 0, "segment") : 0;
    NORMA_TRY(make_loss(setup, i, cell));
    cell->layer_cost = cost_of(&cell->spec);
    return NORMA_OK;
}

/* The rest of a cell needs the recorded layers, which need the depths of all cells. */
static norma_status finish_cell(norma_gradient_setup *setup, norma_gradient_cell *cell)
{
    norma_gradient_request *request = &cell->request;
    cell->n_recorded = norma_chain_schedule_count(&setup->schedule, cell->depth);
    request->layers = setup->layers;
    request->n_layers = cell->n_recorded;
    NORMA_TRY(norma_gradient_check(&cell->spec, &cell->input, request, &cell->needs));
    NORMA_TRY(
        norma_layer_group_check(setup->config, cell->needs.not_shared, cell->needs.most_members));
    int64_t n = cell->spec.batch;
    cell->n_windows = setup->window > 0 ? cell->depth / setup->window : 0;
    cell->n_pairs = request->per_sample ? n * (n - 1) / 2 : 0;
    cell->n_numbers = norma_gradient_record_count(cell);
    setup->n_windows = cell->n_windows > setup->n_windows ? cell->n_windows : setup->n_windows;
    setup->n_pairs = cell->n_pairs > setup->n_pairs ? cell->n_pairs : setup->n_pairs;
    return NORMA_OK;
}

static norma_status make_schedule(norma_gradient_setup *setup)
{
    int64_t *depths = NULL;
    /* The depths of all cells, so that a share of a sweep records the same layers as the whole. */
    int64_t n_depths = norma_config_get_count(setup->config, "depth");
    NORMA_TRY(NORMA_ALLOC(depths, n_depths));
    for (int64_t i = 0; i < n_depths; i++)
        depths[i] = norma_config_get_integer_at(setup->config, i, "depth");
    norma_status status = norma_chain_schedule_make(
        norma_config_get_text(setup->config, 0, "record"), 1, depths, n_depths, &setup->schedule);
    norma_mem_free(depths);
    if (status == NORMA_OK && setup->schedule.n > 0)
        status = NORMA_ALLOC(setup->layers, setup->schedule.n);
    for (int64_t i = 0; status == NORMA_OK && i < setup->schedule.n; i++)
        setup->layers[i] = norma_chain_schedule_layer(&setup->schedule, i);
    return status;
}

typedef struct ranked {
    double cost;
    int64_t cell;
} ranked;

static int longest_first(const void *a, const void *b)
{
    const ranked *x = a;
    const ranked *y = b;
    if (x->cost != y->cost)
        return x->cost < y->cost ? 1 : -1;
    return (x->cell > y->cell) - (x->cell < y->cell);
}

static norma_status make_tasks(norma_gradient_setup *setup)
{
    ranked *list = NULL;
    setup->n_tasks = setup->n_cells * setup->n_replicas;
    NORMA_TRY(NORMA_ALLOC(setup->order, setup->n_tasks));
    NORMA_TRY(NORMA_ALLOC(list, setup->n_cells));
    for (int64_t i = 0; i < setup->n_cells; i++)
        list[i] = (ranked){setup->cells[i].layer_cost * (double)setup->cells[i].depth, i};
    qsort(list, (size_t)setup->n_cells, sizeof *list, longest_first);
    for (int64_t t = 0; t < setup->n_tasks; t++)
        setup->order[t] =
            list[t / setup->n_replicas].cell * setup->n_replicas + t % setup->n_replicas;
    norma_mem_free(list);
    return NORMA_OK;
}

static norma_status in_cell(const norma_gradient_setup *setup, norma_status status, int64_t i)
{
    if (status != NORMA_OK && setup->n_cells > 1)
        return norma_status_context(status, "cell %lld: ", (long long)i);
    return status;
}

static norma_status make_all(norma_gradient_setup *setup)
{
    NORMA_TRY(NORMA_CALLOC(setup->cells, setup->n_cells));
    for (int64_t i = 0; i < setup->n_cells; i++)
        NORMA_TRY(in_cell(setup, make_cell(setup, i), i));
    NORMA_TRY(make_schedule(setup));
    for (int64_t i = 0; i < setup->n_cells; i++)
        NORMA_TRY(in_cell(setup, finish_cell(setup, &setup->cells[i]), i));
    return make_tasks(setup);
}

norma_status norma_gradient_setup_read(const norma_runtime *runtime, const norma_config *config,
                                       norma_gradient_setup *setup)
{
    memset(setup, 0, sizeof *setup);
    setup->config = config;
    setup->n_cells = norma_config_get_sweep(config)->n_cells;
    setup->n_replicas = norma_config_get_integer(config, 0, "replicas");
    setup->isometry = norma_config_get_flag(config, "isometry");
    setup->window =
        norma_config_has(config, "jacobian") ? norma_config_get_integer(config, 0, "jacobian") : 0;
    NORMA_TRY(norma_layer_inputs_read(runtime, config, &setup->inputs));
    return norma_agree(runtime->world, make_all(setup));
}

void norma_gradient_setup_clear(norma_gradient_setup *setup)
{
    norma_chain_schedule_clear(&setup->schedule);
    norma_layer_inputs_clear(&setup->inputs);
    NORMA_FREE(setup->layers);
    NORMA_FREE(setup->cells);
    NORMA_FREE(setup->order);
}

const norma_gradient_cell *norma_gradient_setup_cell(const norma_gradient_setup *setup,
                                                     int64_t task)
{
    return &setup->cells[task / setup->n_replicas];
}
