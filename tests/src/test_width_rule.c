/* features/width_rule: pivots, ratios, rows, closing row, recovery of the scales. */
#include "tests/harness/layer_fixture.h"
#include "tests/harness/planned_memory.h"

#include "src/features/width_rule.h"

#include <math.h>
#include <string.h>

/* Target with two channels of four entries each, pivots 2 and 0, and a zero channel between. */
static const double small_target[12] = {1, -2, 4, 0, 0, 0, 0, 0, -8, 4, 2, -8};

static norma_width_rule *create(norma_width width, const norma_khatri_rao_shape *shape,
                                const double *target)
{
    norma_width_rule *rule = NULL;
    norma_test_takes(norma_width_rule_bytes(width, NORMA_RESIDUAL_NONE, shape),
                     norma_width_rule_create(width, shape, target, &rule));
    return rule;
}

static void test_pivots_and_ratios(void **state)
{
    (void)state;
    norma_khatri_rao_shape shape = fixture_shape(3, 4, "second", 1, 1);
    norma_width_rule *rule = create(NORMA_WIDTH_MIN, &shape, small_target);
    assert_int_equal(rule->pivot[0], 2);
    assert_int_equal(rule->pivot[1], -1);
    assert_int_equal(rule->pivot[2], 0); /* the first of equals */
    assert_int_equal(rule->n_active, 2);
    assert_int_equal(rule->n_rows, 6);
    assert_int_equal(rule->n_system, 7);
    norma_test_check(rule->ratio[1] == -0.5 && rule->ratio[9] == -0.5 && rule->ratio[11] == 1);
    norma_test_check(rule->scale == 8 && rule->target[8] == -1);
    assert_int_equal(
        norma_width_rule_minimum(NORMA_WIDTH_MIN, NORMA_RESIDUAL_NONE, &shape, small_target, NULL),
        7);
    assert_int_equal(
        norma_width_rule_minimum(NORMA_WIDTH_MIN, NORMA_RESIDUAL_NONE, &shape, NULL, NULL), 10);
    assert_int_equal(
        norma_width_rule_minimum(NORMA_WIDTH_MAX, NORMA_RESIDUAL_NONE, &shape, small_target, NULL),
        12);
    norma_width_rule_destroy(&rule);
}

/* A target that the source makes by itself, Wt = diag(s) KR g with sum(g) = 1: M g = 0, and the
 * recovered gamma2 is s. */
static void test_known_solution_is_annihilated(void **state)
{
    (void)state;
    const int64_t n_features = 6;
    norma_khatri_rao_shape shape = fixture_shape(3, 2, "2x1+1x2", 1, 1);
    int64_t n = norma_khatri_rao_n_rows(&shape);
    norma_khatri_rao *kr = NULL;
    double g[6] = {0.5, -0.25, 0.75, 1, -0.5, -0.5};
    double s[3] = {2, 0, -3};
    double gamma2[3];
    double *full = fixture_alloc(n);
    double *target = fixture_alloc(n);
    double *rows = fixture_alloc(n);
    fixture_weights w = {norma_khatri_rao_width_first(&shape),
                         norma_khatri_rao_width_second(&shape), NULL, NULL};
    double *first = fixture_alloc(n_features * w.width_first);
    double *second = fixture_alloc(n_features * w.width_second);
    fixture_fill(1, n_features * w.width_first, first);
    fixture_fill(2, n_features * w.width_second, second);
    w.first = first;
    w.second = second;
    const norma_khatri_rao_source source = {fixture_copy_weights, &w};
    const norma_khatri_rao_mode mode = {0};
    norma_test_ok(norma_khatri_rao_create(&shape, n_features, &source, &mode, &kr));
    norma_khatri_rao_apply(kr, g, full);
    for (int64_t I = 0; I < n; I++)
        target[I] = s[I / (n / 3)] * full[I];
    norma_width_rule *rule = create(NORMA_WIDTH_MIN, &shape, target);
    norma_width_rule_restrict(rule, full, rows);
    for (int64_t r = 0; r < rule->n_rows; r++)
        norma_test_check(fabs(rows[r]) <= 1e-15);
    norma_test_ok(norma_width_rule_recover(rule, full, gamma2));
    for (int i = 0; i < 3; i++)
        norma_test_check(norma_test_close(gamma2[i] * rule->scale, s[i], 1e-14, 0));
    full[rule->pivot[0]] = 0;
    norma_test_fails(norma_width_rule_recover(rule, full, gamma2), NORMA_NUMERIC, "channel 0");
    norma_width_rule_destroy(&rule);
    norma_khatri_rao_destroy(&kr);
    NORMA_FREE(first);
    NORMA_FREE(second);
    NORMA_FREE(full);
    NORMA_FREE(target);
    NORMA_FREE(rows);
}

