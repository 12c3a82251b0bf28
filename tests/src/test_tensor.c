/*
 * Weight tensors: names, refusals, access by feature, and the law of every distribution whose
 * entries are independent. Statistical checks fail a correct program with probability 1e-6 each
 * (4.9 standard deviations; about 200 checks); seeds are fixed.
 */
#include "tests/harness/harness.h"

#include "src/base/cpu.h"
#include "src/base/mem.h"
#include "src/random/tensor.h"

#include <math.h>
#include <string.h>

static norma_tensor_spec spec_of(int distribution, norma_tensor_role role, int64_t n_features,
                                 int64_t n_channels, int64_t n_taps)
{
    norma_tensor_spec spec = {.distribution = (norma_distribution)distribution,
                              .role = role,
                              .seed = 11,
                              .stream = {.purpose = NORMA_RNG_TEST, .tensor = 1, .layer = 2},
                              .n_features = n_features,
                              .n_channels = n_channels,
                              .n_taps = n_taps};
    return spec;
}

/* All rows of a tensor; the caller frees with NORMA_FREE. */
static double *whole_tensor(const norma_tensor_spec *spec)
{
    norma_tensor *tensor = NULL;
    double *out = NULL;
    norma_test_ok(NORMA_ALLOC(out, spec->n_features * spec->n_channels * spec->n_taps));
    norma_test_ok(norma_tensor_create(spec, &tensor));
    norma_tensor_fill(tensor, 0, spec->n_features, out);
    norma_tensor_destroy(&tensor);
    assert_null(tensor);
    return out;
}

static void names_round_trip(void **state)
{
    (void)state;
    for (int d = 0; d < NORMA_DISTRIBUTION_GIVEN; d++) {
        norma_distribution found = NORMA_N_DISTRIBUTIONS;
        norma_test_ok(
            norma_distribution_from_name(norma_distribution_name((norma_distribution)d), &found));
        assert_int_equal(found, d);
        assert_true(strlen(norma_law_get(found)->summary) > 10);
    }
    norma_distribution kept = NORMA_DISTRIBUTION_XAVIER;
    norma_test_fails(norma_distribution_from_name("he-nrmal", &kept), NORMA_CONFIG, "'he-normal'");
    norma_test_fails(norma_distribution_from_name("ortogonal", &kept), NORMA_CONFIG,
                     "'orthogonal'");
    norma_test_fails(norma_distribution_from_name("magic", &kept), NORMA_CONFIG, "er-sign");
    norma_test_fails(norma_distribution_from_name("given", &kept), NORMA_CONFIG, "unknown");
    norma_test_fails(norma_distribution_from_name("", &kept), NORMA_CONFIG, "normal");
    assert_int_equal(kept, NORMA_DISTRIBUTION_XAVIER);
}

/* The flags of the table are those that the sources can have, and messages name the laws. */
static void flags_fit_the_sources(void **state)
{
    (void)state;
    char list[NORMA_LAW_LIST];
    for (int d = 0; d < NORMA_N_DISTRIBUTIONS; d++) {
        norma_distribution law = (norma_distribution)d;
        norma_law_source source = norma_law_get(law)->source;
        bool entries = norma_law_is_drawn(law) && source != NORMA_LAW_HAAR;
        assert_true(entries || !norma_law_has(law, NORMA_LAW_MASKED | NORMA_LAW_LANES));
        if (norma_law_has(law, NORMA_LAW_ROTATES))
            assert_true(source == NORMA_LAW_NORMALS || source == NORMA_LAW_HAAR);
    }
    assert_string_equal(norma_law_list(NORMA_LAW_MASKED, list),
                        "sparse-he-normal, er-normal or er-sign");
}

