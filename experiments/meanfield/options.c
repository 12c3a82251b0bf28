#include "experiments/meanfield/options.h"

#include "experiments/job/plan_options.h"
#include "src/config/config_common.h"

/* In the order of norma_kernel_variant, then the two of batch normalization. */
enum { VARIANT_BN = NORMA_N_KERNEL_VARIANTS, VARIANT_BN_CENTERED };
static const struct {
    const char *name, *summary;
} variants[] = {
    [NORMA_KERNEL_NONE] = {"none", "the activation divided by the root of its mean square"},
    [NORMA_KERNEL_PRE_RMS] = {"pre-rms",
                              "RMS normalization in front of it; at infinite width as none"},
    [NORMA_KERNEL_POST_RMS] = {"post-rms", "RMS normalization behind it; as none"},
    [NORMA_KERNEL_PRE_LN] = {"pre-ln", "layer normalization in front of it; as none"},
    [NORMA_KERNEL_POST_LN] = {"post-ln",
                              "layer normalization behind it: its mean is subtracted first"},
    [VARIANT_BN] = {"bn", "batch normalization: follows the Gram matrix of a whole batch"},
    [VARIANT_BN_CENTERED] = {"bn-centered", "as bn, the mean over the batch subtracted before"},
};
static const norma_names variant_names = NORMA_NAMES("variant", "variants", variants);

static const norma_option options[] = {
    {.name = "act",
     .type = NORMA_OPTION_STRING,
     .many = NORMA_SWEEP,
     .group = "Layer",
     .default_text = "relu",
     .placeholder = "NAME",
     .names = &norma_activation_names,
     .help = "Activation, or a sum of normalized Hermite polynomials by its coefficients, "
             "hermite-sum:C0,C1,... (numbers behind such a name belong to it). Some activations "
             "take a parameter behind a colon, as in leaky-relu:0.2."},
    {.name = "variant",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .group = "Layer",
     .default_text = "none",
     .names = &variant_names,
     .help = "Normalization of the layer, and what follows from it at infinite width."},
    {.name = "batch",
     .type = NORMA_OPTION_INTEGER,
     .many = NORMA_SWEEP,
     .group = "Layer",
     .default_text = "10",
     .unit = "samples",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(10000),
     .help = "Samples n of bn (at least 1) and bn-centered (at least 2)."},
    {.name = "width",
     .type = NORMA_OPTION_INTEGER,
     .many = NORMA_SWEEP,
     .group = "Layer",
     .default_text = "1000",
     .unit = "channels",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(1e9),
     .help = "Width d at which the fluctuations of the Gram matrix are stated (bn, bn-centered)."},
    {.name = "rho0",
     .type = NORMA_OPTION_REAL,
     .many = NORMA_SWEEP,
     .group = "Sequence",
     .default_text = "0.5",
     .min = NORMA_AT_LEAST(-1),
     .max = NORMA_AT_MOST(1),
     .help = "Cosine of two samples of the input, from which the sequence starts."},
    {.name = "depth",
     .type = NORMA_OPTION_INTEGER,
     .group = "Sequence",
     .default_text = "100",
     .unit = "layers",
     .min = NORMA_AT_LEAST(0),
     .max = NORMA_AT_MOST(1e7),
     .help = "Layers of the sequence; the input is layer 0."},
    {.name = "coefficients",
     .type = NORMA_OPTION_INTEGER,
     .group = "Kernel map",
     .default_text = "20",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(1000),
     .help = "Hermite coefficients in the table, of degrees 0 to K - 1. All else uses exact "
             "moments."},
    {.name = "grid",
     .type = NORMA_OPTION_INTEGER,
     .group = "Kernel map",
     .default_text = "201",
     .unit = "points",
     .min = NORMA_AT_LEAST(2),
     .max = NORMA_AT_MOST(100001),
     .help = "Points rho in [-1, 1] at which the kernel map is tabulated."},
    NORMA_OPTION_END,
};

static const norma_option *const tables[] = {options, norma_config_run_options, NULL};
static const norma_option *const plan_tables[] = {options, norma_plan_options,
                                                  norma_config_run_options, NULL};

