#ifndef NORMA_MPI_PLAN_NODE_MEMORY_H
#define NORMA_MPI_PLAN_NODE_MEMORY_H
/* The memory of this node that the job may use, and what this process has used of it. */
#include "src/base/status.h"

#include <stdint.h>

/* Bytes that are available on this node: the least of MemAvailable, what the control groups of this
 * process and those above them leave (version 1 and 2, page cache that can be given back not
 * counted), and SLURM_MEM_PER_NODE or SLURM_MEM_PER_CPU times the job's processors on the node.
 * `root` is put ahead of /proc and /sys; "" but in tests. Local. */
NORMA_MUST_USE norma_status norma_plan_node_memory_local(const char *root, int64_t *bytes);

/* The most resident memory that this process ever had, bytes; 0 when it is not known. Local. */
int64_t norma_plan_peak_memory_local(void);

#endif