static void bad_specs_refused(void **state)
{
    (void)state;
    norma_tensor *tensor = NULL;
    const norma_tensor_spec good =
        spec_of(NORMA_DISTRIBUTION_SPARSE_HE_NORMAL, NORMA_TENSOR_FIRST, 5, 4, 3);
    norma_tensor_spec bad = good;
    bad.n_features = 0;
    norma_test_fails(norma_tensor_create(&bad, &tensor), NORMA_CONFIG, "at least 1");
    bad = good;
    bad.n_taps = -1;
    norma_test_fails(norma_tensor_create(&bad, &tensor), NORMA_CONFIG, "at least 1");
    bad = good;
    bad.keep_probability = 1.5;
    norma_test_fails(norma_tensor_create(&bad, &tensor), NORMA_CONFIG, "1.5");
    bad.keep_probability = (double)NAN;
    norma_test_fails(norma_tensor_create(&bad, &tensor), NORMA_CONFIG, "nan");
    bad = good;
    bad.stream.cell = NORMA_RNG_N_CELLS;
    norma_test_fails(norma_tensor_create(&bad, &tensor), NORMA_LIMIT, "cell");
    bad = good;
    bad.n_features = INT64_MAX / 5;
    norma_test_fails(norma_tensor_create(&bad, &tensor), NORMA_LIMIT, "weight tensor");
    bad.n_features = ((int64_t)1 << 40) / 12 + 1;
    norma_test_fails(norma_tensor_create(&bad, &tensor), NORMA_LIMIT, "sparse-he-normal");
    bad.distribution = NORMA_DISTRIBUTION_HE_NORMAL;
    norma_test_ok(norma_tensor_create(&bad, &tensor));
    norma_tensor_destroy(&tensor);
    bad.n_features = ((int64_t)1 << 41) / 12 + 1;
    norma_test_fails(norma_tensor_create(&bad, &tensor), NORMA_LIMIT, "elements");
    bad = good;
    bad.distribution = NORMA_DISTRIBUTION_GIVEN;
    norma_test_fails(norma_tensor_create(&bad, &tensor), NORMA_CONFIG, "values");
    bad.distribution = NORMA_N_DISTRIBUTIONS;
    norma_test_fails(norma_tensor_create(&bad, &tensor), NORMA_CONFIG, "unknown");
    assert_null(tensor);
}

static bool has_independent_entries(int d)
{
    return norma_law_is_drawn((norma_distribution)d) &&
           norma_law_get((norma_distribution)d)->source != NORMA_LAW_HAAR;
}

/* The properties that a law promises for its entries. */
typedef struct law {
    double lowest, highest; /* support */
    double kept;            /* P(entry is not 0) */
    double mean;
    double variance; /* of an entry that is kept */
    double fourth;   /* fourth central moment of an entry that is kept, over its variance^2 */
} law;

static law law_of(int distribution, double fan_in, double fan_out)
{
    double he = 2 / fan_in;
    double wide = sqrt(6 / fan_in);
    double top = 2 / sqrt(fan_in);
    switch (distribution) {
    case NORMA_DISTRIBUTION_NORMAL:
        return (law){-INFINITY, INFINITY, 1, 0, 1, 3};
    case NORMA_DISTRIBUTION_UNIFORM:
        return (law){-sqrt(3.0), sqrt(3.0), 1, 0, 1, 1.8};
    case NORMA_DISTRIBUTION_HE_NORMAL:
        return (law){-INFINITY, INFINITY, 1, 0, he, 3};
    case NORMA_DISTRIBUTION_HE_UNIFORM:
        return (law){-wide, wide, 1, 0, he, 1.8};
    case NORMA_DISTRIBUTION_XAVIER:
        return (law){-INFINITY, INFINITY, 1, 0, 2 / (fan_in + fan_out), 3};
    case NORMA_DISTRIBUTION_SPARSE_HE_NORMAL:
        return (law){-INFINITY, INFINITY, 0.5, 0, he, 3};
    case NORMA_DISTRIBUTION_ER_NORMAL:
        return (law){-INFINITY, INFINITY, 0.5, 0, 1, 3};
    case NORMA_DISTRIBUTION_ER_SIGN:
        return (law){-1, 1, 0.5, 0, 1, 1};
    case NORMA_DISTRIBUTION_UNIFORM_POSITIVE:
        return (law){0, top, 1, top / 2, top * top / 12, 1.8};
    default:
        fail_msg("law %s has no entry here",
                 norma_distribution_name((norma_distribution)distribution));
        return (law){0};
    }
}

