/* src/chain against theory: inertia against eigenvalues, exact law against pathwise, stationary
 * closed forms, Lyapunov exponents, the isometry gap's monotony.
 *
 * Statistical checks use fixed seeds and allow at least 5 standard errors, or a Kolmogorov-Smirnov
 * probability of 1e-5: a correct program fails a new seed with probability below 1e-4 in all. */
#include "tests/harness/harness.h"

#include "src/base/mem.h"
#include "src/chain/chain.h"
#include "src/stats/autocorrelation.h"
#include "src/stats/ergodic.h"
#include "src/stats/ks.h"
#include "src/theory/chain_laws.h"
#include "src/theory/lyapunov.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define BIT(name) NORMA_OBSERVABLE_BIT(NORMA_OBSERVABLE_##name)

void dsyev_(const char *jobz, const char *uplo, const int *n, double *a, const int *lda, double *w,
            double *work, const int *lwork, int *info);

static norma_chain *make(const norma_chain_spec *spec, norma_observable_request *request,
                         int64_t n_replicas)
{
    norma_chain_input input = {.kind = NORMA_CHAIN_INPUT_GAUSSIAN, .epsilon = NAN};
    norma_chain *chain = NULL;
    norma_test_ok(norma_chain_create(spec, &input, request, n_replicas, &chain));
    return chain;
}

static norma_observable_request asking(norma_observable_set set)
{
    norma_observable_request request;
    norma_observable_request_init(&request);
    request.wanted = set;
    request.n_singular = 1;
    return request;
}

/* Eigenvalues of M = H H^T / N, ascending. */
static void eigenvalues(const double *h, int d, int n, double *m, double *out)
{
    double work[4000];
    int lwork = 4000, info = 0;
    for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++) {
            m[i * d + j] = 0;
            for (int k = 0; k < n; k++)
                m[i * d + j] += h[i * n + k] * h[j * n + k] / n;
        }
    dsyev_("N", "U", &d, m, &d, out, work, &lwork, &info);
    assert_int_equal(info, 0);
}

/* Counts at tau = first, 0.4 first, 3 first, ... against a full eigensolver. */
static void check_counts(int d, int n, double first, int n_tau, int n_layers, int n_replicas)
{
    norma_chain_spec spec;
    norma_chain_spec_init(NORMA_CHAIN_RANK20, d, n, &spec);
    norma_observable_request request = asking(BIT(SOFT_RANK));
    request.n_tau = n_tau;
    for (int t = 0; t < n_tau; t++)
        request.tau[t] = first * (t + 1) * (t % 2 ? 0.2 : 1);
    norma_chain *chain = make(&spec, &request, n_replicas);
    int lanes = norma_chain_n_lanes(chain);
    double *h = NULL, *m = NULL, *w = NULL, *counts = NULL;
    norma_test_ok(NORMA_ALLOC(h, (int64_t)d * n));
    norma_test_ok(NORMA_ALLOC(m, (int64_t)d * d));
    norma_test_ok(NORMA_ALLOC(w, d));
    norma_test_ok(NORMA_ALLOC(counts, (int64_t)n_tau * lanes));
    norma_test_ok(norma_chain_start(chain, 17, 0, 0, lanes));
    for (int l = 0; l < n_layers; l++) {
        norma_test_ok(norma_chain_step(chain));
        norma_test_ok(norma_chain_measure(chain, BIT(SOFT_RANK), counts));
        for (int lane = 0; lane < lanes; lane++) {
            int64_t exponent = 0;
            norma_chain_get_matrix(chain, lane, h, &exponent);
            eigenvalues(h, d, n, m, w);
            for (int t = 0; t < n_tau; t++) {
                int count = 0, near = 0;
                for (int i = 0; i < d; i++) {
                    count += w[i] >= request.tau[t];
                    near += fabs(w[i] - request.tau[t]) < 1e-12;
                }
                if (near == 0 && count != (int)counts[t * lanes + lane])
                    fail_msg("d = %d, N = %d, layer %d, tau %g: %g, not %d", d, n, l,
                             request.tau[t], counts[t * lanes + lane], count);
            }
        }
    }
    norma_mem_free(h);
    norma_mem_free(m);
    norma_mem_free(w);
    norma_mem_free(counts);
    norma_chain_destroy(&chain);
}

