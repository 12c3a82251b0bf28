/* features/structural_rank: the matching against all matchings (the permanent's support), against
 * numerical ranks of continuous laws by elimination, the least width against the numerical one. */
#include "tests/harness/layer_fixture.h"
#include "tests/harness/planned_memory.h"

#include "src/features/structural_rank.h"

#include <math.h>
#include <string.h>

typedef struct draw {
    norma_khatri_rao_shape shape;
    norma_width_rule *rule;
    double *target, *skip, *first, *second;
    int64_t n, n_features, width_first, width_second;
} draw;

typedef struct setting {
    int64_t c2, c0;
    const char *split;
    int64_t side;
    double keep;
    norma_width width;
    norma_residual residual;
    double target_keep; /* share of target weights that are not zero */
} setting;

static void fill_tensor(norma_distribution law, norma_tensor_role role, double keep, uint64_t seed,
                        int64_t n_features, int64_t n_channels, int64_t n_taps, double *out)
{
    norma_tensor *tensor = NULL;
    norma_tensor_spec spec = {.distribution = law,
                              .keep_probability = keep,
                              .role = role,
                              .seed = seed,
                              .stream = {.purpose = NORMA_RNG_SOURCE_WEIGHTS, .tensor = (int)role},
                              .n_features = n_features,
                              .n_channels = n_channels,
                              .n_taps = n_taps};
    norma_test_ok(norma_tensor_create(&spec, &tensor));
    norma_tensor_fill(tensor, 0, n_features, out);
    norma_tensor_destroy(&tensor);
}

/* Weights of a law with n_features features beside a target, some of whose weights are zero. */
static draw make_draw(const setting *s, norma_distribution law, uint64_t seed, int64_t n_features)
{
    draw d = {.shape = fixture_shape(s->c2, s->c0, s->split, s->side, s->side),
              .n_features = n_features};
    d.n = norma_khatri_rao_n_rows(&d.shape);
    d.width_first = norma_khatri_rao_width_first(&d.shape);
    d.width_second = norma_khatri_rao_width_second(&d.shape);
    d.first = fixture_alloc(n_features * d.width_first);
    d.second = fixture_alloc(n_features * d.width_second);
    d.target = fixture_alloc(d.n);
    d.skip = fixture_alloc(d.n);
    fill_tensor(law, NORMA_TENSOR_FIRST, s->keep, seed, n_features, s->c0,
                norma_kernel_taps(d.shape.kernel.first), d.first);
    fill_tensor(law, NORMA_TENSOR_SECOND, s->keep, seed, n_features, s->c2,
                norma_kernel_taps(d.shape.kernel.second), d.second);
    fixture_fill(100 + seed, d.n, d.target);
    fixture_fill(300 + seed, d.n, d.skip);
    for (int64_t I = 0; I < d.n; I++)
        if (fabs(fixture_value(200 + seed, I)) > s->target_keep)
            d.target[I] = 0;
    norma_test_takes(norma_width_rule_bytes(s->width, s->residual, &d.shape),
                     norma_width_rule_create_residual(s->width, s->residual, &d.shape, d.target,
                                                      d.skip, &d.rule));
    return d;
}

/* Planned memory is all that is taken while the room for features grows once: for the empty room
 * too, which holds the virtual columns. */
static void check_memory(const draw *d)
{
    norma_structural *s = NULL;
    const int64_t n_fixed = d->shape.n_channels_out + 1;
    double planned = norma_structural_bytes(&d->shape, d->n_features) + 8 * (double)n_fixed;
    int64_t before = norma_mem_count_bytes();
    norma_test_ok(norma_structural_create(d->rule, &s));
    norma_test_ok(norma_structural_add(s, d->n_features - 1, d->second, d->first));
    norma_test_ok(norma_structural_add(s, 1, d->second, d->first));
    double taken = (double)(norma_mem_count_bytes() - before);
    /* The first room lacks the last feature. */
    double of_feature = 8 + (double)(d->width_first + d->width_second);
    if (d->rule->n_active == d->shape.n_channels_out && d->rule->skip_inside)
        norma_test_check_close(taken, planned - of_feature, 0);
    norma_test_check(taken <= planned - of_feature);
    norma_structural_destroy(&s);
}

static void clear_draw(draw *d)
{
    norma_width_rule_destroy(&d->rule);
    NORMA_FREE(d->first);
    NORMA_FREE(d->second);
    NORMA_FREE(d->target);
    NORMA_FREE(d->skip);
}

