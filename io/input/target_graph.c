#include "io/input/target_graph.h"

#include "src/base/mem.h"
#include "src/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH NORMA_LAYER_NAME_LENGTH

/* Numbered groups have three digits. */
#define MAX_NUMBERED 1000
#define MAX_LAYERS 100000

/* The name of the network's own input among `inputs`. */
#define INPUT "input"

/* The groups in the order of the file, and the edges read so far. */
typedef struct graph {
    const norma_h5_input *input; /* borrowed */
    const char *file;            /* borrowed */
    int64_t n;
    char *names;      /* [n][LENGTH], alphabetical; owned */
    int64_t *first;   /* [n + 1]; owned */
    int64_t *sources; /* [n_room]; owned */
    int64_t n_room;
    int64_t *order, *place; /* [n]: group at each place, place of each group; owned */
} graph;

static void graph_clear(graph *g)
{
    NORMA_FREE(g->names);
    NORMA_FREE(g->first);
    NORMA_FREE(g->sources);
    NORMA_FREE(g->order);
    NORMA_FREE(g->place);
}

static const char *name_of(const graph *g, int64_t l)
{
    return g->names + l * LENGTH;
}

static const char *format_group(const char *name, char group[NORMA_TARGET_GROUP_LENGTH])
{
    snprintf(group, NORMA_TARGET_GROUP_LENGTH, "/layers/%s", name);
    return group;
}

const char *norma_target_format_group(const norma_layer *layer,
                                      char group[NORMA_TARGET_GROUP_LENGTH])
{
    return format_group(layer->name, group);
}

static bool is_number(const char *name)
{
    return strspn(name, "0123456789") == 3 && strlen(name) == 3;
}

static norma_status read_names(graph *g)
{
    NORMA_TRY(norma_h5_input_check_links_root(g->input, "/layers"));
    if (!norma_h5_input_is_group_root(g->input, "/layers"))
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: there is no group /layers, so this is not a target network; for a "
                          "bare weight dataset give %s:/its/path",
                          g->file, g->file);
    NORMA_TRY(norma_h5_input_count_root(g->input, "/layers", &g->n));
    if (g->n == 0)
        return NORMA_FAIL(NORMA_CONFIG, "%s: /layers: holds no layer", g->file);
    if (g->n > MAX_LAYERS)
        return NORMA_FAIL(NORMA_LIMIT, "%s: /layers: holds %" PRId64 " layers, %d are the limit",
                          g->file, g->n, MAX_LAYERS);
    NORMA_TRY(NORMA_ALLOC(g->names, g->n * LENGTH));
    return norma_h5_input_members_root(g->input, "/layers", g->n, LENGTH, g->names);
}

/* A group without `inputs` reads the one before it, which only numbers name. */
static norma_status check_numbered(const graph *g, int64_t l)
{
    const char *name = name_of(g, l);
    char wanted[LENGTH];
    char group[NORMA_TARGET_GROUP_LENGTH];
    if (!is_number(name))
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: /layers: unexpected member '%s'; groups 000, 001, ... are expected, "
                          "or groups of any names that all have the attribute inputs",
                          g->file, name);
    snprintf(wanted, sizeof wanted, "%03" PRId64, l < MAX_NUMBERED ? l : 0);
    if (strcmp(name, wanted) != 0)
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: is missing (the next layer is %s)", g->file,
                          format_group(wanted, group), name);
    return NORMA_OK;
}

static norma_status check_group(const graph *g, int64_t l, const char *group)
{
    const char *name = name_of(g, l);
    NORMA_TRY(norma_h5_input_check_links_root(g->input, group));
    if (!norma_h5_input_is_group_root(g->input, group))
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: is a dataset, a group is expected", g->file,
                          group);
    if (strcmp(name, INPUT) == 0)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: %s: '" INPUT "' is the name of the network's own input; give the "
                          "group another name",
                          g->file, group);
    if (name[strlen(name) - 1] == ' ')
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: %s: its name ends with a blank, and blanks at the end of names do "
                          "not count",
                          g->file, group);
    return NORMA_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* The number of the group called `name`, -1: the network's input. */
static norma_status find(const graph *g, const char *group, const char *name, int64_t *number)
{
    *number = -1;
    if (strcmp(name, INPUT) == 0)
        return NORMA_OK;
    const char *found = bsearch(name, g->names, (size_t)g->n, LENGTH, compare_names);
    if (!found)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: %s: inputs names '%s', but there is no group /layers/%s; " INPUT
                          " stands for the network's input",
                          g->file, group, name, name);
    *number = (found - g->names) / LENGTH;
    return NORMA_OK;
}

