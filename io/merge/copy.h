#ifndef NORMA_IO_MERGE_COPY_H
#define NORMA_IO_MERGE_COPY_H
/* Internal to io/merge: the values of a merged variable. */
#include "io/merge/layout.h"

/* Copies a variable, slab by slab, each by one rank. `path` is the variable's in the merged file.
 * Local; ranks share the slabs, so that all must call it. */
NORMA_MUST_USE norma_status norma_merge_copy_local(norma_merge_inputs *inputs, norma_result *file,
                                                   const norma_merge_group *group,
                                                   const norma_merge_layout *layout,
                                                   const norma_merge_variable *variable,
                                                   const char *path);

/* The same for a variable with NORMA_POOLED, from the replicas that all pieces have. */
NORMA_MUST_USE norma_status norma_merge_pool_local(norma_merge_inputs *inputs, norma_result *file,
                                                   const norma_merge_group *group,
                                                   const norma_merge_layout *layout,
                                                   const norma_merge_variable *variable,
                                                   const char *path);

#endif