static void check_mean(const char *what, double sum, double n, double expected, double variance)
{
    double distance = fabs(sum / n - expected) / sqrt(variance / n);
    /* A law of two values has a variance that does not vary. */
    if (variance == 0 ? fabs(sum / n - expected) > 1e-12 : !(distance < 4.9))
        fail_msg("%s: %.10g, expected %.10g", what, sum / n, expected);
}

static void check_law(const char *name, const double *x, int64_t n, const law *expected)
{
    double n_kept = 0;
    double sum = 0;
    double squares = 0;
    double neighbours = 0;
    for (int64_t e = 0; e < n; e++) {
        double centred = x[e] - expected->mean;
        assert_true(x[e] >= expected->lowest && x[e] <= expected->highest);
        if (x[e] == 0)
            continue;
        n_kept++;
        sum += centred;
        squares += centred * centred;
        if (e > 0)
            neighbours += centred * (x[e - 1] - expected->mean);
    }
    double v = expected->variance;
    double p = expected->kept;
    check_mean(name, n_kept, (double)n, p, p * (1 - p));
    check_mean(name, sum, n_kept, 0, v);
    check_mean(name, squares, n_kept, v, (expected->fourth - 1) * v * v);
    check_mean(name, neighbours, (double)n - 1, 0, p * p * v * v);
}

static void laws_hold(void **state)
{
    (void)state;
    for (int d = 0; d < NORMA_N_DISTRIBUTIONS; d++) {
        if (!has_independent_entries(d))
            continue; /* test_haar.c, test_conditioned.c */
        const char *name = norma_distribution_name((norma_distribution)d);
        norma_tensor_spec first = spec_of(d, NORMA_TENSOR_FIRST, 1500, 7, 9);
        norma_tensor_spec second = spec_of(d, NORMA_TENSOR_SECOND, 1500, 7, 9);
        law of_first = law_of(d, 7 * 9, 1500 * 9);
        law of_second = law_of(d, 1500 * 9, 7 * 9);
        double *x = whole_tensor(&first);
        check_law(name, x, 1500 * 63, &of_first);
        NORMA_FREE(x);
        x = whole_tensor(&second);
        check_law(name, x, 1500 * 63, &of_second);
        NORMA_FREE(x);
    }
}

/* The mask is independent of the values and nests in the probability. */
static void masks_keep_what_they_say(void **state)
{
    (void)state;
    static const double probabilities[] = {0.05, 0.3, 0.9, 1};
    enum { N_FEATURES = 2000, ROW = 16 };
    for (int d = 0; d < NORMA_N_DISTRIBUTIONS; d++) {
        const norma_law *descriptor = norma_law_get((norma_distribution)d);
        if (!norma_law_has((norma_distribution)d, NORMA_LAW_MASKED))
            continue;
        norma_tensor_spec spec = spec_of(d, NORMA_TENSOR_FIRST, N_FEATURES, ROW, 1);
        spec.keep_probability = 1;
        double *all = whole_tensor(&spec);
        double *last = NULL;
        for (int k = 0; k < 4; k++) {
            double p = probabilities[k];
            spec.keep_probability = p;
            double *x = whole_tensor(&spec);
            double n_kept = 0;
            double size = 0;
            for (int64_t e = 0; e < N_FEATURES * ROW; e++) {
                assert_true(x[e] == 0 || x[e] == all[e]);
                assert_true(!last || last[e] == 0 || x[e] != 0);
                n_kept += x[e] != 0;
                size += x[e] != 0 ? all[e] * all[e] : 0;
            }
            check_mean("kept", n_kept, N_FEATURES * ROW, p, p * (1 - p));
            law expected = law_of(d, ROW, N_FEATURES);
            double v = expected.variance;
            check_mean(descriptor->name, size, n_kept, v, (expected.fourth - 1) * v * v);
            NORMA_FREE(last);
            last = x;
        }
        NORMA_FREE(last);
        NORMA_FREE(all);
    }
}

