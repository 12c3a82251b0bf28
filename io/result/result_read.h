#ifndef NORMA_IO_RESULT_RESULT_READ_H
#define NORMA_IO_RESULT_RESULT_READ_H
/* Reading back what a result file holds: rank 0 reads, all ranks receive. All functions are
 * collective over the communicator given at open, with equal arguments on all ranks. Failures are
 * NORMA_CONFIG and name the file, the variable, what was found and what was expected. */
#include "src/base/status.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct norma_result_reader norma_result_reader;

/* Opens a result file that Norma wrote, complete or stopped. Caller owns *out. */
NORMA_MUST_USE norma_status norma_result_reader_open(MPI_Comm comm, const char *path,
                                                     norma_result_reader **out);

/* A text that was written with norma_result_write_text, such as "/configuration". *text is owned by
 * the caller (norma_mem_free). */
NORMA_MUST_USE norma_status norma_result_reader_text(norma_result_reader *reader,
                                                     const char *dataset, char **text);

/* Is there a group or variable of this name? */
NORMA_MUST_USE norma_status norma_result_reader_has(norma_result_reader *reader, const char *path,
                                                    bool *out);

/* out[n] = row `row` of a float64 variable [rows, n]; every value must be finite. */
NORMA_MUST_USE norma_status norma_result_reader_row(norma_result_reader *reader,
                                                    const char *variable, int64_t row, int64_t n,
                                                    double *out);

/* Collective; nulls; NULL is allowed on all ranks. */
void norma_result_reader_close(norma_result_reader **reader);

#endif
