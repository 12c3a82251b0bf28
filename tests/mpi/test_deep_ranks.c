/* mpi/construct: a search by ranks together against the dense one: steps with and without damping
 * against their normal equations, a layer alone, rank, floor and condition; a target with kernels
 * in all layers solved to the floor, thin layers found, bytes measured. */
#include "tests/harness/mpi_memory.h"

#include "mpi/construct/deep_ranks.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem.h"
#include "src/construct/deep_products.h"

#include <math.h>
#include <omp.h>
#include <string.h>

static double noise(int64_t k)
{
    return sin(12.9898 * (double)k + 0.3) * cos(0.37 * (double)(k * k % 1009));
}

static const norma_tensor_spec law = {.distribution = NORMA_DISTRIBUTION_HE_NORMAL, .seed = 6};

/* Kernels 2x1, 1x3 and 2x2: n = 72. */
static const norma_deep_shape kernels = {
    .n_layers = 3, .width = {2, 90, 40, 3}, .kernel = {{0, 0}, {2, 1}, {1, 3}, {2, 2}}};

/* n = 144, in blocks of 64. */
static const norma_deep_shape linear = {
    .n_layers = 3, .width = {12, 110, 50, 12}, .kernel = {{0, 0}, {1, 1}, {1, 1}, {1, 1}}};

static norma_deep *draw(norma_deep_shape shape)
{
    norma_deep *d = NULL;
    norma_test_ok_all(norma_deep_create(&shape, &d));
    norma_test_ok_all(norma_deep_draw(d, &law, 2));
    for (int64_t k = 0; k < d->n_unknowns; k++)
        d->gamma[1][k] = 1 + 0.5 * noise(k);
    norma_deep_update(d);
    return d;
}

static double square_of(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t k = 0; k < n; k++)
        sum += x[k] * x[k];
    return sum;
}

/* The gradient of |b - J x|^2 + damping^2 |x|^2 vanishes in unknowns first .. end. */
static double gradient_left(const norma_deep *d, const double *b, const double *x, double damping,
                            int64_t first, int64_t end, double *left)
{
    int64_t n = d->n_equations;
    double *room = NULL;
    double largest = 0;
    double scale = 0;
    norma_test_ok_all(NORMA_ALLOC(room, 2 * n + 2 * d->n_unknowns));
    double *error = room + n;
    double *gradient = error + n;
    norma_deep_apply(d, x, error, room);
    *left = 0;
    for (int64_t r = 0; r < n; r++) {
        error[r] = b[r] - error[r];
        *left += error[r] * error[r];
    }
    norma_deep_apply_transposed(d, error, gradient, room);
    norma_deep_apply_transposed(d, b, gradient + d->n_unknowns, room);
    for (int64_t k = first; k < end; k++) {
        largest = fmax(largest, fabs(gradient[k] - damping * damping * x[k]));
        scale = fmax(scale, fabs(gradient[d->n_unknowns + k]));
    }
    NORMA_FREE(room);
    return largest / scale;
}

/* Makes an engine and takes its first step. */
static norma_status step_once(norma_deep *d, const double *b, double *x, norma_deep_engine *engine)
{
    double left = 0;
    NORMA_TRY(norma_deep_ranks_create(norma_test_runtime->world, d, engine));
    return engine->find_step(engine->context, 1, b, x, &left);
}

/* One rank takes what is planned, with the arrays of the source and of the search; of several some
 * hold windows together, which are not counted. */
static void test_memory(void **state)
{
    (void)state;
    norma_deep *d = draw(linear);
    norma_deep_engine engine = {0};
    double *b = NULL;
    const int n_ranks = norma_test_runtime->size;
    norma_test_ok_all(NORMA_CALLOC(b, d->n_equations + d->n_unknowns));
    b[0] = 1;
    double planned = norma_deep_ranks_bytes_local(&linear, n_ranks, omp_get_max_threads()) -
                     norma_deep_source_bytes(&linear) - norma_deep_search_bytes(&linear, true);
    if (n_ranks == 1) {
        norma_test_takes_all(planned, step_once(d, b, b + d->n_equations, &engine));
    } else {
        int64_t before = norma_mem_count_bytes();
        norma_test_ok_all(step_once(d, b, b + d->n_equations, &engine));
        norma_test_check_all((double)(norma_mem_count_bytes() - before) <= planned);
    }
    NORMA_FREE(b);
    norma_deep_ranks_destroy(&engine);
    norma_deep_destroy(&d);
}

