#ifndef NORMA_EXPERIMENTS_JOB_RUN_H
#define NORMA_EXPERIMENTS_JOB_RUN_H
/* What subcommands that stop and resume do alike (options: job_options.h). */
#include "experiments/driver.h"
#include "io/checkpoint/checkpoint.h"
#include "io/result/result.h"
#include "mpi/plan/plan.h"
#include "src/config/config.h"

/* Sets the log's level as --quiet and --verbose ask, and prints what the start of the program
 * found: BLAS kernels, threads. Right after the configuration is read. Local. */
void norma_job_settle_log(const norma_call *call, const norma_config *config);

/* Sets the option `seed` where it was not given: to the one that an earlier go drew, on --resume,
 * or to a new one. The option `output` is set. Collective. */
NORMA_MUST_USE norma_status norma_job_settle_seed(const norma_call *call, norma_config *config);

/* How the checkpoint of a run is opened; configuration is borrowed. Local. */
norma_checkpoint_options norma_job_checkpoint_options(const norma_config *config,
                                                      const char *configuration);

/* The machine that norma plan is told of, in place of this one. Local. */
void norma_job_place(const norma_call *call, const norma_config *config,
                     norma_plan_machine *machine);

/* --time-limit in seconds, 0 without one. Local. */
double norma_job_time_limit(const norma_config *config);

/* The end of a run whose computation returned NORMA_OK or NORMA_STOPPED: closes the result as
 * complete or stopped, and then the checkpoint where it is done with. Collective. */
NORMA_MUST_USE norma_status norma_job_end(const norma_config *config, norma_result **file,
                                          norma_checkpoint **checkpoint, norma_status status);

#endif
