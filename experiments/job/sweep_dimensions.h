#ifndef NORMA_EXPERIMENTS_JOB_SWEEP_DIMENSIONS_H
#define NORMA_EXPERIMENTS_JOB_SWEEP_DIMENSIONS_H
/* Every swept option is a leading dimension of the result's scalars, with the option's values as
 * its coordinate and its name with '_' for '-'. */
#include "io/result/result.h"
#include "src/config/config.h"

/* Adds the sweep's dimensions to the root group. Collective over world, the file's
 * communicator. NORMA_LIMIT for a swept name or text with
 * more than 127 values. */
NORMA_MUST_USE norma_status norma_sweep_dimensions_add(MPI_Comm world, const norma_config *config,
                                                       norma_result *file);

/* Sets the attribute that says whether the cells of a sweep share random numbers. Collective over
 * the file's communicator. */
NORMA_MUST_USE norma_status norma_sweep_dimensions_describe(const norma_config *config,
                                                            norma_result *file);

/* Adds the dimension `replica` of --replicas numbers from --replica-offset on, of type int32 or
 * int64, to a group. Collective over the file's communicator. */
NORMA_MUST_USE norma_status norma_sweep_dimensions_add_replicas(const norma_config *config,
                                                                norma_result *file,
                                                                const char *group, norma_type type,
                                                                const char *long_name);

/* True when an option is swept. */
bool norma_sweep_dimensions_has(const norma_config *config, const char *option);

/* Sets variable->dimensions: the sweep's, then trailing (NULL-terminated). Borrows
 * the names from the configuration and from the list. */
void norma_sweep_dimensions_set(const norma_config *config, norma_variable *variable,
                                const char *const *trailing);

/* start[] of a cell's element: the cell's indices, then `trailing`. */
void norma_sweep_dimensions_index(const norma_config *config, int64_t cell, const int64_t *trailing,
                                  int n_trailing, int64_t *start);

#endif
