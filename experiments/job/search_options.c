#include "experiments/job/search_options.h"

#include <string.h>

const norma_option norma_search_options[] = {
    {.name = "random",
     .type = NORMA_OPTION_INTEGER,
     .group = "Search",
     .default_text = "1000",
     .unit = "permutations",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(1000000000),
     .help = "Permutations that the search random draws."},
    {.name = "restarts",
     .type = NORMA_OPTION_INTEGER,
     .group = "Search",
     .default_text = "100",
     .unit = "starts",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(1000000),
     .help = "Starts of swaps: the first from the result of greedy, the others at random."},
    {.name = "anneal-starts",
     .type = NORMA_OPTION_INTEGER,
     .group = "Search",
     .default_text = "10",
     .unit = "starts",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(1000000),
     .help = "The same of anneal."},
    {.name = "anneal-sweeps",
     .type = NORMA_OPTION_INTEGER,
     .group = "Search",
     .default_text = "200",
     .unit = "sweeps",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(1000000),
     .help = "Length of an annealing: in a sweep as many exchanges are tried as there are pairs."},
    NORMA_OPTION_END,
};

norma_align_options norma_search_options_get(const norma_config *config, uint64_t seed)
{
    return (norma_align_options){.n_random = norma_config_get_integer(config, 0, "random"),
                                 .n_restarts = norma_config_get_integer(config, 0, "restarts"),
                                 .n_anneals = norma_config_get_integer(config, 0, "anneal-starts"),
                                 .n_sweeps = norma_config_get_integer(config, 0, "anneal-sweeps"),
                                 .seed = seed};
}

norma_status norma_search_options_check(const norma_config *config, const char *option, int search)
{
    if (!norma_align_search_get(search)->single || norma_config_has(config, "source"))
        return NORMA_OK;
    for (int64_t cell = 0; cell < norma_config_get_sweep(config)->n_cells; cell++)
        if (strcmp(norma_config_get_text(config, cell, "source-dist"), "id-cond") != 0)
            return NORMA_FAIL(norma_config_blame(config, option),
                              "%s: %s needs features of a single weight each: --source-dist "
                              "id-cond",
                              norma_config_where(config, option),
                              norma_align_search_get(search)->name);
    return NORMA_OK;
}
