/*
 * mpi/linalg/factor against LAPACK: pivots, factors and solves on any grid, in both precisions, and
 * matrices without an inverse.
 */
#include "tests/harness/mpi_memory.h"

#include "mpi/linalg/factor.h"
#include "mpi/linalg/factor_state.h"
#include "mpi/linalg/scalapack.h"
#include "src/base/mem.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static const norma_grid_shape grids[] = {{1, 1}, {1, 2}, {2, 1}, {1, 3}, {3, 1},
                                         {2, 2}, {1, 4}, {4, 1}, {1, 5}};
enum { n_grids = sizeof grids / sizeof grids[0] };

/* n below, at and above multiples of the block; blocks that are one leaf of a panel, and many. */
static const struct {
    int64_t n, block;
} sizes[] = {{1, 8},  {7, 8},  {8, 8},  {9, 8},    {31, 8},
             {32, 8}, {33, 8}, {50, 1}, {131, 40}, {160, 40}};
enum { n_sizes = sizeof sizes / sizeof sizes[0] };

typedef double entry(int64_t n, int64_t i, int64_t j);

/* Numbers in (-1, 1) without a pattern. */
static double any(int64_t n, int64_t i, int64_t j)
{
    uint64_t x = (uint64_t)(n * 1000003 + i * 10007 + j) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 32)) * UINT64_C(0x94d049bb133111eb);
    return (double)(int64_t)(x >> 11) * 0x1p-52 - 1;
}

/* The largest entries lie at the bottom: every pivot comes from another process row. */
static double upside_down(int64_t n, int64_t i, int64_t j)
{
    return i + j == n - 1 ? 8 : any(n, i, j) / (double)n;
}

static double identity(int64_t n, int64_t i, int64_t j)
{
    (void)n;
    return i == j ? 1 : 0;
}

static double nearly_singular(int64_t n, int64_t i, int64_t j)
{
    return (j == n - 1 ? any(n, i, 0) : any(n, i, j)) + (i == j ? 1e-4 : 0);
}

static double zero(int64_t n, int64_t i, int64_t j)
{
    (void)n;
    (void)i;
    (void)j;
    return 0;
}

static double zero_first(int64_t n, int64_t i, int64_t j)
{
    return j == 0 ? 0 : any(n, i, j);
}

static double zero_middle(int64_t n, int64_t i, int64_t j)
{
    return j == n / 2 ? 0 : any(n, i, j);
}

static double zero_last(int64_t n, int64_t i, int64_t j)
{
    return j == n - 1 ? 0 : any(n, i, j);
}

static double infinite_middle(int64_t n, int64_t i, int64_t j)
{
    return i == j && j == n / 2 ? INFINITY : any(n, i, j);
}

static void *allocate(int64_t n, size_t item)
{
    void *p = norma_mem_calloc(n, item, __FILE__, __LINE__);
    norma_test_check_all(p != NULL);
    return p;
}

/* A matrix, its factors, and LAPACK's of the same matrix (double whatever the precision). */
typedef struct setup {
    int64_t n;
    bool single;
    norma_grid *grid;
    norma_dmat *matrix;
    norma_factor *factor;
    int64_t first_bad;
    double *whole, *reference; /* [n][n] */
    int *pivots;               /* [n] */
    int info;
} setup;

static void fill(setup *s, entry *value)
{
    const norma_dmat *m = s->matrix;
    for (int64_t c = 0; c < m->n_local_columns; c++) {
        int64_t j = norma_layout_global_local(&m->columns, s->grid->column, c);
        for (int64_t r = 0; r < m->n_local_rows; r++) {
            int64_t i = norma_layout_global_local(&m->rows, s->grid->row, r);
            if (s->single)
                m->single[r + c * m->leading] = (float)value(s->n, i, j);
            else
                m->data[r + c * m->leading] = value(s->n, i, j);
        }
    }
}

