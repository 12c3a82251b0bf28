#include "experiments/layers/options.h"

#include "experiments/job/law_options.h"
#include "src/chain/input.h"
#include "src/chain/spec.h"
#include "src/network/activation.h"
#include "src/random/law.h"

#include <stddef.h>

const norma_option norma_layer_options[] = {
    {.name = "preset",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .group = "Layer",
     .default_text = "rank20",
     .names = &norma_chain_preset_names,
     .help = "A paper's definition of the whole layer; the options below change parts of it."},
    {.name = "width",
     .type = NORMA_OPTION_INTEGER,
     .many = NORMA_SWEEP,
     .group = "Layer",
     .default_text = "32",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(1048576),
     .help = "Width d of every layer."},
    {.name = "batch",
     .type = NORMA_OPTION_INTEGER,
     .many = NORMA_SWEEP,
     .group = "Layer",
     .unit = "samples",
     .unset_text = "the width",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(1048576),
     .help = "Samples N of the batch."},
    {.name = "depth",
     .type = NORMA_OPTION_INTEGER,
     .many = NORMA_SWEEP,
     .group = "Layer",
     .default_text = "1000",
     .unit = "layers",
     .min = NORMA_AT_LEAST(0),
     .max = NORMA_AT_MOST(16777215),
     .help = "Layers; 0 measures the input alone."},
    {.name = "residual-strength",
     .type = NORMA_OPTION_REAL,
     .many = NORMA_SWEEP,
     .group = "Layer",
     .unset_text = "as the preset says",
     .min = NORMA_ABOVE(0),
     .allow_inf = true,
     .help = "g of H + g W H; inf is W H without a skip connection."},
    {.name = "weight-dist",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .group = "Layer",
     .unset_text = "as the preset says",
     .names = &norma_law_names,
     .exclusive = "weights",
     .help =
         "Law of the weights; laws that do not depend on the fan are scaled as the preset says."},
    {.name = "weights",
     .type = NORMA_OPTION_PATH,
     .group = "Layer",
     .unset_text = "drawn",
     .exclusive = "weights",
     .help =
         "Given weights /W [L, d, d] from an HDF5 file, used as they are; every replica has the "
         "same."},
    {.name = "keep-probability",
     .type = NORMA_OPTION_REAL,
     .many = NORMA_SWEEP,
     .group = "Layer",
     .default_text = "0.5",
     .min = NORMA_ABOVE(0),
     .max = NORMA_AT_MOST(1),
     .help = "Probability that an entry of a law with a mask is kept."},
    {.name = "norm",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .group = "Layer",
     .unset_text = "as the preset says",
     .names = &norma_chain_norm_names,
     .help = "Normalization of Z."},
    {.name = "order",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .group = "Layer",
     .unset_text = "as the preset says",
     .names = &norma_chain_order_names,
     .help = "Which comes first, normalization or activation."},
    {.name = "act",
     .type = NORMA_OPTION_STRING,
     .many = NORMA_SWEEP,
     .group = "Layer",
     .unset_text = "as the preset says",
     .placeholder = "NAME",
     .names = &norma_activation_names,
     .help = "Activation; some take a parameter behind a colon, as in leaky-relu:0.2."},
    {.name = "act-scale",
     .type = NORMA_OPTION_REAL,
     .many = NORMA_SWEEP,
     .group = "Layer",
     .unset_text = "as the preset says",
     .min = NORMA_ABOVE(0),
     .help = "Factor of the activation."},
    {.name = "gain-exponent",
     .type = NORMA_OPTION_REAL,
     .many = NORMA_SWEEP,
     .group = "Layer",
     .default_text = "0",
     .help = "K of the gain A (layer + 1)^-K in front of the activation."},
    {.name = "gain",
     .type = NORMA_OPTION_REAL,
     .many = NORMA_SWEEP,
     .group = "Layer",
     .default_text = "1",
     .min = NORMA_ABOVE(0),
     .help = "A of the gain A (layer + 1)^-K."},
    {.name = "bn-eps",
     .type = NORMA_OPTION_REAL,
     .group = "Layer",
     .default_text = "0",
     .min = NORMA_AT_LEAST(0),
     .help = "Added to the variance of a row; with 0 a row without variance is an error."},
    {.name = "law",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .group = "Layer",
     .unset_text = "exact where batch < width and nothing is read from files, else pathwise",
     .names = &norma_chain_law_names,
     .help = "How W H is drawn."},
    NORMA_OPTION_END,
};

const norma_option norma_layer_input_options[] = {
    {.name = "input",
     .type = NORMA_OPTION_STRING,
     .many = NORMA_SWEEP,
     .group = "Input",
     .placeholder = "KIND|NAME|FILE|FOLDER",
     .default_text = "gaussian",
     .names = &norma_chain_input_names,
     .help = "The batch at layer 0: drawn, or an HDF5 file with /H0 [d, N], or the first images of "
             "a data set, one a column, which settle the width: a name of norma list datasets, a "
             "file, FILE.h5:PATH or a folder as reconstruct --dataset takes. A comma within a name "
             "is written \\,"},
    {.name = "input-scale",
     .type = NORMA_OPTION_REAL,
     .group = "Input",
     .unset_text = "1/255 where pixels are stored as unsigned bytes, otherwise 1",
     .help = "Factor of the pixels of a data set."},
    {.name = "input-offset",
     .type = NORMA_OPTION_REAL,
     .group = "Input",
     .default_text = "0",
     .help = "Added to the scaled pixels: a sample is scale * pixel + offset."},
    {.name = "input-epsilon",
     .type = NORMA_OPTION_REAL,
     .many = NORMA_SWEEP,
     .group = "Input",
     .unset_text = "the kind's own",
     .min = NORMA_AT_LEAST(0),
     .help = "epsilon of the kinds of input that have one."},
    {.name = "input-distinct",
     .type = NORMA_OPTION_INTEGER,
     .many = NORMA_SWEEP,
     .group = "Input",
     .unit = "samples",
     .unset_text = "half of the batch",
     .min = NORMA_AT_LEAST(1),
     .help = "Distinct samples of degenerate."},
    NORMA_OPTION_END,
};

