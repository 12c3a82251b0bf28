/* construct/deep: the Jacobian of a product of layers against differences, the product and its run
 * against sums written out, products and blocks of the Jacobian against its rows, solutions with
 * kernels in one layer and in two, ranks of thin layers.
 */
#include "tests/harness/planned_memory.h"

#include "src/base/mem.h"
#include "src/construct/deep_products.h"

#include <math.h>
#include <string.h>

static double noise(int64_t k)
{
    return sin(12.9898 * (double)k + 0.3) * cos(0.37 * (double)(k * k % 1009));
}

static const norma_tensor_spec law = {.distribution = NORMA_DISTRIBUTION_HE_NORMAL, .seed = 6};
static const norma_deep_search twenty = {
    .n_starts = 20, .seed = 3, .stream = {.purpose = NORMA_RNG_START_SCALES}};

/* Kernels 2x1, 1x3 and 2x2: composite 3x4. */
static norma_deep_shape three_kernels(int64_t first, int64_t second)
{
    return (norma_deep_shape){
        .n_layers = 3, .width = {2, first, second, 3}, .kernel = {{0, 0}, {2, 1}, {1, 3}, {2, 2}}};
}

static norma_deep *draw(norma_deep_shape shape)
{
    norma_deep *d = NULL;
    norma_test_ok(norma_deep_create(&shape, &d));
    norma_test_ok(norma_deep_draw(d, &law, 2));
    for (int64_t k = 0; k < d->n_unknowns; k++)
        d->gamma[1][k] = 1 + 0.5 * noise(k);
    norma_deep_update(d);
    return d;
}

/* Each column is the derivative of the product by one scale, in which the product is linear. */
static void test_jacobian(void **state)
{
    (void)state;
    norma_deep *d = draw(three_kernels(5, 4));
    int64_t n = d->n_equations;
    int64_t unknowns = d->n_unknowns;
    double *rows = NULL;
    double map[72] = {0};
    double moved[72] = {0};
    norma_test_check(n == 72 && unknowns == 12 && d->composite.height == 3 &&
                     d->composite.width == 4);
    norma_test_ok(NORMA_ALLOC(rows, n * (unknowns + 2)));
    norma_deep_compose(d, map);
    norma_deep_jacobian(d, unknowns + 2, rows);
    for (int64_t k = 0; k < unknowns; k++) {
        d->gamma[1][k] += 1;
        norma_deep_update(d);
        norma_deep_compose(d, moved);
        for (int64_t r = 0; r < n; r++)
            norma_test_check(fabs(moved[r] - map[r] - rows[r * (unknowns + 2) + k]) < 1e-13);
        d->gamma[1][k] -= 1;
    }
    NORMA_FREE(rows);
    norma_deep_destroy(&d);
}

