#ifndef NORMA_IO_MERGE_GROUP_H
#define NORMA_IO_MERGE_GROUP_H
/*
 * A group of the merged file from those of several results: its dimensions, variables and
 * attributes are the union of theirs, its values are copied by slabs of a few megabytes.
 *
 * A variable of the whole has the dimensions [sweep's..., replica, trailing...]; in a piece the
 * sweep's are replaced by those in front that count the piece's cells. Trailing dimensions of two
 * pieces may differ in length, if one begins with the other's coordinates: what a piece lacks stays
 * missing, as in a run of the whole sweep.
 */
#include "io/merge/inputs.h"
#include "io/result/result.h"

/* A group of an input. Everything is borrowed. */
typedef struct norma_merge_piece {
    int64_t input;
    const char *path;           /* of the group in the input */
    int n_leading;              /* dimensions in front that count its cells; 0: a single cell */
    const char *const *leading; /* [n_leading] their names */
    int64_t n_cells;
    const int64_t *cells;        /* [n_cells] the cell of the whole that each cell is */
    const int64_t *order;        /* [n_cells] sorts `cells` ascending; NULL: they ascend */
    int64_t replica;             /* its first replica's index in the whole */
    const char *const *only;     /* names of the objects that count; NULL: all */
    const char *const *left_out; /* names of those that do not; NULL: none; both NULL-terminated */
} norma_merge_piece;

/* The group that is written. Everything is borrowed. */
typedef struct norma_merge_group {
    const char *path;
    int n_axes;              /* of the sweep; 0: a single cell, and the groups below follow */
    const char *const *axes; /* [n_axes] names of dimensions, which the caller has added */
    const int64_t *extents;  /* [n_axes] */
    int64_t first_replica, n_replicas;
    /* Pieces hold different replicas. What is computed from all replicas (NORMA_POOLED) is then
     * computed anew: pool(how, values[n], n) with how as "mean". */
    bool joins_replicas;
    double (*pool)(const char *how, double *values, int64_t n);
    const norma_merge_piece *pieces; /* [n_pieces] */
    int64_t n_pieces;
} norma_merge_group;

/* Adds the group with its variables to the file and copies the values; those of another group may
 * follow. NORMA_CONFIG naming variable and files where pieces do not fit together. Collective over
 * the file's communicator, equal arguments on all ranks. */
NORMA_MUST_USE norma_status norma_merge_group_write(norma_merge_inputs *inputs, norma_result *file,
                                                    const norma_merge_group *group);

/* Copies the attributes of the first piece's group that the merge does not set itself. Collective
 * as above. */
NORMA_MUST_USE norma_status norma_merge_group_attributes(norma_merge_inputs *inputs,
                                                         norma_result *file,
                                                         const norma_merge_group *group);

#endif
