#ifndef NORMA_IO_MERGE_LAYOUT_H
#define NORMA_IO_MERGE_LAYOUT_H
/* Internal to io/merge: the dimensions and variables of a merged group, the union of those of its
 * pieces. Local; every rank reads the same. */
#include "io/merge/group.h"
#include "io/merge/inputs_internal.h"
#include "io/result/result_internal.h"

/* A dimension behind the sweep's. */
typedef struct norma_merge_axis {
    char name[NORMA_NAME_LENGTH];
    char *units, *long_name, *meanings; /* owned; meanings NULL: its values are no names */
    norma_type type;
    bool has_values;
    int64_t length;
    int64_t piece; /* the first of those with the most values */
} norma_merge_axis;

/* A variable; its dimensions are the sweep's, then axes[]. */
typedef struct norma_merge_variable {
    char name[NORMA_NAME_LENGTH];       /* in the inputs */
    char renamed[NORMA_NAME_LENGTH];    /* in the merged file */
    char *units, *long_name, *meanings; /* owned */
    char *text;                         /* owned; of a scalar text dataset */
    char *pooled;                       /* owned; NORMA_POOLED's text */
    norma_type type;
    int n_axes;
    int64_t axes[NORMA_MAX_DIMENSIONS]; /* of the layout */
    int64_t piece;                      /* the first that has it */
} norma_merge_variable;

/* All owned. */
typedef struct norma_merge_layout {
    norma_merge_axis *axes;
    norma_merge_variable *variables;
    int64_t n_axes, n_variables, axes_capacity, variables_capacity;
    char (*groups)[NORMA_NAME_LENGTH]; /* names of the groups below */
    int64_t n_groups, groups_capacity;
} norma_merge_layout;

/* *layout is to be cleared whatever is returned. */
NORMA_MUST_USE norma_status norma_merge_layout_read(norma_merge_inputs *inputs,
                                                    const norma_merge_group *group,
                                                    norma_merge_layout *layout);

void norma_merge_layout_clear(norma_merge_layout *layout);

/* The axis of that name; -1 when there is none. */
int64_t norma_merge_layout_find_axis(const norma_merge_layout *layout, const char *name);

/* Writes the coordinates of an axis to the merged file, in the group `path`: type, values first,
 * count, out as norma_dimension's fill. */
NORMA_MUST_USE norma_status norma_merge_axis_values(norma_merge_inputs *inputs,
                                                    const norma_merge_group *group,
                                                    const norma_merge_axis *axis, int64_t first,
                                                    int64_t n, void *out);

#endif
