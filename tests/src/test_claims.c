/* src/claims/examine: the worst case of a made-up claim, within a block and over blocks in any
 * order; all verdicts; nearly collinear samples meet the hypothesis in all replicas. Real claims:
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
    static double record[N_CASES][NORMA_CLAIM_HEAD + 3 * N_CASES], merged[NORMA_CLAIM_HEAD];
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
    static const char *const names[] = {"thesis-c.9-far", "thesis-6.1"};
    (void)state;
    for (int i = 0; i < 2; i++) {
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

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_worst_case),
    cmocka_unit_test(test_verdicts),
    cmocka_unit_test(test_collinear_samples),
};

norma_test_main_serial("src.claims", tests)
