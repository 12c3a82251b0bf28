#ifndef NORMA_MPI_KRYLOV_STOPPING_H
#define NORMA_MPI_KRYLOV_STOPPING_H

/* Why an iteration ended. */
typedef enum norma_stopping {
    NORMA_STOPPING_NONE,        /* a solver that stops for one reason only */
    NORMA_STOPPING_TOLERANCE,   /* residual or gradient are nothing but rounding */
    NORMA_STOPPING_NO_PROGRESS, /* steps changed nothing, or hardly anything */
    NORMA_STOPPING_LIMIT,       /* the number of iterations was used up */
    NORMA_N_STOPPINGS
} norma_stopping;

/* "none", "tolerance", "no-progress", "limit"; a constant string. */
const char *norma_stopping_name(norma_stopping stopping);

#endif
