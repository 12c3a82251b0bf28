/*
 * Products and triangular solves of BLAS against plain loops, in both precisions at odd sizes,
 * under each kernel set of OpenBLAS that this processor runs. OpenBLAS takes its kernels when a
 * program starts, so this one starts itself again for each of them.
 */
#include "tests/harness/harness.h"

#include "src/base/blas_kernel.h"
#include "src/base/mem.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

/* The first is OpenBLAS's own choice. */
static const char *const kernels[] = {"",        "Prescott", "Nehalem", "Sandybridge",
                                      "Haswell", "Zen",      "SkylakeX"};

static const int sizes[][3] = {{1, 1, 1},    {3, 5, 7},     {2, 31, 1},    {17, 9, 33},
                               {65, 33, 17}, {127, 63, 95}, {101, 257, 3}, {131, 71, 301}};
enum { N_SIZES = sizeof sizes / sizeof sizes[0] };

/* A matrix by rows, in the precision of the test: values are held once as double. */
typedef struct matrix {
    int rows, columns;
    double *values;
    float *singles;
} matrix;

static unsigned state_of_numbers;

/* In (-1, 1), with 12 bits, so that single precision holds it. */
static double next_number(void)
{
    state_of_numbers = state_of_numbers * 1664525u + 1013904223u;
    return ((double)(state_of_numbers >> 20) - 2047.5) / 2048;
}

static matrix make(int rows, int columns)
{
    matrix m = {.rows = rows, .columns = columns};
    norma_test_ok(NORMA_ALLOC(m.values, (int64_t)rows * columns));
    norma_test_ok(NORMA_ALLOC(m.singles, (int64_t)rows * columns));
    for (int e = 0; e < rows * columns; e++) {
        m.values[e] = next_number();
        m.singles[e] = (float)m.values[e];
    }
    return m;
}

static void drop(matrix *m)
{
    NORMA_FREE(m->values);
    NORMA_FREE(m->singles);
}

static double at(const matrix *m, bool transposed, int i, int j)
{
    return transposed ? m->values[(int64_t)j * m->columns + i]
                      : m->values[(int64_t)i * m->columns + j];
}

static double result(const matrix *m, bool single, int i, int j)
{
    int64_t e = (int64_t)i * m->columns + j;
    return single ? (double)m->singles[e] : m->values[e];
}

static double unit(bool single)
{
    return single ? FLT_EPSILON : DBL_EPSILON;
}

static void compare(const char *what, bool single, double found, double expected, double size)
{
    double tolerance = unit(single) * size;
    if (!(fabs(found - expected) <= tolerance))
        fail_msg("%s, %s precision, kernels %s: found %.17g, expected %.17g, tolerance %g", what,
                 single ? "single" : "double", openblas_get_corename(), found, expected, tolerance);
}

/* C = 0.75 op(A) op(B) - 0.5 C. */
static void check_gemm(const int n[3], bool single, bool ta, bool tb)
{
    matrix a = ta ? make(n[2], n[0]) : make(n[0], n[2]);
    matrix b = tb ? make(n[1], n[2]) : make(n[2], n[1]);
    matrix c = make(n[0], n[1]);
    matrix before = make(n[0], n[1]);
    memcpy(before.values, c.values, sizeof(double) * (size_t)(n[0] * n[1]));
    enum CBLAS_TRANSPOSE opa = ta ? CblasTrans : CblasNoTrans;
    enum CBLAS_TRANSPOSE opb = tb ? CblasTrans : CblasNoTrans;
    if (single)
        cblas_sgemm(CblasRowMajor, opa, opb, n[0], n[1], n[2], 0.75F, a.singles, a.columns,
                    b.singles, b.columns, -0.5F, c.singles, c.columns);
    else
        cblas_dgemm(CblasRowMajor, opa, opb, n[0], n[1], n[2], 0.75, a.values, a.columns, b.values,
                    b.columns, -0.5, c.values, c.columns);
    for (int i = 0; i < n[0]; i++)
        for (int j = 0; j < n[1]; j++) {
            double sum = -0.5 * before.values[i * n[1] + j];
            double size = fabs(sum);
            for (int k = 0; k < n[2]; k++) {
                double term = 0.75 * at(&a, ta, i, k) * at(&b, tb, k, j);
                sum += term;
                size += fabs(term);
            }
            compare("GEMM", single, result(&c, single, i, j), sum, (n[2] + 2) * size);
        }
    drop(&a);
    drop(&b);
    drop(&c);
    drop(&before);
}

