#include "experiments/reconstruct/construct/structure.h"

#include "experiments/reconstruct/construct/systems.h"
#include "experiments/reconstruct/construct/teacher.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"
#include "src/features/structural_rank.h"

#include <stdio.h>
#include <string.h>

static const norma_reconstruct_structure unknown = {-1, -1, -1, -1, -1};

bool norma_reconstruct_structure_wanted(const norma_config *config)
{
    if (norma_config_has(config, "source") || norma_reconstruct_teacher_wanted(config))
        return true;
    for (int64_t i = 0; i < norma_config_get_sweep(config)->n_cells; i++) {
        norma_distribution law = NORMA_DISTRIBUTION_GIVEN;
        if (norma_distribution_from_name(norma_config_get_text(config, i, "source-dist"), &law) !=
            NORMA_OK)
            norma_status_clear();
        if (norma_law_has(law, NORMA_LAW_MASKED))
            return true;
    }
    return false;
}

bool norma_reconstruct_structure_is_short(const norma_reconstruct_structure *s)
{
    return s->deficiency > 0 || s->n_lost > 0;
}

const char *norma_reconstruct_structure_describe(const norma_reconstruct_structure *s,
                                                 char text[NORMA_RECONSTRUCT_STRUCTURE_TEXT])
{
    char lost[96] = "";
    char width[64] = "";
    if (s->n_lost > 0)
        snprintf(lost, sizeof lost, "; no solution scales %lld of the output channels",
                 (long long)s->n_lost);
    if (s->least_width > 0)
        snprintf(width, sizeof width, "; this seed needs %lld features", (long long)s->least_width);
    snprintf(text, NORMA_RECONSTRUCT_STRUCTURE_TEXT,
             "the zeros of the source weights leave structural rank %lld of %lld%s%s",
             (long long)s->rank, (long long)s->rank + (long long)s->deficiency, lost, width);
    return text;
}

/* --- one draw -------------------------------------------------------------------------------- */

enum { BLOCK = 64 };

/* Adds the features up to number `end`; with `until_enough` it stops once a least width is known.
 */
static norma_status add_features(norma_structural *structural, const norma_tensor *w1,
                                 const norma_tensor *w2, int64_t end, bool until_enough)
{
    const norma_tensor_spec *s1 = norma_tensor_get_spec(w1);
    const norma_tensor_spec *s2 = norma_tensor_get_spec(w2);
    double *first = NULL;
    double *second = NULL;
    norma_status status = NORMA_ALLOC(first, BLOCK * s1->n_channels * s1->n_taps);
    NORMA_GOTO(status, status);
    NORMA_GOTO(status, NORMA_ALLOC(second, BLOCK * s2->n_channels * s2->n_taps));
    for (;;) {
        norma_structural_rank now = norma_structural_get(structural);
        int64_t n = end - now.n_features < BLOCK ? end - now.n_features : BLOCK;
        if (n <= 0 || (until_enough && now.least_width > 0))
            break;
        norma_tensor_fill(w1, now.n_features, n, first);
        norma_tensor_fill(w2, now.n_features, n, second);
        NORMA_GOTO(status, norma_structural_add(structural, n, second, first));
    }
done:
    NORMA_FREE(second);
    NORMA_FREE(first);
    return status;
}

/* More features of the same seed: entries of masked laws do not depend on the width. */
static norma_status extend(norma_structural *structural, const norma_layer_problem *problem,
                           int64_t n_minimum)
{
    norma_tensor_spec s1 = *norma_tensor_get_spec(problem->w1);
    norma_tensor_spec s2 = *norma_tensor_get_spec(problem->w2);
    norma_tensor *w1 = NULL;
    norma_tensor *w2 = NULL;
    int64_t wide = n_minimum > problem->n_features ? n_minimum : problem->n_features;
    s1.n_features = s2.n_features = 8 * wide + 1000;
    norma_status status = norma_tensor_create(&s1, &w1);
    NORMA_GOTO(status, status);
    NORMA_GOTO(status, norma_tensor_create(&s2, &w2));
    status = add_features(structural, w1, w2, s1.n_features, true);
done:
    norma_tensor_destroy(&w2);
    norma_tensor_destroy(&w1);
    return status;
}

/* Of one group's system. */
static norma_status measure_group_local(const norma_reconstruct_cell *cell, int64_t number,
                                        int64_t group, double memory_per_rank,
                                        norma_reconstruct_structure *out)
{
    const norma_reconstruct_layer *layer = &cell->layers[number];
    const norma_layer_problem p = norma_reconstruct_system(cell, number, group);
    norma_width_rule *rule = NULL;
    norma_structural *structural = NULL;
    norma_status status = NORMA_OK;
    *out = unknown;
    if (norma_structural_bytes(&p.shape, p.n_features) > memory_per_rank / 4)
        return NORMA_OK;
    NORMA_GOTO(status, norma_width_rule_create_residual(p.width, p.residual, &p.shape, p.target,
                                                        p.skip, &rule));
    NORMA_GOTO(status, norma_structural_create(rule, &structural));
    NORMA_GOTO(status, add_features(structural, p.w1, p.w2, p.n_features, false));
    norma_structural_rank r = norma_structural_get(structural);
    *out = (norma_reconstruct_structure){
        .rank = r.rank, .n_system = r.n_system, .deficiency = r.deficiency, .n_lost = r.n_lost};
    if (r.least_width == 0 && norma_law_has(cell->distribution, NORMA_LAW_MASKED))
        NORMA_GOTO(status, extend(structural, &p, layer->n_minimum / layer->groups));
    r = norma_structural_get(structural);
    out->least_width = r.least_width > 0 ? r.least_width : -1;
done:
    norma_structural_destroy(&structural);
    norma_width_rule_destroy(&rule);
    return status;
}

