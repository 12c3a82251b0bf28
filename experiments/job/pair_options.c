#include "experiments/job/pair_options.h"

#include "src/random/law.h"

const norma_option norma_pair_source_options[] = {
    {.name = "source-dist",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .group = "Source",
     .default_text = "he-normal",
     .names = &norma_law_source_names,
     .exclusive = "source",
     .help =
         "Law of the frozen source weights; the -cond laws are RF's well-conditioned features."},
    {.name = "source",
     .type = NORMA_OPTION_PATH,
     .group = "Source",
     .unset_text = "random weights from --source-dist",
     .exclusive = "source",
     .help = "Frozen source weights from an HDF5 file: /source/000/W1 [c1, c0, (kh, kw)] and "
             "/source/000/W2 [c2, c1, (kh, kw)] for each target layer. Shapes and width are those "
             "of the file."},
    {.name = "keep-probability",
     .type = NORMA_OPTION_REAL,
     .many = NORMA_SWEEP,
     .group = "Source",
     .default_text = "0.5",
     .min = NORMA_ABOVE(0),
     .max = NORMA_AT_MOST(1),
     .help = "Probability that an entry of a law with a mask is kept."},
    NORMA_OPTION_END,
};

const norma_option norma_pair_width_options[] = {
    {.name = "features",
     .type = NORMA_OPTION_INTEGER,
     .many = NORMA_SWEEP,
     .group = "Width",
     .unit = "features",
     .unset_text = "the rule's minimum",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(2147483647),
     .exclusive = "width",
     .help = "Features c1 of every layer; below the minimum the system is solved in least "
             "squares."},
    {.name = "excess",
     .type = NORMA_OPTION_INTEGER,
     .many = NORMA_SWEEP,
     .group = "Width",
     .unit = "features",
     .unset_text = "0",
     .min = NORMA_AT_LEAST(-2147483647),
     .max = NORMA_AT_MOST(2147483647),
     .exclusive = "width",
     .help = "Features above the rule's minimum (below it when negative)."},
    {.name = "overparam",
     .type = NORMA_OPTION_REAL,
     .many = NORMA_SWEEP,
     .group = "Width",
     .unset_text = "0",
     .min = NORMA_ABOVE(-1),
     .max = NORMA_AT_MOST(1000),
     .exclusive = "width",
     .help = "Relative excess EPS: c1 = ceil((1 + EPS) times the rule's minimum)."},
    {.name = "kernel-split",
     .type = NORMA_OPTION_STRING,
     .many = NORMA_SWEEP,
     .group = "Width",
     .placeholder = "second|first|HxW+HxW",
     .default_text = "second",
     .help = "Kernels K1 + K2 of the source pair: second is K1 = 1x1, K2 = Kt; first is K1 = Kt, "
             "K2 = 1x1. With --source the file decides."},
    NORMA_OPTION_END,
};
