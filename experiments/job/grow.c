#include "experiments/job/grow.h"

#include "experiments/job/options.h"
#include "src/base/mem.h"
#include "src/config/config_common.h"
#include "src/config/config_unite.h"

#include <string.h>

static const char before_name[] = "the run before";

/* --- the configuration of the run before ----------------------------------------------------- */

/* The lines of the text that are options of the command: others follow that the job adds. */
static norma_status cut_options(const norma_config *now, const char *text, char **out)
{
    norma_text kept;
    norma_text_init(&kept);
    norma_text_append(&kept, "%s", "");
    while (*text) {
        char key[64] = "";
        size_t length = strcspn(text, "\n");
        size_t n = strcspn(text, ":\n");
        if (strncmp(text, "  ", 2) == 0 && text[2] != '#' && n >= 2 && n - 2 < sizeof key)
            memcpy(key, text + 2, n - 2);
        length += text[length] == '\n' ? 1 : 0;
        if (!key[0] || norma_config_knows(now, key))
            norma_text_append_bytes(&kept, text, (int64_t)length);
        text += length;
    }
    return norma_text_take(&kept, out);
}

static norma_status read_before(const norma_config *now, const char *const *sections,
                                const char *text, norma_config **out)
{
    norma_config *config = NULL;
    char *options = NULL;
    norma_status status = NORMA_OK;
    NORMA_GOTO(status, cut_options(now, text, &options));
    NORMA_GOTO(status, norma_config_parse(norma_config_get_command(now), 0, NULL, &config));
    NORMA_GOTO(status, norma_config_apply(config, sections, before_name, options,
                                          (int64_t)strlen(options)));
    NORMA_GOTO(status, norma_config_settle(config));
    *out = config;
    config = NULL;
done:
    norma_config_destroy(&config);
    norma_mem_free(options);
    return status;
}

/* --- what differs ---------------------------------------------------------------------------- */

static bool is_free(const char *name)
{
    for (const char *const *key = norma_job_free_keys; *key; key++)
        if (strcmp(name, *key) == 0)
            return true;
    return false;
}

/* Is every text but "state" of one list of --save in the other? */
static bool saves_as(const norma_config *a, const norma_config *b)
{
    for (int64_t i = 0; i < norma_config_get_count(a, "save"); i++) {
        const char *text = norma_config_get_text(a, i, "save");
        if (strcmp(text, NORMA_JOB_SAVE_STATE) != 0 && !norma_config_list_holds(b, "save", text))
            return false;
    }
    return true;
}

/* Do both runs write the same arrays? */
static bool saves_alike(const norma_config *now, const norma_config *before)
{
    if (norma_job_saves_only_state(norma_config_get_command(now)))
        return true;
    return norma_config_has(now, "save") && norma_config_has(before, "save") &&
           saves_as(now, before) && saves_as(before, now);
}

static bool is_larger(const norma_grow *grow, const char *name)
{
    return norma_config_get_integer(grow->now, 0, name) >
           norma_config_get_integer(grow->before, 0, name);
}

static bool is_deeper(const norma_grow *grow)
{
    return norma_config_get_count(grow->now, "depth") == 1 &&
           norma_config_get_count(grow->before, "depth") == 1 && is_larger(grow, "depth");
}

static void add_key(norma_grow *grow, const char *name)
{
    if (grow->n_keys < NORMA_GROW_KEYS)
        grow->keys[grow->n_keys++] = name; /* the others are NULL */
    else if (!grow->other)
        grow->other = name;
}

static norma_status compare_option(norma_grow *grow, const char *name, bool deepens)
{
    norma_config_relation relation = NORMA_CONFIG_SAME;
    NORMA_TRY(norma_config_relate(grow->now, grow->before, name, &relation));
    if (relation == NORMA_CONFIG_SAME)
        return NORMA_OK;
    bool deeper = deepens && strcmp(name, "depth") == 0 && is_deeper(grow);
    if (strcmp(name, "save") == 0 && saves_alike(grow->now, grow->before)) {
        add_key(grow, name);
    } else if (relation == NORMA_CONFIG_LONGER || deeper ||
               (strcmp(name, "replicas") == 0 && is_larger(grow, name))) {
        add_key(grow, name);
        grow->grows = true;
        grow->deeper = grow->deeper || deeper;
    } else if (!grow->other) {
        grow->other = name;
    }
    return NORMA_OK;
}

static norma_status compare_options(norma_grow *grow, bool deepens)
{
    const norma_option *const *table = norma_config_get_command(grow->now)->tables;
    for (; *table; table++)
        for (const norma_option *option = *table; option->name; option++)
            if (!option->command_line_only && !is_free(option->name))
                NORMA_TRY(compare_option(grow, option->name, deepens));
    return NORMA_OK;
}

/* --- sweeps that cannot become longer -------------------------------------------------------- */

static bool is_longer(const norma_grow *grow)
{
    return norma_config_get_whole_sweep(grow->now)->n_cells >
           norma_config_get_whole_sweep(grow->before)->n_cells;
}

/* The layers that are recorded depend on all depths of the sweep; those up to a chain's last layer
 * stay the same where all further depths are larger. */
