/*
 * mpi/plan/traffic against what MPI is really called with, by any number of ranks on nodes of any
 * size: every message, call and byte of a factorization, of solves and of iterations of krylov and
 * chebyshev.
 */
#include "tests/mpi/call_count.h"
#include "tests/mpi/layer_problem.h"

#include "mpi/krylov/chebyshev.h"
#include "mpi/krylov/conjugate.h"
#include "mpi/linalg/factor.h"

#include <math.h>
#include <stdio.h>

enum { BLOCK = 16, N = 20 * BLOCK + 5 };

static const norma_traffic_network network = {1e-6, 1e10};

static bool is_same(const norma_traffic *a, const norma_traffic *b, norma_traffic_kind kind)
{
    return fabs(a->calls[kind] - b->calls[kind]) < 1e-9 &&
           fabs(a->bytes[kind] - b->bytes[kind]) <= 1e-9 * b->bytes[kind];
}

static norma_traffic_layout layout_of(const norma_grid *grid, int64_t n, bool single, int per_node)
{
    return (norma_traffic_layout){.n = n,
                                  .block = BLOCK,
                                  .grid = grid->shape,
                                  .row = grid->row,
                                  .column = grid->column,
                                  .per_node = per_node,
                                  .single = single,
                                  .network = network};
}