static void factor_by_lapack(setup *s, entry *value)
{
    int n = (int)s->n;
    float *single = allocate(s->n * s->n, sizeof *single);
    for (int64_t e = 0; e < s->n * s->n; e++) {
        double v = value(s->n, e % s->n, e / s->n);
        s->whole[e] = s->reference[e] = s->single ? (double)(float)v : v;
        single[e] = (float)v;
    }
    if (s->single)
        sgetrf_(&n, &n, single, &n, s->pivots, &s->info);
    else
        dgetrf_(&n, &n, s->reference, &n, s->pivots, &s->info);
    for (int64_t e = 0; s->single && e < s->n * s->n; e++)
        s->reference[e] = (double)single[e];
    NORMA_FREE(single);
}

/* Planned memory without that of a node: the panels that this rank reads, and its own where more
 * ranks than one share a row of the grid. */
static double planned_memory(const setup *s, norma_grid_shape grid, int64_t block)
{
    const norma_layout rows = {s->n, block, grid.n_rows};
    int64_t panel = norma_factor_panel_bytes_local(block < s->n ? block : s->n,
                                                   norma_layout_count_local(&rows, 0),
                                                   s->single ? sizeof(float) : sizeof(double));
    double planned = norma_factor_bytes_local(s->n, block, grid, s->single);
    if (grid.n_rows * grid.n_columns == 1)
        return planned;
    return planned - (grid.n_columns > 1 ? 2 : 1) * NORMA_FACTOR_PANELS * (double)panel;
}

static setup setup_create(norma_grid_shape grid, int64_t n, int64_t block, bool single,
                          entry *value)
{
    setup s = {.n = n, .single = single};
    MPI_Comm world = norma_test_runtime->world;
    norma_test_ok_all(norma_grid_create(world, grid, &s.grid));
    norma_test_ok_all(
        (single ? norma_dmat_create_single : norma_dmat_create)(s.grid, n, block, &s.matrix));
    fill(&s, value);
    s.whole = allocate(n * n, sizeof *s.whole);
    s.reference = allocate(n * n, sizeof *s.reference);
    s.pivots = allocate(n, sizeof *s.pivots);
    factor_by_lapack(&s, value);
    norma_test_takes_all(planned_memory(&s, grid, block),
                         norma_factor_create(s.matrix, &s.first_bad, &s.factor));
    return s;
}

static void setup_destroy(setup *s)
{
    norma_factor_destroy(&s->factor);
    norma_dmat_destroy_local(&s->matrix);
    norma_grid_destroy(&s->grid);
    NORMA_FREE(s->whole);
    NORMA_FREE(s->reference);
    NORMA_FREE(s->pivots);
}

/* The largest difference of a local entry from LAPACK's. */
static double difference(const setup *s)
{
    const norma_dmat *m = s->matrix;
    double largest = 0;
    for (int64_t c = 0; c < m->n_local_columns; c++) {
        int64_t j = norma_layout_global_local(&m->columns, s->grid->column, c);
        for (int64_t r = 0; r < m->n_local_rows; r++) {
            int64_t i = norma_layout_global_local(&m->rows, s->grid->row, r);
            double mine =
                s->single ? (double)m->single[r + c * m->leading] : m->data[r + c * m->leading];
            largest = fmax(largest, fabs(mine - s->reference[i + j * s->n]));
        }
    }
    return largest;
}

static bool same_pivots(const setup *s)
{
    const int *mine = norma_factor_pivots_local(s->factor);
    bool same = true;
    for (int64_t i = 0; mine && i < s->n; i++)
        same = same && mine[i] + 1 == s->pivots[i];
    return same;
}

