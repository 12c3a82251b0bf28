#ifndef NORMA_EXPERIMENTS_MEANFIELD_OPTIONS_H
#define NORMA_EXPERIMENTS_MEANFIELD_OPTIONS_H
/* The options of norma meanfield, and a cell's request made from them. */
#include "experiments/meanfield/record.h"
#include "src/config/config.h"

extern const norma_command norma_meanfield_command;
extern const norma_command norma_meanfield_plan_command;

/* Lengths of the axes. Local. */
norma_meanfield_sizes norma_meanfield_read_sizes(const norma_config *config);

/* A cell's request, checked: activation, variant, start and batch that belong together. NORMA_USAGE
 * or NORMA_CONFIG, naming the option. Local. */
NORMA_MUST_USE norma_status norma_meanfield_read_cell(const norma_config *config, int64_t cell,
                                                      norma_meanfield_request *out);

#endif
