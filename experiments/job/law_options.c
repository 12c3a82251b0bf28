#include "experiments/job/law_options.h"

#include "src/random/law.h"

#include <stdbool.h>

/* Not every value of such an option is a law: it may be a file, or none at all. */
static bool is_masked(const char *name)
{
    norma_distribution law = NORMA_DISTRIBUTION_GIVEN;
    if (norma_distribution_from_name(name, &law) != NORMA_OK) {
        norma_status_clear();
        return false;
    }
    return norma_law_has(law, NORMA_LAW_MASKED);
}

norma_status norma_law_options_check(const norma_config *config, const char *const *laws)
{
    if (!norma_config_is_given(config, "keep-probability"))
        return NORMA_OK;
    for (int64_t cell = 0; cell < norma_config_get_sweep(config)->n_cells; cell++)
        for (const char *const *law = laws; *law; law++)
            if (norma_config_has(config, *law) &&
                is_masked(norma_config_get_text(config, cell, *law)))
                return NORMA_OK;
    char masked[NORMA_LAW_LIST];
    return NORMA_FAIL(norma_config_blame(config, "keep-probability"),
                      "%s: no law here drops entries; use %s, or leave this option out",
                      norma_config_where(config, "keep-probability"),
                      norma_law_list(NORMA_LAW_MASKED, masked));
}