static void test_inertia_counts_eigenvalues(void **state)
{
    (void)state;
    check_counts(1, 1, 0.5, 2, 20, 8);
    check_counts(2, 2, 0.5, 3, 100, 8);
    check_counts(3, 5, 0.5, 3, 300, 8);
    check_counts(8, 8, 0.5, 4, 1000, 8);
    check_counts(12, 7, 0.5, 3, 300, 8);
    check_counts(24, 24, 0.5, 4, 60, 8);
    check_counts(24, 21, 0.5, 4, 200, 1);
    check_counts(8, 8, 0.5, 2, 500, 1); /* pivots, without interchanges */
    check_counts(32, 37, 0.5, 1, 100, 8);
    check_counts(64, 64, 0.5, 2, 20, 8);
    check_counts(64, 61, 0.01, 1, 100, 1);
    check_counts(16, 16, 1, 1, 300, 8); /* rows have norm 1: the first pivot is rounding */
    check_counts(9, 16, 1, 1, 300, 1);
    check_counts(80, 70, 0.5, 1, 60, 8); /* LDL^T */
    check_counts(66, 80, 0.5, 5, 60, 8); /* tridiagonal */
    check_counts(40, 9, 0.5, 2, 200, 8); /* exact law, Gram matrix of the samples */
}

/* Where H grows, H H^T loses its small eigenvalues; counts are then those of the singular values.
 */
static void check_fine_counts(int n_replicas, int block)
{
    enum { D = 9, N = 6, N_LAYERS = 150 };
    norma_chain_spec spec;
    norma_chain_spec_init(NORMA_CHAIN_VANILLA_RESIDUAL, D, N, &spec);
    spec.law = NORMA_CHAIN_LAW_PATHWISE;
    norma_observable_request request = asking(BIT(SOFT_RANK) | BIT(SINGULAR_VALUE));
    request.n_singular = N;
    request.tau[0] = 0.5;
    norma_chain *chain = make(&spec, &request, block);
    double values[(1 + N) * 8];
    int lanes = norma_chain_n_lanes(chain), n_lost = 0;
    norma_test_ok(norma_chain_start(chain, 3, 0, 0, n_replicas));
    for (int l = 0; l < N_LAYERS; l++) {
        norma_test_ok(norma_chain_step(chain));
        norma_test_ok(norma_chain_measure(chain, BIT(SOFT_RANK) | BIT(SINGULAR_VALUE), values));
        for (int lane = 0; lane < n_replicas; lane++) {
            int count = 0;
            for (int k = 0; k < N; k++) {
                double s = values[(1 + k) * lanes + lane];
                count += s * s / N >= 0.5 && s > D * DBL_EPSILON * values[lanes + lane];
                n_lost += s * s / N < 1e-17 * pow(values[lanes + lane], 2);
            }
            assert_int_equal((int)values[lane], count);
        }
    }
    assert_true(n_lost > 0);
    norma_chain_destroy(&chain);
}

static void test_counts_beyond_rounding(void **state)
{
    (void)state;
    check_fine_counts(1, 1);
    check_fine_counts(2, 2);
    check_fine_counts(3, 4);
    check_fine_counts(3, 8);
}

/* Values of one observable after `layers` layers, one a replica. */
static void sample(const norma_chain_spec *spec, norma_observable observable, int layers, int count,
                   double *out)
{
    norma_observable_request request = asking(NORMA_OBSERVABLE_BIT(observable));
    norma_chain *chain = make(spec, &request, count);
    double values[16];
    int lanes = norma_chain_n_lanes(chain);
    for (int first = 0; first < count; first += lanes) {
        int n = count - first < lanes ? count - first : lanes;
        norma_test_ok(norma_chain_start(chain, 23, 0, first, n));
        for (int l = 0; l < layers; l++)
            norma_test_ok(norma_chain_step(chain));
        norma_test_ok(norma_chain_measure(chain, request.wanted, values));
        memcpy(out + first, values, (size_t)n * sizeof *out);
    }
    norma_chain_destroy(&chain);
}

