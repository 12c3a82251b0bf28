#include "experiments/chain/options.h"

#include "experiments/job/options.h"
#include "experiments/job/plan_options.h"
#include "experiments/layers/options.h"
#include "src/chain/observables.h"
#include "src/config/config_common.h"

#include <stddef.h>

static const char *const precisions[] = {"double", "single", NULL};

static const norma_option precision_options[] = {
    {.name = "precision",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .group = "Layer",
     .default_text = "double",
     .choices = precisions,
     .help = "single: H and W are rounded to FP32 and multiplied in it; norm, activation and "
             "observables stay in FP64. What it costs is measured on the first layers and told. "
             "Not for law exact, orthogonal weights, widths and batches up to 64, log_sigma_min "
             "and Lyapunov exponents."},
    NORMA_OPTION_END,
};

static const norma_option other_options[] = {
    {.name = "observables",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_LIST,
     .group = "Observables",
     .placeholder = "LIST",
     .default_text = "soft_rank,stable_rank",
     .names = &norma_observable_choices,
     .help = "What is measured after each layer; all is everything that the chain defines."},
    {.name = "tau",
     .type = NORMA_OPTION_REAL,
     .many = NORMA_LIST,
     .group = "Observables",
     .default_text = "0.5",
     .min = NORMA_ABOVE(0),
     .help = "Thresholds of soft_rank."},
    {.name = "top",
     .type = NORMA_OPTION_INTEGER,
     .group = "Observables",
     .default_text = "8",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(1048576),
     .help = "How many singular values and Lyapunov exponents, from the largest (at most what the "
             "chain has)."},
    {.name = "rank-precision",
     .type = NORMA_OPTION_CHOICE,
     .group = "Observables",
     .unset_text = "that of the chain",
     .choices = precisions,
     .help = "Precision in which numerical_rank is judged."},
    {.name = "rank-tolerance",
     .type = NORMA_OPTION_REAL,
     .group = "Observables",
     .unset_text = "max(d, N) times the precision's epsilon",
     .min = NORMA_ABOVE(0),
     .help = "Singular values up to this times the largest count as zero in numerical_rank."},
    {.name = "stride",
     .type = NORMA_OPTION_STRING,
     .many = NORMA_LIST,
     .group = "Observables",
     .placeholder = "K|NAME:K",
     .default_text = "1",
     .help = "Measure every K layers; NAME:K for one observable (1,singular_value:100)."},
    {.name = "record",
     .type = NORMA_OPTION_STRING,
     .group = "Observables",
     .placeholder = "SCHEDULE",
     .default_text = "log",
     .help = "Layers whose values are written: log or log:N (N a decade, default 20), all, none, "
             "every:K, first:X+every:K; the last layer is among them. Averages take all layers."},
    {.name = "burn-in",
     .type = NORMA_OPTION_INTEGER,
     .group = "Observables",
     .unit = "layers",
     .unset_text = "20 autocorrelation times, estimated",
     .min = NORMA_AT_LEAST(0),
     .help = "Layers left out of averages."},
    NORMA_OPTION_END,
};

static const norma_option *const tables[] = {norma_layer_options,       precision_options,
                                             norma_layer_input_options, other_options,
                                             norma_layer_group_options, norma_config_random_options,
                                             norma_config_run_options,  norma_job_options,
                                             norma_job_save_options,    NULL};
static const norma_option *const plan_tables[] = {norma_layer_options,
                                                  precision_options,
                                                  norma_layer_input_options,
                                                  other_options,
                                                  norma_layer_group_options,
                                                  norma_config_random_options,
                                                  norma_config_run_options,
                                                  norma_job_options,
                                                  norma_job_save_options,
                                                  norma_plan_options,
                                                  NULL};

const norma_command norma_chain_command = {
    .name = "chain",
    .description =
        "Sends a batch of samples through random layers with (or without) normalization and "
        "follows rank, orthogonality, isometry and Gram matrix: values at recorded layers, and "
        "averages along the chain with autocorrelation times and standard errors.\n"
        "Options that take numbers or names accept lists and ranges (8,16,32..256:x2): the run is "
        "then their Cartesian product, one file with a dimension for each. Cells and replicas are "
        "spread over the ranks.",
    .tables = tables,
};

const norma_command norma_chain_plan_command = {
    .name = "chain",
    .invocation = "norma plan chain",
    .description = "Predicts memory, bytes written and time of norma chain from a few layers of "
                   "every cell. Takes the flags of norma chain.",
    .tables = plan_tables,
};