/* C = A A' or A' A; the other triangle is not touched. */
static void check_syrk(const int n[3], bool single, bool upper, bool transposed)
{
    matrix a = transposed ? make(n[2], n[0]) : make(n[0], n[2]);
    matrix c = make(n[0], n[0]);
    matrix before = make(n[0], n[0]);
    memcpy(before.values, c.values, sizeof(double) * (size_t)(n[0] * n[0]));
    enum CBLAS_UPLO half = upper ? CblasUpper : CblasLower;
    enum CBLAS_TRANSPOSE op = transposed ? CblasTrans : CblasNoTrans;
    if (single)
        cblas_ssyrk(CblasRowMajor, half, op, n[0], n[2], 1, a.singles, a.columns, 0, c.singles,
                    n[0]);
    else
        cblas_dsyrk(CblasRowMajor, half, op, n[0], n[2], 1, a.values, a.columns, 0, c.values, n[0]);
    for (int i = 0; i < n[0]; i++)
        for (int j = 0; j < n[0]; j++) {
            double sum = 0;
            double size = 0;
            bool untouched = upper ? j < i : j > i;
            for (int k = 0; k < n[2] && !untouched; k++) {
                double term = at(&a, transposed, i, k) * at(&a, transposed, j, k);
                sum += term;
                size += fabs(term);
            }
            if (untouched)
                sum = before.values[i * n[0] + j];
            compare("SYRK", single, result(&c, single, i, j), sum, (n[2] + 2) * size);
        }
    drop(&a);
    drop(&c);
    drop(&before);
}

static double triangle_at(const matrix *a, bool upper, bool transposed, int i, int j)
{
    bool inside = upper != transposed ? j >= i : j <= i;
    return inside ? at(a, transposed, i, j) : 0;
}

/* X of op(A) X = B, with A triangular and well conditioned; then op(A) X is compared with B. */
static void check_trsm(const int n[3], bool single, bool upper, bool transposed)
{
    matrix a = make(n[0], n[0]);
    matrix b = make(n[0], n[1]);
    matrix before = make(n[0], n[1]);
    for (int e = 0; e < n[0] * n[0]; e++) {
        double value = e % (n[0] + 1) == 0 ? 2 + fabs(a.values[e]) : ldexp(a.values[e], -6);
        a.values[e] = value;
        a.singles[e] = (float)value;
    }
    memcpy(before.values, b.values, sizeof(double) * (size_t)(n[0] * n[1]));
    enum CBLAS_UPLO half = upper ? CblasUpper : CblasLower;
    enum CBLAS_TRANSPOSE op = transposed ? CblasTrans : CblasNoTrans;
    if (single)
        cblas_strsm(CblasRowMajor, CblasLeft, half, op, CblasNonUnit, n[0], n[1], 1, a.singles,
                    n[0], b.singles, n[1]);
    else
        cblas_dtrsm(CblasRowMajor, CblasLeft, half, op, CblasNonUnit, n[0], n[1], 1, a.values, n[0],
                    b.values, n[1]);
    for (int i = 0; i < n[0]; i++)
        for (int j = 0; j < n[1]; j++) {
            double sum = 0;
            double size = 0;
            for (int k = 0; k < n[0]; k++) {
                double term = triangle_at(&a, upper, transposed, i, k) * result(&b, single, k, j);
                sum += term;
                size += fabs(term);
            }
            compare("TRSM", single, sum, before.values[i * n[1] + j], (n[0] + 2) * size);
        }
    drop(&a);
    drop(&b);
    drop(&before);
}

static void check_all(void (*check)(const int n[3], bool single, bool a, bool b))
{
    for (int s = 0; s < N_SIZES; s++)
        for (int form = 0; form < 8; form++)
            check(sizes[s], form % 2 != 0, form / 2 % 2 != 0, form / 4 != 0);
}

static void gemm(void **state)
{
    (void)state;
    check_all(check_gemm);
}

static void syrk(void **state)
{
    (void)state;
    check_all(check_syrk);
}

static void trsm(void **state)
{
    (void)state;
    check_all(check_trsm);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(gemm),
    cmocka_unit_test(syrk),
    cmocka_unit_test(trsm),
};

/* The exit code of this program under a kernel set. */
static int run_under(char *program, const char *kernel)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        char *arguments[] = {program, (char *)"--here", NULL};
        if (kernel[0])
            setenv("OPENBLAS_CORETYPE", kernel, 1);
        else
            unsetenv("OPENBLAS_CORETYPE");
        execv("/proc/self/exe", arguments);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
               ? WEXITSTATUS(status)
               : 128;
}

int main(int argc, char **argv)
{
    norma_processor processor;
    int n_failed = 0;
    if (argc > 1) {
        const char *asked = getenv("OPENBLAS_CORETYPE");
        const char *used = openblas_get_corename();
        if (asked && strcasecmp(asked, used) != 0) { /* a library built for fewer processors */
            printf("kernels %s: not in this library, which takes %s\n", asked, used);
            return EXIT_SUCCESS;
        }
        return norma_test_run_serial(used, tests, sizeof tests / sizeof tests[0]);
    }
    norma_processor_read(&processor);
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        if (kernels[i][0] && !norma_blas_kernel_runs(kernels[i], &processor))
            continue;
        int code = run_under(argv[0], kernels[i]);
        if (code != 0)
            fprintf(stderr, "kernels %s: exit code %d\n", kernels[i][0] ? kernels[i] : "as chosen",
                    code);
        n_failed += code != 0;
    }
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