/* Products with the Jacobian, its column norms, and blocks of it and of J'J, against its rows. */
static void test_products(void **state)
{
    (void)state;
    norma_deep *d = draw(three_kernels(5, 4));
    enum { N = 72, UNKNOWNS = 12, N_ROWS = 7, N_COLUMNS = 5 };
    static const int64_t some_rows[N_ROWS] = {0, 3, 4, 5, 6, 9, 11};
    static const int64_t some_columns[N_COLUMNS] = {1, 2, 4, 8, 10};
    static const int64_t equations[3] = {5, 40, 71};
    double j[N][UNKNOWNS];
    double x[UNKNOWNS];
    double y[N];
    double room[N];
    double product[N];
    double back[UNKNOWNS];
    double squares[UNKNOWNS];
    double part[N_COLUMNS][N_ROWS + 2];
    norma_deep_block *block = NULL;
    norma_deep_jacobian(d, UNKNOWNS, &j[0][0]);
    for (int k = 0; k < UNKNOWNS; k++)
        x[k] = noise(k + 7);
    for (int r = 0; r < N; r++)
        y[r] = noise(r + 100);
    norma_deep_apply(d, x, product, room);
    norma_deep_apply_transposed(d, y, back, room);
    norma_deep_column_squares(d, squares);
    for (int r = 0; r < N; r++) {
        double sum = 0;
        for (int k = 0; k < UNKNOWNS; k++)
            sum += j[r][k] * x[k];
        norma_test_check(fabs(sum - product[r]) < 1e-13);
    }
    for (int k = 0; k < UNKNOWNS; k++) {
        double sum = 0;
        double square = 0;
        for (int r = 0; r < N; r++) {
            sum += j[r][k] * y[r];
            square += j[r][k] * j[r][k];
        }
        norma_test_check(fabs(sum - back[k]) < 1e-12);
        norma_test_check(fabs(square - squares[k]) < 1e-13 * square);
    }
    norma_test_takes(
        norma_deep_block_bytes(&d->shape, N_ROWS, N_COLUMNS),
        norma_deep_block_create(d, N_ROWS, some_rows, N_COLUMNS, some_columns, &block));
    norma_deep_block_fill(block, N_ROWS + 2, &part[0][0]);
    for (int b = 0; b < N_COLUMNS; b++)
        for (int a = 0; a < N_ROWS; a++) {
            double sum = 0;
            for (int r = 0; r < N; r++)
                sum += j[r][some_rows[a]] * j[r][some_columns[b]];
            norma_test_check(fabs(sum - part[b][a]) < 1e-12);
        }
    norma_deep_jacobian_block(d, 3, equations, N_COLUMNS, some_columns, N_ROWS + 2, &part[0][0]);
    for (int b = 0; b < N_COLUMNS; b++)
        for (int a = 0; a < 3; a++)
            norma_test_check(fabs(j[equations[a]][some_columns[b]] - part[b][a]) < 1e-14);
    norma_deep_block_destroy(&block);
    norma_deep_destroy(&d);
}

/* Without shifts a patch gives the product's sum; with relu and shifts the same, and a bias. */
static void test_run(void **state)
{
    (void)state;
    const norma_activation_kind kinds[] = {NORMA_ACTIVATION_IDENTITY, NORMA_ACTIVATION_RELU};
    norma_deep *d = draw(three_kernels(5, 4));
    double map[72] = {0};
    double x[4 * 24] = {0};
    double y[4 * 3] = {0};
    double lo[24];
    double hi[24];
    const double bias[] = {0.5, -1, 2};
    norma_deep_compose(d, map);
    for (int64_t e = 0; e < 24; e++) {
        lo[e] = e < 12 ? -1 : 0.5; /* by channels */
        hi[e] = e < 12 ? 2 : 0.75;
    }
    for (int64_t e = 0; e < 4 * 24; e++)
        x[e] = lo[e % 24] + (hi[e % 24] - lo[e % 24]) * (e < 24 ? 0 : fabs(noise(e)));
    for (int k = 0; k < 2; k++) {
        const norma_activation activation = {.kind = kinds[k]};
        double magnitude = 0;
        double rounding = 0;
        double largest = 0;
        int64_t n_clipped = 0;
        norma_test_ok(norma_deep_open(d, &activation, lo, hi, bias, &magnitude, &rounding));
        norma_test_ok(norma_deep_run(d, &activation, 4, x, y, &n_clipped));
        norma_test_check(n_clipped == 0 && rounding > 0 && rounding < 1e-12 && magnitude > 1);
        for (int64_t s = 0; s < 4; s++)
            for (int64_t i = 0; i < 3; i++) {
                double expected = bias[i];
                for (int64_t e = 0; e < 24; e++)
                    expected += map[i * 24 + e] * x[s * 24 + e];
                largest = fmax(largest, fabs(y[s * 3 + i] - expected));
            }
        /* The prediction is of the error's size: neither too small nor of no use. */
        norma_test_check(largest < 4 * rounding && largest > rounding / 4);
    }
    double magnitude = 0;
    double rounding = 0;
    const norma_activation tanh_like = {.kind = NORMA_ACTIVATION_TANH};
    norma_test_fails(norma_deep_open(d, &tanh_like, lo, hi, bias, &magnitude, &rounding),
                     NORMA_CONFIG, "are opened by shifts");
    norma_deep_destroy(&d);
}

