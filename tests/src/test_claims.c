/* src/claims/examine: the worst case of a made-up claim, within a block and over blocks in any
 * order; all verdicts; nearly collinear samples meet the hypothesis in all replicas; the errors
 * that a budget asks for; stops; sizes of the full depth. Real claims:
 * tests/experiments/check_claims.py. */
#include "tests/harness/harness.h"

#include "src/claims/examine.h"
#include "src/claims/family.h"

#include <math.h>
#include <string.h>

/* Left - right and the bound of its rounding by case. The worst is the gravest violation, case 3:
 * others differ by more, within their rounding. */
static const struct {
    double difference, rounding;
} cases[] = {{0.5, 1}, {0.1, 0}, {0.4, 1}, {0.3, 0}, {0.2, 0}, {0.6, 1}};
enum { N_CASES = sizeof cases / sizeof cases[0], WORST = 3 };

static void draw_case(norma_claim_random *random, int64_t number, norma_claim_case *out)
{
    (void)random;
    *out = (norma_claim_case){.rows = 1, .columns = 1, .n = 1, .x = {(double)(number % N_CASES)}};
}

static norma_status evaluate(const norma_claim_case *c, norma_claim_random *random,
                             norma_claim_sides *out)
{
    int k = (int)c->x[0];
    (void)random;
    *out = (norma_claim_sides){
        .met = true, .left = 1, .right = 1 - cases[k].difference, .rounding = cases[k].rounding};
    return NORMA_OK;
}

static const norma_claim made_up = {
    .name = "made-up", .draw = draw_case, .evaluate = evaluate, .expected = NORMA_CLAIM_VIOLATED};

/* All cases in one block; then one a block, merged in every rotation, forwards and backwards. */
static void test_worst_case(void **state)
{
    static double record[N_CASES][NORMA_CLAIM_HEAD + 4 * N_CASES], merged[NORMA_CLAIM_HEAD];
    norma_claim_budget budget = {.n_blocks = 1, .n_cases = N_CASES};
    (void)state;
    norma_test_ok(norma_claim_examine(&made_up, 1, 0, &budget, record[0]));
    assert_int_equal(record[0][NORMA_CLAIM_WORST], WORST);
    assert_int_equal(record[0][NORMA_CLAIM_N_VIOLATED], 3);
    norma_test_check_close(record[0][NORMA_CLAIM_EXCESS], 0.3, 1e-14);
    budget = (norma_claim_budget){.n_blocks = N_CASES, .n_cases = 1};
    for (int64_t k = 0; k < N_CASES; k++)
        norma_test_ok(norma_claim_examine(&made_up, 1, k, &budget, record[k]));
    for (int first = 0; first < N_CASES; first++)
        for (int step = 1; step < N_CASES; step += N_CASES - 2) {
            memset(merged, 0, sizeof merged);
            for (int i = 0; i < N_CASES; i++)
                norma_claim_merge(merged, record[(first + i * step) % N_CASES]);
            assert_int_equal(merged[NORMA_CLAIM_WORST], WORST);
            assert_int_equal(merged[NORMA_CLAIM_N_CASES], N_CASES);
            assert_int_equal(merged[NORMA_CLAIM_N_VIOLATED], 3);
            norma_test_check_close(merged[NORMA_CLAIM_RATIO], 1 / 0.4, 1e-14);
            assert_int_equal(norma_claim_judge(&made_up, merged), NORMA_CLAIM_VIOLATED);
        }
}

/* All verdicts are within reach. */
static void test_verdicts(void **state)
{
    double merged[NORMA_CLAIM_HEAD] = {0};
    norma_claim claim = made_up;
    (void)state;
    assert_int_equal(norma_claim_judge(&claim, merged), NORMA_CLAIM_NEVER_MET);
    merged[NORMA_CLAIM_N_MET] = 2;
    assert_int_equal(norma_claim_judge(&claim, merged), NORMA_CLAIM_NOT_VIOLATED);
    merged[NORMA_CLAIM_N_TRIVIAL] = 1;
    assert_int_equal(norma_claim_judge(&claim, merged), NORMA_CLAIM_NOT_VIOLATED);
    merged[NORMA_CLAIM_N_TRIVIAL] = 2;
    assert_int_equal(norma_claim_judge(&claim, merged), NORMA_CLAIM_VACUOUS);
    claim.kind = NORMA_CLAIM_CONSTANT;
    assert_int_equal(norma_claim_judge(&claim, merged), NORMA_CLAIM_CONSTANT_UNKNOWN);
    claim.evaluate = NULL;
    assert_int_equal(norma_claim_judge(&claim, merged), NORMA_CLAIM_NOT_COVERED);
    claim = made_up;
    claim.expected = NORMA_CLAIM_SHARPER_KNOWN;
    merged[NORMA_CLAIM_N_TRIVIAL] = 0;
    assert_int_equal(norma_claim_judge(&claim, merged), NORMA_CLAIM_SHARPER_KNOWN);
}

/* A case is lost where one replica of a hundred thousand is singular to rounding. */
static void test_collinear_samples(void **state)
{
    static const char *const names[] = {"thesis-c.9-far", "thesis-6.1", "thesis-6.4"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        int64_t at = norma_names_index(&norma_claim_names, names[i]);
        assert_true(at >= 0);
        const norma_claim *claim = norma_claim_get(at);
        for (int64_t number = 0; number < 60; number += 2) {
            norma_claim_random random = {.seed = 3,
                                         .stream = {.purpose = NORMA_RNG_CLAIMS, .layer = number}};
            norma_claim_case c = {0};
            claim->draw(&random, number, &c);
            for (int replica = 0; replica < 30; replica++) {
                norma_claim_sides sides = {0};
                norma_test_ok(claim->evaluate(&c, &random, &sides));
                assert_true(sides.met);
                assert_true(sides.right > 18);
            }
        }
    }
}