/* A wider layer keeps its first features: exactly, or up to the scale that its width sets. */
static void wider_keeps_first_features(void **state)
{
    (void)state;
    enum { NARROW = 40, WIDE = 57, ROW = 15 };
    for (int d = 0; d < NORMA_N_DISTRIBUTIONS; d++)
        for (int role = 0; role < 2; role++) {
            if (!has_independent_entries(d))
                continue;
            norma_tensor_spec spec = spec_of(d, (norma_tensor_role)role, NARROW, 5, 3);
            double *narrow = whole_tensor(&spec);
            spec.n_features = WIDE;
            double *wide = whole_tensor(&spec);
            double ratio = 1;
            norma_law_fan fan = norma_law_get((norma_distribution)d)->fan;
            if (role == NORMA_TENSOR_SECOND && fan == NORMA_LAW_FAN_IN)
                ratio = sqrt((double)NARROW / WIDE);
            if (fan == NORMA_LAW_FAN_BOTH)
                ratio = sqrt((NARROW + 5.0) / (WIDE + 5.0));
            for (int e = 0; e < NARROW * ROW; e++)
                norma_test_check_close(wide[e], ratio * narrow[e], ratio == 1.0 ? 0 : 1e-14);
            NORMA_FREE(narrow);
            NORMA_FREE(wide);
        }
}

/* Rows alone, from several threads at once and on every instruction set, are the whole's rows. */
static void any_rows_anywhere(void **state)
{
    (void)state;
    enum { N_FEATURES = 61 };
    for (int d = 0; d < NORMA_N_DISTRIBUTIONS; d++)
        for (int role = 0; role < 2 && norma_law_is_drawn((norma_distribution)d); role++) {
            norma_tensor_spec spec = spec_of(d, (norma_tensor_role)role, N_FEATURES, 5, 3);
            norma_cpu_set_isa(NORMA_ISA_SCALAR);
            double *whole = whole_tensor(&spec);
            for (int isa = 0; isa < NORMA_N_ISAS; isa++)
                for (int n_threads = 1; n_threads <= 4; n_threads++) {
                    double parts[N_FEATURES * 15];
                    norma_tensor *tensor = NULL;
                    if (!norma_cpu_supports((norma_isa)isa))
                        continue;
                    norma_cpu_set_isa((norma_isa)isa);
                    norma_test_ok(norma_tensor_create(&spec, &tensor));
                    memset(parts, 0, sizeof parts);
#pragma omp parallel for schedule(dynamic) num_threads(n_threads)
                    for (int64_t first = 0; first < N_FEATURES; first += n_threads) {
                        int64_t left = N_FEATURES - first;
                        norma_tensor_fill(tensor, first, left < n_threads ? left : n_threads,
                                          parts + first * 15);
                    }
                    norma_tensor_destroy(&tensor);
                    assert_memory_equal(whole, parts, sizeof parts);
                }
            NORMA_FREE(whole);
        }
}

static void given_values_pass_through(void **state)
{
    (void)state;
    double values[24];
    double out[12];
    norma_tensor *tensor = NULL;
    for (int e = 0; e < 24; e++)
        values[e] = 0.1 * e;
    norma_tensor_spec spec = spec_of(NORMA_DISTRIBUTION_GIVEN, NORMA_TENSOR_SECOND, 4, 2, 3);
    spec.values = values;
    norma_test_ok(norma_tensor_create(&spec, &tensor));
    norma_tensor_fill(tensor, 1, 2, out);
    assert_memory_equal(out, values + 6, sizeof out);
    assert_ptr_equal(norma_tensor_get_spec(tensor)->values, values);
    norma_tensor_destroy(&tensor);
}

