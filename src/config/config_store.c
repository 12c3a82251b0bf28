#include "src/config/config_store.h"

#include "src/base/mem.h"
#include "src/config/config_expand.h"

#include <stdio.h>
#include <string.h>

void norma_config_append_invocation(const norma_command *command, norma_text *out)
{
    if (command->invocation)
        norma_text_append(out, "%s", command->invocation);
    else
        norma_text_append(out, "norma %s", command->name);
}

norma_config_item *norma_config_find(const norma_config *config, const char *name)
{
    for (int64_t i = 0; i < config->n_items; i++)
        if (strcmp(config->items[i].option->name, name) == 0)
            return &config->items[i];
    return NULL;
}

const char *norma_config_nearest(const norma_config *config, const char *name, bool in_file)
{
    norma_text_search search;
    norma_text_search_init(&search, name);
    for (int64_t i = 0; i < config->n_items; i++) {
        const norma_option *option = config->items[i].option;
        if (in_file ? !option->command_line_only : !option->positional)
            norma_text_search_offer(&search, option->name);
    }
    if (!in_file)
        norma_text_search_offer(&search, "help");
    return norma_text_search_result(&search);
}

norma_status norma_config_replace(norma_config_item *item, norma_config_origin origin,
                                  const char *where, norma_config_values *values)
{
    char *copy = norma_mem_strdup(where);
    if (!copy) {
        norma_config_values_clear(values, item->option);
        return NORMA_MEMORY;
    }
    norma_config_remove(item);
    item->values = *values;
    item->origin = origin;
    item->where = copy;
    memset(values, 0, sizeof *values);
    return NORMA_OK;
}

norma_status norma_config_replace_text(norma_config_item *item, norma_config_origin origin,
                                       norma_status blame, const char *where, const char *text)
{
    norma_status status = NORMA_OK;
    norma_config_values values = {0};
    const norma_config_place place = {.status = blame, .where = where};
    NORMA_GOTO(status,
               norma_config_expand(item->option, text, (int64_t)strlen(text), &place, &values));
    int64_t repeated = -1;
    NORMA_GOTO(status, norma_config_find_repeated(item->option, &values, &repeated));
    if (repeated >= 0)
        NORMA_GOTO(status,
                   norma_config_fail_repeated(item->option, &values.values[repeated], &place));
    NORMA_GOTO(status, norma_config_replace(item, origin, where, &values));
done:
    norma_config_values_clear(&values, item->option);
    return status;
}

void norma_config_remove(norma_config_item *item)
{
    norma_config_values_clear(&item->values, item->option);
    NORMA_FREE(item->where);
    item->origin = NORMA_ORIGIN_NONE;
}

norma_status norma_config_check_exclusive(const norma_config *config, norma_config_origin origin)
{
    for (int64_t i = 0; i < config->n_items; i++)
        for (int64_t j = 0; j < i; j++) {
            const norma_config_item *a = &config->items[j], *b = &config->items[i];
            if (a->origin != origin || b->origin != origin || !a->option->exclusive ||
                !b->option->exclusive || strcmp(a->option->exclusive, b->option->exclusive) != 0)
                continue;
            /* The later line of a file is the one to look at. */
            if (a->line > b->line) {
                const norma_config_item *swapped = a;
                a = b;
                b = swapped;
            }
            return NORMA_FAIL(origin == NORMA_ORIGIN_FILE ? NORMA_CONFIG : NORMA_USAGE,
                              "%s: excludes %s; give one of them", b->where, a->where);
        }
    return NORMA_OK;
}

bool norma_config_cells_parse(const char *text, int64_t *share, int64_t *n_shares)
{
    long long numbers[2] = {0, 0};
    int end = 0;
    /* scanf alone takes signs and blanks. */
    if (strspn(text, "0123456789/") != strlen(text) || strlen(text) > 15 ||
        sscanf(text, "%lld/%lld%n", &numbers[0], &numbers[1], &end) != 2 ||
        (size_t)end != strlen(text))
        return false;
    *share = numbers[0];
    *n_shares = numbers[1];
    return *share >= 1 && *share <= *n_shares;
}

/* The sweep that --cells leaves of the whole one: a single axis of cell numbers. */
static norma_status take_share(norma_config *config, const norma_config_item *item)
{
    int64_t share = 0;
    int64_t n_shares = 0;
    if (!norma_config_cells_parse(item->values.values[0].text, &share, &n_shares))
        return NORMA_FAIL(NORMA_LIBRARY, "%s: '%s' was not checked", item->where,
                          item->values.values[0].text);
    norma_status blame = norma_config_blame(config, item->option->name);
    int64_t n_cells = config->whole.n_cells;
    if (n_cells == 1)
        return NORMA_FAIL(blame,
                          "%s: there is no sweep; give an option several values, or leave "
                          "--cells out",
                          item->where);
    if (n_shares > n_cells)
        return NORMA_FAIL(blame,
                          "%s: %s: the sweep has %lld cells; expected at most as many shares",
                          item->where, item->values.values[0].text, (long long)n_cells);
    config->first_cell = share - 1;
    config->cell_step = n_shares;
    config->cell_axis = (norma_sweep_axis){.name = "cell", .stride = 1, .dimension = "cell"};
    config->cell_axis.n = (n_cells - share) / n_shares + 1;
    config->sweep = (norma_sweep){1, config->cell_axis.n, &config->cell_axis};
    return NORMA_OK;
}

norma_status norma_config_build_sweep(norma_config *config)
{
    norma_sweep sweep;
    norma_sweep_init(&sweep);
    for (int64_t i = 0; i < config->n_items; i++) {
        const norma_config_item *item = &config->items[i];
        norma_status status = NORMA_OK;
        if (item->option->many == NORMA_SWEEP && item->values.n > 1)
            status = norma_sweep_add_axis(&sweep, item->option->name, item->values.n);
        if (status != NORMA_OK) {
            norma_sweep_clear(&sweep);
            return status;
        }
    }
    norma_sweep_clear(&config->whole);
    config->whole = sweep;
    config->sweep = sweep;
    config->first_cell = 0;
    config->cell_step = 1;
    const norma_config_item *cells = norma_config_find(config, "cells");
    return cells && cells->values.n > 0 ? take_share(config, cells) : NORMA_OK;
}
