#ifndef NORMA_EXPERIMENTS_MERGE_ARRAYS_H
#define NORMA_EXPERIMENTS_MERGE_ARRAYS_H
/* Arrays that a run with a single cell has at the root and a sweep in /cells/NNNNNN. Local. */
#include "experiments/merge/parts.h"

/* The names of such arrays in the root of a subcommand's file, and of the axes that are theirs
 * alone; NULL where it has none. */
const char *const *norma_merge_arrays_local(const norma_command *command);

/* The same with all their axes. */
const char *const *norma_merge_arrays_with_axes_local(const norma_command *command);

/* Would a run of the sweep have the arrays of this part, a single cell? NORMA_CONFIG where it would
 * have some of them. */
NORMA_MUST_USE norma_status norma_merge_arrays_kept_local(const norma_merge_part *part, bool *kept);

#endif
