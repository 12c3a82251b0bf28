#ifndef NORMA_CONFIG_CONFIG_COMMON_H
#define NORMA_CONFIG_CONFIG_COMMON_H
/* Options that computing subcommands share: put these tables behind the command's own. */
#include "src/config/config_option.h"

/* --seed --replicas --cell-streams */
extern const norma_option norma_config_random_options[];

/* --output --cells --config --force --dry-run --quiet --verbose */
extern const norma_option norma_config_run_options[];

/* Indices of --cell-streams' choices. */
typedef enum norma_cell_streams {
    NORMA_CELL_STREAMS_COMMON = 0,
    NORMA_CELL_STREAMS_INDEPENDENT = 1
} norma_cell_streams;

/* Initializer of --save for a command's own table: what can be saved differs between commands.
 * `names` is a NULL-terminated list, `normally` the unset_text. */
#define NORMA_OPTION_SAVE(names, normally)                                                         \
    {                                                                                              \
        .name = "save", .type = NORMA_OPTION_CHOICE, .many = NORMA_LIST, .group = "Output",        \
        .placeholder = "LIST", .unset_text = (normally), .choices = (names),                       \
        .help = "Large results to write as well, per cell."                                        \
    }

#endif
