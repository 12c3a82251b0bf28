#ifndef NORMA_EXPERIMENTS_RECONSTRUCT_CONSTRUCT_STRUCTURE_H
#define NORMA_EXPERIMENTS_RECONSTRUCT_CONSTRUCT_STRUCTURE_H
/* The structural rank of a layer's draw, and the least width of its seed, known before it is solved
 * (src/features/structural_rank.h). */
#include "experiments/reconstruct/setup.h"
#include "mpi/runtime/team.h"

/* Of one draw; all -1 where it was not looked at. */
typedef struct norma_reconstruct_structure {
    int64_t rank;        /* of the system */
    int64_t n_system;    /* its rows */
    int64_t deficiency;  /* below the smaller of rows and features */
    int64_t n_lost;      /* output channels that no solution scales to their target */
    int64_t least_width; /* features of this seed that suffice; -1: unknown, or very many */
} norma_reconstruct_structure;

/* Does a cell have zeros among its source weights: a law with a mask, or a file? With a teacher the
 * rank is stated in any case. Local. */
bool norma_reconstruct_structure_wanted(const norma_config *config);

/* Looks at the drawn layer of a cell; where fewer than memory_per_rank / 4 bytes are needed, or
 * else leaves -1. Tries more features of a masked law until they suffice, at most eight times as
 * many and 1000. The root of the team computes. Collective over the team. */
NORMA_MUST_USE norma_status norma_reconstruct_structure_measure(const norma_team *team,
                                                                const norma_reconstruct_cell *cell,
                                                                int64_t number,
                                                                double memory_per_rank,
                                                                norma_reconstruct_structure *out);

/* Is something missing? */
bool norma_reconstruct_structure_is_short(const norma_reconstruct_structure *structure);

/* "structural rank 23 of 25; this seed needs 31 features". Returns text. */
enum { NORMA_RECONSTRUCT_STRUCTURE_TEXT = 256 };
const char *norma_reconstruct_structure_describe(const norma_reconstruct_structure *structure,
                                                 char text[NORMA_RECONSTRUCT_STRUCTURE_TEXT]);

/* For a plan: draws all replicas of a cell and prints a line for each layer of which some are
 * short, with the widths that they need. Local, equal on all ranks. */
NORMA_MUST_USE norma_status norma_reconstruct_structure_print(
    const norma_config *config, const norma_reconstruct_inputs *inputs, int64_t cell_number,
    double memory_per_rank);

#endif
