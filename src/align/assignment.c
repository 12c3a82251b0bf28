#include "src/align/searches.h"

#include "src/base/mem.h"

#include <math.h>

/* Rows are assigned one after the other. Each takes the shortest path of reduced costs that leads
 * to a free column through assigned ones; along the path every row moves on to the next column. */
typedef struct state {
    int64_t n;
    const double *cost;   /* [n][n] */
    double *row_price;    /* [n] */
    double *column_price; /* [n]: cost - both prices >= 0, 0 where assigned */
    double *distance;     /* [n]: of the shortest path to a column so far */
    int64_t *column_of;   /* [n]: the column of a row; -1: none yet */
    int64_t *row_of;      /* [n]: the row of a column; -1: free */
    int64_t *from;        /* [n]: the row before a column on its path */
    bool *reached;        /* [n]: the distance of this column is final */
} state;

/* The nearest column that is not reached yet. */
static int64_t nearest(const state *s)
{
    int64_t best = -1;
    for (int64_t j = 0; j < s->n; j++)
        if (!s->reached[j] && (best < 0 || s->distance[j] < s->distance[best]))
            best = j;
    return best;
}

/* Shortens distances by paths through row i, which is `length` away from the start. */
static void relax(state *s, int64_t i, double length)
{
    for (int64_t j = 0; j < s->n; j++) {
        double there = length + s->cost[i * s->n + j] - s->row_price[i] - s->column_price[j];
        if (s->reached[j] || !(there < s->distance[j]))
            continue;
        s->distance[j] = there;
        s->from[j] = i;
    }
}

static void assign_row(state *s, int64_t row)
{
    for (int64_t j = 0; j < s->n; j++) {
        s->distance[j] = INFINITY;
        s->reached[j] = false;
    }
    relax(s, row, 0);
    int64_t free_column = nearest(s);
    while (s->row_of[free_column] >= 0) {
        s->reached[free_column] = true;
        relax(s, s->row_of[free_column], s->distance[free_column]);
        free_column = nearest(s);
    }
    double length = s->distance[free_column];
    s->row_price[row] += length;
    for (int64_t j = 0; j < s->n; j++) {
        if (!s->reached[j])
            continue;
        s->row_price[s->row_of[j]] += length - s->distance[j];
        s->column_price[j] -= length - s->distance[j];
    }
    for (int64_t j = free_column, i = -1; i != row;) { /* along the path back to the start */
        i = s->from[j];
        int64_t before = s->column_of[i];
        s->row_of[j] = i;
        s->column_of[i] = j;
        j = before;
    }
}

norma_status norma_align_assignment(int64_t n, const double *cost, int64_t *permutation)
{
    norma_status status = NORMA_OK;
    state s = {.n = n, .cost = cost};
    s.column_of = permutation;
    NORMA_GOTO(status, NORMA_CALLOC(s.row_price, n));
    NORMA_GOTO(status, NORMA_CALLOC(s.column_price, n));
    NORMA_GOTO(status, NORMA_ALLOC(s.distance, n));
    NORMA_GOTO(status, NORMA_ALLOC(s.row_of, n));
    NORMA_GOTO(status, NORMA_ALLOC(s.from, n));
    NORMA_GOTO(status, NORMA_ALLOC(s.reached, n));
    for (int64_t i = 0; i < n; i++)
        s.column_of[i] = s.row_of[i] = -1;
    for (int64_t i = 0; i < n; i++)
        assign_row(&s, i);
done:
    NORMA_FREE(s.row_price);
    NORMA_FREE(s.column_price);
    NORMA_FREE(s.distance);
    NORMA_FREE(s.row_of);
    NORMA_FREE(s.from);
    NORMA_FREE(s.reached);
    return status;
}

norma_status norma_align_assign(const norma_align_problem *problem,
                                const norma_align_options *options, int64_t *permutation,
                                int64_t *n_evaluations)
{
    double *cost = NULL;
    int64_t c2 = problem->n_channels;
    (void)options;
    NORMA_TRY(NORMA_CALLOC(cost, c2 * c2));
    for (int64_t i = 0; i < c2; i++)
        for (int64_t p = 0; p < c2; p++) {
            const double *part = norma_align_part(problem, i, p);
            for (int64_t s = 0; s < problem->n_parts; s++)
                cost[i * c2 + p] += part[s] * part[s];
        }
    (*n_evaluations)++;
    norma_status status = norma_align_assignment(c2, cost, permutation);
    NORMA_FREE(cost);
    return status;
}

norma_status norma_align_assign_printed(const norma_align_problem *problem,
                                        const norma_align_options *options, int64_t *permutation,
                                        int64_t *n_evaluations)
{
    (void)options;
    (*n_evaluations)++;
    return norma_align_assignment(problem->n_channels, problem->misses, permutation);
}