/* Replicas of left - right = shift + 1 and shift - 1 in turn. */
static const double shift = 5.5 / 32;

static norma_status evaluate_replica(const norma_claim_case *c, norma_claim_random *random,
                                     norma_claim_sides *out)
{
    (void)c;
    *out = (norma_claim_sides){.met = true, .left = shift + (random->next++ % 2 ? 1 : -1)};
    return NORMA_OK;
}

static const norma_claim of_means = {.name = "of-means",
                                     .kind = NORMA_CLAIM_EXPECTATION,
                                     .draw = draw_case,
                                     .evaluate = evaluate_replica};

/* The mean of 1024 replicas lies 5.5 standard errors on the wrong side. */
static void test_errors(void **state)
{
    static double record[NORMA_CLAIM_HEAD + 4];
    (void)state;
    for (int n_errors = 5; n_errors <= 6; n_errors++) {
        norma_claim_budget budget = {.n_blocks = 1,
                                     .n_cases = 1,
                                     .n_replicas = 1024,
                                     .n_replicas_most = 1024,
                                     .n_errors = n_errors};
        norma_test_ok(norma_claim_examine(&of_means, 1, 0, &budget, record));
        assert_int_equal(record[NORMA_CLAIM_N_VIOLATED], n_errors == 5 ? 1 : 0);
        assert_int_equal(record[NORMA_CLAIM_N_SAMPLES], 1024);
        assert_int_equal(record[NORMA_CLAIM_HEAD + 3], 1024);
        norma_test_check_close(shift / record[NORMA_CLAIM_ERROR], 5.5, 1e-3);
    }
    norma_test_check_close(norma_claim_accusation(5), 5.7330314e-7, 1e-7);
    norma_test_check_close(norma_claim_accusation(6), 1.9731753e-9, 1e-7);
}

/* Says yes once *context questions were asked. */
static bool stop_after(void *context)
{
    int *left = context;
    return --*left < 0;
}

/* A block is left from draws, from the search and from replicas. */
static void test_stop(void **state)
{
    static double record[NORMA_CLAIM_HEAD + 4 * 600];
    static const struct {
        int64_t n_cases, n_steps;
        const char *name; /* of a real claim; NULL: of-means */
    } blocks[] = {{600, 0, "thesis-4.2-range"}, {1, 600, "thesis-4.2-range"}, {1, 0, NULL}};
    (void)state;
    for (int i = 0; i < 3; i++)
        for (int asked = 0; asked < 3; asked++) {
            int left = asked;
            const norma_claim *claim = &of_means;
            if (blocks[i].name)
                claim = norma_claim_get(norma_names_index(&norma_claim_names, blocks[i].name));
            norma_claim_budget budget = {.n_blocks = 1,
                                         .n_cases = blocks[i].n_cases,
                                         .n_steps = blocks[i].n_steps,
                                         .n_replicas = 1024,
                                         .n_replicas_most = 1024,
                                         .n_errors = 5,
                                         .stop = stop_after,
                                         .context = &left};
            assert_int_equal(norma_claim_examine(claim, 1, 0, &budget, record), NORMA_STOPPED);
            left = 100;
            norma_test_ok(norma_claim_examine(claim, 1, 0, &budget, record));
            assert_true(left > 90);
        }
}

/* The largest extent of the first cases. */
static int64_t extent_of(const norma_claim *claim, bool wide)
{
    int64_t most = 0;
    for (int64_t number = 0; number < 60; number++) {
        norma_claim_random random = {.seed = 4, .wide = wide};
        norma_claim_case c = {0};
        random.stream.purpose = NORMA_RNG_CLAIMS;
        random.stream.layer = number;
        claim->draw(&random, number, &c);
        assert_in_range(c.n, 1, NORMA_CLAIM_NUMBERS);
        assert_in_range(c.rows, 1, NORMA_CLAIM_WIDTH);
        most = c.rows > most ? c.rows : most;
        most = c.columns > most ? c.columns : most;
    }
    return most;
}

/* Larger cases of the full depth: there are some, and no true claim is violated in them. */
static void test_wide_cases(void **state)
{
    static double record[NORMA_CLAIM_HEAD + 4 * 60];
    int64_t n_larger = 0, n_true = 0;
    (void)state;
    for (int64_t i = 0; i < norma_claim_names.n; i++) {
        const norma_claim *claim = norma_claim_get(i);
        if (!claim->evaluate)
            continue;
        n_larger += extent_of(claim, true) > extent_of(claim, false) ? 1 : 0;
        if (norma_claim_is_random(claim) || claim->expected == NORMA_CLAIM_VIOLATED)
            continue;
        norma_claim_budget budget = {.n_blocks = 1, .n_cases = 60, .n_steps = 100, .wide = true};
        norma_test_ok(norma_claim_examine(claim, 4, 0, &budget, record));
        if (record[NORMA_CLAIM_N_VIOLATED] > 0)
            fail_msg("%s is violated in %g cases", claim->name, record[NORMA_CLAIM_N_VIOLATED]);
        n_true++;
    }
    assert_true(n_larger >= 40);
    assert_true(n_true >= 40);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_worst_case),
    cmocka_unit_test(test_verdicts),
    cmocka_unit_test(test_collinear_samples),
    cmocka_unit_test(test_errors),
    cmocka_unit_test(test_stop),
    cmocka_unit_test(test_wide_cases),
};

norma_test_main_serial("src.claims", tests)