/* The structural rank with the first n_features features, added in two parts. */
static norma_structural_rank structural(const draw *d, int64_t n_features)
{
    norma_structural *s = NULL;
    int64_t half = n_features / 2;
    norma_test_ok(norma_structural_create(d->rule, &s));
    norma_test_ok(norma_structural_add(s, half, d->second, d->first));
    norma_test_ok(norma_structural_add(s, n_features - half, d->second + half * d->width_second,
                                       d->first + half * d->width_first));
    norma_structural_rank out = norma_structural_get(s);
    norma_structural_destroy(&s);
    return out;
}

static double entry(const draw *d, int64_t J, int64_t I)
{
    return fixture_kr(&d->shape, d->second + J * d->width_second, d->first + J * d->width_first, I);
}

/* --- all matchings --------------------------------------------------------------------------- */

/* The largest set of rows (of at most 16) that columns, bit masks, can be matched to. */
static int largest_matching(int n_rows, int n_columns, const unsigned *columns)
{
    static unsigned char reached[1 << 16];
    int largest = 0;
    memset(reached, 0, sizeof reached);
    reached[0] = 1;
    for (int c = 0; c < n_columns; c++)
        for (unsigned set = (1u << n_rows); set-- > 0;)
            for (int row = 0; reached[set] && row < n_rows; row++)
                if ((columns[c] >> row & 1) && !(set >> row & 1))
                    reached[set | 1u << row] = 1;
    for (unsigned set = 0; set < (1u << n_rows); set++)
        if (reached[set] && __builtin_popcount(set) > largest)
            largest = __builtin_popcount(set);
    return largest;
}

/* Virtual columns of the min rule for all channels but `without`, then the features. */
static int list_columns(const draw *d, int64_t n_features, int64_t without, unsigned *columns)
{
    int n = 0;
    int64_t length = d->n / d->shape.n_channels_out;
    for (int64_t i = 0; d->rule->width == NORMA_WIDTH_MIN && i < d->shape.n_channels_out; i++) {
        if (i == without)
            continue;
        columns[n] = 0;
        for (int64_t I = i * length; I < (i + 1) * length; I++)
            if (d->target[I] != 0)
                columns[n] |= 1u << I;
        n++;
    }
    for (int64_t J = 0; J < n_features; J++, n++) {
        columns[n] = 0;
        for (int64_t I = 0; I < d->n; I++)
            if (entry(d, J, I) != 0)
                columns[n] |= 1u << I;
    }
    return n;
}

static void test_all_matchings(void **state)
{
    (void)state;
    static const setting cases[] = {
        {2, 2, "second", 1, 0.5, NORMA_WIDTH_MAX, NORMA_RESIDUAL_NONE, 1},
        {3, 3, "second", 1, 0.6, NORMA_WIDTH_MAX, NORMA_RESIDUAL_NONE, 1},
        {3, 3, "second", 1, 0.6, NORMA_WIDTH_MIN, NORMA_RESIDUAL_NONE, 0.9},
        {4, 4, "second", 1, 0.6, NORMA_WIDTH_MAX, NORMA_RESIDUAL_NONE, 1},
        {4, 3, "first", 1, 0.5, NORMA_WIDTH_MIN, NORMA_RESIDUAL_NONE, 1},
        {2, 1, "2x1+1x2", 2, 0.4, NORMA_WIDTH_MAX, NORMA_RESIDUAL_NONE, 1},
        {1, 1, "2x2+2x2", 3, 0.5, NORMA_WIDTH_MIN, NORMA_RESIDUAL_NONE, 0.9},
    };
    int64_t n_deficient = 0;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const setting *s = &cases[c];
        uint64_t n_seeds = s->c2 * s->c0 > 9 ? 6 : 40;
        for (uint64_t seed = 0; seed < n_seeds; seed++) {
            int64_t n_features = s->c2 * s->c0 * s->side * s->side;
            draw d = make_draw(s, NORMA_DISTRIBUTION_ER_NORMAL, seed, n_features);
            unsigned columns[64];
            norma_structural_rank r = structural(&d, n_features);
            int n = list_columns(&d, n_features, -1, columns);
            int64_t rank = largest_matching((int)d.n, n, columns);
            if (s->width == NORMA_WIDTH_MIN) {
                if (d.rule->n_active < s->c2) { /* the bit masks count every channel */
                    clear_draw(&d);
                    continue;
                }
                int64_t n_lost = 0;
                for (int64_t i = 0; i < s->c2; i++) {
                    n = list_columns(&d, n_features, i, columns);
                    n_lost += largest_matching((int)d.n, n, columns) < rank;
                }
                assert_int_equal(r.n_lost, n_lost);
                rank -= s->c2;
                rank += n_features > rank;
            }
            assert_int_equal(r.rank, rank);
            n_deficient += r.deficiency > 0;
            clear_draw(&d);
        }
    }
    norma_test_check(n_deficient > 20);
}