/* Targets with kernels in all layers are met to the floor. */
static void test_solution(void **state)
{
    (void)state;
    const norma_deep_shape shape = three_kernels(50, 24);
    norma_deep *d = draw(shape);
    norma_deep_report report;
    double target[72];
    double map[72] = {0};
    for (int64_t e = 0; e < 72; e++)
        target[e] = noise(e + 40);
    norma_test_ok(norma_deep_solve(d, target, &twenty, &report));
    norma_test_check(report.solved && report.rank == 72 && report.rmse <= 100 * report.floor);
    norma_test_check(report.floor < 1e-13 && report.condition > 1 && report.condition < 1e12);
    norma_test_check(report.n_starts >= 1 && report.n_iterations > 2);
    norma_deep_update(d);
    norma_deep_compose(d, map);
    norma_test_check(norma_test_max_difference(map, target, 72) < 1e-11);
    norma_deep_destroy(&d);
}

/* One channel behind four taps passes rank 1 (CNN24 Thm 2.5 asks for c_l >= c_0 = 1 only). */
static void test_thin(void **state)
{
    (void)state;
    norma_deep_shape shape = {
        .n_layers = 3, .width = {1, 40, 1, 4}, .kernel = {{0, 0}, {1, 4}, {1, 1}, {1, 1}}};
    norma_deep_report report;
    double target[16];
    for (int64_t e = 0; e < 16; e++)
        target[e] = noise(e);
    norma_deep *d = draw(shape);
    norma_test_ok(norma_deep_solve(d, target, &twenty, &report));
    norma_test_check(report.rank == 7 && !report.solved && report.n_starts == 0);
    norma_deep_destroy(&d);
    shape.width[2] = 8;
    d = draw(shape);
    norma_test_ok(norma_deep_solve(d, target, &twenty, &report));
    norma_test_check(report.rank == 16 && report.solved);
    norma_deep_destroy(&d);
}

/* Counts down: true at the end. */
static bool count_down(void *left)
{
    return --*(int64_t *)left == 0;
}

/* Asked before every step of every start, a search ends at once, and otherwise takes the same way.
 */
static void test_stop(void **state)
{
    (void)state;
    const norma_deep_shape shape = {
        .n_layers = 2, .width = {3, 5, 3}, .kernel = {{0, 0}, {1, 1}, {1, 1}}};
    norma_deep_report report;
    double target[9];
    int64_t left = 0;
    norma_deep_search search = twenty;
    search.n_starts = 3; /* of too few scales: none solves it */
    norma_deep *d = draw(shape);
    for (int64_t e = 0; e < 9; e++)
        target[e] = noise(e);
    norma_test_ok(norma_deep_solve(d, target, &search, &report));
    const norma_deep_report free = report;
    norma_test_check(!free.solved && free.n_starts == 3);
    search.stops = count_down;
    search.context = &left;
    norma_test_ok(norma_deep_solve(d, target, &search, &report));
    assert_int_equal(-left, free.n_iterations);
    norma_test_check(report.n_iterations == free.n_iterations && report.rmse == free.rmse);
    for (int64_t at = 1; at < free.n_iterations; at += 1 + free.n_iterations / 3) {
        left = at;
        assert_int_equal(norma_deep_solve(d, target, &search, &report), NORMA_STOPPED);
        assert_int_equal(report.n_iterations, at - 1);
    }
    norma_deep_destroy(&d);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_jacobian), cmocka_unit_test(test_products), cmocka_unit_test(test_run),
    cmocka_unit_test(test_solution), cmocka_unit_test(test_thin),     cmocka_unit_test(test_stop),
};

norma_test_main_serial("src.deep", tests)
