/* mpi/system/assemble: the system against its definition, the Gram identity, the same bits on any
 * grid. */
#include "tests/harness/layer_fixture.h"
#include "tests/harness/mpi_memory.h"

#include "mpi/system/assemble.h"
#include "src/base/mem.h"

#include <math.h>
#include <omp.h>
#include <string.h>

typedef struct layer {
    norma_khatri_rao_shape shape;
    norma_width_rule *rule;
    norma_tensor *w1, *w2;
    double *first, *second; /* the tensors' values */
} layer;

static layer layer_create(norma_width width, int64_t c2, int64_t c0, const char *split,
                          int64_t height, int64_t w)
{
    layer l = {.shape = fixture_shape(c2, c0, split, height, w)};
    int64_t n = norma_khatri_rao_n_rows(&l.shape);
    double *target = fixture_alloc(n);
    fixture_fill(3, n, target);
    norma_test_ok_all(norma_width_rule_create(width, &l.shape, target, &l.rule));
    norma_width_rule_set_closing(l.rule, (double)l.rule->n_rows, l.rule->n_system);
    NORMA_FREE(target);
    l.first = fixture_alloc(n * norma_khatri_rao_width_first(&l.shape));
    l.second = fixture_alloc(n * norma_khatri_rao_width_second(&l.shape));
    fixture_fill(1, n * norma_khatri_rao_width_first(&l.shape), l.first);
    fixture_fill(2, n * norma_khatri_rao_width_second(&l.shape), l.second);
    l.w1 = fixture_tensor(&l.shape, NORMA_TENSOR_FIRST, n, l.first);
    l.w2 = fixture_tensor(&l.shape, NORMA_TENSOR_SECOND, n, l.second);
    return l;
}

static void layer_destroy(layer *l)
{
    norma_width_rule_destroy(&l->rule);
    norma_tensor_destroy(&l->w1);
    norma_tensor_destroy(&l->w2);
    NORMA_FREE(l->first);
    NORMA_FREE(l->second);
}

/* Entry (r, J) of the system by the definition. */
static double entry(const layer *l, int64_t r, int64_t J)
{
    const norma_width_rule *rule = l->rule;
    const double *first = l->first + J * norma_khatri_rao_width_first(&l->shape);
    const double *second = l->second + J * norma_khatri_rao_width_second(&l->shape);
    if (r == rule->n_rows)
        return rule->closing;
    if (rule->width == NORMA_WIDTH_MAX)
        return fixture_kr(&l->shape, second, first, r);
    int64_t i = r / (rule->row_length - 1);
    int64_t s = r % (rule->row_length - 1);
    int64_t pivot = i * rule->row_length + rule->pivot[i];
    int64_t I = i * rule->row_length + s + (s >= rule->pivot[i] ? 1 : 0);
    return fixture_kr(&l->shape, second, first, I) -
           rule->target[I] / rule->target[pivot] * fixture_kr(&l->shape, second, first, pivot);
}

/* Assembles on a grid of the world and gathers everything by global index: all[J][r]. */
static double *assemble(const layer *l, norma_grid_shape shape, int64_t block)
{
    norma_grid *grid = NULL;
    norma_dmat *m = NULL;
    int64_t n = l->rule->n_system;
    double *all = fixture_alloc(n * n);
    norma_test_ok_all(norma_grid_create(norma_test_runtime->world, shape, &grid));
    norma_test_ok_all(norma_dmat_create(grid, n, block, &m));
    norma_test_takes_all(norma_assemble_bytes_local(&l->shape, block, false, omp_get_max_threads()),
                         norma_assemble_system(l->rule, l->w1, l->w2, m));
    for (int64_t lc = 0; lc < m->n_local_columns; lc++)
        for (int64_t lr = 0; lr < m->n_local_rows; lr++)
            all[norma_layout_global_local(&m->columns, grid->column, lc) * n +
                norma_layout_global_local(&m->rows, grid->row, lr)] = m->data[lc * m->leading + lr];
    MPI_Allreduce(MPI_IN_PLACE, all, (int)(n * n), MPI_DOUBLE, MPI_SUM, norma_test_runtime->world);
    norma_dmat_destroy_local(&m);
    norma_grid_destroy(&grid);
    return all;
}

static void check_layer(norma_width width, int64_t c2, int64_t c0, const char *split,
                        int64_t height, int64_t w)
{
    layer l = layer_create(width, c2, c0, split, height, w);
    int64_t n = l.rule->n_system;
    double *reference = assemble(&l, (norma_grid_shape){1, 1}, 64);
    bool good = true;
    for (int64_t J = 0; J < n; J++)
        for (int64_t r = 0; r < n; r++)
            good = good && fabs(reference[J * n + r] - entry(&l, r, J)) <= 1e-14;
    norma_test_check_all(good);
    for (int rows = 1; rows <= norma_test_runtime->size; rows++) {
        for (int columns = 1; rows * columns <= norma_test_runtime->size; columns++) {
            static const int64_t blocks[] = {1, 5, 64};
            for (int b = 0; b < 3; b++) {
                double *all = assemble(&l, (norma_grid_shape){rows, columns}, blocks[b]);
                norma_test_check_all(memcmp(all, reference, (size_t)(n * n) * 8) == 0);
                NORMA_FREE(all);
            }
        }
    }
    NORMA_FREE(reference);
    layer_destroy(&l);
}

static void test_definition_and_bits(void **state)
{
    (void)state;
    for (int width = 0; width < NORMA_N_WIDTHS; width++) {
        check_layer((norma_width)width, 1, 1, "second", 1, 1);
        check_layer((norma_width)width, 5, 4, "second", 1, 1);
        check_layer((norma_width)width, 3, 2, "second", 3, 3);
        check_layer((norma_width)width, 2, 3, "first", 3, 3);
        check_layer((norma_width)width, 2, 2, "2x3+3x2", 3, 3);
        check_layer((norma_width)width, 2, 7, "second", 3, 3);
    }
}

/* K1 = K2 = 1, max rule: M'M = (A A') o (B B') without a second assembly. */
static void test_gram_identity(void **state)
{
    (void)state;
    layer l = layer_create(NORMA_WIDTH_MAX, 6, 7, "second", 1, 1);
    int64_t n = l.rule->n_system;
    double *all = assemble(&l, norma_grid_choose_local(norma_test_runtime->size, 100, 100), 4);
    bool good = true;
    for (int64_t J = 0; J < n; J++) {
        for (int64_t H = 0; H <= J; H++) {
            double gram = 0;
            double gram_a = 0;
            double gram_b = 0;
            for (int64_t r = 0; r < n; r++)
                gram += all[J * n + r] * all[H * n + r];
            for (int i = 0; i < 6; i++)
                gram_a += l.second[J * 6 + i] * l.second[H * 6 + i];
            for (int j = 0; j < 7; j++)
                gram_b += l.first[J * 7 + j] * l.first[H * 7 + j];
            good = good && fabs(gram - gram_a * gram_b) <= 1e-13;
        }
    }
    norma_test_check_all(good);
    NORMA_FREE(all);
    layer_destroy(&l);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_definition_and_bits),
    cmocka_unit_test(test_gram_identity),
};

norma_test_main_mpi("mpi.assemble", tests)
