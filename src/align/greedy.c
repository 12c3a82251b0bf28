#include "src/align/searches.h"

#include "src/base/mem.h"

/* order[n] = channels by falling weight, equal ones in their order. */
static void sort_channels(const norma_align_problem *problem, int64_t *order)
{
    for (int64_t i = 0; i < problem->n_channels; i++) {
        int64_t at = i;
        for (; at > 0 && problem->weights[order[at - 1]] < problem->weights[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

/* Takes the channels in turn. The channel whose turn it is exchanges its row with that of a channel
 * whose turn is still to come, where this lowers the criterion: with the one that lowers it most,
 * or, if `last`, with the last one that lowers it. */
static norma_status run(const norma_align_problem *problem, bool last, int64_t *permutation,
                        int64_t *n_evaluations)
{
    norma_status status = NORMA_OK;
    int64_t c2 = problem->n_channels;
    double *sum = NULL;
    int64_t *order = NULL;
    NORMA_GOTO(status, NORMA_ALLOC(sum, problem->n_parts));
    NORMA_GOTO(status, NORMA_ALLOC(order, c2));
    sort_channels(problem, order);
    for (int64_t i = 0; i < c2; i++)
        permutation[i] = i;
    double before = norma_align_criterion(problem, permutation, sum);
    for (int64_t turn = 0; turn < c2; turn++) {
        int64_t partner = -1;
        double reached = before;
        for (int64_t next = turn + 1; next < c2; next++) {
            double after = norma_align_swapped(problem, permutation, sum, order[turn], order[next]);
            if (!norma_align_improves(problem, last ? before : reached, after))
                continue;
            reached = after;
            partner = order[next];
        }
        *n_evaluations += c2 - turn - 1;
        if (partner < 0)
            continue;
        norma_align_swap(problem, permutation, sum, order[turn], partner);
        before = reached;
    }
done:
    NORMA_FREE(sum);
    NORMA_FREE(order);
    return status;
}

norma_status norma_align_greedy(const norma_align_problem *problem,
                                const norma_align_options *options, int64_t *permutation,
                                int64_t *n_evaluations)
{
    (void)options;
    return run(problem, false, permutation, n_evaluations);
}

norma_status norma_align_greedy_printed(const norma_align_problem *problem,
                                        const norma_align_options *options, int64_t *permutation,
                                        int64_t *n_evaluations)
{
    (void)options;
    return run(problem, true, permutation, n_evaluations);
}