/* A kernel that pair and skip make by themselves: the system's rows and its right-hand side agree,
 * the recovered gamma2 is the one it was made with, no error is left. */
static void check_residual(norma_width width, norma_residual residual)
{
    const int64_t n_features = 6;
    norma_khatri_rao_shape shape = fixture_shape(3, 2, "2x1+1x2", 1, 1);
    int64_t n = norma_khatri_rao_n_rows(&shape);
    bool min = width == NORMA_WIDTH_MIN;
    bool inside = min && residual == NORMA_RESIDUAL_OUTER;
    norma_width_rule *rule = NULL;
    double g[6] = {0.5, -0.25, 0.75, 1, -0.5, -0.5};
    double s[3] = {min ? 2 : 1, min ? 0.5 : 1, min ? -3 : 1};
    double gamma2[3];
    double *full = fixture_alloc(n);
    double *skip = fixture_alloc(n);
    double *target = fixture_alloc(n);
    double *rows = fixture_alloc(n + 1);
    double *rhs = fixture_alloc(n + 1);
    double first[6 * 4];  /* [feature][c0 |K1|] */
    double second[6 * 6]; /* [feature][c2 |K2|] */
    fixture_fill(1, 6 * 4, first);
    fixture_fill(2, 6 * 6, second);
    fixture_fill(3, n, skip);
    for (int64_t J = 0; J < n_features; J++)
        for (int64_t I = 0; I < n; I++)
            full[I] += g[J] * fixture_kr(&shape, second + 6 * J, first + 4 * J, I);
    for (int64_t I = 0; I < n; I++)
        target[I] =
            inside ? s[I / (n / 3)] * (full[I] + skip[I]) : s[I / (n / 3)] * full[I] + skip[I];
    norma_test_ok(norma_width_rule_create_residual(width, residual, &shape, target, skip, &rule));
    int64_t minimum = norma_width_rule_minimum(width, residual, &shape, target, skip);
    assert_int_equal(minimum, min ? n - 3 + !inside : n);
    assert_int_equal(rule->n_system, minimum);
    double unit = min && !inside ? 1 : rule->scale; /* of gamma1 */
    for (int64_t I = 0; I < n; I++)
        full[I] /= unit;
    norma_width_rule_restrict(rule, full, rows);
    norma_width_rule_rhs(rule, rhs);
    for (int64_t r = 0; r < rule->n_rows; r++)
        norma_test_check(fabs(rows[r] - rhs[r]) <= 1e-14);
    norma_test_ok(norma_width_rule_recover(rule, full, gamma2));
    for (int i = 0; i < 3; i++)
        norma_test_check(norma_test_close(gamma2[i] * rule->scale / unit, s[i], 1e-13, 0));
    norma_width_rule_error(rule, full, gamma2, rhs);
    for (int64_t I = 0; I < n; I++)
        norma_test_check(fabs(rhs[I]) <= 1e-14);
    double squares = 0;
    for (int64_t I = 0; I < n; I++)
        squares += pow(skip[I] * (inside ? s[I / (n / 3)] : 1), 2);
    norma_test_check(norma_test_close(norma_width_rule_skip_norm(rule, gamma2) * rule->scale,
                                      sqrt(squares), 1e-13, 0));
    norma_width_rule_destroy(&rule);
    skip[3] = NAN;
    norma_test_fails(norma_width_rule_create_residual(width, residual, &shape, target, skip, &rule),
                     NORMA_CONFIG, "skip weight [0, 0, position 3]");
    NORMA_FREE(full);
    NORMA_FREE(skip);
    NORMA_FREE(target);
    NORMA_FREE(rows);
    NORMA_FREE(rhs);
}