const norma_option norma_layer_group_options[] = {
    {.name = "group-size",
     .type = NORMA_OPTION_INTEGER,
     .group = "Run",
     .unit = "ranks",
     .default_text = "1",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(1048576),
     .help = "Ranks that compute one chain together, for widths from about 2000: the rows of W and "
             "what is measured are dealt out. The numbers are those of one rank, gradients from "
             "width 257 on to rounding. Ranks of an incomplete last group stay idle."},
    NORMA_OPTION_END,
};

norma_status norma_layer_group_check(const norma_config *config, const char *not_shared,
                                     int64_t most)
{
    const int64_t size = norma_config_get_integer(config, 0, "group-size");
    if (size > 1 && not_shared)
        return NORMA_FAIL(norma_config_blame(config, "group-size"),
                          "%s: several ranks cannot share this chain: %s",
                          norma_config_where(config, "group-size"), not_shared);
    if (size > most)
        return NORMA_FAIL(norma_config_blame(config, "group-size"),
                          "%s: at most %lld ranks get a share of this width, not %lld",
                          norma_config_where(config, "group-size"), (long long)most,
                          (long long)size);
    return NORMA_OK;
}

/* --input-epsilon belongs to some kinds of input only. */
static norma_status check_epsilon(const norma_config *config)
{
    if (!norma_config_is_given(config, "input-epsilon"))
        return NORMA_OK;
    for (int64_t i = 0; i < norma_config_get_sweep(config)->n_cells; i++) {
        norma_chain_input_kind kind = NORMA_CHAIN_INPUT_GIVEN;
        if (norma_chain_input_parse(norma_config_get_text(config, i, "input"), &kind) != NORMA_OK)
            norma_status_clear(); /* a file or a data set */
        else if (norma_chain_input_has_epsilon(kind))
            return NORMA_OK;
    }
    char known[128];
    return NORMA_FAIL(norma_config_blame(config, "input-epsilon"), "%s: is for --input %s",
                      norma_config_where(config, "input-epsilon"),
                      norma_names_join(&norma_chain_input_epsilon_names, known, sizeof known));
}

norma_status norma_layer_options_check(const norma_config *config)
{
    static const char *const laws[] = {"weight-dist", NULL};
    NORMA_TRY(norma_law_options_check(config, laws));
    return check_epsilon(config);
}

norma_status norma_layer_spec_read(const norma_layer_inputs *inputs, int64_t i,
                                   norma_chain_spec *spec)
{
    const norma_config *config = inputs->config;
    norma_chain_preset preset = NORMA_CHAIN_RANK20;
    int64_t width = 0;
    int64_t batch = 0;
    NORMA_TRY(norma_chain_preset_parse(norma_config_get_text(config, i, "preset"), &preset));
    NORMA_TRY(norma_layer_inputs_settle_sizes(inputs, i, &width, &batch));
    norma_chain_spec_init(preset, width, batch, spec);
    if (norma_config_has(config, "residual-strength"))
        spec->residual = norma_config_get_real(config, i, "residual-strength");
    if (norma_config_has(config, "weight-dist"))
        NORMA_TRY(norma_distribution_from_name(norma_config_get_text(config, i, "weight-dist"),
                                               &spec->weights));
    spec->keep_probability = norma_config_get_real(config, i, "keep-probability");
    if (norma_config_has(config, "norm"))
        NORMA_TRY(norma_chain_norm_parse(norma_config_get_text(config, i, "norm"), &spec->norm));
    if (norma_config_has(config, "order"))
        NORMA_TRY(norma_chain_order_parse(norma_config_get_text(config, i, "order"), &spec->order));
    if (norma_config_has(config, "act"))
        NORMA_TRY(
            norma_activation_parse(norma_config_get_text(config, i, "act"), &spec->activation));
    if (norma_config_has(config, "act-scale"))
        spec->act_scale = norma_config_get_real(config, i, "act-scale");
    if (norma_config_has(config, "law"))
        NORMA_TRY(norma_chain_law_parse(norma_config_get_text(config, i, "law"), &spec->law));
    spec->gain = norma_config_get_real(config, i, "gain");
    spec->gain_exponent = norma_config_get_real(config, i, "gain-exponent");
    spec->bn_eps = norma_config_get_real(config, i, "bn-eps");
    if (inputs->weights) {
        spec->weights = NORMA_DISTRIBUTION_GIVEN;
        spec->given = inputs->weights;
        spec->n_given = inputs->weights_extents[0];
    }
    if (inputs->h0 && spec->law == NORMA_CHAIN_LAW_AUTO)
        spec->law = NORMA_CHAIN_LAW_PATHWISE;
    return NORMA_OK;
}
