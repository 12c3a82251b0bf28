#ifndef NORMA_EXPERIMENTS_MEANFIELD_VARIABLES_H
#define NORMA_EXPERIMENTS_MEANFIELD_VARIABLES_H
/* The variables of a cell of norma meanfield: one table for the record, the file and the plan. */
#include <stdbool.h>
#include <stdint.h>

/* The axes behind the sweep's. */
typedef enum norma_meanfield_axis {
    NORMA_MEANFIELD_NO_AXIS,
    NORMA_MEANFIELD_GRID,
    NORMA_MEANFIELD_COEFFICIENT,
    NORMA_MEANFIELD_LAYER,
    NORMA_MEANFIELD_POINT, /* fixed points */
    NORMA_MEANFIELD_ENTRY, /* diagonal, off the diagonal */
    NORMA_MEANFIELD_KIND,  /* of symmetric matrices: norma_gram_kind */
    NORMA_MEANFIELD_ROW,
    NORMA_MEANFIELD_COLUMN,
    NORMA_N_MEANFIELD_AXES
} norma_meanfield_axis;

#define NORMA_MEANFIELD_MAX_AXES 3

typedef enum norma_meanfield_variable_id {
    NORMA_MEANFIELD_MEAN,
    NORMA_MEANFIELD_SECOND,
    NORMA_MEANFIELD_KAPPA,
    NORMA_MEANFIELD_KAPPA_PRIME,
    NORMA_MEANFIELD_KAPPA_SECOND,
    NORMA_MEANFIELD_HERMITE,
    NORMA_MEANFIELD_HERMITE_TAIL,
    NORMA_MEANFIELD_SLOPE_TRUNCATED,
    NORMA_MEANFIELD_AT_ZERO,
    NORMA_MEANFIELD_SLOPE_ZERO,
    NORMA_MEANFIELD_AT_ONE,
    NORMA_MEANFIELD_SLOPE_ONE,
    NORMA_MEANFIELD_CURVATURE_ONE,
    NORMA_MEANFIELD_CASE,
    NORMA_MEANFIELD_FIXED_POINT,
    NORMA_MEANFIELD_FIXED_POINTS,
    NORMA_MEANFIELD_RATE_PRINTED,
    NORMA_MEANFIELD_RATE_CORRECTED,
    NORMA_MEANFIELD_RATE_ASYMPTOTIC,
    NORMA_MEANFIELD_DECAY_POWER,
    NORMA_MEANFIELD_RATE_PREDICTED,
    NORMA_MEANFIELD_RATE_MEASURED,
    NORMA_MEANFIELD_CONSTANT_MEASURED,
    NORMA_MEANFIELD_RHO,
    NORMA_MEANFIELD_DISTANCE,
    NORMA_MEANFIELD_BOUND_PRINTED,
    NORMA_MEANFIELD_BOUND_CORRECTED,
    NORMA_MEANFIELD_GRAM,
    NORMA_MEANFIELD_GRAM_FIXED_POINT,
    NORMA_MEANFIELD_GRAM_CONTRACTION,
    NORMA_MEANFIELD_GRAM_MULTIPLICITY,
    NORMA_MEANFIELD_GRAM_COVARIANCE,
    NORMA_MEANFIELD_GRAM_ONE_LAYER,
    NORMA_MEANFIELD_GRAM_STATIONARY,
    NORMA_MEANFIELD_GRADIENT_RATE,
    NORMA_N_MEANFIELD_VARIABLES
} norma_meanfield_variable_id;

typedef struct norma_meanfield_variable {
    const char *name, *long_name;
    bool count;         /* an integer */
    bool kernel, batch; /* in which variants it has values */
    norma_meanfield_axis axes[NORMA_MEANFIELD_MAX_AXES];
} norma_meanfield_variable;

extern const norma_meanfield_variable norma_meanfield_variables[NORMA_N_MEANFIELD_VARIABLES];

/* Lengths of the axes that the options set. */
typedef struct norma_meanfield_sizes {
    int64_t n_grid, n_coefficients, n_layers; /* n_layers: with layer 0 */
} norma_meanfield_sizes;

/* The length of an axis. */
int64_t norma_meanfield_axis_length(const norma_meanfield_sizes *sizes, norma_meanfield_axis axis);

/* Values of a variable, and of all of them, in a cell. */
int64_t norma_meanfield_count(const norma_meanfield_sizes *sizes, int variable);
int64_t norma_meanfield_total(const norma_meanfield_sizes *sizes);

#endif