static void test_residuals(void **state)
{
    (void)state;
    static const double target[2] = {1, 2};
    norma_khatri_rao_shape shape = fixture_shape(2, 1, "second", 1, 1);
    norma_width_rule *rule = NULL;
    for (int width = 0; width < NORMA_N_WIDTHS; width++)
        for (int residual = NORMA_RESIDUAL_INNER; residual < NORMA_N_RESIDUALS; residual++)
            check_residual((norma_width)width, (norma_residual)residual);
    norma_test_fails(norma_width_rule_create_residual(NORMA_WIDTH_MIN, NORMA_RESIDUAL_OUTER, &shape,
                                                      target, target, &rule),
                     NORMA_CONFIG, "no equation is left");
}

/* Columns filled in any ranges are restrict() of KR's columns, closed; expand is its adjoint. */
static void check_columns(norma_width width, const char *split, bool zero_channel)
{
    norma_khatri_rao_shape shape = fixture_shape(3, 2, split, 2, 2);
    int64_t n = norma_khatri_rao_n_rows(&shape);
    double *target = fixture_alloc(n);
    double *first = fixture_alloc(norma_khatri_rao_width_first(&shape));
    double *second = fixture_alloc(norma_khatri_rao_width_second(&shape));
    double *full = fixture_alloc(n);
    double *rows = fixture_alloc(n + 1);
    double *column = fixture_alloc(n + 1);
    double *part = fixture_alloc(n + 1);
    double *u = fixture_alloc(n);
    fixture_fill(5, n, target);
    if (zero_channel)
        memset(target + n / 3, 0, (size_t)(n / 3) * sizeof *target);
    fixture_fill(6, norma_khatri_rao_width_first(&shape), first);
    fixture_fill(7, norma_khatri_rao_width_second(&shape), second);
    for (int64_t I = 0; I < n; I++)
        full[I] = fixture_kr(&shape, second, first, I);
    norma_width_rule *rule = create(width, &shape, target);
    norma_width_rule_set_closing(rule, 18 * (double)rule->n_rows, 2); /* rows of norm sqrt(18) */
    norma_test_check(rule->closing == (width == NORMA_WIDTH_MIN ? 3 : 0));
    norma_width_rule_restrict(rule, full, rows);
    if (width == NORMA_WIDTH_MIN)
        rows[rule->n_rows] = rule->closing;
    norma_width_rule_fill(rule, second, first, 0, rule->n_system, column);
    norma_test_check(norma_test_max_difference(rows, column, rule->n_system) <= 1e-15);
    for (int64_t start = 0; start <= rule->n_system; start++) {
        for (int64_t count = 0; count <= rule->n_system - start; count++) {
            norma_width_rule_fill(rule, second, first, start, count, part);
            norma_test_check(memcmp(part, column + start, (size_t)count * 8) == 0);
        }
    }
    double left = 0;
    double right = 0;
    fixture_fill(8, n, part);
    norma_width_rule_expand(rule, part, u);
    for (int64_t r = 0; r < rule->n_rows; r++)
        left += rows[r] * part[r];
    for (int64_t I = 0; I < n; I++)
        right += full[I] * u[I];
    norma_test_check(norma_test_close(left, right, 0, 1e-14));
    norma_width_rule_destroy(&rule);
    NORMA_FREE(target);
    NORMA_FREE(first);
    NORMA_FREE(second);
    NORMA_FREE(full);
    NORMA_FREE(rows);
    NORMA_FREE(column);
    NORMA_FREE(part);
    NORMA_FREE(u);
}

static void test_columns(void **state)
{
    (void)state;
    static const char *const splits[] = {"second", "first", "2x2+2x3"};
    for (int s = 0; s < 3; s++) {
        check_columns(NORMA_WIDTH_MAX, splits[s], false);
        check_columns(NORMA_WIDTH_MIN, splits[s], false);
        check_columns(NORMA_WIDTH_MIN, splits[s], true);
    }
}