static void test_steps(void **state)
{
    (void)state;
    const norma_deep_shape shapes[] = {kernels, linear};
    for (int s = 0; s < 2; s++) {
        norma_deep *d = draw(shapes[s]);
        norma_deep_engine engine = {0};
        double *b = NULL;
        double left = 0;
        double expected = 0;
        double floors[2] = {0, 0};
        double conditions[2] = {0, 0};
        int64_t n_ranks[2] = {0, 0};
        bool solved = false;
        norma_deep_engine dense = {0};
        norma_test_ok_all(norma_deep_dense_create(d, &dense));
        norma_test_ok_all(norma_deep_ranks_create(norma_test_runtime->world, d, &engine));
        norma_test_ok_all(NORMA_CALLOC(b, d->n_equations + 2 * d->n_unknowns));
        double *x = b + d->n_equations;
        double *y = x + d->n_unknowns;
        for (int64_t r = 0; r < d->n_equations; r++)
            b[r] = noise(r + 5);
        static const double dampings[] = {1, 1e-4, 1e-8};
        for (int i = 0; i < 3; i++) {
            double damping = dampings[i];
            norma_test_ok_all(engine.find_step(engine.context, damping, b, x, &left));
            norma_test_check_all(gradient_left(d, b, x, damping, 0, d->n_unknowns, &expected) <
                                 1e-9);
            norma_test_check_all(fabs(left - expected) < 1e-9 * expected + 1e-18);
        }
        /* Without damping: exact, and nearly of the minimum norm that dense factors find. */
        norma_test_ok_all(engine.find_step(engine.context, 0, b, x, &left));
        norma_test_ok_all(dense.find_step(dense.context, 1e-12, b, y, &expected));
        norma_test_check_all(left < 1e-14);
        norma_test_check_all(fabs(square_of(x, d->n_unknowns) / square_of(y, d->n_unknowns) - 1) <
                             1e-4);
        norma_test_ok_all(engine.find_step(engine.context, 1e-3, b, x, &left));
        norma_test_ok_all(engine.find_again(engine.context, 1e-3, x, y, &left));
        norma_test_check_all(gradient_left(d, x, y, 1e-3, 0, d->n_unknowns, &expected) < 1e-7);
        memset(x, 0, (size_t)d->n_unknowns * sizeof *x);
        int64_t first = d->shape.width[1];
        int64_t end = first + d->shape.width[2];
        norma_test_ok_all(engine.solve_layer(engine.context, 2, b, x + first, &solved));
        norma_test_check_all(solved && gradient_left(d, b, x, 0, first, end, &left) < 1e-8);
        norma_test_ok_all(engine.find_floor(engine.context, &floors[0]));
        norma_test_ok_all(dense.find_floor(dense.context, &floors[1]));
        norma_test_check_all(fabs(floors[0] - floors[1]) < 1e-12 * floors[1]);
        norma_test_ok_all(engine.find_rank(engine.context, &n_ranks[0]));
        norma_test_ok_all(dense.find_rank(dense.context, &n_ranks[1]));
        norma_test_check_all(n_ranks[0] == d->n_equations && n_ranks[1] == n_ranks[0]);
        norma_test_ok_all(engine.find_condition(engine.context, &conditions[0]));
        norma_test_ok_all(dense.find_condition(dense.context, &conditions[1]));
        norma_test_check_all(fabs(conditions[0] / conditions[1] - 1) < 0.5);
        NORMA_FREE(b);
        norma_deep_dense_destroy(&dense);
        norma_deep_ranks_destroy(&engine);
        norma_deep_destroy(&d);
    }
}

/* A target is met to the floor, with equal scales on all ranks. */
static void test_solution(void **state)
{
    (void)state;
    norma_deep *d = draw(kernels);
    norma_deep_engine engine = {0};
    norma_deep_report report;
    double *target = NULL;
    norma_test_ok_all(norma_deep_ranks_create(norma_test_runtime->world, d, &engine));
    const norma_deep_search search = {.n_starts = 10,
                                      .seed = 3,
                                      .stream = {.purpose = NORMA_RNG_START_SCALES},
                                      .engine = &engine};
    norma_test_ok_all(NORMA_ALLOC(target, 2 * d->n_equations));
    for (int64_t e = 0; e < d->n_equations; e++)
        target[e] = noise(e + 40);
    norma_test_ok_all(norma_deep_solve(d, target, &search, &report));
    norma_test_check_all(report.solved && report.rank == d->n_equations);
    norma_test_check_all(report.rmse <= 100 * report.floor && report.floor < 1e-13);
    norma_test_check_all(report.condition > 1 && report.condition < 1e12);
    norma_deep_update(d);
    norma_deep_compose(d, target + d->n_equations);
    norma_test_check_all(
        norma_test_max_difference(target, target + d->n_equations, d->n_equations) < 1e-11);
    norma_test_ok_all(norma_agree_same(norma_test_runtime->world, d->gamma[1],
                                       (size_t)d->n_unknowns * sizeof(double), "scales"));
    NORMA_FREE(target);
    norma_deep_ranks_destroy(&engine);
    norma_deep_destroy(&d);
}

/* One channel behind four taps passes rank 1. */
static void test_thin(void **state)
{
    (void)state;
    const norma_deep_shape shape = {
        .n_layers = 3, .width = {1, 40, 1, 4}, .kernel = {{0, 0}, {1, 4}, {1, 1}, {1, 1}}};
    double target[16];
    norma_deep *d = draw(shape);
    norma_deep_engine engine = {0};
    norma_deep_report report;
    norma_test_ok_all(norma_deep_ranks_create(norma_test_runtime->world, d, &engine));
    const norma_deep_search search = {
        .n_starts = 2, .stream = {.purpose = NORMA_RNG_START_SCALES}, .engine = &engine};
    for (int64_t e = 0; e < 16; e++)
        target[e] = noise(e);
    norma_test_ok_all(norma_deep_solve(d, target, &search, &report));
    norma_test_check_all(report.rank == 7 && !report.solved && report.n_starts == 0);
    norma_deep_ranks_destroy(&engine);
    norma_deep_destroy(&d);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_memory),
    cmocka_unit_test(test_steps),
    cmocka_unit_test(test_solution),
    cmocka_unit_test(test_thin),
};

norma_test_main_mpi("mpi.deep_ranks", tests)
