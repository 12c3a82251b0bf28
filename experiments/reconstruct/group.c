/* How many ranks solve a layer together: --group-size, or what the model of times prefers. */
#include "experiments/reconstruct/plan.h"

#include "experiments/reconstruct/construct/systems.h"
#include "experiments/reconstruct/options.h"
#include "experiments/reconstruct/solver.h"
#include "experiments/reconstruct/waves.h"
#include "mpi/plan/expect.h"
#include "mpi/runtime/log.h"
#include "src/base/earliest.h"
#include "src/base/index.h"
#include "src/base/mem.h"
#include "src/config/config_number.h"

#include <math.h>
#include <string.h>

/* Groups are made where the run then takes at most this part of the time of all ranks together, and
 * saves at least so many seconds. */
static const double worthwhile = 0.9;
static const double least_saved = 0.01;

/* Tasks that are dealt out in the model; longer runs go on like these. */
static const int64_t most_dealt = 100000;

enum { N_KEYS = 20 };

/* Layers of one kind take equally long. */
typedef struct kind {
    int64_t key[N_KEYS];
    int64_t groups; /* of channels, with a system each */
    norma_layer_problem problem;
    norma_solver_options options;
    double measure_flops; /* of its pre-activations' bounds, on all images */
    double forward_flops; /* of the target's layer, on all images */
    double seconds;       /* of a solve by the group at hand */
} kind;

/* A cell with a kind of its own, the first of that kind. */
typedef struct model {
    const norma_config *config;
    const norma_reconstruct_inputs *inputs;
    const norma_plan_machine *machine;
    int n_threads;
    double n_images; /* that groups run the target on */
    int64_t n_cells, n_replicas, n_wanted;
    int64_t n_kinds, kinds_capacity, n_examples, examples_capacity;
    kind *kinds;       /* [n_kinds], owned */
    int64_t *examples; /* [n_examples]: cells that have a kind first; owned */
    int32_t *of;       /* [n_cells][n_wanted]: kinds; owned */
} model;

/* The unit whose target a group ran last, up to layer `next` of the unit's list. */
typedef struct position {
    int64_t unit, next;
} position;

/* Groups at work. */
typedef struct crew {
    int64_t n;
    norma_earliest *heap; /* [n], owned; numbers: indices of `at` */
    position *at;         /* [n], owned */
} crew;

static const char *check_size(const char *text)
{
    int64_t size = 0;
    if (strcmp(text, NORMA_RECONSTRUCT_AUTO_GROUPS) == 0 ||
        (norma_number_read_integer(text, &size) == NORMA_NUMBER_OK && size >= 1 && size <= 1000000))
        return NULL;
    return "auto, or a whole number of ranks from 1 to 1000000";
}

const char *norma_reconstruct_check_group_size(const char *text)
{
    return check_size(text);
}

int64_t norma_reconstruct_group_option(const norma_config *config)
{
    int64_t size = 0;
    const char *text = norma_config_get_text(config, 0, "group-size");
    return norma_number_read_integer(text, &size) == NORMA_NUMBER_OK ? size : 0;
}

/* --- kinds of layers ---------------------------------------------------------------------------
 */

static norma_status grow(void **array, int64_t n, int64_t *capacity, int64_t size)
{
    if (n < *capacity)
        return NORMA_OK;
    int64_t larger = 2 * *capacity + 16;
    void *grown = norma_mem_resize(*array, *capacity, larger, (size_t)size, __FILE__, __LINE__);
    if (!grown)
        return NORMA_MEMORY;
    *array = grown;
    *capacity = larger;
    return NORMA_OK;
}

static void describe(const model *m, const norma_reconstruct_cell *cell, int64_t number, kind *k)
{
    const norma_reconstruct_layer *layer = &cell->layers[number];
    const norma_layer *target = &cell->network->layers[number];
    const norma_kernel *kernel = &layer->shape.kernel;
    double pixels = (double)(target->hidden.height * target->hidden.width);
    memset(k, 0, sizeof *k);
    k->groups = layer->groups;
    k->problem = norma_reconstruct_problem(cell, number);
    k->problem.target = NULL; /* every output channel counts; the cell will be gone */
    k->problem.skip = NULL;
    k->problem.w1 = k->problem.w2 = NULL;
    k->options =
        norma_reconstruct_solver_options(cell, norma_reconstruct_memory_per_rank(m->machine));
    k->options.seed = 0;
    if (cell->bound != NORMA_BOUND_INTERVAL_DEEP) {
        k->measure_flops = 2 * m->n_images * (double)layer->n_features *
                           (double)(layer->shape.n_channels_in * norma_kernel_taps(kernel->first)) *
                           (double)(layer->source_shape.z.height * layer->source_shape.z.width);
        k->forward_flops = 2 * m->n_images * pixels *
                           (double)(target->n_channels_out * layer->shape.n_channels_in) *
                           (double)norma_kernel_taps(target->kernel);
    }
    const int64_t key[N_KEYS] = {layer->shape.n_channels_out,
                                 layer->shape.n_channels_in,
                                 kernel->first.height,
                                 kernel->first.width,
                                 kernel->second.height,
                                 kernel->second.width,
                                 kernel->target.height,
                                 kernel->target.width,
                                 layer->n_features,
                                 (int64_t)k->problem.width,
                                 (int64_t)k->problem.residual,
                                 (int64_t)k->options.solver,
                                 (int64_t)k->options.store,
                                 k->options.max_iterations,
                                 k->options.history,
                                 k->options.single ? 1 : 0,
                                 (int64_t)k->options.condition,
                                 (int64_t)k->measure_flops,
                                 (int64_t)k->forward_flops,
                                 k->groups};
    memcpy(k->key, key, sizeof key);
}

