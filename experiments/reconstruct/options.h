#ifndef NORMA_EXPERIMENTS_RECONSTRUCT_OPTIONS_H
#define NORMA_EXPERIMENTS_RECONSTRUCT_OPTIONS_H
/* The options of `norma reconstruct` and of `norma plan reconstruct`. */
#include "src/config/config_option.h"

extern const norma_command norma_reconstruct_command;
extern const norma_command norma_reconstruct_plan_command;

/* Indices of --save's choices are not used: ask norma_config_list_holds for these names. */
#define NORMA_RECONSTRUCT_SAVE_GAMMA "gamma"
#define NORMA_RECONSTRUCT_SAVE_WEIGHTS "weights"
#define NORMA_RECONSTRUCT_SAVE_SPECTRUM "spectrum"
#define NORMA_RECONSTRUCT_SAVE_NONE "none"

/* The text in a result that norma_reconstruct_digest gave. */
#define NORMA_RECONSTRUCT_DIGEST_NAME "/target_digest"

/* The choices of --condition, in the order of norma_condition_effort. */
extern const char *const norma_reconstruct_conditions[];

/* The value of --group-size with which the run chooses. */
#define NORMA_RECONSTRUCT_AUTO_GROUPS "auto"

/* The choice of --precision that is not the default. */
#define NORMA_RECONSTRUCT_SINGLE "single"

/* The choice of --skip-kernel that is not the default. */
#define NORMA_RECONSTRUCT_WHOLE_KERNEL "target"

#endif