/* Both laws give the same distribution of the observable: two-sample test at 1e-5. */
static void check_law(norma_chain_preset preset, int64_t d, int64_t n, double residual,
                      norma_observable observable)
{
    enum { REPLICAS = 3000, LAYERS = 4 };
    static double exact[REPLICAS], pathwise[REPLICAS];
    norma_chain_spec spec;
    norma_chain_spec_init(preset, d, n, &spec);
    if (residual > 0)
        spec.residual = residual;
    if (preset == NORMA_CHAIN_THESIS5_POST_LN)
        spec.activation.kind = NORMA_ACTIVATION_TANH; /* relu may leave a sample without variance */
    spec.law = NORMA_CHAIN_LAW_EXACT;
    sample(&spec, observable, LAYERS, REPLICAS, exact);
    spec.law = NORMA_CHAIN_LAW_PATHWISE;
    sample(&spec, observable, LAYERS, REPLICAS, pathwise);
    double distance = norma_ks_distance_two(exact, REPLICAS, pathwise, REPLICAS);
    double p = norma_ks_probability(distance, 0.5 * REPLICAS);
    if (!(p > 1e-5))
        fail_msg("preset %d, d = %lld, N = %lld: probability %g", (int)preset, (long long)d,
                 (long long)n, p);
}

static void test_exact_law(void **state)
{
    (void)state;
    check_law(NORMA_CHAIN_THESIS2, 8, 3, 0, NORMA_OBSERVABLE_ORTHOGONALITY_GAP);
    check_law(NORMA_CHAIN_THESIS2, 8, 3, 0, NORMA_OBSERVABLE_GRAM_12);
    check_law(NORMA_CHAIN_RANK20, 7, 4, 0.5, NORMA_OBSERVABLE_STABLE_RANK);
    check_law(NORMA_CHAIN_THESIS3, 6, 4, 0, NORMA_OBSERVABLE_FRO2);
    check_law(NORMA_CHAIN_THESIS5_POST_LN, 6, 3, 0, NORMA_OBSERVABLE_COSINE);
    check_law(NORMA_CHAIN_VANILLA, 5, 2, 0, NORMA_OBSERVABLE_LOG_NORM);
    check_law(NORMA_CHAIN_THESIS6, 6, 3, 0, NORMA_OBSERVABLE_ISOMETRY_GAP);
    check_law(NORMA_CHAIN_THESIS6_SHAPED, 6, 5, 1.5, NORMA_OBSERVABLE_GRAM_12);
}

/* The test above can fail: a frame that is not uniform, here a wrong residual strength, shows. */
static void test_exact_law_test_has_power(void **state)
{
    (void)state;
    enum { REPLICAS = 3000 };
    static double a[REPLICAS], b[REPLICAS];
    norma_chain_spec spec;
    norma_chain_spec_init(NORMA_CHAIN_RANK20, 7, 4, &spec);
    spec.residual = 0.5;
    sample(&spec, NORMA_OBSERVABLE_STABLE_RANK, 4, REPLICAS, a);
    spec.residual = 0.25;
    sample(&spec, NORMA_OBSERVABLE_STABLE_RANK, 4, REPLICAS, b);
    double distance = norma_ks_distance_two(a, REPLICAS, b, REPLICAS);
    assert_true(norma_ks_probability(distance, 0.5 * REPLICAS) < 1e-5);
}

/* E V^2 and its lag-1 autocorrelation, and that of G_12. */
static void check_closed_form(norma_chain_preset preset, int64_t d, int64_t n, int layers)
{
    norma_chain_spec spec;
    norma_chain_spec_init(preset, d, n, &spec);
    norma_observable_request request = asking(BIT(ORTHOGONALITY_GAP) | BIT(GRAM_12));
    norma_chain *chain = make(&spec, &request, 1);
    const bool centered = preset == NORMA_CHAIN_THESIS3;
    double value[16], *gap2 = NULL, *gram = NULL;
    static norma_ergodic ergodic;
    norma_ergodic_init(&ergodic);
    norma_test_ok(NORMA_ALLOC(gap2, layers));
    norma_test_ok(NORMA_ALLOC(gram, layers));
    norma_test_ok(norma_chain_start(chain, 31, 0, 0, 1));
    for (int l = -300; l < layers; l++) {
        norma_test_ok(norma_chain_step(chain));
        if (l < 0)
            continue;
        norma_test_ok(norma_chain_measure(chain, request.wanted, value));
        double v = value[norma_chain_offset(chain, NORMA_OBSERVABLE_ORTHOGONALITY_GAP)];
        gap2[l] = v * v;
        gram[l] = value[norma_chain_offset(chain, NORMA_OBSERVABLE_GRAM_12)];
        norma_ergodic_add(&ergodic, v * v);
    }
    norma_ergodic_result result = norma_ergodic_get(&ergodic, 0);
    double ratio = result.mean / norma_chain_laws_mean_gap2(d, n, centered);
    double error = result.standard_error / norma_chain_laws_mean_gap2(d, n, centered);
    /* The next order is n / d times a number near 0.25. */
    if (!(fabs(ratio - 1) < 5 * error + 0.5 * (double)n / (double)d))
        fail_msg("d = %lld, n = %lld: E V^2 is %g of the closed form", (long long)d, (long long)n,
                 ratio);
    double lag = norma_autocorrelation_at(gram, layers, 1);
    assert_true(fabs(lag - norma_chain_laws_gram_correlation(n, centered)) <
                5 * sqrt((double)n / layers) + 0.5 * (double)n / (double)d);
    lag = norma_autocorrelation_at(gap2, layers, 1);
    assert_true(fabs(lag - norma_chain_laws_gap2_correlation(n, centered)) <
                5 * sqrt((double)n / layers) + (double)n / (double)d);
    norma_mem_free(gap2);
    norma_mem_free(gram);
    norma_chain_destroy(&chain);
}