static norma_status add_source(graph *g, int64_t at, int64_t source)
{
    if (at == g->n_room) {
        int64_t room = 2 * g->n_room + 16;
        int64_t *more = NULL;
        NORMA_TRY(NORMA_ALLOC(more, room));
        if (at > 0)
            memcpy(more, g->sources, (size_t)at * sizeof *more);
        NORMA_FREE(g->sources);
        g->sources = more;
        g->n_room = room;
    }
    g->sources[at] = source;
    return NORMA_OK;
}

/* Adds the sources of group number l from place `at` on. */
static norma_status read_sources(graph *g, int64_t l, const char *group, int64_t *at)
{
    norma_status status = NORMA_OK;
    char *texts = NULL;
    int64_t n = 0;
    if (!norma_h5_input_has_attribute_root(g->input, group, "inputs")) {
        NORMA_TRY(check_numbered(g, l));
        NORMA_TRY(check_group(g, l, group));
        return add_source(g, (*at)++, l - 1);
    }
    NORMA_TRY(check_group(g, l, group));
    NORMA_TRY(norma_h5_input_texts_root(g->input, group, "inputs", LENGTH, &n, &texts));
    for (int64_t k = 0; k < n && status == NORMA_OK; k++) {
        int64_t source = 0;
        status = find(g, group, texts + k * LENGTH, &source);
        if (status == NORMA_OK)
            status = add_source(g, (*at)++, source);
    }
    NORMA_FREE(texts);
    return status;
}

static norma_status read_edges(graph *g)
{
    int64_t at = 0;
    char group[NORMA_TARGET_GROUP_LENGTH];
    NORMA_TRY(NORMA_ALLOC(g->first, g->n + 1));
    for (int64_t l = 0; l < g->n; l++) {
        g->first[l] = at;
        NORMA_TRY(read_sources(g, l, format_group(name_of(g, l), group), &at));
    }
    g->first[g->n] = at;
    return NORMA_OK;
}

static norma_status find_order(graph *g)
{
    int64_t on_cycle = -1;
    char group[NORMA_TARGET_GROUP_LENGTH];
    norma_edges edges = {g->n, g->first, g->sources};
    NORMA_TRY(NORMA_ALLOC(g->order, g->n));
    NORMA_TRY(NORMA_ALLOC(g->place, g->n));
    NORMA_TRY(norma_order_find(&edges, g->order, &on_cycle));
    if (on_cycle >= 0)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: %s: reads its own values, through the inputs of the groups that it "
                          "reads: a cycle",
                          g->file, format_group(name_of(g, on_cycle), group));
    for (int64_t k = 0; k < g->n; k++)
        g->place[g->order[k]] = k;
    return NORMA_OK;
}

/* Names and edges in the order found. */
static norma_status connect(const graph *g, norma_network *network)
{
    norma_status status = NORMA_OK;
    int64_t *first = NULL;
    int64_t *sources = NULL;
    int64_t at = 0;
    NORMA_GOTO(status, NORMA_ALLOC(first, g->n + 1));
    NORMA_GOTO(status, NORMA_ALLOC(sources, g->first[g->n]));
    for (int64_t k = 0; k < g->n; k++) {
        int64_t l = g->order[k];
        memcpy(network->layers[k].name, name_of(g, l), LENGTH);
        first[k] = at;
        for (int64_t e = g->first[l]; e < g->first[l + 1]; e++)
            sources[at++] = g->sources[e] < 0 ? -1 : g->place[g->sources[e]];
    }
    first[g->n] = at;
    norma_edges edges = {g->n, first, sources};
    status = norma_network_connect(network, &edges);
done:
    NORMA_FREE(first);
    NORMA_FREE(sources);
    return status;
}

norma_status norma_target_read_graph_root(const norma_h5_input *input, norma_network **out)
{
    norma_status status = NORMA_OK;
    norma_network *network = NULL;
    graph g = {.input = input, .file = norma_h5_input_name_root(input)};
    NORMA_GOTO(status, read_names(&g));
    NORMA_GOTO(status, read_edges(&g));
    NORMA_GOTO(status, find_order(&g));
    NORMA_GOTO(status, norma_network_create(g.n, &network));
    NORMA_GOTO(status, connect(&g, network));
    *out = network;
    network = NULL;
done:
    norma_network_destroy(&network);
    graph_clear(&g);
    return status;
}