/* --- numerical ranks ------------------------------------------------------------------------- */

/* The rank of a [n_columns][n_rows] by elimination with complete pivoting; a is overwritten. */
static int64_t numerical_rank(double *a, int64_t n_rows, int64_t n_columns)
{
    double first = 0;
    int64_t most = n_rows < n_columns ? n_rows : n_columns;
    for (int64_t r = 0; r < most; r++) {
        int64_t pivot = -1;
        double largest = 0;
        for (int64_t e = 0; e < n_rows * n_columns; e++)
            if (e / n_rows >= r && e % n_rows >= r && fabs(a[e]) > largest) {
                largest = fabs(a[e]);
                pivot = e;
            }
        first = r == 0 ? largest : first;
        if (pivot < 0 || largest < 1e-11 * first)
            return r;
        for (int64_t i = 0; i < n_rows; i++) {
            double swapped = a[r * n_rows + i];
            a[r * n_rows + i] = a[pivot / n_rows * n_rows + i];
            a[pivot / n_rows * n_rows + i] = swapped;
        }
        for (int64_t c = 0; c < n_columns; c++) {
            double swapped = a[c * n_rows + r];
            a[c * n_rows + r] = a[c * n_rows + pivot % n_rows];
            a[c * n_rows + pivot % n_rows] = swapped;
        }
        for (int64_t c = r + 1; c < n_columns; c++) {
            double factor = a[c * n_rows + r] / a[r * n_rows + r];
            for (int64_t i = r; i < n_rows; i++)
                a[c * n_rows + i] -= factor * a[r * n_rows + i];
        }
    }
    return most;
}

/* The rank of the rule's system with the first n_features features. */
static int64_t system_rank(draw *d, int64_t n_features)
{
    int64_t n = d->rule->n_system;
    double *a = fixture_alloc(n * n_features + 1);
    d->rule->closing = d->rule->closed ? 1 : 0;
    for (int64_t J = 0; J < n_features; J++)
        norma_width_rule_fill(d->rule, d->second + J * d->width_second,
                              d->first + J * d->width_first, 0, n, a + J * n);
    int64_t rank = numerical_rank(a, n, n_features);
    NORMA_FREE(a);
    return rank;
}

/* The rank of KR's active rows beside the target columns of all channels but `without`. */
static int64_t wide_rank(const draw *d, int64_t n_features, int64_t without)
{
    const norma_width_rule *rule = d->rule;
    int64_t length = rule->row_length;
    int64_t n_rows = rule->n_active * length;
    int64_t n_extra = rule->n_active + (rule->skip_inside ? 1 : 0);
    double *a = fixture_alloc(n_rows * (n_features + n_extra));
    for (int64_t r = 0; r < n_rows; r++) {
        int64_t I = rule->active[r / length] * length + r % length;
        for (int64_t J = 0; J < n_features; J++)
            a[J * n_rows + r] = entry(d, J, I);
        if (r / length != without)
            a[(n_features + r / length) * n_rows + r] = rule->target[I];
        if (rule->skip_inside)
            a[(n_features + rule->n_active) * n_rows + r] = rule->skip[I];
    }
    int64_t rank = numerical_rank(a, n_rows, n_features + n_extra);
    NORMA_FREE(a);
    return rank;
}

/* Does the system with these features have full rank, and a solution that scales every channel? */
static bool is_safe(draw *d, int64_t n_features)
{
    if (system_rank(d, n_features) < d->rule->n_system)
        return false;
    for (int64_t a = 0; d->rule->width == NORMA_WIDTH_MIN && a < d->rule->n_active; a++)
        if (wide_rank(d, n_features, a) < wide_rank(d, n_features, -1))
            return false;
    return true;
}

static const setting draws[] = {
    {3, 3, "second", 1, 0.5, NORMA_WIDTH_MAX, NORMA_RESIDUAL_NONE, 1},
    {4, 4, "second", 1, 0.6, NORMA_WIDTH_MIN, NORMA_RESIDUAL_NONE, 0.9},
    {2, 5, "second", 1, 0.4, NORMA_WIDTH_MIN, NORMA_RESIDUAL_NONE, 0.5},
    {3, 2, "second", 2, 0.4, NORMA_WIDTH_MAX, NORMA_RESIDUAL_NONE, 1},
    {2, 3, "first", 2, 0.5, NORMA_WIDTH_MIN, NORMA_RESIDUAL_NONE, 0.8},
    {2, 2, "2x1+1x2", 2, 0.4, NORMA_WIDTH_MAX, NORMA_RESIDUAL_NONE, 1},
    {2, 1, "2x2+2x2", 3, 0.4, NORMA_WIDTH_MIN, NORMA_RESIDUAL_NONE, 0.8},
    {3, 3, "second", 1, 0.5, NORMA_WIDTH_MIN, NORMA_RESIDUAL_OUTER, 0.8},
    {3, 3, "second", 1, 0.5, NORMA_WIDTH_MIN, NORMA_RESIDUAL_INNER, 0.8},
};
enum { n_settings = sizeof draws / sizeof draws[0] };

