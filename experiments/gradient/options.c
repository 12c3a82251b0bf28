#include "experiments/gradient/options.h"

#include "experiments/job/options.h"
#include "experiments/job/plan_options.h"
#include "experiments/layers/options.h"
#include "src/config/config_common.h"
#include "src/gradient/loss.h"

#include <stddef.h>

static const char *const label_sources[] = {"random", "dataset", NULL};

static const norma_option loss_options[] = {
    {.name = "loss",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .group = "Loss",
     .default_text = "cotangent",
     .names = &norma_gradient_loss_names,
     .help = "What is differentiated, a function of the outputs A H of a linear read-out A."},
    {.name = "readout",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .group = "Loss",
     .default_text = "haar",
     .names = &norma_gradient_readout_names,
     .help = "Law of the read-out A [classes, d]."},
    {.name = "classes",
     .type = NORMA_OPTION_INTEGER,
     .many = NORMA_SWEEP,
     .group = "Loss",
     .unset_text = "the width for cotangent and the read-out identity, otherwise 10",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(1048576),
     .help = "Rows of the read-out."},
    {.name = "labels",
     .type = NORMA_OPTION_CHOICE,
     .group = "Loss",
     .default_text = "random",
     .choices = label_sources,
     .help = "Classes of the samples for mse and cross-entropy: drawn, or those of the data set "
             "that --input names."},
    NORMA_OPTION_END,
};

static const norma_option gradient_options[] = {
    {.name = "per-sample",
     .type = NORMA_OPTION_FLAG,
     .group = "Gradient",
     .help = "Write sample_cosine: the cosine between the gradients of each two samples in the "
             "last W."},
    {.name = "jacobian",
     .type = NORMA_OPTION_INTEGER,
     .group = "Gradient",
     .unset_text = "none",
     .unit = "layers",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(16777215),
     .help = "Write log_jacobian_norm: the spectral norms of the Jacobians of windows of this many "
             "layers, by 20 power steps. Needs law pathwise."},
    {.name = "isometry",
     .type = NORMA_OPTION_FLAG,
     .group = "Gradient",
     .help = "Write isometry_gap of the representation beside the gradients."},
    {.name = "record",
     .type = NORMA_OPTION_STRING,
     .group = "Gradient",
     .placeholder = "SCHEDULE",
     .default_text = "all",
     .help = "Layers whose values are written: log or log:N (N a decade, default 20), all, none, "
             "every:K, first:X+every:K; the last layer is among them."},
    {.name = "segment",
     .type = NORMA_OPTION_INTEGER,
     .group = "Gradient",
     .unit = "layers",
     .unset_text = "all layers where they take at most 256 MiB, else the root of the depth",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(16777215),
     .help = "Layers between those whose representations are kept; the others are computed again "
             "for the backward pass, with equal bits."},
    NORMA_OPTION_END,
};

static const norma_option *const tables[] = {norma_layer_options,
                                             norma_layer_input_options,
                                             loss_options,
                                             gradient_options,
                                             norma_layer_group_options,
                                             norma_config_random_options,
                                             norma_config_run_options,
                                             norma_job_options,
                                             norma_job_save_options,
                                             NULL};
static const norma_option *const plan_tables[] = {norma_layer_options,
                                                  norma_layer_input_options,
                                                  loss_options,
                                                  gradient_options,
                                                  norma_layer_group_options,
                                                  norma_config_random_options,
                                                  norma_config_run_options,
                                                  norma_job_options,
                                                  norma_job_save_options,
                                                  norma_plan_options,
                                                  NULL};

const norma_command norma_gradient_command = {
    .name = "gradient",
    .description =
        "Follows the gradient of a loss back through random layers: the norm of dL/dW of every "
        "layer as a logarithm, the rate at which it grows towards the input, the norms of "
        "Jacobians, the cosines between gradients of single samples.\n"
        "Options that take numbers or names accept lists and ranges (100,200,400 or 0..1:0.25): "
        "the run is then their Cartesian product, one file with a dimension for each. Cells and "
        "replicas are spread over the ranks.",
    .tables = tables,
    .fitted = "gain",
};

const norma_command norma_gradient_plan_command = {
    .name = "gradient",
    .invocation = "norma plan gradient",
    .description = "Predicts memory, bytes written and time of norma gradient from a few layers of "
                   "every cell. Takes the flags of norma gradient.",
    .tables = plan_tables,
};

norma_status norma_gradient_options_check(const norma_config *config)
{
    NORMA_TRY(norma_layer_options_check(config));
    if (norma_config_is_share(config) && norma_config_get_count(config, "gain") > 1)
        return NORMA_FAIL(norma_config_blame(config, "cells"),
                          "%s: rates are fitted along --gain, which needs all of its values in one "
                          "run; sweep other options, or leave --cells out",
                          norma_config_where(config, "cells"));
    if (!norma_config_is_given(config, "labels"))
        return NORMA_OK;
    for (int64_t i = 0; i < norma_config_get_sweep(config)->n_cells; i++)
        if (norma_config_get_choice(config, i, "loss") != NORMA_GRADIENT_LOSS_COTANGENT)
            return NORMA_OK;
    return NORMA_FAIL(norma_config_blame(config, "labels"),
                      "%s: the loss cotangent has no labels; use --loss mse or cross-entropy",
                      norma_config_where(config, "labels"));
}
