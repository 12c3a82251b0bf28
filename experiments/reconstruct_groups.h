#ifndef NORMA_EXPERIMENTS_RECONSTRUCT_GROUPS_H
#define NORMA_EXPERIMENTS_RECONSTRUCT_GROUPS_H
/*
 * Many layers at once: the ranks are cut into groups (--group-size), and each group that is free
 * takes the next layer of the next replica of the next cell from a queue. A layer's numbers depend
 * on the size of its group, not on how many groups there are. Networks are compared on their images
 * by all ranks together, when their layers are solved.
 */
#include "experiments/reconstruct_run.h"

/* Ranks of a group: --group-size, by default all. Local. */
int norma_reconstruct_group_size(const norma_reconstruct_run *run);

/* All cells, in groups smaller than the world. Collective. */
NORMA_MUST_USE norma_status norma_reconstruct_groups(norma_reconstruct_run *run);

#endif
