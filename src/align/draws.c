#include "src/align/draws.h"

enum { BUFFERED = 64 };

void norma_align_draws_init(uint64_t seed, const norma_rng_stream *stream, norma_align_draws *draws)
{
    draws->seed = seed;
    draws->stream = *stream;
    draws->next = 0;
    draws->n_left = 0;
}

double norma_align_draws_uniform(norma_align_draws *draws)
{
    if (draws->n_left == 0) {
        norma_rng_fill_uniform(draws->seed, &draws->stream, draws->next, BUFFERED, draws->buffer);
        draws->next += BUFFERED;
        draws->n_left = BUFFERED;
    }
    return draws->buffer[BUFFERED - draws->n_left--];
}

int64_t norma_align_draws_below(norma_align_draws *draws, int64_t n)
{
    int64_t i = (int64_t)(norma_align_draws_uniform(draws) * (double)n);
    return i < n ? i : n - 1;
}

void norma_align_draws_shuffle(norma_align_draws *draws, int64_t n, int64_t *x)
{
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = norma_align_draws_below(draws, i + 1);
        int64_t kept = x[i];
        x[i] = x[j];
        x[j] = kept;
    }
}
