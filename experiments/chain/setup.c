#include "experiments/chain/setup.h"

#include "experiments/layers/options.h"
#include "mpi/runtime/agree.h"
#include "src/base/index.h"
#include "src/base/mem.h"
#include "src/chain/compare.h"
#include "src/chain/kernels/lanes.h"
#include "src/config/config_common.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

norma_status norma_chain_check_options(const norma_config *config)
{
    NORMA_TRY(norma_layer_options_check(config));
    if (norma_config_get_count(config, "tau") > NORMA_OBSERVABLE_MAX_TAU)
        return NORMA_FAIL(norma_config_blame(config, "tau"), "%s: at most %d thresholds, not %lld",
                          norma_config_where(config, "tau"), NORMA_OBSERVABLE_MAX_TAU,
                          (long long)norma_config_get_count(config, "tau"));
    for (int64_t i = 0; i < norma_config_get_sweep(config)->n_cells; i++)
        if (norma_config_is_given(config, "replica-offset") &&
            norma_config_get_choice(config, i, "precision") == 1)
            return NORMA_FAIL(norma_config_blame(config, "replica-offset"),
                              "%s: not with --precision single, which is compared with double "
                              "precision on replica 0",
                              norma_config_where(config, "replica-offset"));
    return NORMA_OK;
}

static norma_status parse_observables(norma_chain_setup *setup, bool *all)
{
    const norma_config *config = setup->config;
    *all = false;
    for (int64_t i = 0; i < norma_config_get_count(config, "observables"); i++) {
        const char *name = norma_config_get_text(config, i, "observables");
        norma_observable_set set = 0;
        *all = *all || strcmp(name, "all") == 0;
        setup->lyapunov = setup->lyapunov || *all || strcmp(name, "lyapunov") == 0;
        if (strcmp(name, "lyapunov") != 0)
            NORMA_TRY(norma_observable_parse(name, &set));
        setup->wanted |= set;
    }
    return NORMA_OK;
}

/* Is what `one` asks for defined for the cell's chain? */
static norma_status is_defined(const norma_chain_cell *cell, const norma_observable_request *one,
                               bool *defined)
{
    norma_chain_needs needs;
    norma_status status = norma_chain_check(&cell->spec, &cell->input, one, 1, &needs);
    *defined = status == NORMA_OK;
    if (status != NORMA_CONFIG)
        return status;
    norma_status_clear();
    return NORMA_OK;
}

/* Takes from the request what the cell's chain does not define. */
static norma_status drop_undefined(norma_chain_cell *cell)
{
    norma_observable_request one = cell->request;
    bool defined = false;
    for (int k = 0; k < NORMA_N_OBSERVABLES; k++) {
        one.wanted = norma_observable_conditional() & NORMA_OBSERVABLE_BIT(k);
        one.lyapunov = false;
        if (one.wanted == 0)
            continue;
        NORMA_TRY(is_defined(cell, &one, &defined));
        if (!defined)
            cell->request.wanted &= ~one.wanted;
    }
    one.wanted = 0;
    one.lyapunov = true;
    NORMA_TRY(is_defined(cell, &one, &defined));
    cell->request.lyapunov = cell->request.lyapunov && defined;
    return NORMA_OK;
}

static norma_status make_request(const norma_chain_setup *setup, bool all, norma_chain_cell *cell)
{
    const norma_config *config = setup->config;
    const norma_chain_spec *spec = &cell->spec;
    norma_observable_request *request = &cell->request;
    int64_t smaller = spec->width < spec->batch ? spec->width : spec->batch;
    int64_t top = norma_config_get_integer(config, 0, "top");
    request->wanted = setup->wanted;
    request->lyapunov = setup->lyapunov;
    request->n_tau = (int)norma_config_get_count(config, "tau");
    for (int i = 0; i < request->n_tau; i++)
        request->tau[i] = norma_config_get_real(config, i, "tau");
    request->n_singular = (int)(top < smaller ? top : smaller);
    request->rank_single = norma_config_has(config, "rank-precision")
                               ? norma_config_get_choice(config, 0, "rank-precision") == 1
                               : spec->single;
    if (norma_config_has(config, "rank-tolerance"))
        request->rank_tolerance = norma_config_get_real(config, 0, "rank-tolerance");
    if (all)
        NORMA_TRY(drop_undefined(cell));
    cell->n_exponents = request->lyapunov ? request->n_singular : 0;
    return NORMA_OK;
}

/* Enough layers to see rounding accumulate, few enough to cost little of the run. */
static int64_t n_compared(const norma_chain_cell *cell)
{
    const int64_t least = 8;
    const int64_t most = 32;
    int64_t n = cell->depth / 100;
    n = n < least ? least : n > most ? most : n;
    return n < cell->depth ? n : cell->depth;
}

