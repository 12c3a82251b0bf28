#include "experiments/merge/parts.h"

#include "experiments/job/options.h"
#include "src/base/mem.h"
#include "src/config/config_common.h"
#include "src/config/config_unite.h"

#include <stdlib.h>
#include <string.h>

/* Options that say how and where a part was computed, beside those of a resumed run. */
static const char *const own_keys[] = {"replicas", "replica-offset", "cells"};

enum { MOST_KEYS = 16 };

/* The options in which parts may differ; NULL-terminated. */
static void list_free_keys(const norma_command *command, const char *keys[MOST_KEYS])
{
    int n = 0;
    for (const char *const *key = norma_job_free_keys; *key && n < MOST_KEYS - 5; key++)
        keys[n++] = *key;
    for (size_t i = 0; i < sizeof own_keys / sizeof own_keys[0]; i++)
        keys[n++] = own_keys[i];
    if (norma_job_saves_only_state(command))
        keys[n++] = "save";
    keys[n] = NULL;
}

/* --- configurations -------------------------------------------------------------------------- */

/* The subcommand whose section the configuration is. */
static norma_status find_command(const norma_call *call, const norma_merge_about *about,
                                 const norma_command **out)
{
    for (int i = 0; call->sections[i]; i++)
        if (norma_config_has_section(about->configuration, call->sections[i])) {
            *out = call->commands[i];
            return NORMA_OK;
        }
    return NORMA_FAIL(NORMA_CONFIG, "%s: its configuration names no subcommand of norma",
                      about->path);
}

static norma_status read_config(const norma_call *call, const norma_merge_about *about,
                                norma_merge_parts *parts, norma_merge_part *part)
{
    const norma_command *command = NULL;
    norma_config *config = NULL;
    norma_status status = NORMA_OK;
    NORMA_TRY(find_command(call, about, &command));
    if (parts->command && command != parts->command)
        return NORMA_FAIL(NORMA_CONFIG, "%s is a result of norma %s, and %s is one of norma %s",
                          parts->all[0].path, parts->command->name, about->path, command->name);
    parts->command = command;
    NORMA_GOTO(status, norma_config_parse(command, 0, NULL, &config));
    if (!norma_config_knows(config, "cells"))
        NORMA_GOTO(status,
                   NORMA_FAIL(NORMA_CONFIG, "%s is a result of norma %s, which has no sweep",
                              about->path, command->name));
    NORMA_GOTO(status, norma_config_apply(config, call->sections, about->path, about->configuration,
                                          (int64_t)strlen(about->configuration)));
    NORMA_GOTO(status, norma_config_settle(config));
    part->config = config;
    config = NULL;
    part->n_cells = norma_config_get_sweep(part->config)->n_cells;
    part->first_replica = about->first_replica;
    part->n_replicas = about->n_replicas > 0 ? about->n_replicas : 1;
done:
    norma_config_destroy(&config);
    return status;
}

/* --- what must be equal beside the options --------------------------------------------------- */

/* The first line of a that b has not in the same place; its length in *n. */
static const char *first_difference(const char *a, const char *b, int *n)
{
    while (*a && *b) {
        size_t length = strcspn(a, "\n");
        if (strcspn(b, "\n") != length || strncmp(a, b, length) != 0)
            break;
        a += length + (a[length] == '\n');
        b += length + (b[length] == '\n');
    }
    a += strspn(a, " ");
    *n = (int)strcspn(a, "\n");
    return a;
}

static norma_status compare_inputs(const norma_merge_about *a, const norma_merge_about *b)
{
    const char *mine = a->input_files ? a->input_files : "";
    const char *theirs = b->input_files ? b->input_files : "";
    int n_mine = 0;
    int n_theirs = 0;
    if (strcmp(mine, theirs) == 0)
        return NORMA_OK;
    const char *left = first_difference(mine, theirs, &n_mine);
    const char *right = first_difference(theirs, mine, &n_theirs);
    return NORMA_FAIL(NORMA_CONFIG,
                      "%s and %s were computed from input files of different content: '%.*s' and "
                      "'%.*s'",
                      a->path, b->path, n_mine, left, n_theirs, right);
}