/* The number of a layer's kind, which is added where it is new. */
static norma_status find_kind(model *m, const kind *wanted, int64_t cell, int32_t *out)
{
    for (int64_t i = m->n_kinds - 1; i >= 0; i--)
        if (memcmp(m->kinds[i].key, wanted->key, sizeof wanted->key) == 0) {
            *out = (int32_t)i;
            return NORMA_OK;
        }
    void *kinds = m->kinds;
    norma_status status = grow(&kinds, m->n_kinds, &m->kinds_capacity, (int64_t)sizeof *m->kinds);
    m->kinds = kinds;
    NORMA_TRY(status);
    *out = (int32_t)m->n_kinds;
    m->kinds[m->n_kinds++] = *wanted;
    if (m->n_examples > 0 && m->examples[m->n_examples - 1] == cell)
        return NORMA_OK;
    void *examples = m->examples;
    status = grow(&examples, m->n_examples, &m->examples_capacity, (int64_t)sizeof *m->examples);
    m->examples = examples;
    NORMA_TRY(status);
    m->examples[m->n_examples++] = cell;
    return NORMA_OK;
}

static norma_status take_cell(model *m, int64_t number)
{
    norma_reconstruct_cell cell;
    norma_status status = norma_reconstruct_cell_init(m->config, m->inputs, number, true, &cell);
    if (status == NORMA_OK && number == 0) {
        const norma_images *images = norma_reconstruct_cell_images(&cell, m->inputs);
        m->n_images = images ? (double)images->n_images : 0;
        for (int64_t i = 0; i < cell.n_layers; i++)
            m->n_wanted += cell.layers[i].wanted ? 1 : 0;
        status = NORMA_ALLOC(m->of, m->n_cells * m->n_wanted);
    }
    int64_t at = number * m->n_wanted;
    for (int64_t i = 0; status == NORMA_OK && i < cell.n_layers; i++) {
        kind k;
        if (!cell.layers[i].wanted)
            continue;
        describe(m, &cell, i, &k);
        status = find_kind(m, &k, number, &m->of[at++]);
    }
    norma_reconstruct_cell_clear(&cell);
    return status;
}

static norma_status make_model(model *m)
{
    m->n_cells = norma_config_get_sweep(m->config)->n_cells;
    m->n_replicas = norma_config_get_integer(m->config, 0, "replicas");
    for (int64_t i = 0; i < m->n_cells; i++)
        NORMA_TRY(take_cell(m, i));
    return NORMA_OK;
}

static void clear_model(model *m)
{
    NORMA_FREE(m->kinds);
    NORMA_FREE(m->examples);
    NORMA_FREE(m->of);
}

/* --- times -------------------------------------------------------------------------------------
 */

/* Layer number `k` of the list of a unit by a group: the target is run as far as the group has not
 * yet run it. */
static double layer_seconds(const model *m, const int32_t *kinds, int64_t unit, int64_t k, int size,
                            const norma_rates *rates, position *w)
{
    const kind *own = &m->kinds[kinds[k]];
    double flops = own->measure_flops;
    if (w->unit != unit || w->next > k)
        w->next = 0;
    for (w->unit = unit; w->next < k; w->next++)
        flops += m->kinds[kinds[w->next]].forward_flops;
    return own->seconds + norma_expect_evaluation_local(flops, size, rates);
}