/* Operations of a layer of a block: vectors make products cheaper for several replicas, singular
 * values are found for one after the other. */
static double layer_cost(const norma_chain_setup *setup, const norma_chain_cell *cell, int lanes)
{
    const double per_value = 20; /* operations of a matrix element and column, singular values */
    const norma_observable_set spectrum =
        cell->request.wanted & norma_observable_of_family(NORMA_OBSERVABLE_FAMILY_SPECTRUM);
    double d = (double)cell->spec.width;
    double n = (double)cell->spec.batch;
    double columns = cell->spec.law == NORMA_CHAIN_LAW_EXACT ? n : d;
    double product = 2 * d * n * columns + 20 * d * columns + 4 * d * n * n;
    double values = 0;
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++)
        if (spectrum & NORMA_OBSERVABLE_BIT(o))
            values = fmax(values, per_value * d * n * fmin(d, n) / (double)setup->stride[o]);
    return product * norma_lanes_cost(lanes, cell->spec.width) + values * lanes;
}

/* The blocks that the cell's chain has; several ranks share a lone replica. */
static norma_status make_sizes(const norma_chain_setup *setup, norma_chain_cell *cell)
{
    bool shared = norma_config_get_integer(setup->config, 0, "group-size") > 1;
    for (int lanes = 1; lanes <= (shared ? 1 : NORMA_CHAIN_MOST_LANES); lanes *= 2) {
        norma_chain_size *size = &cell->sizes[cell->n_sizes];
        NORMA_TRY(
            norma_chain_check(&cell->spec, &cell->input, &cell->request, lanes, &size->needs));
        size->lanes = lanes;
        size->cost = layer_cost(setup, cell, lanes);
        cell->n_sizes += size->needs.lanes == lanes;
    }
    return NORMA_OK;
}

static norma_status make_cell(const norma_chain_setup *setup, int64_t i, bool all)
{
    const norma_config *config = setup->config;
    norma_chain_cell *cell = &setup->cells[i];
    cell->number = i;
    cell->depth = norma_config_get_integer(config, i, "depth");
    cell->seed = norma_config_get_seed(config, i, "seed");
    if (norma_config_get_choice(config, 0, "cell-streams") == NORMA_CELL_STREAMS_INDEPENDENT)
        cell->stream_cell = norma_config_get_cell_number(config, i);
    cell->first_replica = norma_config_get_integer(config, 0, "replica-offset");
    NORMA_TRY(norma_layer_spec_read(&setup->inputs, i, &cell->spec));
    cell->spec.single = norma_config_get_choice(config, i, "precision") == 1;
    NORMA_TRY(norma_chain_spec_finish(&cell->spec));
    if (cell->depth > 0 && setup->burn_in >= cell->depth)
        return NORMA_FAIL(norma_config_blame(config, "burn-in"),
                          "%s: %lld leaves nothing of --depth %lld to average",
                          norma_config_where(config, "burn-in"), (long long)setup->burn_in,
                          (long long)cell->depth);
    NORMA_TRY(norma_layer_inputs_check_depth(&setup->inputs, cell->depth));
    NORMA_TRY(norma_layer_inputs_make(&setup->inputs, i, &cell->spec, &cell->input));
    NORMA_TRY(make_request(setup, all, cell));
    NORMA_TRY(make_sizes(setup, cell));
    if (cell->spec.single) {
        cell->n_compared = n_compared(cell);
        NORMA_TRY(norma_chain_comparison_bytes(&cell->spec, &cell->input, &cell->request,
                                               &cell->twin_bytes));
    }
    return norma_layer_group_check(config, cell->sizes[0].needs.not_shared, INT64_MAX);
}

/* "K" or "NAME:K". */
static norma_status parse_strides(norma_chain_setup *setup)
{
    const norma_config *config = setup->config;
    for (int k = 0; k < NORMA_N_OBSERVABLES; k++)
        setup->stride[k] = 1;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < norma_config_get_count(config, "stride"); i++) {
            const char *text = norma_config_get_text(config, i, "stride");
            const char *colon = strchr(text, ':');
            norma_observable_set set = NORMA_OBSERVABLES_ALL;
            char name[64];
            char *end = NULL;
            long long stride = strtoll(colon ? colon + 1 : text, &end, 10);
            if (*end || end == text || stride < 1)
                return NORMA_FAIL(norma_config_blame(config, "stride"),
                                  "%s: '%.40s' is neither a number of layers nor NAME:NUMBER",
                                  norma_config_where(config, "stride"), text);
            if ((colon != NULL) != (pass == 1))
                continue;
            snprintf(name, sizeof name, "%.*s", colon ? (int)(colon - text) : 0, text);
            if (colon)
                NORMA_TRY(norma_observable_parse(name, &set));
            for (int k = 0; k < NORMA_N_OBSERVABLES; k++)
                if (set & NORMA_OBSERVABLE_BIT(k))
                    setup->stride[k] = stride;
        }
    return NORMA_OK;
}