/* Each part by its own law and stream, whatever rows are asked for at once. */
static void joined_rows_are_those_of_the_parts(void **state)
{
    (void)state;
    enum { PARTS = 3, OF_PART = 4, ROW = 6 };
    for (int whole = 0; whole < 2; whole++) {
        norma_tensor_spec specs[PARTS];
        norma_tensor *joined = NULL;
        double all[PARTS * OF_PART * ROW];
        double some[7 * ROW];
        for (int k = 0; k < PARTS; k++) {
            specs[k] =
                spec_of(whole ? NORMA_DISTRIBUTION_ORTHOGONAL : NORMA_DISTRIBUTION_SPARSE_HE_NORMAL,
                        NORMA_TENSOR_FIRST, OF_PART, 2, 3);
            specs[k].stream.layer = 10 + k;
        }
        norma_test_ok(norma_tensor_create_joined(specs, PARTS, &joined));
        assert_int_equal(norma_tensor_get_spec(joined)->n_features, PARTS * OF_PART);
        norma_tensor_fill(joined, 0, PARTS * OF_PART, all);
        for (int k = 0; k < PARTS; k++) {
            norma_tensor *part = NULL;
            double rows[OF_PART * ROW];
            norma_test_ok(norma_tensor_create(&specs[k], &part));
            norma_tensor_fill(part, 0, OF_PART, rows);
            assert_memory_equal(rows, all + k * OF_PART * ROW, sizeof rows);
            norma_tensor_fill(norma_tensor_part(joined, k), 0, OF_PART, all);
            assert_memory_equal(rows, all, sizeof rows);
            norma_tensor_fill(joined, 0, PARTS * OF_PART, all);
            assert_ptr_equal(norma_tensor_part(part, 0), part);
            norma_tensor_destroy(&part);
        }
        norma_tensor_fill(joined, 3, 7, some);
        assert_memory_equal(some, all + 3 * ROW, sizeof some);
        assert_int_equal(norma_tensor_may_vanish(joined), whole == 0);
        norma_tensor_destroy(&joined);
        specs[2].n_taps = 0;
        norma_test_fails(norma_tensor_create_joined(specs, PARTS, &joined), NORMA_CONFIG,
                         "0 kernel positions");
    }
}

static void selected_rows_are_those_of_the_base(void **state)
{
    (void)state;
    static const int64_t rows[] = {0, 2, 3, 4, 9, 11};
    enum { N = 6, ROW = 6 };
    norma_tensor_spec spec =
        spec_of(NORMA_DISTRIBUTION_SPARSE_HE_NORMAL, NORMA_TENSOR_FIRST, 12, 2, 3);
    norma_tensor *base = NULL;
    norma_tensor *selected = NULL;
    double all[12 * ROW];
    double some[4 * ROW];
    norma_test_ok(norma_tensor_create(&spec, &base));
    norma_test_ok(norma_tensor_create_selected(base, rows, N, &selected));
    assert_int_equal(norma_tensor_get_spec(selected)->n_features, N);
    norma_tensor_fill(base, 0, 12, all);
    norma_tensor_fill(selected, 1, 4, some);
    for (int k = 0; k < 4; k++)
        assert_memory_equal(some + k * ROW, all + rows[k + 1] * ROW, ROW * sizeof(double));
    assert_true(norma_tensor_may_vanish(base));
    norma_tensor_destroy(&selected);
    norma_test_fails(norma_tensor_create_selected(base, (const int64_t[]){12}, 1, &selected),
                     NORMA_CONFIG, "no feature 12");
    norma_tensor_destroy(&base);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(names_round_trip),
    cmocka_unit_test(flags_fit_the_sources),
    cmocka_unit_test(bad_specs_refused),
    cmocka_unit_test(laws_hold),
    cmocka_unit_test(masks_keep_what_they_say),
    cmocka_unit_test(wider_keeps_first_features),
    cmocka_unit_test(any_rows_anywhere),
    cmocka_unit_test(given_values_pass_through),
    cmocka_unit_test(joined_rows_are_those_of_the_parts),
    cmocka_unit_test(selected_rows_are_those_of_the_base),
};

norma_test_main_serial("tensor", tests)
