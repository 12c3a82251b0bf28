#include "experiments/merge/arrays.h"

#include <string.h>

enum { MOST_NAMES = 4 };

static const struct {
    const char *command;
    const char *option;                /* with which a sweep has the arrays, too */
    const char *alone[MOST_NAMES];     /* arrays, and axes of nothing else */
    const char *with_axes[MOST_NAMES]; /* the same and the axes they share with scalars */
} table[] = {
    {"reconstruct", "save", {"layers", NULL}, {"layers", NULL}},
    {"spectrum",
     "values",
     {"singular_value", "index", NULL},
     {"singular_value", "index", "replica", NULL}},
};
enum { N_LINES = sizeof table / sizeof table[0] };

static int find(const norma_command *command)
{
    int i = 0;
    while (i < N_LINES && strcmp(table[i].command, command->name) != 0)
        i++;
    return i;
}

const char *const *norma_merge_arrays_local(const norma_command *command)
{
    int i = find(command);
    return i < N_LINES ? table[i].alone : NULL;
}

const char *const *norma_merge_arrays_with_axes_local(const norma_command *command)
{
    int i = find(command);
    return i < N_LINES ? table[i].with_axes : NULL;
}

norma_status norma_merge_arrays_kept_local(const norma_merge_part *part, bool *kept)
{
    const norma_config *config = part->config;
    int i = find(norma_config_get_command(config));
    *kept = i < N_LINES && norma_config_has(config, table[i].option);
    /* The order of channels is written whatever --save names. */
    if (i == N_LINES || *kept || !norma_config_knows(config, "align") ||
        !norma_config_has(config, "align"))
        return NORMA_OK;
    return NORMA_FAIL(NORMA_CONFIG,
                      "%s holds the arrays of a single cell, of which a sweep with --align has "
                      "only some: merge results of runs with --%s",
                      part->path, table[i].option);
}