norma_status norma_chain_setup_schedules(const norma_chain_setup *setup, const int64_t *depths,
                                         int64_t n, norma_chain_schedule *schedule)
{
    const char *record = norma_config_get_text(setup->config, 0, "record");
    for (int k = 0; k < NORMA_N_OBSERVABLES; k++)
        if (setup->wanted & NORMA_OBSERVABLE_BIT(k))
            NORMA_TRY(norma_chain_schedule_make(record, setup->stride[k], depths, n, &schedule[k]));
    return NORMA_OK;
}

static norma_status make_schedules(norma_chain_setup *setup)
{
    int64_t *depths = NULL;
    /* The depths of all cells, so that a share of a sweep records the same layers as the whole. */
    int64_t n_depths = norma_config_get_count(setup->config, "depth");
    NORMA_TRY(NORMA_ALLOC(depths, n_depths));
    for (int64_t i = 0; i < n_depths; i++)
        depths[i] = norma_config_get_integer_at(setup->config, i, "depth");
    norma_status status = norma_chain_setup_schedules(setup, depths, n_depths, setup->schedule);
    norma_mem_free(depths);
    return status;
}

/* The dimensions of the file that all cells together need. */
static void unite(norma_chain_setup *setup)
{
    setup->wanted = 0;
    setup->lyapunov = false;
    for (int64_t i = 0; i < setup->n_cells; i++) {
        const norma_chain_cell *cell = &setup->cells[i];
        setup->wanted |= cell->request.wanted;
        setup->lyapunov = setup->lyapunov || cell->request.lyapunov;
        setup->averages = setup->averages || cell->depth > 0;
        setup->single |= cell->spec.single ? cell->request.wanted : 0;
        int n_singular = setup->axes.n_singular;
        setup->axes = cell->request;
        if (n_singular > setup->axes.n_singular)
            setup->axes.n_singular = n_singular;
        if (cell->n_exponents > setup->n_exponents)
            setup->n_exponents = cell->n_exponents;
    }
}

static norma_status make_all(norma_chain_setup *setup)
{
    bool all = false;
    norma_status status = NORMA_OK;
    NORMA_TRY(NORMA_CALLOC(setup->cells, setup->n_cells));
    NORMA_TRY(parse_observables(setup, &all));
    NORMA_TRY(parse_strides(setup));
    for (int64_t i = 0; i < setup->n_cells; i++) {
        status = make_cell(setup, i, all);
        if (status != NORMA_OK && setup->n_cells > 1)
            return norma_status_context(status, "cell %lld: ", (long long)i);
        NORMA_TRY(status);
    }
    unite(setup);
    return make_schedules(setup);
}

norma_status norma_chain_setup_read(const norma_runtime *runtime, const norma_config *config,
                                    norma_chain_setup *setup)
{
    memset(setup, 0, sizeof *setup);
    setup->config = config;
    setup->n_cells = norma_config_get_sweep(config)->n_cells;
    setup->n_replicas = norma_config_get_integer(config, 0, "replicas");
    NORMA_TRY(norma_index_multiply(setup->n_cells, setup->n_replicas, "replicas of all cells",
                                   &setup->n_tasks));
    setup->burn_in =
        norma_config_has(config, "burn-in") ? norma_config_get_integer(config, 0, "burn-in") : -1;
    NORMA_TRY(norma_layer_inputs_read(runtime, config, &setup->inputs));
    return norma_agree(runtime->world, make_all(setup));
}

void norma_chain_setup_clear(norma_chain_setup *setup)
{
    for (int k = 0; k < NORMA_N_OBSERVABLES; k++)
        norma_chain_schedule_clear(&setup->schedule[k]);
    norma_layer_inputs_clear(&setup->inputs);
    NORMA_FREE(setup->cells);
}

void norma_chain_setup_fingerprint(const norma_chain_setup *setup, norma_text *text)
{
    norma_text_append(text, "  journal-entries: replicas\n");
    norma_layer_inputs_fingerprint(&setup->inputs, text);
}

const norma_chain_cell *norma_chain_setup_cell(const norma_chain_setup *setup, int64_t task)
{
    return &setup->cells[task / setup->n_replicas];
}

int64_t norma_chain_setup_layer_work(const norma_chain_cell *cell)
{
    return (int64_t)fmin(cell->sizes[0].cost, 1e15);
}
