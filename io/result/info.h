#ifndef NORMA_IO_RESULT_INFO_H
#define NORMA_IO_RESULT_INFO_H
/* The description of a result file that `norma info FILE` prints. */
#include "src/base/status.h"

#include <mpi.h>

/* Prints on stdout what a result file holds: status, provenance, dimensions, variables with shapes
 * and units, configuration. Rank 0 reads (no values of variables, so the size of the file does not
 * matter); collective over comm. NORMA_CONFIG when the file is missing, not HDF5, cut short, not
 * written by Norma, or a .part of a run that is still going on or was killed (what it holds is
 * printed before that). */
NORMA_MUST_USE norma_status norma_info_print(MPI_Comm comm, const char *path);

/* The same in a process without MPI. Local. */
NORMA_MUST_USE norma_status norma_info_print_local(const char *path);

#endif
