/* src/align: complements, assignments, searches against trying everything; matchings against
 * closed forms. */
#include "tests/harness/harness.h"
#include "tests/harness/planned_memory.h"

#include "src/align/complement.h"
#include "src/align/matching.h"
#include "src/align/searches.h"
#include "src/base/mem.h"

#include <math.h>
#include <string.h>

enum { CHANNELS = 5, ROW = 4, ROWS = CHANNELS * ROW };

typedef struct sample {
    int64_t number, n_columns;
    bool repeated; /* the last column is the first one */
} sample;

static void draw(int64_t number, int64_t first, int64_t n, double *out)
{
    const norma_rng_stream stream = {.purpose = NORMA_RNG_TEST, .replica = number};
    norma_rng_fill_normal(20240918, &stream, first, n, out);
}

static void fill(const void *context, double *matrix)
{
    const sample *s = context;
    draw(s->number, 0, ROWS * s->n_columns, matrix);
    if (s->repeated)
        memcpy(matrix + ROWS * (s->n_columns - 1), matrix, ROWS * sizeof *matrix);
}

static void check_complement(const sample *s, int64_t rank)
{
    norma_align_complement c;
    double matrix[ROWS * (ROWS + 3)];
    if (s->repeated)
        norma_test_ok(norma_align_complement_init(ROWS, s->n_columns, fill, s, &c));
    else
        norma_test_takes(norma_align_complement_bytes(ROWS, s->n_columns),
                         norma_align_complement_init(ROWS, s->n_columns, fill, s, &c));
    assert_int_equal(c.rank, rank);
    assert_int_equal(c.n_parts, ROWS - rank);
    fill(s, matrix);
    for (int64_t a = 0; a < c.n_parts; a++) {
        for (int64_t b = 0; b < c.n_parts; b++) {
            double dot = 0;
            for (int64_t e = 0; e < ROWS; e++)
                dot += c.basis[a * ROWS + e] * c.basis[b * ROWS + e];
            assert_true(fabs(dot - (a == b)) < 1e-14);
        }
        for (int64_t j = 0; j < s->n_columns; j++) {
            double dot = 0;
            for (int64_t e = 0; e < ROWS; e++)
                dot += c.basis[a * ROWS + e] * matrix[j * ROWS + e];
            assert_true(fabs(dot) < 1e-13);
        }
    }
    norma_align_complement_clear(&c);
}

static void test_complement(void **state)
{
    (void)state;
    check_complement(&(sample){.number = 1, .n_columns = 7}, 7);
    check_complement(&(sample){.number = 2, .n_columns = 7, .repeated = true}, 6);
    check_complement(&(sample){.number = 3, .n_columns = ROWS}, ROWS);
    check_complement(&(sample){.number = 4, .n_columns = ROWS, .repeated = true}, ROWS - 1);
    check_complement(&(sample){.number = 5, .n_columns = ROWS + 3}, ROWS);
    check_complement(&(sample){.number = 6, .n_columns = 1}, 1);
}

/* Features of single weights: the first columns of the identity. */
static void fill_single(const void *context, double *matrix)
{
    const sample *s = context;
    memset(matrix, 0, (size_t)(ROWS * s->n_columns) * sizeof *matrix);
    for (int64_t j = 0; j < s->n_columns; j++)
        matrix[j * ROWS + j] = 1;
}

static void test_problem_of_single_weights(void **state)
{
    (void)state;
    const sample s = {.number = 7, .n_columns = ROWS - 3};
    norma_align_complement c;
    norma_align_problem problem;
    double target[ROWS];
    draw(s.number, 1 << 20, ROWS, target);
    norma_test_ok(norma_align_complement_init(ROWS, s.n_columns, fill_single, &s, &c));
    norma_test_takes(norma_align_problem_bytes(ROWS, CHANNELS, c.n_parts),
                     norma_align_problem_init(&c, CHANNELS, target, &problem));
    for (int i = 0; i < CHANNELS;
         i++) /* the last channel lacks 3 of its weights, the others none */
        assert_true(problem.misses[i * CHANNELS] == (i == CHANNELS - 1 ? 3 : 0));
    norma_align_problem_clear(&problem);
    norma_align_complement_clear(&c);
}

