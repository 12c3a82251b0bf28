/*
 * mpi/system/divide: U diag(sigma) V' is the matrix, U and V have orthonormal columns, and the
 * values are those of LAPACK's QR iteration; for square, tall and wide matrices, of deficient rank
 * and of extreme entries. And the check that catches values which are wrong.
 */
#include "tests/harness/layer_fixture.h"
#include "tests/harness/mpi_harness.h"

#include "mpi/linalg/scalapack.h"
#include "mpi/system/divide.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Largest deviation of the columns' (or, turned, the rows') scalar products from the identity. */
static double off_identity(const double *x, int64_t length, int64_t n, bool rows, int64_t stride)
{
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = i == j ? -1 : 0;
            for (int64_t r = 0; r < length; r++)
                sum += rows ? x[r * stride + i] * x[r * stride + j]
                            : x[i * stride + r] * x[j * stride + r];
            largest = fmax(largest, fabs(sum));
        }
    return largest;
}

/* Values by QR iteration. */
static void values_by_qr(int m, int n, const double *a, double *sigma)
{
    static const int one = 1;
    int n_work = 10 * (m + n) + 100;
    int info = 0;
    double *copy = fixture_alloc((int64_t)m * n);
    double *work = fixture_alloc(n_work);
    memcpy(copy, a, (size_t)m * (size_t)n * sizeof *a);
    dgesvd_("N", "N", &m, &n, copy, &m, sigma, NULL, &one, NULL, &one, work, &n_work, &info);
    norma_test_check_all(info == 0);
    NORMA_FREE(copy);
    NORMA_FREE(work);
}

/* Decomposes a matrix [n][m] with columns `pad` longer than needed; true where that is good, and
 * then checks the answer. */
static bool decompose(int m, int n, const double *a, double *sigma)
{
    enum { PAD = 3 };
    int k = m < n ? m : n;
    int *integers = NULL;
    norma_divide_matrices x = {
        .m = m, .n = n, .lda = m + PAD, .ld_left = m + PAD, .ld_right = k + PAD};
    double *space = fixture_alloc(norma_divide_workspace_local(m, n));
    double *expected = fixture_alloc(k);
    bool good = false;
    x.a = fixture_alloc((int64_t)x.lda * n);
    x.left = fixture_alloc((int64_t)x.ld_left * k);
    x.right = fixture_alloc((int64_t)x.ld_right * n);
    norma_test_ok_all(NORMA_ALLOC(integers, norma_divide_integers_local(m, n)));
    for (int64_t c = 0; c < n; c++)
        memcpy(x.a + c * x.lda, a + c * m, (size_t)m * sizeof *a);
    norma_test_ok_all(norma_divide_decompose_local(&x, sigma, space, integers, &good));
    if (good) {
        double off = 0;
        double tolerance = 10 * (m + n) * DBL_EPSILON;
        values_by_qr(m, n, a, expected);
        for (int i = 0; i < k; i++)
            norma_test_check_all(fabs(sigma[i] - expected[i]) <= tolerance * expected[0]);
        for (int64_t c = 0; c < n; c++)
            for (int64_t r = 0; r < m; r++) {
                double sum = -a[c * m + r];
                for (int i = 0; i < k; i++)
                    sum += x.left[i * x.ld_left + r] * sigma[i] * x.right[c * x.ld_right + i];
                off = fmax(off, fabs(sum));
            }
        norma_test_check_all(off <= tolerance * expected[0]);
        norma_test_check_all(off_identity(x.left, m, k, false, x.ld_left) <= tolerance);
        norma_test_check_all(off_identity(x.right, n, k, true, x.ld_right) <= tolerance);
    }
    NORMA_FREE(x.a);
    NORMA_FREE(x.left);
    NORMA_FREE(x.right);
    NORMA_FREE(space);
    NORMA_FREE(expected);
    NORMA_FREE(integers);
    return good;
}

static void test_shapes(void **state)
{
    (void)state;
    static const int shapes[][2] = {{1, 1},   {2, 1},   {1, 2},   {1, 40},  {40, 1},   {30, 30},
                                    {61, 60}, {60, 61}, {90, 30}, {30, 90}, {150, 40}, {40, 151}};
    for (int s = 0; s < (int)(sizeof shapes / sizeof shapes[0]); s++) {
        int m = shapes[s][0];
        int n = shapes[s][1];
        double *a = fixture_alloc((int64_t)m * n);
        double *sigma = fixture_alloc(m < n ? m : n);
        fixture_fill((uint64_t)s + 5, (int64_t)m * n, a);
        norma_test_check_all(decompose(m, n, a, sigma));
        NORMA_FREE(a);
        NORMA_FREE(sigma);
    }
}

/* Equal columns: values of nothing but rounding. Many equal values: the identity. */
static void test_deficient_and_repeated(void **state)
{
    (void)state;
    enum { N = 70 };
    double *a = fixture_alloc((int64_t)N * N);
    double *sigma = fixture_alloc(N);
    fixture_fill(9, (int64_t)N * N, a);
    for (int64_t c = 20; c < N; c++)
        memcpy(a + c * N, a + (c % 20) * N, N * sizeof *a);
    norma_test_check_all(decompose(N, N, a, sigma));
    norma_test_check_all(sigma[19] > 0.01 * sigma[0] && sigma[20] <= 1e-13 * sigma[0]);
    memset(a, 0, sizeof *a * N * N);
    for (int64_t c = 0; c < N; c++)
        a[c * N + c] = 3;
    norma_test_check_all(decompose(N, N, a, sigma));
    norma_test_check_all(norma_test_close(sigma[N - 1], 3, 1e-14, 0));
    NORMA_FREE(a);
    NORMA_FREE(sigma);
}

/* Matrices that are left to QR iteration. */
static void test_left_to_others(void **state)
{
    (void)state;
    enum { N = 20 };
    static const double entries[] = {0, 1e-140, 1e140, INFINITY, NAN};
    double *a = fixture_alloc((int64_t)N * N);
    double *sigma = fixture_alloc(N);
    for (int e = 0; e < (int)(sizeof entries / sizeof entries[0]); e++) {
        memset(a, 0, sizeof *a * N * N);
        a[3 * N + 5] = entries[e];
        norma_test_check_all(!decompose(N, N, a, sigma));
    }
    norma_test_check_all(norma_divide_fits_local(1000, 1000));
    norma_test_check_all(norma_divide_fits_local(26000, 26000));
    norma_test_check_all(!norma_divide_fits_local(27000, 27000));
    norma_test_check_all(!norma_divide_fits_local(INT64_C(10000000), 10));
    NORMA_FREE(a);
    NORMA_FREE(sigma);
}

static void test_disagreement(void **state)
{
    (void)state;
    static const double expected[] = {10, 1, 1e-3};
    double values[3];
    memcpy(values, expected, sizeof values);
    norma_test_check_all(norma_divide_agrees_local(3, values, expected));
    values[2] += 5e-12;
    norma_test_check_all(norma_divide_agrees_local(3, values, expected));
    values[2] += 1e-11;
    norma_test_check_all(!norma_divide_agrees_local(3, values, expected));
    values[2] = NAN;
    norma_test_check_all(!norma_divide_agrees_local(3, values, expected));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_shapes),
    cmocka_unit_test(test_deficient_and_repeated),
    cmocka_unit_test(test_left_to_others),
    cmocka_unit_test(test_disagreement),
};

norma_test_main_mpi("mpi.divide", tests)
