#include "experiments/align/options.h"

#include "experiments/job/options.h"
#include "experiments/job/pair.h"
#include "experiments/job/pair_options.h"
#include "experiments/job/plan_options.h"
#include "experiments/job/search_options.h"
#include "src/align/searches.h"
#include "src/config/config_common.h"
#include "src/random/law.h"

#include <string.h>

static const char *const left_out[] = {"drawn", "last", NULL};
static const char *const match_targets[] = {"replica", "drawn", NULL};

static const norma_option options[] = {
    {.name = "left-out",
     .type = NORMA_OPTION_CHOICE,
     .group = "Source",
     .default_text = "drawn",
     .choices = left_out,
     .help = "Which of the n features of id-cond and ortho-cond are left out: drawn at random for "
             "every replica, or the last ones, as norma reconstruct does."},
    {.name = "target-hidden",
     .type = NORMA_OPTION_INTEGER,
     .many = NORMA_SWEEP,
     .group = "Target",
     .unset_text = "a target of independent weights",
     .unit = "channels",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(1048576),
     .help = "The random target is the product of two random matrices with so many channels "
             "between them; it has at most this rank."},
    {.name = "target-density",
     .type = NORMA_OPTION_REAL,
     .many = NORMA_SWEEP,
     .group = "Target",
     .default_text = "1",
     .min = NORMA_AT_LEAST(0),
     .max = NORMA_AT_MOST(1),
     .help = "Probability q that a weight of the random target is kept; others are zero."},
    {.name = "search",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_LIST,
     .group = "Search",
     .names = &norma_align_search_names,
     .unset_text = "none,greedy,swaps; nothing where --match-trials is given",
     .help = "How a permutation of the target's rows is searched for."},
    NORMA_OPTION_END,
};

static const norma_option match_options[] = {
    {.name = "match-trials",
     .type = NORMA_OPTION_INTEGER,
     .group = "Matching",
     .default_text = "0",
     .unit = "trials",
     .min = NORMA_AT_LEAST(0),
     .max = NORMA_AT_MOST(16777216),
     .help = "Trials from which the probability is measured that sparse features can take the "
             "target exactly in some order (RF Theorems 4.2 and 4.3)."},
    {.name = "match-present",
     .type = NORMA_OPTION_REAL,
     .many = NORMA_SWEEP,
     .group = "Matching",
     .default_text = "0.5",
     .min = NORMA_AT_LEAST(0),
     .max = NORMA_AT_MOST(1),
     .help = "Probability p that such a feature is present."},
    {.name = "match-rows",
     .type = NORMA_OPTION_INTEGER,
     .many = NORMA_SWEEP,
     .group = "Matching",
     .unset_text = "as many as target rows, c2",
     .unit = "rows",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(1048576),
     .help = "Rows of features that the target's rows choose from."},
    {.name = "match-target",
     .type = NORMA_OPTION_CHOICE,
     .group = "Matching",
     .default_text = "replica",
     .choices = match_targets,
     .help =
         "replica: all trials have the replica's target (Theorem 4.2). drawn: each has a target "
         "of its own, with weights kept with --target-density (Theorem 4.3)."},
    NORMA_OPTION_END,
};

/* Behind each other they are the order of a sweep's dimensions. */
#define OWN_TABLES                                                                                 \
    norma_pair_shape_options, norma_pair_source_options, norma_pair_width_options,                 \
        norma_pair_target_options, options, norma_search_options, match_options,                   \
        norma_config_random_options, norma_job_options, norma_job_save_options,                    \
        norma_config_run_options

static const norma_option *const tables[] = {OWN_TABLES, NULL};
static const norma_option *const plan_tables[] = {OWN_TABLES, norma_plan_options, NULL};

const norma_command norma_align_command = {
    .name = "align",
    .description =
        "Searches for the order of a target's output channels that too few features reproduce "
        "best. With fewer features than weights, least squares leaves the part of the target "
        "outside of the features' range; a permutation of its rows changes that part. Compares "
        "the searches on the same problems, and measures how often sparse features can take a "
        "target exactly.\n"
        "Options that take numbers or names accept lists and ranges (8,16,32..256:x2): the run is "
        "then their Cartesian product, one file with a dimension for each. --search is a list of "
        "its own: all its searches see the same problem.",
    .tables = tables,
};

const norma_command norma_align_plan_command = {
    .name = "align",
    .invocation = "norma plan align",
    .description = "Predicts memory and operations of norma align without computing it. Takes the "
                   "flags of norma align.",
    .tables = plan_tables,
};

norma_status norma_align_check_options(const norma_config *config)
{
    static const char *const random_only[] = {"target-hidden", "target-density", NULL};
    static const char *const match_only[] = {"match-present", "match-rows", "match-target", NULL};
    int searches[NORMA_N_ALIGN_SEARCHES];
    NORMA_TRY(norma_pair_check_options(config));
    int64_t n = norma_align_list_searches(config, searches);
    if (norma_config_has(config, "target"))
        NORMA_TRY(norma_config_refuse_given(
            config, random_only, "describes a random target, but --target names a file"));
    if (norma_config_has(config, "search") && n < norma_config_get_count(config, "search"))
        return norma_config_refuse(config, "search", "names a search twice");
    if (norma_config_get_integer(config, 0, "match-trials") == 0)
        NORMA_TRY(norma_config_refuse_given(config, match_only, "needs --match-trials"));
    if (strcmp(norma_config_get_text(config, 0, "match-target"), "drawn") == 0 &&
        norma_config_has(config, "target"))
        return norma_config_refuse(config, "match-target",
                                   "drawn targets are random, but --target names a file");
    for (int64_t s = 0; s < n; s++)
        NORMA_TRY(norma_search_options_check(config, "search", searches[s]));
    return NORMA_OK;
}

int64_t norma_align_list_searches(const norma_config *config, int *searches)
{
    static const int usual[] = {NORMA_ALIGN_NONE, NORMA_ALIGN_GREEDY, NORMA_ALIGN_SWAPS};
    int64_t n = 0;
    if (!norma_config_has(config, "search")) {
        if (norma_config_get_integer(config, 0, "match-trials") > 0)
            return 0;
        for (; n < (int64_t)(sizeof usual / sizeof usual[0]); n++)
            searches[n] = usual[n];
        return n;
    }
    for (int64_t i = 0; i < norma_config_get_count(config, "search"); i++) {
        int search = norma_config_get_choice(config, i, "search");
        bool known = false;
        for (int64_t s = 0; s < n; s++)
            known = known || searches[s] == search;
        if (!known)
            searches[n++] = search;
    }
    return n;
}