static void make_problem(const sample *s, bool equal_rows, norma_align_problem *problem)
{
    norma_align_complement c;
    double target[ROWS];
    draw(s->number, 1 << 20, ROWS, target);
    if (equal_rows)
        memcpy(target + ROW, target, ROW * sizeof *target);
    norma_test_ok(norma_align_complement_init(ROWS, s->n_columns, fill, s, &c));
    norma_test_ok(norma_align_problem_init(&c, CHANNELS, target, problem));
    norma_align_complement_clear(&c);
}

static const norma_align_options usual = {.n_random = 50,
                                          .n_restarts = 4,
                                          .n_anneals = 2,
                                          .n_sweeps = 20,
                                          .seed = 7,
                                          .stream = {.purpose = NORMA_RNG_TEST}};

static void check_permutation(const int64_t *permutation)
{
    int seen = 0;
    for (int i = 0; i < CHANNELS; i++) {
        assert_true(permutation[i] >= 0 && permutation[i] < CHANNELS);
        seen |= 1 << permutation[i];
    }
    assert_int_equal(seen, (1 << CHANNELS) - 1);
}

/* Each search gives a permutation, the same one twice, and none is below all permutations. */
static void test_searches(void **state)
{
    (void)state;
    for (int64_t number = 0; number < 12; number++) {
        const sample s = {.number = 10 + number, .n_columns = ROWS - 1 - number};
        double least[NORMA_N_ALIGN_SEARCHES];
        norma_align_problem problem;
        make_problem(&s, number % 2 == 0, &problem);
        assert_null(problem.misses);
        for (int64_t i = 0; i < NORMA_N_ALIGN_SEARCHES; i++) {
            int64_t found[2][CHANNELS];
            int64_t n = 0;
            double again = 0;
            if (norma_align_search_get(i)->single) {
                norma_test_fails(norma_align_search_run(i, &problem, &usual, found[0], &again, &n),
                                 NORMA_CONFIG, "single weight");
                least[i] = INFINITY;
                continue;
            }
            norma_test_ok(norma_align_search_run(i, &problem, &usual, found[0], &least[i], &n));
            norma_test_ok(norma_align_search_run(i, &problem, &usual, found[1], &again, &n));
            check_permutation(found[0]);
            assert_memory_equal(found[0], found[1], sizeof found[0]);
        }
        for (int64_t i = 0; i < NORMA_N_ALIGN_SEARCHES; i++)
            if (!(sqrt(least[i]) > sqrt(least[NORMA_ALIGN_EXHAUSTIVE]) - 1e-13))
                fail_msg("problem %d: search %d finds %g, below the optimum %g", (int)number,
                         (int)i, least[i], least[NORMA_ALIGN_EXHAUSTIVE]);
        assert_true(least[NORMA_ALIGN_GREEDY] <= least[NORMA_ALIGN_NONE]);
        assert_true(least[NORMA_ALIGN_GREEDY_PRINTED] <= least[NORMA_ALIGN_NONE]);
        assert_true(least[NORMA_ALIGN_SWAPS] <= least[NORMA_ALIGN_GREEDY]);
        assert_true(least[NORMA_ALIGN_ANNEAL] <= least[NORMA_ALIGN_GREEDY]);
        norma_align_problem_clear(&problem);
    }
}

/* Nothing is outside of the range: every order is exact, and its own order is kept. */
static void test_empty(void **state)
{
    (void)state;
    const sample s = {.number = 30, .n_columns = ROWS};
    norma_align_problem problem;
    make_problem(&s, false, &problem);
    for (int64_t i = 0; i < NORMA_N_ALIGN_SEARCHES; i++) {
        int64_t permutation[CHANNELS];
        int64_t n = 0;
        double criterion = NAN;
        norma_test_ok(norma_align_search_run(i, &problem, &usual, permutation, &criterion, &n));
        assert_true(criterion == 0);
        check_permutation(permutation);
    }
    norma_align_problem_clear(&problem);
    norma_test_fails(norma_align_search_check(NORMA_ALIGN_EXHAUSTIVE, 10), NORMA_CONFIG,
                     "at most 9");
}

