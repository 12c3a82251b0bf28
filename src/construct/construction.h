#ifndef NORMA_CONSTRUCT_CONSTRUCTION_H
#define NORMA_CONSTRUCT_CONSTRUCTION_H
/* The sources that may stand for a target layer: one table of names. */
#include "src/base/names.h"
#include "src/base/status.h"
#include "src/network/activation.h"

typedef enum norma_construction {
    NORMA_CONSTRUCTION_PAIR,
    NORMA_CONSTRUCTION_LOW_RANK, /* src/network/low_rank.h */
    NORMA_CONSTRUCTION_SKIP,     /* src/construct/blocks.h */
    NORMA_CONSTRUCTION_DEEP,     /* src/construct/deep.h */
    NORMA_CONSTRUCTION_TEACHER,  /* src/construct/teacher.h */
    NORMA_N_CONSTRUCTIONS
} norma_construction;

typedef struct norma_construction_descriptor {
    const char *name, *summary;
    const char *const *options; /* that only this construction takes; ended by NULL */
} norma_construction_descriptor;

extern const norma_names norma_construction_names;

const norma_construction_descriptor *norma_construction_get(norma_construction construction);

/* NORMA_CONFIG for an activation that is not linear on the positive side: shifts do not make deep
 * sources with it linear on their inputs. */
NORMA_MUST_USE norma_status norma_construction_check_opening(const norma_activation *activation);

#endif
