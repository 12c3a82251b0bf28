#ifndef NORMA_CONFIG_CONFIG_STORE_H
#define NORMA_CONFIG_CONFIG_STORE_H
/* The members of a norma_config; for src/config/config*.c only. */
#include "src/config/config.h"
#include "src/config/config_value.h"

typedef enum norma_config_origin {
    NORMA_ORIGIN_NONE = 0, /* no value */
    NORMA_ORIGIN_DEFAULT,
    NORMA_ORIGIN_FILE,
    NORMA_ORIGIN_COMMAND_LINE,
    NORMA_ORIGIN_PROGRAM
} norma_config_origin;

/* An option and its values. */
typedef struct norma_config_item {
    const norma_option *option;
    norma_config_values values; /* none where the origin is NONE */
    norma_config_origin origin;
    char *where; /* of the values, for messages; owned, NULL without values */
    int line;    /* in the file, 0 when not there */
} norma_config_item;

struct norma_config {
    const norma_command *command;
    norma_config_item *items; /* in the order of the tables */
    int64_t n_items;
    norma_sweep whole;             /* all cells */
    norma_sweep sweep;             /* those of --cells; borrows the axes of `whole`, or cell_axis */
    norma_sweep_axis cell_axis;    /* of a sweep in part */
    int64_t first_cell, cell_step; /* cell i is number first_cell + i cell_step of the whole */
};

/* The numbers of a text I/N with 1 <= I <= N; false for any other text. */
bool norma_config_cells_parse(const char *text, int64_t *share, int64_t *n_shares);

/* The command's name for messages: "norma reconstruct". */
void norma_config_append_invocation(const norma_command *command, norma_text *out);

/* The item of an option; NULL when there is none of the name. */
norma_config_item *norma_config_find(const norma_config *config, const char *name);

/* The nearest known option name to a mistyped one, NULL when none is near; positional ones only
 * where a file is read. */
const char *norma_config_nearest(const norma_config *config, const char *name, bool in_file);

/* Replaces an item's values by *values, which is moved (also on failure). */
NORMA_MUST_USE norma_status norma_config_replace(norma_config_item *item,
                                                 norma_config_origin origin, const char *where,
                                                 norma_config_values *values);

/* Reads `text` as the item's values and replaces the old ones; on failure they stay. `blame` is the
 * status of a bad text. */
NORMA_MUST_USE norma_status norma_config_replace_text(norma_config_item *item,
                                                      norma_config_origin origin,
                                                      norma_status blame, const char *where,
                                                      const char *text);

/* Removes an item's values. */
void norma_config_remove(norma_config_item *item);

/* Refuses two options of one exclusive group that have the same origin. */
NORMA_MUST_USE norma_status norma_config_check_exclusive(const norma_config *config,
                                                         norma_config_origin origin);

/* Makes the sweep anew from the items' values; the old one stays on failure. */
NORMA_MUST_USE norma_status norma_config_build_sweep(norma_config *config);

#endif