/* Ranks with 2 features fewer than rows, as many, and 3 more; returns the draws that differ. */
static int64_t compare_ranks(norma_distribution law, uint64_t n_seeds, int64_t *n_deficient)
{
    int64_t n_differing = 0;
    for (int c = 0; c < n_settings; c++)
        for (uint64_t seed = 0; seed < n_seeds; seed++) {
            static const int64_t excess[] = {-2, 0, 3};
            draw d = make_draw(&draws[c], law, seed, 48);
            check_memory(&d);
            int64_t n_features = d.rule->n_system + excess[seed % 3];
            int64_t rank = system_rank(&d, n_features);
            norma_structural_rank r = structural(&d, n_features);
            norma_test_check(r.rank >= rank);
            n_differing += r.rank > rank;
            *n_deficient += r.deficiency > 0;
            clear_draw(&d);
        }
    return n_differing;
}

static void test_numerical_rank(void **state)
{
    (void)state;
    int64_t n_deficient = 0;
    const uint64_t n_seeds = 112;
    int64_t n = (int64_t)n_seeds * n_settings;
    assert_int_equal(compare_ranks(NORMA_DISTRIBUTION_SPARSE_HE_NORMAL, n_seeds, &n_deficient), 0);
    print_message("%lld draws agree, %lld of them deficient\n", (long long)n,
                  (long long)n_deficient);
    norma_test_check(n_deficient > n / 4 && n_deficient < n);
    n_deficient = 0;
    assert_int_equal(compare_ranks(NORMA_DISTRIBUTION_NORMAL, 3, &n_deficient), 0);
    assert_int_equal(n_deficient, 0);
    int64_t n_differing = compare_ranks(NORMA_DISTRIBUTION_ER_SIGN, n_seeds, &n_deficient);
    print_message("er-sign: %lld of %lld below their structural rank\n", (long long)n_differing,
                  (long long)n);
    norma_test_check(n_differing > 0 && n_differing < n / 2);
}

static void test_least_width(void **state)
{
    (void)state;
    enum { n_most = 48, n_seeds = 20 };
    int64_t n_above = 0;
    for (int c = 0; c < n_settings; c++)
        for (uint64_t seed = 0; seed < n_seeds; seed++) {
            draw d = make_draw(&draws[c], NORMA_DISTRIBUTION_ER_NORMAL, seed, n_most);
            int64_t width = structural(&d, n_most).least_width;
            if (width > 0) {
                norma_test_check(is_safe(&d, width) && !is_safe(&d, width - 1));
                n_above += width > d.rule->n_system;
            } else
                norma_test_check(!is_safe(&d, n_most));
            clear_draw(&d);
        }
    norma_test_check(n_above > 50);
}

/* Without zeros the rule's minimum is the least width; with a row that no feature has there is
 * none. */
static void test_known(void **state)
{
    (void)state;
    const setting dense = {16, 16, "second", 3, 1, NORMA_WIDTH_MIN, NORMA_RESIDUAL_NONE, 1};
    int64_t minimum = INT64_C(16) * 16 * 9 - 15;
    draw d = make_draw(&dense, NORMA_DISTRIBUTION_NORMAL, 1, minimum + 10);
    norma_structural_rank r = structural(&d, minimum + 10);
    assert_int_equal(r.least_width, minimum);
    assert_int_equal(r.rank, minimum);
    assert_int_equal(structural(&d, minimum - 1).least_width, 0);
    for (int64_t J = 0; J < d.n_features; J++)
        d.first[J * d.width_first + 3] = 0; /* input channel 3 is met by no feature */
    r = structural(&d, minimum + 10);
    assert_int_equal(r.least_width, 0);
    assert_int_equal(r.deficiency, 16 * 9 - 16); /* virtual columns take a row each */
    assert_int_equal(r.n_lost, 16);
    clear_draw(&d);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_all_matchings),
    cmocka_unit_test(test_numerical_rank),
    cmocka_unit_test(test_least_width),
    cmocka_unit_test(test_known),
};

norma_test_main_serial("src.structural_rank", tests)
