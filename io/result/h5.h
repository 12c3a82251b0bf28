#ifndef NORMA_IO_RESULT_H5_H
#define NORMA_IO_RESULT_H5_H
/*
 * For the modules of io/ only: the few HDF5 habits they share. Drivers use io/result/result.h and
 * io/result/schema.h, which do not show HDF5.
 *
 * HDF5 prints nothing; the text of its error stack goes into the error record through
 * NORMA_H5_FAIL. Its exit handler is switched off, because an exit() of one rank while a parallel
 * file is open would wait there for the others for ever.
 */
#include "io/result/schema.h"

#include <hdf5.h>
#include <stdbool.h>

/* Silences HDF5 and switches its exit handler off. Must precede every other call of HDF5; further
 * calls do nothing. Local. */
void norma_h5_prepare_local(void);

/* Fills the error record with the message followed by HDF5's own reason (the innermost entry of
 * its error stack, and the remedy where file locking is the reason), empties HDF5's stack, returns
 * `status`. Local. Use through NORMA_H5_FAIL. */
norma_status norma_h5_fail_local(norma_status status, const char *file, int line,
                                 const char *format, ...) __attribute__((format(printf, 4, 5)));

#define NORMA_H5_FAIL(status, ...) norma_h5_fail_local((status), __FILE__, __LINE__, __VA_ARGS__)

/* The outcome of a call that may have written to a parallel file: NORMA_OK, or NORMA_IO with the
 * reason, when the call failed or a write failed inside it (io/result/guard.h) since the last call
 * of this. Local; the caller agrees. */
NORMA_MUST_USE norma_status norma_h5_wrote_local(bool succeeded, const char *file, int line,
                                                 const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#define NORMA_H5_WROTE(succeeded, ...)                                                             \
    norma_h5_wrote_local((succeeded), __FILE__, __LINE__, __VA_ARGS__)

/* Opens an existing file for reading by this process alone (no MPI-IO). NORMA_CONFIG with one clear
 * message when it is missing, a folder, unreadable, not HDF5, truncated or locked. Local; the
 * caller closes *id with H5Fclose. */
NORMA_MUST_USE norma_status norma_h5_open_local(const char *path, hid_t *id);

/* Warns, once a file, when an open result file names BLAS kernels other than those in use: what is
 * computed from it may differ in its last bits. Local. */
void norma_h5_warn_of_kernel_local(hid_t file, const char *path);

/* Does the file have the path and every group above it? H5Lexists needs the groups to be there.
 * Local. */
bool norma_h5_exists_local(hid_t file, const char *path);

/* True when the file begins with HDF5's signature (at 0 or at a power of two from 512 on). Local.
 */
bool norma_h5_is_hdf5_local(const char *path);

/* The type in memory and the type in the file (little-endian) of a Norma type; constants of HDF5,
 * not to be closed. Local. */
hid_t norma_h5_memory_type_local(norma_type type);
hid_t norma_h5_file_type_local(norma_type type);

/* Sets one attribute of an object; an attribute of that name is overwritten and keeps its place.
 * Texts are UTF-8 strings of variable length (what h5py, xarray, ncdump and MATLAB all read as
 * text) of at most NORMA_H5_TEXT_LIMIT bytes. In a parallel file all ranks must call with equal
 * values: these change metadata. They do not agree; the caller does. */
NORMA_MUST_USE norma_status norma_h5_set_text(hid_t object, const char *name, const char *text);
NORMA_MUST_USE norma_status norma_h5_set_texts(hid_t object, const char *name, int n,
                                               const char *const *texts);
/* n values of the given HDF5 type in memory; n = -1 for a scalar. */
NORMA_MUST_USE norma_status norma_h5_set_numbers(hid_t object, const char *name, hid_t file_type,
                                                 hid_t memory_type, int n, const void *values);

/* Bytes; HDF5's own limit for an attribute is just below 64 KiB. */
#define NORMA_H5_TEXT_LIMIT 60000

/* Reads a text attribute (fixed or variable length) into a counted string that the caller frees
 * with norma_mem_free; *text = NULL when there is no such attribute or it is no scalar text.
 * Local. */
NORMA_MUST_USE norma_status norma_h5_get_text_local(hid_t object, const char *name, char **text);

/* The same for a dataset that is a text (result files store a fixed length, h5py a variable one):
 * *text = NULL when it is not a scalar text. */
NORMA_MUST_USE norma_status norma_h5_read_text_local(hid_t dataset, char **text);

#endif
