#ifndef NORMA_IO_HDF5_H5_INPUT_H
#define NORMA_IO_HDF5_H5_INPUT_H
/*
 * Reading HDF5 files that others wrote: everything is checked, everything becomes double. Rank 0
 * alone reads (serial driver); its callers agree and distribute. Failures are NORMA_CONFIG and name
 * the file, the path, what was found and what was expected.
 *
 * Half, single, double and long double precision, integers of any size, either byte order:
 * converted; numbers packed by the CF conventions are unpacked (io/hdf5/h5_packing.h). What is
 * declared but not stored is refused (io/hdf5/h5_storage.h). bool, complex, compound, string and
 * others: refused by name. Every value must be finite as a double.
 */
#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Most axes of a dataset that is read. */
#define NORMA_H5_INPUT_MAX_RANK 4

typedef struct norma_h5_input norma_h5_input;

/* Is it an HDF5 file, by its signature? (netCDF-4 and MATLAB 7.3 files are) */
bool norma_h5_input_is_hdf5_root(const char *path);

/* Opens a file for reading: missing, unreadable, not HDF5 and truncated are told apart, and what is
 * of another kind is named as that. The caller owns *out. */
NORMA_MUST_USE norma_status norma_h5_input_open_root(const char *path, norma_h5_input **out);

void norma_h5_input_close_root(norma_h5_input **input);

/* The file's name as given; borrowed. */
const char *norma_h5_input_name_root(const norma_h5_input *input);

/* Is there a link of this name (to an object of any kind, or to nothing), an attribute? */
bool norma_h5_input_has_root(const norma_h5_input *input, const char *path);
bool norma_h5_input_has_attribute_root(const norma_h5_input *input, const char *object,
                                       const char *name);

/* NORMA_CONFIG when a link of `path` points to what is not there; names the link and its goal. */
NORMA_MUST_USE norma_status norma_h5_input_check_links_root(const norma_h5_input *input,
                                                            const char *path);

/* Is `path` a group? (false when it does not exist) */
bool norma_h5_input_is_group_root(const norma_h5_input *input, const char *path);

/* Number of members of a group, and the name of member i in alphabetical order (cut to length). */
NORMA_MUST_USE norma_status norma_h5_input_count_root(const norma_h5_input *input,
                                                      const char *group, int64_t *n);
NORMA_MUST_USE norma_status norma_h5_input_member_root(const norma_h5_input *input,
                                                       const char *group, int64_t i, char *name,
                                                       int length);

/* Number of attributes of an object, and the name of attribute i in alphabetical order. */
NORMA_MUST_USE norma_status norma_h5_input_count_attributes_root(const norma_h5_input *input,
                                                                 const char *object, int64_t *n);
NORMA_MUST_USE norma_status norma_h5_input_attribute_root(const norma_h5_input *input,
                                                          const char *object, int64_t i, char *name,
                                                          int length);

/* Number of axes and extents of a numeric dataset with min_rank .. max_rank axes and no extent 0.
 * A missing one is refused with the nearest name in its group. */
NORMA_MUST_USE norma_status norma_h5_input_shape_root(const norma_h5_input *input, const char *path,
                                                      int min_rank, int max_rank, int *rank,
                                                      int64_t extents[NORMA_H5_INPUT_MAX_RANK]);

/* Room for the name of a type. */
#define NORMA_H5_INPUT_TYPE 16

/* How the numbers of a dataset are stored: "uint8", "float32"; *bytes: as unsigned bytes that are
 * taken as they are, without a scale or an offset. */
NORMA_MUST_USE norma_status norma_h5_input_type_root(const norma_h5_input *input, const char *path,
                                                     char name[NORMA_H5_INPUT_TYPE], bool *bytes);

/* The whole dataset, row-major, into out[product of extents], whose extents must be as given. */
NORMA_MUST_USE norma_status norma_h5_input_read_root(const norma_h5_input *input, const char *path,
                                                     int rank, const int64_t *extents, double *out);

/* The same for the first n_first items of axis 0 only; the others are not looked at. */
NORMA_MUST_USE norma_status norma_h5_input_read_first_root(const norma_h5_input *input,
                                                           const char *path, int rank,
                                                           const int64_t *extents, int64_t n_first,
                                                           double *out);

/* A string attribute (fixed or variable length) of at most length - 1 bytes, without the blanks at
 * its end, which Fortran programs pad with. */
NORMA_MUST_USE norma_status norma_h5_input_text_root(const norma_h5_input *input,
                                                     const char *object, const char *name,
                                                     char *out, int length);

/* All n members of a group in alphabetical order: names[n][length]. A longer name is refused. */
NORMA_MUST_USE norma_status norma_h5_input_members_root(const norma_h5_input *input,
                                                        const char *group, int64_t n, int length,
                                                        char *names);

/* A string attribute, scalar or with one axis: *n >= 1 texts (*out)[n][length], each without the
 * blanks at its end. The caller owns *out. */
NORMA_MUST_USE norma_status norma_h5_input_texts_root(const norma_h5_input *input,
                                                      const char *object, const char *name,
                                                      int length, int64_t *n, char **out);

/* A numeric attribute, scalar or with one axis, of min_n .. max_n values. */
NORMA_MUST_USE norma_status norma_h5_input_numbers_root(const norma_h5_input *input,
                                                        const char *object, const char *name,
                                                        int64_t min_n, int64_t max_n, double *out,
                                                        int64_t *n);

#endif
