#ifndef NORMA_EXPERIMENTS_JOB_PAIR_OPTIONS_H
#define NORMA_EXPERIMENTS_JOB_PAIR_OPTIONS_H
/* Options of a frozen source pair, for all subcommands that draw or read one. */
#include "src/config/config_option.h"

/* --c-out, --c-in, --channels, --kernel: the shape of a single layer. */
extern const norma_option norma_pair_shape_options[];

/* --target, --layer, --target-dist: the weights of a single layer. */
extern const norma_option norma_pair_target_options[];

/* --source-dist, --source, --keep-probability. */
extern const norma_option norma_pair_source_options[];

/* --features, --excess, --overparam, --kernel-split. */
extern const norma_option norma_pair_width_options[];

#endif
