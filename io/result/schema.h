#ifndef NORMA_IO_RESULT_SCHEMA_H
#define NORMA_IO_RESULT_SCHEMA_H
/*
 * The contents of a result file: groups, dimensions, variables, by the rules of netCDF-4 and CF, so
 * that xarray, netCDF4, h5py, ncdump, MATLAB and Julia read every variable under its name with its
 * coordinates. Everything is created before it is written, by all ranks in one order, allocated
 * and filled with "missing" at once. io/result/result.h writes the values.
 *
 *     norma_schema_add_dimension(file, "/", &(norma_dimension){
 *         .name = "layer", .length = n_layers, .long_name = "layer of the target network",
 *         .units = "1", .type = NORMA_INT32, .values = numbers});
 *     norma_schema_add_variable(file, "/", &(norma_variable){
 *         .name = "rmse", .type = NORMA_FLOAT64, .dimensions = {"replica", "layer"},
 *         .units = "1", .long_name = "root mean square error of the weights"});
 */
#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* A result file being written (io/result/result.h). */
typedef struct norma_result norma_result;

/* The types of a variable, and of the array that its values are written from. */
typedef enum norma_type {
    NORMA_FLOAT64, /* double */
    NORMA_FLOAT32, /* float */
    NORMA_INT32,   /* int32_t: counts */
    NORMA_INT64,   /* int64_t: counts that may pass 2^31 */
    NORMA_NAME     /* int8_t: the index of a name in the variable's list; -127 when missing */
} norma_type;

/* Bytes of one value. Local. */
int64_t norma_schema_type_size_local(norma_type type);

/* The value of an element until it is written; also the variable's _FillValue. Floats hold NaN. */
#define NORMA_MISSING_INT32 (-2147483647)
#define NORMA_MISSING_INT64 (-9223372036854775806LL)
#define NORMA_MISSING_NAME (-127)

/* The attribute of a variable that is computed from all replicas of another one: "mean of NAME",
 * "ci95 of NAME" (half width of the 95% confidence interval), "quantile 0.25 of NAME". norma merge
 * computes it anew. */
#define NORMA_POOLED "pooled_over_replicas"

/* Most dimensions of a variable: sweeps have one for every swept option. */
#define NORMA_MAX_DIMENSIONS 16

/* A list of at most 127 names, stored as CF's flag_values 0, 1, … and flag_meanings. Names are made
 * of letters, digits and _ - . + @. Borrowed during the call. */
typedef struct norma_schema_names {
    int n;
    const char *const *texts;
} norma_schema_names;

/* One axis. All strings and values are borrowed during the call. */
typedef struct norma_dimension {
    const char *name;
    int64_t length;           /* >= 0 */
    const char *units;        /* of the coordinate; "1" when dimensionless */
    const char *long_name;    /* what the axis counts */
    norma_type type;          /* of the coordinate */
    const void *values;       /* [length] of that type, or NULL: an axis without coordinate values,
                                 which netCDF does not show as a variable */
    norma_schema_names names; /* for NORMA_NAME */

    /* In place of values, for long axes: writes values first .. first + n - 1 to out. */
    void (*fill)(const void *context, int64_t first, int64_t n, void *out);
    const void *context;
} norma_dimension;

/* One variable; row-major, last dimension fastest. All strings are borrowed during the call. */
typedef struct norma_variable {
    const char *name;
    norma_type type;
    bool written_whole; /* every element will be written before the file is closed: spares the pass
                           that fills a large variable */
    const char *dimensions[NORMA_MAX_DIMENSIONS]; /* names of dimensions of the same group, ended
                                                     by NULL; none for a scalar */
    const char *units;                            /* "1" when dimensionless */
    const char *long_name;
    norma_schema_names names; /* for NORMA_NAME */
} norma_variable;

/* Creates a group and the groups above it that do not exist ("/layers/000"). Collective; equal
 * arguments on all ranks. NORMA_IO when the file cannot take it. */
NORMA_MUST_USE norma_status norma_schema_add_group(norma_result *file, const char *group);

/* Adds an axis to a group, with its coordinate values (written by rank 0, equal on all ranks).
 * Every group carries its own axes: variables use those of their own group only. Collective; equal
 * arguments on all ranks. NORMA_LIBRARY for arguments that break the rules, NORMA_IO when the disk
 * is full (naming the bytes needed) or the file cannot take it. */
NORMA_MUST_USE norma_status norma_schema_add_dimension(norma_result *file, const char *group,
                                                       const norma_dimension *dimension);

/* An axis of the numbers 0 .. length - 1 (int32). As norma_schema_add_dimension. */
NORMA_MUST_USE norma_status norma_schema_add_axis(norma_result *file, const char *group,
                                                  const char *name, int64_t length,
                                                  const char *long_name);

/* Adds a variable to a group: scales attached, attributes written, space allocated and filled with
 * "missing". Large ones are chunked (64 KiB to 16 MiB a chunk), small ones contiguous. Collective;
 * equal arguments on all ranks. Errors as above; an unknown dimension is NORMA_LIBRARY. */
NORMA_MUST_USE norma_status norma_schema_add_variable(norma_result *file, const char *group,
                                                      const norma_variable *variable);

/* The chunk of an array of n extents [n] with values of `size` bytes; false when the array is
 * better stored contiguously. Local; no file involved. */
bool norma_schema_chunk_local(int n, const int64_t *extents, int64_t size, int64_t *chunk);

#endif