static norma_status check_depths(const norma_grow *grow)
{
    norma_config_relation relation = NORMA_CONFIG_SAME;
    int64_t deepest = 0;
    int64_t n_more = 0;
    if (!norma_config_knows(grow->now, "record"))
        return NORMA_OK;
    NORMA_TRY(norma_config_relate(grow->now, grow->before, "depth", &relation));
    if (relation != NORMA_CONFIG_LONGER)
        return NORMA_OK;
    int64_t n_before = norma_config_get_count(grow->before, "depth");
    int64_t n = norma_config_get_count(grow->now, "depth");
    for (int64_t i = 0; i < n_before; i++)
        if (norma_config_get_integer_at(grow->before, i, "depth") > deepest)
            deepest = norma_config_get_integer_at(grow->before, i, "depth");
    for (int64_t i = 0; i < n; i++)
        n_more += norma_config_get_integer_at(grow->now, i, "depth") > deepest ? 1 : 0;
    if (n_more == n - n_before)
        return NORMA_OK;
    return NORMA_FAIL(norma_config_blame(grow->now, "depth"),
                      "%s: a run is extended by depths above %lld, its largest one, only: the "
                      "layers that are recorded depend on all of them",
                      norma_config_where(grow->now, "depth"), (long long)deepest);
}

/* Cells that draw their own numbers do so by their number in the sweep. */
static norma_status check_streams(const norma_grow *grow)
{
    if (!norma_config_knows(grow->now, "cell-streams") ||
        norma_config_get_choice(grow->now, 0, "cell-streams") == NORMA_CELL_STREAMS_COMMON)
        return NORMA_OK;
    for (int64_t i = 0; i < norma_config_get_sweep(grow->before)->n_cells; i++)
        if (norma_config_get_cell_number(grow->before, i) != grow->cells[i])
            return NORMA_FAIL(norma_config_blame(grow->now, "cell-streams"),
                              "--cell-streams independent: cell %lld of the run before would be "
                              "cell %lld, and its random numbers depend on that number; extend the "
                              "first of the swept options alone, by values behind the others",
                              (long long)norma_config_get_cell_number(grow->before, i),
                              (long long)grow->cells[i]);
    return NORMA_OK;
}

static norma_status locate(norma_grow *grow)
{
    int64_t n = norma_config_get_sweep(grow->before)->n_cells;
    NORMA_TRY(NORMA_ALLOC(grow->cells, n));
    if (norma_config_is_share(grow->now)) {
        if (is_longer(grow))
            return NORMA_FAIL(norma_config_blame(grow->now, "cells"),
                              "%s: a share of a longer sweep has other cells: run the share of "
                              "what is new into another file and join both with norma merge",
                              norma_config_where(grow->now, "cells"));
        for (int64_t i = 0; i < n; i++)
            grow->cells[i] = i;
        return NORMA_OK;
    }
    NORMA_TRY(norma_config_locate(grow->now, grow->before, grow->cells));
    NORMA_TRY(check_depths(grow));
    return check_streams(grow);
}

void norma_grow_free_keys(norma_grow *grow)
{
    grow->n_keys = 0;
    for (const char *const *key = norma_job_free_keys; *key; key++)
        grow->keys[grow->n_keys++] = *key;
    grow->keys[grow->n_keys] = NULL;
    grow->n_free = grow->n_keys;
}

norma_status norma_grow_init(const norma_config *now, const char *const *sections, const char *text,
                             bool deepens, norma_grow *grow)
{
    memset(grow, 0, sizeof *grow);
    grow->now = now;
    grow->n_parts = 1;
    norma_grow_free_keys(grow);
    if (read_before(now, sections, text, &grow->before) != NORMA_OK) {
        norma_status_clear();
        return NORMA_OK;
    }
    NORMA_TRY(compare_options(grow, deepens));
    return grow->grows && !grow->other ? locate(grow) : NORMA_OK;
}

void norma_grow_clear(norma_grow *grow)
{
    norma_config_destroy(&grow->before);
    NORMA_FREE(grow->cells);
}

/* --- for people ------------------------------------------------------------------------------ */

static void append_values(const norma_config *config, const char *name, norma_text *out)
{
    int64_t n = norma_config_get_count(config, name);
    bool number = strcmp(name, "replicas") == 0 || strcmp(name, "depth") == 0;
    if (number && n == 1)
        norma_text_append(out, "%lld", (long long)norma_config_get_integer(config, 0, name));
    else
        norma_text_append(out, "%lld values", (long long)n);
}

void norma_grow_describe(const norma_grow *grow, norma_text *out)
{
    for (int k = grow->n_free; k < grow->n_keys; k++) {
        if (strcmp(grow->keys[k], "save") == 0)
            continue;
        norma_text_append(out, "%s%s ", out->length > 0 ? ", " : "", grow->keys[k]);
        append_values(grow->before, grow->keys[k], out);
        norma_text_append(out, " -> ");
        append_values(grow->now, grow->keys[k], out);
    }
}

/* --- tasks ----------------------------------------------------------------------------------- */

static int64_t replicas_of(const norma_config *config)
{
    return norma_config_knows(config, "replicas") ? norma_config_get_integer(config, 0, "replicas")
                                                  : 1;
}

int64_t norma_grow_task(const void *context, int64_t task)
{
    const norma_grow *grow = context;
    int64_t before = replicas_of(grow->before);
    int64_t now = replicas_of(grow->now);
    int64_t n_units = norma_config_get_sweep(grow->before)->n_cells * before;
    int64_t begin = 0;
    int64_t n = grow->n_parts;
    if (task >= n_units * n) {
        task -= n_units * n;
        begin = norma_config_get_sweep(grow->now)->n_cells * now * n;
        n = grow->n_behind;
    }
    if (task < 0 || task >= n_units * n)
        return -1;
    int64_t unit = task / n;
    return begin + (grow->cells[unit / before] * now + unit % before) * n + task % n;
}