/* ||A x - b|| against u ||A|| ||x||, and the same x on all ranks. */
static bool solves(const setup *s, bool transpose)
{
    double *x = allocate(s->n, sizeof *x);
    double *other = allocate(s->n, sizeof *other);
    double worst = 0;
    double size = 1;
    for (int64_t i = 0; i < s->n; i++)
        x[i] = any(7, i, 3);
    norma_factor_solve(s->factor, transpose, x);
    for (int64_t i = 0; i < s->n; i++) {
        double sum = -any(7, i, 3);
        for (int64_t j = 0; j < s->n; j++)
            sum += (transpose ? s->whole[j + i * s->n] : s->whole[i + j * s->n]) * x[j];
        worst = fmax(worst, fabs(sum));
        size = fmax(size, fabs(x[i]));
    }
    memcpy(other, x, (size_t)s->n * sizeof *x);
    MPI_Bcast(other, (int)s->n, MPI_DOUBLE, 0, norma_test_runtime->world);
    bool same = memcmp(other, x, (size_t)s->n * sizeof *x) == 0;
    NORMA_FREE(x);
    NORMA_FREE(other);
    double u = s->single ? (double)FLT_EPSILON : DBL_EPSILON;
    return same && worst <= 20 * (double)s->n * u * size;
}

static void check_regular(bool single, entry *value)
{
    for (int g = 0; g < n_grids; g++) {
        if (grids[g].n_rows * grids[g].n_columns > norma_test_runtime->size)
            continue;
        for (int k = 0; k < n_sizes; k++) {
            setup s = setup_create(grids[g], sizes[k].n, sizes[k].block, single, value);
            double u = single ? (double)FLT_EPSILON : DBL_EPSILON;
            norma_test_check_all(s.first_bad == -1 && s.info == 0);
            norma_test_check_all(same_pivots(&s));
            norma_test_check_all(difference(&s) <= 100 * (double)s.n * u);
            norma_test_check_all(solves(&s, false));
            norma_test_check_all(solves(&s, true));
            setup_destroy(&s);
        }
    }
}

static void test_double(void **state)
{
    (void)state;
    check_regular(false, any);
    check_regular(false, upside_down);
    check_regular(false, identity);
}

static void test_single(void **state)
{
    (void)state;
    check_regular(true, any);
    check_regular(true, upside_down);
    check_regular(true, identity);
}

/* A solution is as good as the precision, not as the condition: residuals stay small. */
static void test_nearly_singular(void **state)
{
    (void)state;
    for (int g = 0; g < n_grids; g++) {
        if (grids[g].n_rows * grids[g].n_columns > norma_test_runtime->size)
            continue;
        for (int single = 0; single < 2; single++) {
            setup s = setup_create(grids[g], 33, 8, single == 1, nearly_singular);
            norma_test_check_all(s.first_bad == -1);
            norma_test_check_all(solves(&s, false) && solves(&s, true));
            setup_destroy(&s);
        }
    }
}

/* The first pivot that is of no use, wherever it is; every rank knows it, and nobody hangs. */
static void test_without_inverse(void **state)
{
    (void)state;
    static const struct {
        entry *value;
        int64_t first_bad;
    } cases[] = {{zero, 0}, {zero_first, 0}, {zero_middle, 16}, {zero_last, 32}};
    for (int g = 0; g < n_grids; g++) {
        if (grids[g].n_rows * grids[g].n_columns > norma_test_runtime->size)
            continue;
        for (int c = 0; c < 4; c++) {
            for (int single = 0; single < 2; single++) {
                setup s = setup_create(grids[g], 33, 8, single == 1, cases[c].value);
                norma_test_check_all(s.first_bad == cases[c].first_bad);
                norma_test_check_all(s.info == cases[c].first_bad + 1);
                setup_destroy(&s);
            }
        }
        setup s = setup_create(grids[g], 33, 8, false, infinite_middle);
        norma_test_check_all(s.first_bad >= 0);
        setup_destroy(&s);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_double),
    cmocka_unit_test(test_single),
    cmocka_unit_test(test_nearly_singular),
    cmocka_unit_test(test_without_inverse),
};

norma_test_main_mpi("mpi.factor", tests)
