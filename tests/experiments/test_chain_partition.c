/* experiments/chain/partition: every replica is in one block, blocks of several cells on any number
 * of groups end no later than any uniform cut, known cases are cut as they should be, and states of
 * blocks under way keep their blocks. */
#include "tests/harness/mpi_harness.h"

#include "experiments/chain/coverage.h"
#include "experiments/chain/partition.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REPLICAS = 70, MOST_CELLS = 3 };

/* Costs of a layer of 1, 2, 4 and 8 replicas in the examples below. */
static const double even[NORMA_CHAIN_N_SIZES] = {1, 1.9, 3, 5};

typedef struct example {
    norma_chain_setup setup;
    norma_chain_cell cells[MOST_CELLS];
} example;

static void make(example *e, int64_t n_cells, int64_t n_replicas, const int64_t *depths)
{
    memset(e, 0, sizeof *e);
    e->setup.cells = e->cells;
    e->setup.n_cells = n_cells;
    e->setup.n_replicas = n_replicas;
    e->setup.n_tasks = n_cells * n_replicas;
    for (int64_t i = 0; i < n_cells; i++) {
        norma_chain_cell *cell = &e->cells[i];
        cell->number = i;
        cell->depth = depths[i];
        for (; cell->n_sizes < NORMA_CHAIN_N_SIZES; cell->n_sizes++) {
            cell->sizes[cell->n_sizes].lanes = 1 << cell->n_sizes;
            cell->sizes[cell->n_sizes].cost = even[cell->n_sizes];
        }
    }
}

/* Blocks hold every replica that is not done once, and nothing else. */
static void check_cover(const example *e, const norma_chain_partition *p, const unsigned char *done)
{
    int times[MOST_CELLS * MOST_REPLICAS] = {0};
    for (int64_t t = 0; t < p->n; t++) {
        const norma_chain_task *task = &p->tasks[t];
        norma_test_check_all(task->count >= 1 && task->count <= task->lanes);
        for (int64_t r = 0; r < task->count; r++)
            times[task->cell * e->setup.n_replicas + task->first + r]++;
    }
    for (int64_t r = 0; r < e->setup.n_tasks; r++)
        norma_test_check_all(times[r] == (done && done[r] ? 0 : 1));
}

static double longest(example *e, int64_t n_groups, int64_t *n_tasks)
{
    norma_chain_partition p;
    norma_test_ok_all(norma_chain_partition_choose(&e->setup, n_groups, NULL, NULL, 0, &p));
    check_cover(e, &p, NULL);
    double end = p.longest;
    *n_tasks = p.n;
    norma_chain_partition_clear(&p);
    return end;
}

/* When the run ends with blocks of one size only, on groups that take the next block in turn. */
static double longest_of_size(const example *e, int64_t n_groups, int size)
{
    norma_chain_partition p = {0};
    norma_chain_task tasks[MOST_CELLS * MOST_REPLICAS];
    const int64_t lanes = (int64_t)1 << size;
    p.tasks = tasks;
    for (int64_t i = 0; i < e->setup.n_cells; i++)
        for (int64_t first = 0; first < e->setup.n_replicas; first += lanes)
            tasks[p.n++] = (norma_chain_task){.cell = i,
                                              .first = first,
                                              .count = 1,
                                              .lanes = lanes,
                                              .cost = even[size] * (double)e->cells[i].depth};
    norma_test_ok_all(norma_chain_partition_time(&p, n_groups));
    return p.longest;
}

static void test_no_later_than_one_size(void **state)
{
    static const int64_t replicas[] = {1, 2, 3, 5, 8, 13, 64, MOST_REPLICAS};
    static const int64_t groups[] = {1, 2, 3, 8, 10, 64};
    static const int64_t depths[] = {100, 40, 7};
    example e;
    (void)state;
    for (size_t i = 0; i < sizeof replicas / sizeof *replicas; i++)
        for (size_t k = 0; k < sizeof groups / sizeof *groups; k++)
            for (int64_t n_cells = 1; n_cells <= MOST_CELLS; n_cells++) {
                int64_t n_tasks = 0;
                make(&e, n_cells, replicas[i], depths);
                double end = longest(&e, groups[k], &n_tasks);
                for (int size = 0; size < NORMA_CHAIN_N_SIZES; size++) {
                    double other = longest_of_size(&e, groups[k], size);
                    if (end > 1.02 * other)
                        print_error("%lld replicas, %lld groups, %lld cells: %g, and %g by %d\n",
                                    (long long)replicas[i], (long long)groups[k],
                                    (long long)n_cells, end, other, 1 << size);
                    norma_test_check_all(end <= 1.02 * other);
                }
            }
}

