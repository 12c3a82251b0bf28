#include "experiments/spectrum/options.h"

#include "experiments/job/options.h"
#include "experiments/job/pair.h"
#include "experiments/job/pair_options.h"
#include "experiments/job/plan_options.h"
#include "mpi/spectrum/spectrum.h"
#include "src/config/config_common.h"
#include "src/features/width_rule.h"
#include "src/random/law.h"

#include <stdlib.h>
#include <string.h>

static const char *const reductions[] = {"auto", "library", "two-stage", NULL};

static const norma_option rule_options[] = {
    {.name = "width-rule",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .group = "Width",
     .default_text = "max",
     .names = &norma_width_names,
     .help = "max: M is the whole feature matrix, n = c2 c0 |K| rows (CNN24 Thm 2.3). min: its n - "
             "c2 rows beside the pivots of a target (CNN24 Thm 2.2), without the closing row; only "
             "this rule "
             "needs a target."},
    NORMA_OPTION_END,
};

static const norma_option options[] = {
    {.name = "method",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .group = "Method",
     .default_text = "auto",
     .names = &norma_spectrum_method_names,
     .help = "How the singular values are measured."},
    {.name = "reduction",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .group = "Method",
     .default_text = "auto",
     .choices = reductions,
     .help = "How svd reduces the matrix to a bidiagonal one. two-stage: over a band, at the speed "
             "of matrix products. library: directly, by LAPACK on one rank and ScaLAPACK on "
             "several. auto: two stages from 512 values on."},
    {.name = "probes",
     .type = NORMA_OPTION_INTEGER,
     .group = "Method",
     .default_text = "10",
     .unit = "vectors",
     .min = NORMA_AT_LEAST(2),
     .max = NORMA_AT_MOST(100000),
     .help = "Random vectors of a quadrature; its error bars come from their spread."},
    {.name = "steps",
     .type = NORMA_OPTION_INTEGER,
     .group = "Method",
     .default_text = "100",
     .unit = "steps",
     .min = NORMA_AT_LEAST(2),
     .max = NORMA_AT_MOST(10000),
     .help = "Steps from each of them, at most as many as M has singular values."},
    {.name = "bins",
     .type = NORMA_OPTION_INTEGER,
     .group = "Output",
     .default_text = "100",
     .unit = "points",
     .min = NORMA_AT_LEAST(2),
     .max = NORMA_AT_MOST(1000000),
     .help = "Points of densities and distribution functions, from 0 to a tenth above the largest "
             "value."},
    {.name = "values",
     .type = NORMA_OPTION_STRING,
     .group = "Output",
     .placeholder = "N|all",
     .unset_text = "all in a run with a single cell, 0 in a sweep",
     .help = "Singular values to write for each replica, largest first: a number, or all."},
    NORMA_OPTION_END,
};

/* Behind each other they are the order of a sweep's dimensions. */
#define OWN_TABLES                                                                                 \
    norma_pair_shape_options, norma_pair_source_options, rule_options, norma_pair_target_options,  \
        norma_pair_width_options, options, norma_config_random_options, norma_job_options,         \
        norma_job_save_options, norma_config_run_options

static const norma_option *const tables[] = {OWN_TABLES, NULL};
static const norma_option *const plan_tables[] = {OWN_TABLES, norma_plan_options, NULL};

const norma_command norma_spectrum_command = {
    .name = "spectrum",
    .description =
        "Measures the singular values of the feature matrix M of a frozen source pair: all of "
        "them, their distribution by quadrature, or the extreme ones. Compares them with the limit "
        "law where there is one, and checks them by sums of their powers that need no singular "
        "value. M is divided by the standard deviation that its law gives its entries times the "
        "square root of n.\n"
        "Options that take numbers or names accept lists and ranges (8,16,32..256:x2): the run is "
        "then their Cartesian product, one file with a dimension for each.",
    .tables = tables,
};

const norma_command norma_spectrum_plan_command = {
    .name = "spectrum",
    .invocation = "norma plan spectrum",
    .description = "Predicts method, process grid, memory and operations of norma spectrum without "
                   "computing it. Takes the flags of norma spectrum.",
    .tables = plan_tables,
};

norma_status norma_spectrum_check_options(const norma_config *config)
{
    int64_t count = 0;
    NORMA_TRY(norma_pair_check_options(config));
    return norma_spectrum_count_values(config, 1, &count);
}

norma_status norma_spectrum_count_values(const norma_config *config, int64_t n, int64_t *count)
{
    *count = norma_config_is_single(config) ? n : 0;
    if (!norma_config_has(config, "values"))
        return NORMA_OK;
    const char *text = norma_config_get_text(config, 0, "values");
    char *end = NULL;
    *count = n;
    if (strcmp(text, "all") == 0)
        return NORMA_OK;
    long long wanted = strtoll(text, &end, 10);
    if (*text == '\0' || *end != '\0' || wanted < 0)
        return norma_config_refuse(config, "values",
                                   "is neither 'all' nor a number of singular values");
    *count = wanted < n ? (int64_t)wanted : n;
    return NORMA_OK;
}