static void fill(norma_dmat *m)
{
    for (int64_t e = 0; e < m->n_local_columns * m->leading; e++) {
        uint64_t x = (uint64_t)(e + 1000003 * (1 + m->grid->row * 64 + m->grid->column)) *
                     UINT64_C(0x9e3779b97f4a7c15);
        x = (x ^ (x >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
        double value = (double)(int64_t)((x ^ (x >> 32)) >> 11) * 0x1p-52 - 1;
        if (m->single)
            m->single[e] = (float)value;
        else
            m->data[e] = value;
    }
}

/* The calls of the factorization of an n x n matrix, and of two solves where asked for. */
static norma_traffic factor(norma_grid *grid, int64_t n, bool single, norma_traffic *solves)
{
    norma_dmat *matrix = NULL;
    norma_factor *f = NULL;
    int64_t bad = 0;
    double *x = fixture_alloc(n);
    norma_test_ok_all(
        (single ? norma_dmat_create_single : norma_dmat_create)(grid, n, BLOCK, &matrix));
    fill(matrix);
    for (int64_t i = 0; i < n; i++)
        x[i] = 1;
    count_reset();
    norma_test_ok_all(norma_factor_create(matrix, &bad, &f));
    norma_traffic seen = counted;
    count_reset();
    norma_factor_solve(f, false, x);
    norma_factor_solve(f, false, x);
    if (solves)
        *solves = counted;
    bool only_these = counted_others == 0;
    norma_test_check_all(bad < 0 && only_these);
    norma_factor_destroy(&f);
    norma_dmat_destroy_local(&matrix);
    NORMA_FREE(x);
    return seen;
}

/* Sums of all ranks: bytes of exchanged rows. */
static double total(double mine)
{
    PMPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_SUM, norma_test_runtime->world);
    return mine;
}

/* Beside the factorization a fixed number of calls is made to set it up: the difference to that of
 * a single number counts. */
static void check_factor(norma_grid *grid, bool single, int per_node)
{
    norma_traffic solves = {0};
    norma_traffic expected_solves = {0};
    norma_traffic expected = {0};
    norma_traffic least = {0};
    ranks_of_a_node = per_node;
    norma_traffic seen = factor(grid, N, single, &solves);
    norma_traffic of_one = factor(grid, 1, single, NULL);
    ranks_of_a_node = 0;
    norma_traffic_layout layout = layout_of(grid, N, single, per_node);
    norma_traffic_layout one = layout_of(grid, 1, single, per_node);
    norma_traffic_factor_local(&layout, &expected);
    norma_traffic_factor_local(&one, &least);
    norma_traffic_solve_local(&layout, &expected_solves);
    norma_traffic_solve_local(&layout, &expected_solves);
    bool good = true;
    for (int k = 0; k < NORMA_N_TRAFFIC; k++) {
        seen.calls[k] -= of_one.calls[k];
        seen.bytes[k] -= of_one.bytes[k];
        expected.calls[k] -= least.calls[k];
        expected.bytes[k] -= least.bytes[k];
        bool same = k == NORMA_TRAFFIC_ALLTOALL || is_same(&seen, &expected, (norma_traffic_kind)k);
        if (!same)
            printf("rank %d, %d a node, kind %d: %g calls of %g bytes, expected %g of %g\n",
                   norma_test_runtime->rank, per_node, k, seen.calls[k], seen.bytes[k],
                   expected.calls[k], expected.bytes[k]);
        good = good && same && is_same(&solves, &expected_solves, (norma_traffic_kind)k);
    }
    norma_test_check_all(good);
    double fewer = expected.calls[NORMA_TRAFFIC_ALLTOALL] - seen.calls[NORMA_TRAFFIC_ALLTOALL];
    norma_test_check_all(fewer >= 0 && fewer <= 1);
    double bytes = total(seen.bytes[NORMA_TRAFFIC_ALLTOALL]);
    double wanted = total(expected.bytes[NORMA_TRAFFIC_ALLTOALL]);
    norma_test_check_all(fabs(bytes - wanted) <= 0.15 * wanted);
}

static void test_factor(void **state)
{
    (void)state;
    norma_grid *grid = NULL;
    int size = norma_test_runtime->size;
    const int per_node[] = {size, 1, 2, 3};
    norma_grid_shape shape = norma_grid_choose_local(size, N / BLOCK + 1, N / BLOCK + 1);
    norma_test_ok_all(norma_grid_create(norma_test_runtime->world, shape, &grid));
    norma_test_check_all(grid->n_idle == 0);
    for (int i = 0; i < 4 && (i == 0 || per_node[i] <= size); i++)
        check_factor(grid, i % 2 == 1, per_node[i]);
    norma_grid_destroy(&grid);
}

/* An iteration is one sum of n + 2 numbers over the ranks; a replacement of the residual is one
 * more, and one of a number. */
static void test_krylov(void **state)
{
    (void)state;
    MPI_Comm world = norma_test_runtime->world;
    const norma_product_mode mode = {.single = true};
    fixture f = fixture_create(6, NORMA_WIDTH_MAX, 15);
    norma_width_rule *rule = NULL;
    norma_product *product = NULL;
    norma_conjugate *c = NULL;
    norma_traffic expected = {0};
    norma_test_ok_all(norma_width_rule_create(f.problem.width, &f.problem.shape, f.target, &rule));
    norma_test_ok_all(
        norma_product_create(world, rule, f.w1, f.w2, f.problem.n_features, &mode, &product));
    double *b = fixture_alloc(rule->n_system);
    norma_width_rule_rhs(rule, b);
    norma_test_ok_all(norma_conjugate_create_local(product, NORMA_PRODUCT_SYSTEM, 400, 5, &c));
    count_reset();
    norma_conjugate_run(c, b);
    for (int64_t i = 0; i < c->iterations + c->n_replacements; i++)
        norma_traffic_pass_local(rule->n, norma_test_runtime->size, network, &expected);
    expected.calls[NORMA_TRAFFIC_ALLREDUCE] += (double)c->n_replacements;
    expected.bytes[NORMA_TRAFFIC_ALLREDUCE] += (double)c->n_replacements * sizeof(double);
    bool good = c->iterations > 20 && counted_others == 0;
    for (int k = 0; k < NORMA_N_TRAFFIC; k++)
        good = good && is_same(&counted, &expected, (norma_traffic_kind)k);
    norma_test_check_all(good);
    norma_conjugate_destroy_local(&c);
    norma_product_destroy_local(&product);
    norma_width_rule_destroy(&rule);
    NORMA_FREE(b);
    fixture_destroy(&f);
}

/* A step is one sum of n + 2 numbers over the ranks, and that is all; in least squares the start is
 * another one. */
static void test_chebyshev(void **state)
{
    (void)state;
    static const int64_t excesses[] = {30, -30};
    for (int e = 0; e < 2; e++) {
        fixture f = fixture_create(6, NORMA_WIDTH_MAX, excesses[e]);
        norma_width_rule *rule = NULL;
        norma_product *product = NULL;
        norma_chebyshev *c = NULL;
        int64_t first = 0;
        norma_traffic expected = {0};
        norma_test_ok_all(
            norma_width_rule_create(f.problem.width, &f.problem.shape, f.target, &rule));
        norma_test_ok_all(norma_product_create(norma_test_runtime->world, rule, f.w1, f.w2,
                                               f.problem.n_features, NULL, &product));
        norma_test_ok_all(norma_chebyshev_create_local(product, NORMA_PRODUCT_SYSTEM, &c));
        norma_chebyshev_set_interval_local(c, 0.1, 10);
        double *b = fixture_alloc(rule->n_system);
        double *gradient = fixture_alloc(norma_product_share_local(product, &first));
        norma_width_rule_rhs(rule, b);
        norma_product_apply_transpose_local(product, NORMA_PRODUCT_SYSTEM, b, gradient);
        count_reset();
        norma_chebyshev_start(c, b, gradient);
        for (int k = 0; k < 25; k++)
            norma_chebyshev_step(c);
        norma_chebyshev_finish_local(c);
        for (int k = 0; k < 25 + e; k++)
            norma_traffic_pass_local(rule->n, norma_test_runtime->size, network, &expected);
        bool good = counted_others == 0;
        for (int k = 0; k < NORMA_N_TRAFFIC; k++)
            good = good && is_same(&counted, &expected, (norma_traffic_kind)k);
        norma_test_check_all(good);
        norma_chebyshev_destroy_local(&c);
        norma_product_destroy_local(&product);
        norma_width_rule_destroy(&rule);
        NORMA_FREE(b);
        NORMA_FREE(gradient);
        fixture_destroy(&f);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_factor),
    cmocka_unit_test(test_krylov),
    cmocka_unit_test(test_chebyshev),
};

norma_test_main_mpi("mpi.traffic", tests)
