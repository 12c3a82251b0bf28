#ifndef NORMA_CONFIG_CONFIG_UNITE_H
#define NORMA_CONFIG_CONFIG_UNITE_H
/* Configurations of one command whose results are parts of one sweep: the configuration of the
 * whole, and the place of a part's cells in it. Nothing here communicates. */
#include "src/config/config.h"

/* A settled configuration and the file that it comes from, for messages; borrowed. */
typedef struct norma_config_part {
    const norma_config *config;
    const char *name;
} norma_config_part;

/* The configuration of the sweep that the configurations parts[n] are parts of. Options
 * that can be swept get the values of all parts: in the parts' own order where all have the same
 * list, ascending or descending where each list of numbers is so, otherwise in the order of their
 * first occurrence. All other options must be equal, but for those in `free_keys`
 * (NULL-terminated), of which the first part's are taken; --cells is left out.
 * NORMA_CONFIG naming the option, two of the files, and their values.
 * NORMA_LIMIT for too many cells. *out is owned by the caller. */
NORMA_MUST_USE norma_status norma_config_unite(const norma_config_part *parts, int64_t n,
                                               const char *const *free_keys, norma_config **out);

/* How the values of an option are to those that it had before. */
typedef enum norma_config_relation {
    NORMA_CONFIG_SAME,
    NORMA_CONFIG_LONGER, /* it can be swept, and has all of those values and more */
    NORMA_CONFIG_OTHER
} norma_config_relation;

/* *out for an option of the command that both configurations are of. Only NORMA_MEMORY can fail. */
NORMA_MUST_USE norma_status norma_config_relate(const norma_config *now, const norma_config *before,
                                                const char *name, norma_config_relation *out);

/* cells[number of the part's cells] = the cell of `whole` that has the same values. The part must
 * have no other values than `whole` in the options that this one sweeps. Only NORMA_MEMORY can
 * fail. */
NORMA_MUST_USE norma_status norma_config_locate(const norma_config *whole, const norma_config *part,
                                                int64_t *cells);

#endif
