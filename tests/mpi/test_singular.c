/*
 * mpi/values/singular: all singular values of a matrix by the library and by two stages, on any
 * grid, against LAPACK's values of the same matrix.
 */
#include "tests/harness/mpi_memory.h"

#include "mpi/linalg/scalapack.h"
#include "mpi/values/chase.h"
#include "mpi/values/singular.h"
#include "src/base/cpu.h"
#include "src/base/mem.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <string.h>

static const norma_grid_shape grids[] = {{1, 1}, {1, 2}, {2, 1}, {1, 3}, {3, 1},
                                         {2, 2}, {1, 4}, {4, 1}, {1, 5}};
enum { n_grids = sizeof grids / sizeof grids[0] };

/* Square, tall and wide; below, at and above multiples of the block; single rows and columns. */
static const struct {
    int64_t m, n, block;
} sizes[] = {{1, 1, 8},     {1, 9, 4},     {9, 1, 4},    {2, 2, 8},    {16, 16, 8},   {30, 30, 8},
             {33, 50, 8},   {50, 33, 8},   {64, 65, 16}, {65, 64, 16}, {40, 200, 24}, {200, 40, 24},
             {131, 90, 40}, {90, 131, 40}, {7, 100, 16}, {100, 7, 16}, {20, 20, 1}};
enum { n_sizes = sizeof sizes / sizeof sizes[0] };

typedef double entry(int64_t i, int64_t j);

/* Numbers in (-1, 1) without a pattern. */
static double any(int64_t i, int64_t j)
{
    uint64_t x = (uint64_t)(i * 10007 + j + 17) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 32)) * UINT64_C(0x94d049bb133111eb);
    return (double)(int64_t)(x >> 11) * 0x1p-52 - 1;
}

static double zero(int64_t i, int64_t j)
{
    (void)i;
    (void)j;
    return 0;
}

static double identity(int64_t i, int64_t j)
{
    return i == j ? 1 : 0;
}

/* Columns in equal pairs, and every fifth row zero. */
static double deficient(int64_t i, int64_t j)
{
    return i % 5 == 4 ? 0 : any(i, j / 2);
}

static double tiny(int64_t i, int64_t j)
{
    return 1e-200 * any(i, j);
}

