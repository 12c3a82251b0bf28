#ifndef NORMA_IO_RESULT_CSV_H
#define NORMA_IO_RESULT_CSV_H
/* Variables of a result file as comma-separated text: `norma info FILE --csv VARIABLE`. */
#include "src/base/status.h"

#include <mpi.h>

/* Prints on stdout one line a value: the coordinates of its dimensions, then the value of each of
 * the variables in `names` (separated by commas), which must have the same dimensions; above them
 * a line of names. A dimension without coordinate values shows the index. Numbers have as many
 * digits as their bits need; a missing value is "nan"; values that stand for names are names. Rank
 * 0 reads, a slab at a time; collective over comm. NORMA_CONFIG when the file cannot be read, has
 * no such variable (the nearest one is named), or when the dimensions differ. */
NORMA_MUST_USE norma_status norma_csv_print(MPI_Comm comm, const char *path, const char *names);

/* The same in a process without MPI. Local. */
NORMA_MUST_USE norma_status norma_csv_print_local(const char *path, const char *names);

#endif
