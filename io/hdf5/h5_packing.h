#ifndef NORMA_IO_HDF5_H5_PACKING_H
#define NORMA_IO_HDF5_H5_PACKING_H
/*
 * The CF conventions on stored numbers: value = scale_factor * stored + add_offset, stored numbers
 * that are _FillValue or missing_value, or outside valid_min, valid_max, valid_range, stand for
 * nothing; _Unsigned "true" makes signed integers unsigned. So does a fill value that the dataset
 * itself was created with (netCDF does), unless it is 0 or the numbers are bytes.
 */
#include "io/hdf5/h5_input.h"

#include <hdf5.h>

/* Most values of missing_value. */
#define NORMA_H5_MOST_MISSING 16

typedef struct norma_h5_packing {
    double scale, offset; /* 1 and 0 where nothing is packed */
    double unsigned_step; /* added to negative numbers; 0: none */
    double low, high;     /* the valid range of stored numbers */
    int n_missing;
    double missing[NORMA_H5_MOST_MISSING];      /* as stored numbers */
    const char *reasons[NORMA_H5_MOST_MISSING]; /* for messages; constants */
    bool single; /* stored as FP32 or less: missing numbers are compared as floats */
} norma_h5_packing;

/* Reads the attributes of dataset `path` of `file`, which only the messages need. NORMA_CONFIG for
 * attributes of another type. Local. */
NORMA_MUST_USE norma_status norma_h5_packing_read_local(hid_t dataset, const char *file,
                                                        const char *path,
                                                        norma_h5_packing *packing);

/* Unpacks values[n] (row-major, of extents) in place. NORMA_CONFIG, naming the index, for one that
 * stands for nothing. Local. */
NORMA_MUST_USE norma_status norma_h5_packing_apply_local(const norma_h5_packing *packing,
                                                         const char *file, const char *path,
                                                         int rank, const int64_t *extents,
                                                         int64_t n, double *values);

#endif