static double huge(int64_t i, int64_t j)
{
    return 1e200 * any(i, j);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void fill(norma_dmat *a, entry *value)
{
    for (int64_t c = 0; c < a->n_local_columns; c++) {
        int64_t j = norma_layout_global_local(&a->columns, a->grid->column, c);
        for (int64_t r = 0; r < a->n_local_rows; r++)
            a->data[c * a->leading + r] =
                value(norma_layout_global_local(&a->rows, a->grid->row, r), j);
    }
}

static void values_of_lapack(int64_t m, int64_t n, entry *value, double *sigma)
{
    double *a = NULL;
    double *work = NULL;
    int im = (int)m;
    int in = (int)n;
    int one = 1;
    int n_work = 64 * (im + in) + 1000;
    int info = 0;
    norma_test_ok_all(NORMA_ALLOC(a, m * n));
    norma_test_ok_all(NORMA_ALLOC(work, n_work));
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            a[j * m + i] = value(i, j);
    dgesvd_("N", "N", &im, &in, a, &im, sigma, NULL, &one, NULL, &one, work, &n_work, &info);
    norma_test_check_all(info == 0);
    NORMA_FREE(a);
    NORMA_FREE(work);
}

static void check(norma_grid_shape shape, int64_t m, int64_t n, int64_t block, entry *value,
                  norma_singular_method method)
{
    norma_grid *grid = NULL;
    norma_dmat *a = NULL;
    double *sigma = NULL;
    double *expected = NULL;
    int64_t k = smaller(m, n);
    norma_test_ok_all(NORMA_ALLOC(sigma, k));
    norma_test_ok_all(NORMA_ALLOC(expected, k));
    norma_test_ok_all(norma_grid_create(norma_test_runtime->world, shape, &grid));
    norma_test_ok_all(norma_dmat_create_rectangle(grid, m, n, block, &a));
    fill(a, value);
    norma_test_ok_all(norma_singular_compute(method, a, sigma));
    values_of_lapack(m, n, value, expected);
    double worst = 0;
    bool ordered = true;
    for (int64_t i = 0; i < k; i++) {
        worst = fmax(worst, fabs(sigma[i] - expected[i]));
        ordered = ordered && sigma[i] >= 0 && (i == 0 || sigma[i] <= sigma[i - 1]);
    }
    norma_test_check_all(ordered);
    norma_test_check_all(worst <= 4 * DBL_EPSILON * (double)(m + n) * expected[0]);
    norma_dmat_destroy_local(&a);
    norma_grid_destroy(&grid);
    NORMA_FREE(sigma);
    NORMA_FREE(expected);
}

static void test_sizes(void **state)
{
    (void)state;
    for (int g = 0; g < n_grids; g++) {
        int n_idle = norma_test_runtime->size - grids[g].n_rows * grids[g].n_columns;
        for (int s = 0; s < n_sizes && (n_idle == 0 || n_idle == 1); s++)
            check(grids[g], sizes[s].m, sizes[s].n, sizes[s].block, any, NORMA_SINGULAR_TWO_STAGE);
    }
}

static void test_families(void **state)
{
    (void)state;
    static entry *const families[] = {zero, identity, deficient, tiny, huge};
    for (int f = 0; f < 5; f++)
        for (int s = 4; s < 8; s++) {
            int n_ranks = norma_test_runtime->size;
            int64_t m = sizes[s].m;
            int64_t n = sizes[s].n;
            check((norma_grid_shape){1, n_ranks}, m, n, sizes[s].block, families[f],
                  NORMA_SINGULAR_TWO_STAGE);
            check(norma_singular_grid_local(NORMA_SINGULAR_LIBRARY, m, n, n_ranks), m, n,
                  norma_singular_block_local(NORMA_SINGULAR_LIBRARY, m, n), families[f],
                  NORMA_SINGULAR_LIBRARY);
        }
}

/* The recommended choices, with both methods, at a size that AUTO gives to two stages. */
static void test_choices(void **state)
{
    (void)state;
    int64_t m = 520;
    int64_t n = 600;
    norma_test_check_all(norma_singular_choose_local(NORMA_SINGULAR_AUTO, m, n) ==
                         NORMA_SINGULAR_TWO_STAGE);
    norma_test_check_all(norma_singular_choose_local(NORMA_SINGULAR_AUTO, 100, n) ==
                         NORMA_SINGULAR_LIBRARY);
    for (int method = 0; method < NORMA_N_SINGULAR_METHODS; method++)
        check(norma_singular_grid_local((norma_singular_method)method, m, n,
                                        norma_test_runtime->size),
              m, n, norma_singular_block_local((norma_singular_method)method, m, n), any,
              (norma_singular_method)method);
}

static void test_instruction_sets(void **state)
{
    (void)state;
    norma_isa before = norma_cpu_isa();
    for (int isa = 0; isa < NORMA_N_ISAS; isa++) {
        if (!norma_cpu_supports((norma_isa)isa))
            continue;
        norma_cpu_set_isa((norma_isa)isa);
        check((norma_grid_shape){1, 1}, 131, 90, 40, any, NORMA_SINGULAR_TWO_STAGE);
    }
    norma_cpu_set_isa(before);
}

/* A sweep waits for the one before it: threads change no bit. */
static void test_threads(void **state)
{
    (void)state;
    enum { n = 300, width = 12 };
    static double band[n * (width + 1)];
    static double diagonal[2][n];
    static double beside[2][n];
    int before = omp_get_max_threads();
    for (int64_t c = 0; c < n; c++)
        for (int64_t d = 0; d <= width; d++)
            band[c * (width + 1) + width - d] = c >= d ? any(c, d) : 0;
    for (int pass = 0; pass < 2; pass++) {
        omp_set_num_threads(pass == 0 ? 1 : 3);
        norma_test_takes_all(
            norma_chase_bytes_local(n, width, omp_get_max_threads()),
            norma_chase_bidiagonal_local(n, width, band, diagonal[pass], beside[pass]));
    }
    omp_set_num_threads(before);
    norma_test_check_all(memcmp(diagonal[0], diagonal[1], sizeof diagonal[0]) == 0);
    norma_test_check_all(memcmp(beside[0], beside[1], sizeof diagonal[0]) == 0);
}

static double not_a_number(int64_t i, int64_t j)
{
    return i == 3 && j == 5 ? NAN : any(i, j);
}

static double infinite(int64_t i, int64_t j)
{
    return i == 3 && j == 5 ? -INFINITY : any(i, j);
}

static void test_refusals(void **state)
{
    (void)state;
    static entry *const bad[] = {not_a_number, infinite};
    norma_grid *grid = NULL;
    norma_dmat *a = NULL;
    double sigma[20];
    norma_grid_shape shape = {1, norma_test_runtime->size};
    norma_test_ok_all(norma_grid_create(norma_test_runtime->world, shape, &grid));
    norma_test_ok_all(norma_dmat_create_rectangle(grid, 20, 30, 4, &a));
    for (int f = 0; f < 2; f++)
        for (int method = 0; method < NORMA_N_SINGULAR_METHODS; method++) {
            fill(a, bad[f]);
            norma_test_fails_all(norma_singular_compute((norma_singular_method)method, a, sigma),
                                 NORMA_NUMERIC, "not finite");
        }
    norma_dmat_destroy_local(&a);
    norma_grid_destroy(&grid);
    norma_test_fails_all(norma_singular_check_local(NORMA_SINGULAR_AUTO, 60000, 60000, 1),
                         NORMA_LIMIT, "at least 2 ranks");
    norma_test_ok_all(norma_singular_check_local(NORMA_SINGULAR_AUTO, 60000, 60000, 2));
    norma_test_fails_all(
        norma_singular_check_local(NORMA_SINGULAR_AUTO, 1000000000, 1000000000, 1000), NORMA_LIMIT,
        "quadrature");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_sizes),   cmocka_unit_test(test_families),
    cmocka_unit_test(test_choices), cmocka_unit_test(test_instruction_sets),
    cmocka_unit_test(test_threads), cmocka_unit_test(test_refusals),
};

norma_test_main_mpi("mpi.singular", tests)