static void test_stationary_closed_forms(void **state)
{
    (void)state;
    check_closed_form(NORMA_CHAIN_THESIS2, 256, 4, 20000);
    check_closed_form(NORMA_CHAIN_THESIS2, 128, 2, 40000);
    check_closed_form(NORMA_CHAIN_THESIS2, 256, 8, 10000);
    check_closed_form(NORMA_CHAIN_THESIS3, 256, 5, 20000);
    check_closed_form(NORMA_CHAIN_THESIS3, 128, 3, 40000);
}

static void check_lyapunov(norma_chain_preset preset, int64_t d, int64_t n, norma_chain_law law,
                           double residual, int64_t n_exact)
{
    enum { LAYERS = 20000 };
    norma_chain_spec spec;
    norma_chain_spec_init(preset, d, n, &spec);
    spec.law = law;
    if (residual > 0)
        spec.residual = residual;
    norma_observable_request request = asking(BIT(LOG_NORM) | BIT(LOG_SIGMA_MIN) | BIT(COSINE));
    request.lyapunov = true;
    norma_chain *chain = make(&spec, &request, 1);
    double found[16], value[16];
    norma_test_ok(norma_chain_start(chain, 41, 0, 0, 1));
    for (int l = 0; l < LAYERS; l++)
        norma_test_ok(norma_chain_step(chain));
    norma_chain_get_lyapunov(chain, 0, found);
    norma_test_ok(norma_chain_measure(chain, request.wanted, value));
    for (int64_t k = 0; k < n_exact; k++) {
        double exact = residual > 0 ? norma_lyapunov_residual(d, residual)
                                    : norma_lyapunov_gaussian(d, k + 1, 1 / sqrt((double)d));
        /* var log R_kk is about 1 / (2 (d - k)), at most that of one chi-square, 1.3. */
        if (!(fabs(found[k] - exact) < 5 * sqrt(1.3 / LAYERS)))
            fail_msg("exponent %lld: %g, not %g", (long long)k, found[k], exact);
    }
    assert_true(isfinite(value[norma_chain_offset(chain, NORMA_OBSERVABLE_LOG_NORM)]));
    norma_test_check_close(value[norma_chain_offset(chain, NORMA_OBSERVABLE_LOG_NORM)],
                           found[0] * LAYERS, 0.02);
    norma_test_check_close(value[norma_chain_offset(chain, NORMA_OBSERVABLE_LOG_SIGMA_MIN)],
                           found[n - 1] * LAYERS, 0.02);
    norma_test_check_close(fabs(value[norma_chain_offset(chain, NORMA_OBSERVABLE_COSINE)]), 1,
                           1e-12);
    norma_chain_destroy(&chain);
}

static void test_lyapunov_exponents(void **state)
{
    (void)state;
    check_lyapunov(NORMA_CHAIN_VANILLA, 8, 4, NORMA_CHAIN_LAW_EXACT, 0, 4);
    check_lyapunov(NORMA_CHAIN_VANILLA, 6, 3, NORMA_CHAIN_LAW_PATHWISE, 0, 3);
    check_lyapunov(NORMA_CHAIN_VANILLA, 4, 4, NORMA_CHAIN_LAW_PATHWISE, 0, 4);
    check_lyapunov(NORMA_CHAIN_VANILLA_RESIDUAL, 8, 3, NORMA_CHAIN_LAW_EXACT, 0.7, 1);
    check_lyapunov(NORMA_CHAIN_VANILLA_RESIDUAL, 8, 3, NORMA_CHAIN_LAW_PATHWISE, 0.7, 1);
}

