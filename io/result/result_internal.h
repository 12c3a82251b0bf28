#ifndef NORMA_IO_RESULT_RESULT_INTERNAL_H
#define NORMA_IO_RESULT_RESULT_INTERNAL_H
/* The inside of a result file, shared by the files result*.c, schema.c and provenance.c. */
#include "io/result/h5.h"
#include "io/result/result.h"

#include <limits.h>

enum { NORMA_NAME_LENGTH = 256 };

/* How netCDF-4 names the scale of a dimension that has no coordinate variable; its length follows,
 * ten characters wide. */
#define NORMA_NOT_A_VARIABLE "This is a netCDF dimension but not a netCDF variable."

/* Elements of one write, kept until the next flush has compared them with the file. */
typedef struct norma_sample {
    char *variable; /* owned */
    norma_type type;
    int n_dimensions;
    int64_t n;             /* elements */
    hsize_t *index;        /* [n][n_dimensions]; owned */
    unsigned char *values; /* [n] of the type; owned */
} norma_sample;

/* Small writes that are kept in memory (io/result/result_batch.c). */
typedef struct norma_batch norma_batch;

struct norma_result {
    MPI_Comm comm; /* owned duplicate of the world */
    int rank;
    hid_t file;
    char *path; /* FILE; owned */
    char *part; /* FILE.part; owned */
    bool force, resume, extend;
    int descriptor;   /* rank 0: FILE.part, for the lock, the reservation and the sync; else -1 */
    int64_t promised; /* rank 0: the file will be no longer than this */
    bool has_cells;   /* something was flushed */
    norma_sample *samples; /* [n_samples], capacity as counted; owned */
    int64_t n_samples, capacity;
    norma_batch *batch; /* owned; NULL: none yet */
};

/* The folder of a path, "." when it names none. Local. */
void norma_result_folder_local(const char *path, char folder[PATH_MAX]);

/* The file that is written: where `path` is a symbolic link, the one that it leads to. */
NORMA_MUST_USE norma_status norma_result_resolve_root(const char *path, char out[PATH_MAX]);

/* The status attribute of an existing file into text, "" when there is none. */
void norma_result_status_root(const char *path, char text[32]);

/* Refuses a name that cannot become the output: its folder, the file that is there, a run that
 * writes it now, the space. */
NORMA_MUST_USE norma_status norma_result_check_path_root(const char *name,
                                                         const norma_result_options *options);

/* Number and lengths of the dimensions of a variable; NORMA_LIBRARY when it is not there or of
 * another type. Local. */
NORMA_MUST_USE norma_status norma_result_extent_local(norma_result *file, const char *variable,
                                                      norma_type type, int *n,
                                                      int64_t extent[NORMA_MAX_DIMENSIONS]);

/* Writes what norma_result_put_local kept, and forgets it. Local. */
NORMA_MUST_USE norma_status norma_result_spill_local(norma_result *file);

/* Frees and nulls; NULL is allowed. Local. */
void norma_result_batch_destroy_local(norma_batch **batch);

/* Makes sure that the file system holds `bytes` more than the file has now: NORMA_IO naming both
 * numbers when it does not. Collective. */
NORMA_MUST_USE norma_status norma_result_reserve(norma_result *file, int64_t bytes);

/* Compares the samples kept since the last flush with the file, and forgets them. Local. */
NORMA_MUST_USE norma_status norma_result_verify_local(norma_result *file);

/* Forgets the samples. Local. */
void norma_result_forget_local(norma_result *file);

/* The name of the dimension attached to an axis of a dataset. Local. */
NORMA_MUST_USE norma_status norma_schema_axis_name_local(hid_t dataset, int axis,
                                                         char name[NORMA_NAME_LENGTH]);

/* Tracks the order in which links and attributes are created (netCDF-4 needs both). Local; caller
 * closes with H5Pclose. */
hid_t norma_schema_group_properties_local(hid_t property_class);

#endif
