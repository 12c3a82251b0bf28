#include "experiments/claims/options.h"

#include "experiments/job/options.h"
#include "experiments/job/plan_options.h"
#include "src/config/config_common.h"

#include <string.h>

/* In the order of the enumeration. */
static const char *const depths[] = {"quick", "full", NULL};
enum { QUICK, FULL };

static const norma_option options[] = {
    {.name = "claim",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_LIST,
     .group = "Claims",
     .placeholder = "NAME",
     .names = &norma_claim_names,
     .unset_text = "all",
     .help = "The claims to examine."},
    {.name = "depth",
     .type = NORMA_OPTION_CHOICE,
     .group = "Claims",
     .default_text = "quick",
     .choices = depths,
     .help = "quick takes about a minute on one processor, full an hour or two. full "
             "draws a hundred times as many cases, of sizes up to 12, and searches 200 times as "
             "long. It takes up to 16 times the replicas and asks for 6 standard errors."},
    {.name = "cases",
     .type = NORMA_OPTION_INTEGER,
     .group = "Claims",
     .unset_text = "200 quick, 20000 full; of claims on means and shares a twenty-fifth",
     .unit = "cases",
     .min = NORMA_AT_LEAST(4),
     .max = NORMA_AT_MOST(1000000),
     .help = "Cases of a deterministic claim, beside those that the search for counter-examples "
             "tries."},
    {.name = "planted",
     .type = NORMA_OPTION_FLAG,
     .group = "Claims",
     .help = "Examines in place of each true claim of kind deterministic or expectation a version "
             "that is false by 1%. A run that does not find all of them violated searches too "
             "little."},
    {.name = "table",
     .type = NORMA_OPTION_PATH,
     .group = "Output",
     .unset_text = "no table",
     .help = "Also writes the ledger as a table in Markdown. An existing file is replaced with "
             "--force only."},
    {.name = "seed",
     .type = NORMA_OPTION_SEED,
     .group = "Randomness",
     .unset_text = "drawn from the system and recorded",
     .help = "Seed of all random numbers, 0 to 18446744073709551615."},
    NORMA_OPTION_END,
};

#define OWN_TABLES options, norma_job_options, norma_config_run_options

static const norma_option *const tables[] = {OWN_TABLES, NULL};
static const norma_option *const plan_tables[] = {OWN_TABLES, norma_plan_options, NULL};

const norma_command norma_claims_command = {
    .name = "claims",
    .description =
        "Holds the claims of the five papers against both sides of their own inequalities. Draws "
        "cases, searches for counter-examples, and prints a verdict for each claim. Counter-"
        "examples are in the result file as plain numbers.\n"
        "A deterministic claim is violated where its sides differ by more than their rounding. A "
        "claim on means or shares is violated only beyond 5 standard errors: one look at a true "
        "claim accuses it with a probability below 5.8e-7. With --depth full it is 6 standard "
        "errors and 2e-9. The run prints how many looks it took.",
    .tables = tables,
};

const norma_command norma_claims_plan_command = {
    .name = "claims",
    .invocation = "norma plan claims",
    .description = "Predicts memory and the size of the file of norma claims without examining "
                   "anything. Takes the flags of norma claims.",
    .tables = plan_tables,
};

int64_t norma_claims_list(const norma_config *config, int64_t *claims)
{
    int64_t n = 0, n_given = 0;
    if (norma_config_has(config, "claim"))
        n_given = norma_config_get_count(config, "claim");
    for (int64_t i = 0; i < norma_claim_names.n; i++) {
        bool taken = n_given == 0;
        for (int64_t k = 0; k < n_given; k++)
            taken = taken || norma_config_get_choice(config, k, "claim") == (int)i;
        if (taken)
            claims[n++] = i;
    }
    return n;
}

norma_claim_budget norma_claims_budget(const norma_config *config, const norma_claim *claim)
{
    bool full = norma_config_get_choice(config, 0, "depth") == FULL;
    bool random = norma_claim_is_random(claim);
    int64_t n_cases = full ? 20000 : 200;
    if (norma_config_has(config, "cases"))
        n_cases = norma_config_get_integer(config, 0, "cases");
    norma_claim_budget budget = {.n_blocks = full ? 40 : 4,
                                 .n_steps = full ? 20000 : 1000,
                                 .n_replicas = 1024,
                                 .n_replicas_most = full ? 4194304 : 262144,
                                 .n_errors = full ? 6 : 5,
                                 .wide = full,
                                 .planted = norma_config_get_flag(config, "planted")};
    if (random)
        n_cases = n_cases < 100 ? 4 : n_cases / 25;
    if (n_cases < budget.n_blocks || (random && full)) /* a stop loses a block: one case */
        budget.n_blocks = n_cases;
    budget.n_cases = (n_cases + budget.n_blocks - 1) / budget.n_blocks;
    return budget;
}