static double cost_of(const double *cost, const int64_t *permutation)
{
    double sum = 0;
    for (int i = 0; i < CHANNELS; i++)
        sum += cost[i * CHANNELS + permutation[i]];
    return sum;
}

/* The least cost of rows i and later, by trying everything. */
static double try_all(const double *cost, int64_t *permutation, int i)
{
    double least = INFINITY;
    if (i == CHANNELS)
        return cost_of(cost, permutation);
    for (int k = i; k < CHANNELS; k++) {
        int64_t kept = permutation[i];
        permutation[i] = permutation[k];
        permutation[k] = kept;
        least = fmin(least, try_all(cost, permutation, i + 1));
        permutation[k] = permutation[i];
        permutation[i] = kept;
    }
    return least;
}

static void test_assignment(void **state)
{
    (void)state;
    for (int64_t number = 0; number < 40; number++) {
        double cost[CHANNELS * CHANNELS];
        int64_t found[CHANNELS];
        int64_t all[CHANNELS] = {0, 1, 2, 3, 4};
        draw(100 + number, 0, CHANNELS * CHANNELS, cost);
        for (int e = 0; e < CHANNELS * CHANNELS && number % 2; e++)
            cost[e] = floor(2 * cost[e]); /* many equal ones */
        norma_test_ok(norma_align_assignment(CHANNELS, cost, found));
        check_permutation(found);
        assert_true(fabs(cost_of(cost, found) - try_all(cost, all, 0)) < 1e-12);
    }
}

/* Probabilities by closed forms, measured within 5 standard deviations. */
static void check_matching(const norma_matching *matching, double expected)
{
    const norma_rng_stream stream = {.purpose = NORMA_RNG_TEST, .replica = 40};
    const int64_t n = 20000;
    int64_t found = 0;
    norma_test_ok(norma_matching_count(matching, n, 3, &stream, &found));
    double error = (double)found / (double)n - expected;
    assert_true(fabs(error) <= 5 * sqrt(expected * (1 - expected) / (double)n));
}

static void test_matching(void **state)
{
    (void)state;
    const norma_matching one = {
        .n_rows = 1, .n_candidates = 12, .length = 50, .present = 0.8, .density = 0.2};
    norma_test_check_close(norma_matching_bound(&one), 0.7232014, 1e-7);
    norma_test_check_close(norma_matching_claimed(&one), 0.8116719, 1e-7);
    check_matching(&one, norma_matching_bound(&one));

    /* Two rows of one weight each, apart: all four fits are independent. */
    static const double apart[] = {1, 0, 0, -2};
    const norma_matching two = {
        .n_rows = 2, .n_candidates = 2, .length = 2, .present = 0.8, .target = apart};
    norma_test_check_close(norma_matching_bound(&two), 0.9216, 1e-14);
    assert_true(isnan(norma_matching_claimed(&two)));
    check_matching(&two, 1 - (1 - 0.64) * (1 - 0.64));

    /* Rows that are zero always fit, more rows than candidates never do. */
    static const double none[] = {0, 0, 0, 0};
    const norma_matching empty = {
        .n_rows = 2, .n_candidates = 2, .length = 2, .present = 0, .target = none};
    norma_test_check_close(norma_matching_bound(&empty), 1, 0);
    check_matching(&empty, 1);
    const norma_matching crowded = {
        .n_rows = 2, .n_candidates = 1, .length = 2, .present = 1, .target = none};
    assert_true(norma_matching_bound(&crowded) == 0);
    check_matching(&crowded, 0);

    /* Three equal rows of one weight: enough of the features that have it. */
    static const double equal[] = {1, 1, 1};
    const norma_matching three = {
        .n_rows = 3, .n_candidates = 4, .length = 1, .present = 0.6, .target = equal};
    check_matching(&three, pow(0.6, 4) + 4 * pow(0.6, 3) * 0.4);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_complement), cmocka_unit_test(test_searches),
    cmocka_unit_test(test_empty),      cmocka_unit_test(test_assignment),
    cmocka_unit_test(test_matching),   cmocka_unit_test(test_problem_of_single_weights),
};

norma_test_main_serial("src.align", tests)
