#ifndef NORMA_EXPERIMENTS_RECONSTRUCT_QUEUE_H
#define NORMA_EXPERIMENTS_RECONSTRUCT_QUEUE_H
/*
 * The layers of all replicas and cells, solved one after the other by all ranks, or many at once by
 * groups of them (--group-size): each group that is free takes the next one from a queue. A layer's
 * numbers depend on the size of its group, not on how many groups there are. Networks are compared
 * on their images by all ranks together, when their layers are solved. What is finished is kept in
 * a checkpoint at once.
 */
#include "experiments/reconstruct/run.h"
#include "io/checkpoint/checkpoint.h"

/* Everything that the checkpoint does not have yet, into the open output; closed by the caller.
 * NORMA_STOPPED when a signal or the time limit asked for the end. Collective. */
NORMA_MUST_USE norma_status norma_reconstruct_queue(norma_reconstruct_run *run,
                                                    norma_checkpoint *checkpoint);

#endif