static void test_right_hand_sides(void **state)
{
    (void)state;
    double rhs[12];
    norma_khatri_rao_shape shape = fixture_shape(3, 4, "second", 1, 1);
    norma_width_rule *rule = create(NORMA_WIDTH_MAX, &shape, small_target);
    norma_width_rule_rhs(rule, rhs);
    for (int I = 0; I < 12; I++)
        norma_test_check(rhs[I] * rule->scale == small_target[I]);
    norma_width_rule_destroy(&rule);
    rule = create(NORMA_WIDTH_MIN, &shape, small_target);
    norma_width_rule_set_closing(rule, 0, 5); /* a zero M is closed by ones */
    norma_width_rule_rhs(rule, rhs);
    for (int I = 0; I < 7; I++)
        norma_test_check(rhs[I] == (I < 6 ? 0 : 1));
    norma_width_rule_destroy(&rule);
}

/* A zero target: nothing is asked for but the sum of gamma1. */
static void test_zero_target(void **state)
{
    (void)state;
    double zero[12] = {0};
    double gamma2[3] = {9, 9, 9};
    double column[1] = {0};
    norma_khatri_rao_shape shape = fixture_shape(3, 4, "second", 1, 1);
    norma_width_rule *rule = create(NORMA_WIDTH_MIN, &shape, zero);
    assert_int_equal(rule->n_rows, 0);
    assert_int_equal(rule->n_system, 1);
    assert_int_equal(
        norma_width_rule_minimum(NORMA_WIDTH_MIN, NORMA_RESIDUAL_NONE, &shape, zero, NULL), 1);
    norma_width_rule_set_closing(rule, 0, 1);
    norma_width_rule_fill(rule, small_target, small_target, 0, 1, column);
    norma_test_check(column[0] == 1);
    norma_test_ok(norma_width_rule_recover(rule, small_target, gamma2));
    norma_test_check(gamma2[0] == 0 && gamma2[1] == 0 && gamma2[2] == 0);
    norma_width_rule_destroy(&rule);
}

/* Sizes of any magnitude are brought near 1; those that are no numbers are named. */
static void test_scales_and_refusals(void **state)
{
    (void)state;
    static const double sizes[] = {5e-324, 1e-300, 1, 3e139};
    norma_khatri_rao_shape shape = fixture_shape(2, 1, "second", 1, 2);
    norma_width_rule *rule = NULL;
    double target[4] = {0, 0, 0, 0};
    for (int s = 0; s < 4; s++) {
        target[1] = -sizes[s];
        rule = create(NORMA_WIDTH_MAX, &shape, target);
        norma_test_check(fabs(rule->target[1]) >= 1 && fabs(rule->target[1]) < 2);
        norma_test_check(rule->target[1] * rule->scale == target[1]);
        norma_width_rule_destroy(&rule);
    }
    static const double bad[] = {NAN, INFINITY, -INFINITY, 1e308};
    for (int b = 0; b < 4; b++) {
        target[3] = bad[b];
        norma_test_fails(norma_width_rule_create(NORMA_WIDTH_MAX, &shape, target, &rule),
                         NORMA_CONFIG, "target weight [1, 0, position 1]");
    }
    norma_width width;
    norma_test_fails(norma_width_from_name("maximal", &width), NORMA_CONFIG, "'maximal'");
    norma_test_ok(norma_width_from_name("min", &width));
    norma_test_check(width == NORMA_WIDTH_MIN && strcmp(norma_width_name(width), "min") == 0);
}

/* A fraction more than the minimum, rounded up, where rounding errors of the product add none. */
static void test_overparametrized(void **state)
{
    (void)state;
    norma_test_check(norma_width_rule_overparametrized(100, 0.1) == 110);
    norma_test_check(norma_width_rule_overparametrized(10, 0) == 10);
    norma_test_check(norma_width_rule_overparametrized(3, 0.5) == 5);
    norma_test_check(norma_width_rule_overparametrized(1000, -0.25) == 750);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_overparametrized),
    cmocka_unit_test(test_pivots_and_ratios),
    cmocka_unit_test(test_known_solution_is_annihilated),
    cmocka_unit_test(test_columns),
    cmocka_unit_test(test_right_hand_sides),
    cmocka_unit_test(test_residuals),
    cmocka_unit_test(test_zero_target),
    cmocka_unit_test(test_scales_and_refusals),
};

norma_test_main_serial("src.width_rule", tests)