/* Haar weights: H_1 of the identity is W (its first columns under law exact), whose moments are
 * E W_ij = 0, E W_ij^2 = 1 / d, E W_00^4 = 3 / (d (d + 2)), E tr(W)^2 = 1, E tr(W^2) = 1. */
static void test_haar_moments(void **state)
{
    (void)state;
    enum { REPLICAS = 20000, D = 4 };
    for (int n = D; n >= D - 1; n--) {
        norma_chain_spec spec;
        norma_chain_spec_init(NORMA_CHAIN_VANILLA, D, n, &spec);
        spec.weights = NORMA_DISTRIBUTION_ORTHOGONAL;
        norma_observable_request request = asking(BIT(LOG_NORM));
        norma_chain_input input = {.kind = NORMA_CHAIN_INPUT_DIAGONAL, .epsilon = 1};
        norma_chain *chain = NULL;
        norma_test_ok(norma_chain_create(&spec, &input, &request, REPLICAS, &chain));
        double w[D * D], sum[6] = {0};
        for (int r = 0; r < REPLICAS; r++) {
            int64_t exponent = 0;
            norma_test_ok(norma_chain_start(chain, 61, 0, r, 1));
            norma_test_ok(norma_chain_step(chain));
            norma_chain_get_matrix(chain, 0, w, &exponent);
            double trace = 0, square = 0;
            for (int i = 0; i < n; i++) {
                trace += w[i * n + i];
                for (int j = 0; j < n; j++)
                    square += w[i * n + j] * w[j * n + i];
            }
            const double value[6] = {
                w[0], w[n * n - 1], w[1] * w[1], w[0] * w[0] * w[0] * w[0], trace * trace, square};
            for (int k = 0; k < 6; k++)
                sum[k] += value[k] / REPLICAS;
        }
        /* Of the leading n x n block: E tr^2 = n / d, E tr(block^2) = n / d. */
        const double exact[6] = {0, 0, 1.0 / D, 3.0 / (D * (D + 2)), (double)n / D, (double)n / D};
        const double deviation[6] = {0.5, 0.5, 0.26, 0.2, 1.5, 1.5}; /* at least the true ones */
        for (int k = 0; k < 6; k++)
            if (!(fabs(sum[k] - exact[k]) < 5 * deviation[k] / sqrt(REPLICAS)))
                fail_msg("N = %d, moment %d: %g, not %g", n, k, sum[k], exact[k]);
        norma_chain_destroy(&chain);
    }
}

/* THESIS Lemma 6.2: no layer of thesis6 increases the isometry gap. */
static void test_isometry_gap_never_increases(void **state)
{
    (void)state;
    norma_chain_spec spec;
    norma_chain_spec_init(NORMA_CHAIN_THESIS6, 8, 8, &spec);
    norma_observable_request request = asking(BIT(ISOMETRY_GAP) | BIT(ROW_BIAS));
    norma_chain *chain = make(&spec, &request, 1);
    double value[2];
    for (int replica = 0; replica < 200; replica++) {
        norma_test_ok(norma_chain_start(chain, 51, 0, replica, 1));
        double before = INFINITY;
        for (int l = 0; l < 60; l++) {
            norma_test_ok(norma_chain_measure(chain, request.wanted, value));
            assert_true(value[0] <= before + 1e-13 && value[0] >= 0);
            /* Thm 4.3, with the sign of its proof: the isometry gains at least 1 + bias. */
            if (l > 0 && before < 30)
                assert_true(before - value[0] >= log1p(value[1]) - 1e-12);
            before = value[0];
            norma_test_ok(norma_chain_step(chain));
        }
    }
    norma_chain_destroy(&chain);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_inertia_counts_eigenvalues),
    cmocka_unit_test(test_counts_beyond_rounding),
    cmocka_unit_test(test_exact_law),
    cmocka_unit_test(test_exact_law_test_has_power),
    cmocka_unit_test(test_stationary_closed_forms),
    cmocka_unit_test(test_lyapunov_exponents),
    cmocka_unit_test(test_haar_moments),
    cmocka_unit_test(test_isometry_gap_never_increases),
};

norma_test_main_serial("src.chain.laws", tests)
