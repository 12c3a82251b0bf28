/* src/random/conditioned: the feature matrices of RF section 3 by definition: the identity, an
 * orthogonal matrix, the one of the minimal width; for several splits, in pieces, refusals. */
#include "src/base/mem.h"
#include "src/features/khatri_rao.h"
#include "src/random/tensor.h"
#include "tests/harness/harness.h"

#include <math.h>
#include <string.h>

enum { C2 = 3, C0 = 4 };

static norma_tensor_spec spec_of(norma_distribution law, norma_tensor_role role, int64_t n,
                                 const int64_t first[2], const int64_t second[2])
{
    bool of_first = role == NORMA_TENSOR_FIRST;
    return (norma_tensor_spec){
        .distribution = law,
        .role = role,
        .seed = 5,
        .stream = {.purpose = NORMA_RNG_SOURCE_WEIGHTS, .tensor = of_first ? 0 : 1},
        .n_features = n,
        .n_channels = of_first ? C0 : C2,
        .n_taps = of_first ? first[0] * first[1] : second[0] * second[1],
        .pair = {C2, C0, {first[0], first[1]}, {second[0], second[1]}},
    };
}

/* The feature matrix [n rows][n_features] (column-major: a column a feature) of a law. */
static double *feature_matrix(norma_distribution law, int64_t n_features, const int64_t first[2],
                              const int64_t second[2], int64_t *n_rows)
{
    norma_tensor_spec specs[2] = {
        spec_of(law, NORMA_TENSOR_FIRST, n_features, first, second),
        spec_of(law, NORMA_TENSOR_SECOND, n_features, first, second),
    };
    double *rows[2] = {NULL, NULL};
    double *matrix = NULL;
    norma_khatri_rao_shape shape = {.n_channels_out = C2, .n_channels_in = C0};
    norma_kernel_shape k1 = {first[0], first[1]};
    norma_kernel_shape k2 = {second[0], second[1]};
    norma_test_ok(norma_kernel_init(
        &shape.kernel, k1, k2,
        (norma_kernel_shape){k1.height + k2.height - 1, k1.width + k2.width - 1}));
    *n_rows = norma_khatri_rao_n_rows(&shape);
    for (int t = 0; t < 2; t++) {
        norma_tensor *tensor = NULL;
        int64_t row = specs[t].n_channels * specs[t].n_taps;
        norma_test_ok(NORMA_ALLOC(rows[t], n_features * row));
        norma_test_ok(norma_tensor_create(&specs[t], &tensor));
        for (int64_t begin = 0; begin < n_features; begin += 7) /* in pieces */
            norma_tensor_fill(tensor, begin, n_features - begin < 7 ? n_features - begin : 7,
                              rows[t] + begin * row);
        norma_tensor_destroy(&tensor);
    }
    int64_t length = *n_rows / C2;
    norma_test_ok(NORMA_ALLOC(matrix, *n_rows * n_features));
    for (int64_t J = 0; J < n_features; J++)
        for (int64_t i = 0; i < C2; i++)
            norma_khatri_rao_fill(&shape, rows[1] + J * norma_khatri_rao_width_second(&shape),
                                  rows[0] + J * norma_khatri_rao_width_first(&shape), i, 0, length,
                                  matrix + J * *n_rows + i * length);
    NORMA_FREE(rows[0]);
    NORMA_FREE(rows[1]);
    return matrix;
}

static const int64_t splits[][2][2] = {
    {{1, 1}, {1, 1}}, {{1, 1}, {3, 2}}, {{2, 3}, {1, 1}}, {{2, 2}, {2, 3}}};
enum { N_SPLITS = sizeof splits / sizeof splits[0] };

static void test_identity(void **state)
{
    (void)state;
    for (int s = 0; s < N_SPLITS; s++) {
        int64_t n = 0;
        int64_t all = C2 * C0 * (splits[s][0][0] + splits[s][1][0] - 1) *
                      (splits[s][0][1] + splits[s][1][1] - 1);
        double *m = feature_matrix(NORMA_DISTRIBUTION_ID_COND, all, splits[s][0], splits[s][1], &n);
        assert_int_equal(n, all);
        for (int64_t J = 0; J < n; J++)
            for (int64_t I = 0; I < n; I++)
                assert_true(m[J * n + I] == (I == J ? 1 : 0));
        NORMA_FREE(m);
    }
}

static void test_orthogonal(void **state)
{
    (void)state;
    for (int s = 0; s < N_SPLITS; s++) {
        int64_t n = 0;
        int64_t all = C2 * C0 * (splits[s][0][0] + splits[s][1][0] - 1) *
                      (splits[s][0][1] + splits[s][1][1] - 1);
        double *m =
            feature_matrix(NORMA_DISTRIBUTION_ORTHO_COND, all, splits[s][0], splits[s][1], &n);
        int64_t n_dense = 0;
        for (int64_t J = 0; J < n; J++)
            for (int64_t K = 0; K < n; K++) {
                double sum = 0;
                for (int64_t I = 0; I < n; I++)
                    sum += m[J * n + I] * m[K * n + I];
                assert_true(fabs(sum - (J == K ? 1 : 0)) < 1e-14);
                n_dense += m[J * n + K] != 0 && m[J * n + K] != 1;
            }
        assert_true(n_dense > n); /* Haar, not the identity */
        NORMA_FREE(m);
    }
}

/* diag(gamma2) M gamma1 is every target without zeros among its first weights: gamma1 = (1, ...),
 * gamma2_i = w_i0. */
static void test_minimal_width(void **state)
{
    (void)state;
    for (int s = 0; s < N_SPLITS; s++) {
        int64_t n = 0;
        int64_t all = C2 * C0 * (splits[s][0][0] + splits[s][1][0] - 1) *
                      (splits[s][0][1] + splits[s][1][1] - 1);
        int64_t minimum = all - C2 + 1;
        int64_t length = all / C2;
        double *m =
            feature_matrix(NORMA_DISTRIBUTION_ID_COND_MIN, minimum, splits[s][0], splits[s][1], &n);
        for (int64_t I = 0; I < n; I++) {
            int64_t hits = 0;
            int64_t owner = -1;
            for (int64_t J = 0; J < minimum; J++)
                if (m[J * n + I] != 0) {
                    assert_true(m[J * n + I] == 1);
                    owner = J;
                    hits++;
                }
            assert_int_equal(hits, 1);
            assert_true((owner == 0) == (I % length == 0));
        }
        NORMA_FREE(m);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    static const int64_t one[2] = {1, 1};
    norma_tensor *tensor = NULL;
    norma_tensor_spec spec =
        spec_of(NORMA_DISTRIBUTION_ID_COND, NORMA_TENSOR_FIRST, C2 * C0 + 1, one, one);
    norma_test_fails(norma_tensor_create(&spec, &tensor), NORMA_CONFIG, "has 12 features");
    spec.distribution = NORMA_DISTRIBUTION_ID_COND_MIN;
    spec.n_features = C2 * C0;
    norma_test_fails(norma_tensor_create(&spec, &tensor), NORMA_CONFIG, "has 10 features");
    memset(&spec.pair, 0, sizeof spec.pair);
    norma_test_fails(norma_tensor_create(&spec, &tensor), NORMA_CONFIG, "two layers");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_identity),
    cmocka_unit_test(test_orthogonal),
    cmocka_unit_test(test_minimal_width),
    cmocka_unit_test(test_refusals),
};

norma_test_main_serial("conditioned", tests)