/* Cells that draw their own numbers do so by their number in the sweep. */
static norma_status check_streams(const norma_merge_part *part)
{
    const norma_config *config = part->config;
    if (!norma_config_knows(config, "cell-streams") ||
        norma_config_get_choice(config, 0, "cell-streams") == NORMA_CELL_STREAMS_COMMON)
        return NORMA_OK;
    for (int64_t i = 0; i < part->n_cells; i++) {
        int64_t number = norma_config_get_cell_number(config, i);
        if (number != part->cells[i])
            return NORMA_FAIL(NORMA_CONFIG,
                              "--cell-streams independent: cell %lld of %s would be cell %lld of "
                              "the whole sweep, and its random numbers depend on that number; "
                              "merge shares of one sweep (--cells) only",
                              (long long)number, part->path, (long long)part->cells[i]);
    }
    return NORMA_OK;
}

/* --- places ---------------------------------------------------------------------------------- */

typedef struct place {
    int64_t cell, index;
} place;

static int by_cell(const void *a, const void *b)
{
    const place *x = a;
    const place *y = b;
    return (x->cell > y->cell) - (x->cell < y->cell);
}

static norma_status sort(norma_merge_part *part)
{
    bool ascends = true;
    place *places = NULL;
    for (int64_t i = 1; i < part->n_cells && ascends; i++)
        ascends = part->cells[i] > part->cells[i - 1];
    if (ascends)
        return NORMA_OK;
    NORMA_TRY(NORMA_ALLOC(part->order, part->n_cells));
    NORMA_TRY(NORMA_ALLOC(places, part->n_cells));
    for (int64_t i = 0; i < part->n_cells; i++)
        places[i] = (place){part->cells[i], i};
    qsort(places, (size_t)part->n_cells, sizeof *places, by_cell);
    for (int64_t i = 0; i < part->n_cells; i++)
        part->order[i] = places[i].index;
    norma_mem_free(places);
    return NORMA_OK;
}

static norma_status unite(norma_merge_parts *parts)
{
    const char *keys[MOST_KEYS];
    norma_config_part *configs = NULL;
    NORMA_TRY(NORMA_ALLOC(configs, parts->n));
    for (int64_t i = 0; i < parts->n; i++)
        configs[i] = (norma_config_part){parts->all[i].config, parts->all[i].path};
    list_free_keys(parts->command, keys);
    norma_status status = norma_config_unite(configs, parts->n, keys, &parts->whole);
    norma_mem_free(configs);
    return status;
}

static norma_status locate(norma_merge_parts *parts)
{
    int64_t end = 0;
    parts->first_replica = parts->all[0].first_replica;
    for (int64_t i = 0; i < parts->n; i++) {
        norma_merge_part *part = &parts->all[i];
        NORMA_TRY(NORMA_ALLOC(part->cells, part->n_cells));
        NORMA_TRY(norma_config_locate(parts->whole, part->config, part->cells));
        NORMA_TRY(check_streams(part));
        NORMA_TRY(sort(part));
        if (part->first_replica < parts->first_replica)
            parts->first_replica = part->first_replica;
        if (part->first_replica + part->n_replicas > end)
            end = part->first_replica + part->n_replicas;
    }
    parts->n_replicas = end - parts->first_replica;
    for (int64_t i = 0; i < parts->n; i++)
        parts->joins_replicas =
            parts->joins_replicas || parts->all[i].n_replicas != parts->n_replicas;
    return NORMA_OK;
}

norma_status norma_merge_parts_open_local(const norma_call *call, const char *const *paths,
                                          int64_t n, norma_merge_parts *parts)
{
    memset(parts, 0, sizeof *parts);
    parts->world = call->runtime->world;
    NORMA_TRY(norma_merge_inputs_open_local(paths, n, &parts->inputs));
    NORMA_TRY(NORMA_CALLOC(parts->all, n));
    parts->n = n;
    for (int64_t i = 0; i < n; i++)
        parts->all[i].path = paths[i];
    for (int64_t i = 0; i < n; i++) {
        const norma_merge_about *about = norma_merge_inputs_about_local(parts->inputs, i);
        NORMA_TRY(read_config(call, about, parts, &parts->all[i]));
        NORMA_TRY(compare_inputs(norma_merge_inputs_about_local(parts->inputs, 0), about));
    }
    NORMA_TRY(unite(parts));
    return locate(parts);
}

void norma_merge_parts_clear_local(norma_merge_parts *parts)
{
    for (int64_t i = 0; parts->all && i < parts->n; i++) {
        norma_config_destroy(&parts->all[i].config);
        norma_mem_free(parts->all[i].cells);
        norma_mem_free(parts->all[i].order);
    }
    NORMA_FREE(parts->all);
    norma_config_destroy(&parts->whole);
    norma_merge_inputs_destroy_local(&parts->inputs);
}