const norma_command norma_meanfield_command = {
    .name = "meanfield",
    .description =
        "Computes what random networks do to the cosine of two samples at infinite width: the "
        "kernel map of an activation and its derivatives, Hermite coefficients, fixed points, the "
        "case of the convergence theorem, its rates as printed and corrected, the true asymptotic "
        "rate, and the sequence over the layers.\n"
        "For batch normalization it computes the fixed point of the Gram matrix, how deviations "
        "contract, the stationary distance from it at width d to leading order, and the growth "
        "of gradients a layer. No random numbers are used.",
    .tables = tables,
};

const norma_command norma_meanfield_plan_command = {
    .name = "meanfield",
    .invocation = "norma plan meanfield",
    .description = "Says how many cells there are, the memory of a rank and the size of the file.",
    .tables = plan_tables,
};

norma_meanfield_sizes norma_meanfield_read_sizes(const norma_config *config)
{
    return (norma_meanfield_sizes){.n_grid = norma_config_get_integer(config, 0, "grid"),
                                   .n_coefficients =
                                       norma_config_get_integer(config, 0, "coefficients"),
                                   .n_layers = norma_config_get_integer(config, 0, "depth") + 1};
}

static norma_status check_batch(const norma_config *config, int64_t cell,
                                const norma_meanfield_request *r)
{
    int degree = 0;
    const double least = r->batch > 1 ? -1 / (double)(r->batch - 1) : -1;
    if (norma_transfer_is_polynomial(&r->activation, &degree) &&
        (degree == 0 || degree > NORMA_GRAM_MAX_DEGREE))
        return NORMA_FAIL(norma_config_blame(config, "act"),
                          "%s: %s is %s; bn and bn-centered take Hermite degrees from 1 up to %d",
                          norma_config_where(config, "act"),
                          norma_config_get_text(config, cell, "act"),
                          degree == 0 ? "constant" : "of too high a degree", NORMA_GRAM_MAX_DEGREE);
    if (r->centered && r->batch < 2)
        return NORMA_FAIL(norma_config_blame(config, "batch"),
                          "%s: bn-centered needs at least 2 samples; centring leaves nothing of 1",
                          norma_config_where(config, "batch"));
    if (r->rho0 < least || (r->centered && r->rho0 == 1))
        return NORMA_FAIL(norma_config_blame(config, "rho0"),
                          "%s: %lld samples cannot have the cosine %g with each other%s; expected "
                          "a number from %g to %s1",
                          norma_config_where(config, "rho0"), (long long)r->batch, r->rho0,
                          r->centered ? " under bn-centered" : "", least,
                          r->centered ? "below " : "");
    return NORMA_OK;
}

norma_status norma_meanfield_read_cell(const norma_config *config, int64_t cell,
                                       norma_meanfield_request *out)
{
    const int variant = norma_config_get_choice(config, cell, "variant");
    *out = (norma_meanfield_request){.batched = variant >= VARIANT_BN,
                                     .centered = variant == VARIANT_BN_CENTERED,
                                     .variant = variant < VARIANT_BN ? (norma_kernel_variant)variant
                                                                     : NORMA_KERNEL_NONE,
                                     .rho0 = norma_config_get_real(config, cell, "rho0"),
                                     .batch = norma_config_get_integer(config, cell, "batch"),
                                     .width = norma_config_get_integer(config, cell, "width"),
                                     .sizes = norma_meanfield_read_sizes(config)};
    norma_status status =
        norma_transfer_parse(norma_config_get_text(config, cell, "act"), &out->activation);
    if (status == NORMA_OK) {
        norma_transfer normalized = out->activation;
        status = norma_transfer_normalize(&normalized, out->variant == NORMA_KERNEL_POST_LN);
    }
    if (status != NORMA_OK)
        return norma_status_context(norma_config_blame(config, "act"),
                                    "%s: ", norma_config_where(config, "act"));
    return out->batched ? check_batch(config, cell, out) : NORMA_OK;
}