/* Groups have equally many features; all are known, or none. */
static void add_group(norma_reconstruct_structure *all, const norma_reconstruct_structure *one,
                      int64_t n_groups)
{
    int64_t width = n_groups * one->least_width;
    all->rank += one->rank;
    all->n_system += one->n_system;
    all->deficiency += one->deficiency;
    all->n_lost += one->n_lost;
    if (one->least_width < 0 || all->least_width < 0)
        all->least_width = -1;
    else if (width > all->least_width)
        all->least_width = width;
}

/* Of all systems of a layer. */
static norma_status measure_local(const norma_reconstruct_cell *cell, int64_t number,
                                  double memory_per_rank, norma_reconstruct_structure *out)
{
    int64_t n_groups = cell->layers[number].groups;
    NORMA_TRY(measure_group_local(cell, number, 0, memory_per_rank, out));
    if (n_groups == 1 || out->rank < 0)
        return NORMA_OK;
    norma_reconstruct_structure first = *out;
    *out = (norma_reconstruct_structure){0};
    add_group(out, &first, n_groups);
    for (int64_t g = 1; g < n_groups; g++) {
        norma_reconstruct_structure one;
        NORMA_TRY(measure_group_local(cell, number, g, memory_per_rank, &one));
        add_group(out, &one, n_groups);
    }
    return NORMA_OK;
}

norma_status norma_reconstruct_structure_measure(const norma_team *team,
                                                 const norma_reconstruct_cell *cell, int64_t number,
                                                 double memory_per_rank,
                                                 norma_reconstruct_structure *out)
{
    norma_reconstruct_structure *shared = NULL;
    void *bytes = NULL;
    int64_t size = 0;
    norma_status status = NORMA_OK;
    if (norma_team_is_root_local(team)) {
        status = NORMA_ALLOC(shared, 1);
        if (status == NORMA_OK)
            status = measure_local(cell, number, memory_per_rank, shared);
        bytes = shared;
        size = (int64_t)sizeof *shared;
    }
    NORMA_GOTO(status, norma_team_agree(team, status));
    NORMA_GOTO(status, norma_team_share(team, &bytes, &size));
    memcpy(out, bytes, sizeof *out);
done:
    norma_mem_free(bytes);
    return status;
}

/* --- the draws of a plan --------------------------------------------------------------------- */

/* The draws of one layer together. */
typedef struct summary {
    int64_t n;            /* draws */
    int64_t n_short;      /* draws of deficient structural rank */
    int64_t n_unbounded;  /* of these, draws without a known least width */
    int64_t most_missing; /* largest deficiency, in ranks */
    int64_t least, most;  /* range of the least widths */
} summary;

static void count(summary *s, const norma_reconstruct_structure *r)
{
    s->n++;
    if (!norma_reconstruct_structure_is_short(r))
        return;
    s->n_short++;
    s->n_unbounded += r->least_width < 0;
    if (r->deficiency > s->most_missing)
        s->most_missing = r->deficiency;
    if (r->least_width > 0 && (s->least == 0 || r->least_width < s->least))
        s->least = r->least_width;
    if (r->least_width > s->most)
        s->most = r->least_width;
}

static void print_summary(int64_t layer, const summary *s, bool drawn)
{
    char widths[160] = "";
    size_t used = 0;
    if (s->most > s->least)
        snprintf(widths, sizeof widths, ", need %lld to %lld features", (long long)s->least,
                 (long long)s->most);
    else if (s->most > 0)
        snprintf(widths, sizeof widths, ", need %lld features", (long long)s->most);
    used = strlen(widths);
    if (drawn && s->n_unbounded > 0)
        snprintf(widths + used, sizeof widths - used, ", %lld of them more than were tried",
                 (long long)s->n_unbounded);
    norma_log_result("# layer %lld: %lld of %lld draws have too many zeros at this width: matrix "
                     "rank short by at most %lld%s",
                     (long long)layer, (long long)s->n_short, (long long)s->n,
                     (long long)s->most_missing, widths);
}

norma_status norma_reconstruct_structure_print(const norma_config *config,
                                               const norma_reconstruct_inputs *inputs,
                                               int64_t cell_number, double memory_per_rank)
{
    norma_reconstruct_cell cell;
    int64_t n_replicas = norma_config_get_integer(config, 0, "replicas");
    norma_status status = norma_reconstruct_cell_init(config, inputs, cell_number, false, &cell);
    bool drawn = norma_law_has(cell.distribution, NORMA_LAW_MASKED);
    if (status == NORMA_OK && !drawn && !inputs->source)
        goto done;
    for (int64_t layer = 0; status == NORMA_OK && layer < cell.n_layers; layer++) {
        summary all = {0};
        for (int64_t replica = 0; cell.layers[layer].wanted && replica < n_replicas; replica++) {
            norma_reconstruct_structure structure;
            NORMA_GOTO(status, norma_reconstruct_pair_init(&cell, inputs, layer, replica));
            NORMA_GOTO(status, measure_local(&cell, layer, memory_per_rank, &structure));
            count(&all, &structure);
        }
        if (all.n > 0)
            print_summary(layer, &all, drawn);
    }
done:
    norma_reconstruct_cell_clear(&cell);
    return status;
}