/* {replicas, groups, the end in layers of one replica}: found by hand with the costs above. */
static void test_known_cuts(void **state)
{
    static const struct {
        int64_t replicas, groups, n_tasks;
        double end;
    } cases[] = {
        {64, 64, 64, 1}, /* one each */
        {64, 8, 8, 5},   /* full blocks */
        {3, 1, 1, 3},    /* a block of 4, no dearer than 2 and 1 */
        {8, 2, 2, 3},    /* halves */
        {9, 2, 3, 4},    /* 4, 4 and 1 */
        {1, 64, 1, 1},
    };
    const int64_t depth = 1;
    example e;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t n_tasks = 0;
        make(&e, 1, cases[i].replicas, &depth);
        double end = longest(&e, cases[i].groups, &n_tasks);
        if (fabs(end - cases[i].end) > 0.101 || llabs(n_tasks - cases[i].n_tasks) > 1)
            print_error("%lld replicas on %lld groups: %lld blocks until %g\n",
                        (long long)cases[i].replicas, (long long)cases[i].groups,
                        (long long)n_tasks, end);
        norma_test_check_all(fabs(end - cases[i].end) <= 0.101);
        norma_test_check_all(llabs(n_tasks - cases[i].n_tasks) <= 1);
    }
}

/* Replicas 0 and 5 are done; a block of 4 from replica 1 is under way, of which none, the second or
 * the first replica is done already. */
static void test_states(void **state)
{
    const int64_t depth = 10;
    example e;
    (void)state;
    for (int which = 0; which < 3; which++) {
        unsigned char done[12] = {1, 0, 0, 0, 0, 1};
        norma_chain_partition p;
        make(&e, 1, 12, &depth);
        const norma_chain_task begun = {.first = 1, .count = 4, .lanes = 4};
        const norma_chain_task over = {.first = 3, .count = 2, .lanes = 2};
        const norma_chain_task wrong = {.first = 11, .count = 2, .lanes = 2};
        int64_t states[] = {norma_chain_partition_state(&e.setup, &begun),
                            norma_chain_partition_state(&e.setup, &over),
                            norma_chain_partition_state(&e.setup, &wrong)};
        if (which > 0)
            done[3 - which] = 1;
        norma_test_ok_all(norma_chain_partition_choose(&e.setup, 2, done, states, 3, &p));
        bool kept = which < 2;
        norma_test_check_all((states[0] == -1) == kept && states[2] >= 0);
        norma_test_check_all(p.tasks[0].begun);
        norma_test_check_all((states[1] == -1) == !kept);
        norma_test_check_all(p.tasks[0].first == (kept ? 1 : 3));
        unsigned char expected[12];
        memcpy(expected, done, sizeof expected);
        if (which == 1)
            expected[2] = 0; /* computed again with its block */
        check_cover(&e, &p, expected);
        norma_chain_partition_clear(&p);
    }
}

/* Pieces of replicas 0 to 2 in any order and some twice: replica 0 has all up to layer 9, replica 1
 * lacks layers 4 to 6, replica 2 has none and needs none, replica 3 has none and needs layer 0. */
static void test_coverage(void **state)
{
    (void)state;
    const norma_chain_piece pieces[] = {{.count = 1, .after = 6, .upto = 9},
                                        {.count = 2, .after = -1, .upto = 3},
                                        {.count = 1, .after = 2, .upto = 6},
                                        {.count = 1, .after = -1, .upto = 3}};
    unsigned char done[4] = {1, 1, 1, 1};
    norma_chain_coverage c;
    norma_test_ok_all(norma_chain_coverage_init(&c, 4));
    for (int k = 0; k < 4; k++)
        norma_test_ok_all(norma_chain_coverage_add(&c, 0, &pieces[k]));
    norma_test_ok_all(norma_chain_coverage_add(&c, 1, &pieces[0]));
    c.needed[0] = c.needed[1] = 9;
    c.needed[3] = 0;
    norma_chain_coverage_settle(&c, done);
    norma_test_check_all(done[0] && !done[1] && done[2] && !done[3]);
    norma_test_check_all(norma_chain_coverage_holds(&c, 0, 2, 3));
    norma_test_check_all(!norma_chain_coverage_holds(&c, 0, 2, 4));
    norma_test_check_all(norma_chain_coverage_holds(&c, 0, 4, -1));
    norma_chain_coverage_clear(&c);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_no_later_than_one_size),
    cmocka_unit_test(test_known_cuts),
    cmocka_unit_test(test_states),
    cmocka_unit_test(test_coverage),
};

norma_test_main_mpi("experiments.chain_partition", tests)
