#ifndef NORMA_EXPERIMENTS_RECONSTRUCT_WAVES_H
#define NORMA_EXPERIMENTS_RECONSTRUCT_WAVES_H
/*
 * The layers of all replicas and cells, solved by groups of ranks (--group-size) from a queue
 * (experiments/job/queue.h), in waves: after each wave all ranks together compare the networks
 * whose layers it solved. A layer's numbers depend on the size of its group, not on how many groups
 * there are. With one group, a wave is one replica of one cell.
 */
#include "experiments/reconstruct/run.h"

/* Computes everything that the checkpoint of the job does not hold, into the open output.
 * NORMA_STOPPED when a signal or the time limit asked for the end. Collective. */
NORMA_MUST_USE norma_status norma_reconstruct_waves_run(norma_reconstruct_run *run,
                                                        const norma_job_context *job);

/* Replicas of a wave, of `left` that are left, with n_wanted layers each. Local. */
int64_t norma_reconstruct_wave_units(int64_t n_wanted, int64_t left, int64_t n_groups,
                                     bool with_images);

#endif
