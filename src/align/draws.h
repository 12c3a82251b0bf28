#ifndef NORMA_ALIGN_DRAWS_H
#define NORMA_ALIGN_DRAWS_H
/* Random choices one after the other, from a stream of counted numbers (src/base/rng.h). */
#include "src/base/rng.h"

typedef struct norma_align_draws {
    uint64_t seed;
    norma_rng_stream stream;
    int64_t next; /* element of the stream behind the buffer */
    int n_left;   /* of the buffer, at its end */
    double buffer[64];
} norma_align_draws;

/* Begins at element 0 of the stream. */
void norma_align_draws_init(uint64_t seed, const norma_rng_stream *stream,
                            norma_align_draws *draws);

/* The next uniform number in (0, 1). */
double norma_align_draws_uniform(norma_align_draws *draws);

/* The next of 0 .. n - 1, n >= 1. */
int64_t norma_align_draws_below(norma_align_draws *draws, int64_t n);

/* A uniformly distributed order of x[n]. */
void norma_align_draws_shuffle(norma_align_draws *draws, int64_t n, int64_t *x);

#endif