/* Deals out the layers as the queue does, in waves that end together. */
static double deal(const model *m, int size, const norma_rates *rates, crew *groups)
{
    int64_t n_units = m->n_cells * m->n_replicas;
    int64_t unit = 0;
    double now = 0;
    norma_earliest *first = groups->heap;
    for (int64_t g = 0; g < groups->n; g++) {
        groups->heap[g] = (norma_earliest){.ends = 0, .number = g};
        groups->at[g] = (position){.unit = -1};
    }
    while (unit < n_units && unit * m->n_wanted < most_dealt) {
        int64_t end =
            unit + norma_reconstruct_wave_units(m->n_wanted, n_units - unit, groups->n,
                                                norma_reconstruct_has_images(m->config, m->inputs));
        for (; unit < end; unit++)
            for (int64_t k = 0; k < m->n_wanted; k++) {
                first->ends += layer_seconds(m, m->of + unit / m->n_replicas * m->n_wanted, unit, k,
                                             size, rates, &groups->at[first->number]);
                now = fmax(now, first->ends);
                norma_earliest_sift(groups->heap, groups->n);
            }
        for (int64_t g = 0; g < groups->n; g++)
            groups->heap[g].ends = now;
    }
    return now * (double)n_units / (double)unit;
}

/* The run with groups of `size`; infinite where a limit forbids it. */
static norma_status expect(model *m, int64_t size, double *seconds)
{
    norma_rates rates;
    norma_status status = NORMA_OK;
    crew groups = {.n = m->machine->n_ranks / size};
    norma_rates_assume_local(&rates, size);
    *seconds = INFINITY;
    for (int64_t i = 0; i < m->n_kinds; i++) {
        norma_expected expected;
        kind *k = &m->kinds[i];
        if (norma_reconstruct_systems_expect(k->groups, &k->problem, &k->options, (int)size, &rates,
                                             &expected) != NORMA_OK) {
            norma_status_clear();
            return NORMA_OK;
        }
        k->seconds = expected.total;
    }
    NORMA_GOTO(status, NORMA_ALLOC(groups.heap, groups.n));
    NORMA_GOTO(status, NORMA_ALLOC(groups.at, groups.n));
    *seconds = deal(m, (int)size, &rates, &groups);
done:
    NORMA_FREE(groups.heap);
    NORMA_FREE(groups.at);
    return status;
}

/* Do the ranks of a node hold what groups of `size` need? */
static norma_status fits(const model *m, int64_t size, bool *out)
{
    *out = true;
    for (int64_t i = 0; i < m->n_examples && *out; i++)
        NORMA_TRY(norma_reconstruct_plan_fits(m->config, m->inputs, m->machine, m->n_threads,
                                              m->examples[i], size, out));
    return NORMA_OK;
}

/* The largest size of every number of groups. */
static norma_status choose(model *m, norma_reconstruct_groups *out)
{
    int64_t n_ranks = m->machine->n_ranks;
    NORMA_TRY(expect(m, n_ranks, &out->seconds_together));
    out->seconds = out->seconds_together;
    double most = fmin(worthwhile * out->seconds, out->seconds - least_saved);
    for (int64_t size = n_ranks; size > 1;) {
        double seconds = INFINITY;
        bool good = false;
        size = n_ranks / (n_ranks / size + 1);
        NORMA_TRY(expect(m, size, &seconds));
        if (seconds > most || seconds >= out->seconds)
            continue;
        NORMA_TRY(fits(m, size, &good));
        if (!good)
            break; /* smaller groups hold more a rank */
        out->size = size;
        out->seconds = seconds;
    }
    return NORMA_OK;
}

norma_status norma_reconstruct_groups_choose(const norma_config *config,
                                             const norma_reconstruct_inputs *inputs,
                                             const norma_plan_machine *machine, int n_threads,
                                             int64_t recorded, norma_reconstruct_groups *out)
{
    model m = {.config = config, .inputs = inputs, .machine = machine, .n_threads = n_threads};
    norma_status status = NORMA_OK;
    int64_t fixed = norma_reconstruct_group_option(config);
    *out = (norma_reconstruct_groups){.size = fixed > 0 ? fixed : machine->n_ranks,
                                      .automatic = fixed == 0,
                                      .recorded = fixed == 0 && recorded > 0};
    if (out->recorded)
        out->size = recorded;
    if (fixed > 0 || recorded > 0 || machine->n_ranks == 1)
        return NORMA_OK;
    status = make_model(&m);
    if (status == NORMA_OK)
        status = choose(&m, out);
    clear_model(&m);
    return status;
}

void norma_reconstruct_groups_describe(const norma_reconstruct_groups *groups, int64_t n_ranks,
                                       norma_text *text)
{
    norma_text_append(text, "group size %lld", (long long)groups->size);
    if (groups->recorded)
        norma_text_append(text, " (auto): that of the layers that are done");
    else if (groups->automatic && groups->size < n_ranks)
        norma_text_append(text,
                          " (auto): layers in about %.3g s, by all ranks together in %.3g s on "
                          "processors of %.0f GFLOP/s",
                          groups->seconds, groups->seconds_together,
                          1e-9 * NORMA_RATES_ASSUMED_DGEMM);
    else if (groups->automatic)
        norma_text_append(text, " (auto): all ranks solve each layer together");
}
