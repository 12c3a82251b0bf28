/* mpi/evaluate/evaluate and mpi/runtime/shared: bounds and comparison do not depend on the number
 * of ranks, the size of batches or threads; a source built to be exact is found exact. */
#include "tests/harness/mpi_harness.h"

#include "mpi/evaluate/evaluate.h"
#include "mpi/runtime/shared.h"
#include "src/base/mem.h"
#include "src/network/forward.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const norma_maps_accuracy accuracy = {NAN, DBL_EPSILON / 2};

enum { N_LAYERS = 3, IMAGES = 7, SIDE = 6, FEATURES = 300 };

static double noise(int64_t k)
{
    return sin(12.9898 * (double)k + 0.3) * cos(0.37 * (double)(k * k % 1009));
}

/* --- one copy a node ------------------------------------------------------------------------ */

static void test_shared(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 1, 1000, 3000001};
    for (int k = 0; k < 4; k++) {
        norma_shared *shared = NULL;
        bool good = true;
        norma_test_ok_all(norma_shared_create(norma_test_runtime->world, sizes[k], &shared));
        unsigned char *data = norma_shared_data_local(shared);
        for (int64_t n = 0; norma_test_runtime->rank == 0 && n < sizes[k]; n++)
            data[n] = (unsigned char)(n * 7 + k);
        norma_shared_broadcast(shared);
        for (int64_t n = 0; n < sizes[k]; n++)
            good = good && data[n] == (unsigned char)(n * 7 + k);
        norma_test_check_all(good);
        norma_test_check_all((uintptr_t)data % sizeof(double) == 0);
        norma_shared_destroy(&shared);
        norma_test_check_all(shared == NULL);
    }
}

/* --- a target that a source pair computes exactly ------------------------------------------- */

/*
 * Conv 3 x 3 and pool, conv 3 x 3 and global average, linear. Each target layer is made from its
 * source pair (weight = composite kernel), so that gamma1, gamma2 are known.
 */
typedef struct fixture {
    norma_network *network;
    norma_tensor *w1[N_LAYERS], *w2[N_LAYERS];
    norma_source_layer source[N_LAYERS];
    norma_maps *maps[N_LAYERS];
    double gamma1[FEATURES], gamma2[8], lo[N_LAYERS][FEATURES], hi[N_LAYERS][FEATURES];
    uint8_t pixels[IMAGES * SIDE * SIDE];
    int32_t labels[IMAGES];
    norma_images images;
} fixture;

static const int64_t channels[N_LAYERS + 1] = {1, 4, 5, 3};

static norma_tensor *make_tensor(int64_t layer, norma_tensor_role role, int64_t n_channels,
                                 int64_t n_taps)
{
    norma_tensor *tensor = NULL;
    norma_tensor_spec spec = {.distribution = NORMA_DISTRIBUTION_HE_NORMAL,
                              .role = role,
                              .seed = 5,
                              .stream = {NORMA_RNG_TEST, (int64_t)role, layer, 0, 0},
                              .n_features = FEATURES,
                              .n_channels = n_channels,
                              .n_taps = n_taps};
    norma_test_ok_all(norma_tensor_create(&spec, &tensor));
    return tensor;
}

/* weight = gamma2 KR gamma1 for K1 = 1 x 1. */
static void compose(const fixture *f, int64_t l, norma_layer *layer)
{
    int64_t c0 = layer->n_channels_in, c2 = layer->n_channels_out;
    int64_t n_taps = norma_kernel_taps(layer->kernel);
    double a[8], b[8 * 9];
    for (int64_t J = 0; J < FEATURES; J++) {
        norma_tensor_fill(f->w1[l], J, 1, a);
        norma_tensor_fill(f->w2[l], J, 1, b);
        for (int64_t i = 0; i < c2; i++)
            for (int64_t j = 0; j < c0; j++)
                for (int64_t p = 0; p < n_taps; p++)
                    layer->weight[(i * c0 + j) * n_taps + p] +=
                        f->gamma2[i] * b[i * n_taps + p] * f->gamma1[J] * a[j];
    }
}

static void setup(fixture *f)
{
    static const norma_pool pools[] = {NORMA_POOL_MAX2, NORMA_POOL_GLOBAL_AVERAGE, NORMA_POOL_NONE};
    memset(f, 0, sizeof *f);
    norma_test_ok_all(norma_network_create(N_LAYERS, &f->network));
    f->network->input = (norma_shape){1, SIDE, SIDE};
    f->network->input_min = -1;
    f->network->input_max = 1;
    for (int64_t l = 0; l < N_LAYERS; l++) {
        norma_layer *layer = &f->network->layers[l];
        layer->kind = l == 2 ? NORMA_LAYER_LINEAR : NORMA_LAYER_CONV2D;
        layer->n_channels_in = channels[l];
        layer->n_channels_out = channels[l + 1];
        layer->kernel = (norma_kernel_shape){l == 2 ? 1 : 3, l == 2 ? 1 : 3};
        layer->padding[0] = layer->padding[1] = l == 2 ? 0 : 1;
        layer->activation.kind = l == 2 ? NORMA_ACTIVATION_IDENTITY : NORMA_ACTIVATION_RELU;
        layer->pool = pools[l];
    }
    norma_test_ok_all(norma_network_allocate(f->network));
    norma_test_ok_all(norma_network_infer_shapes(f->network));
    f->network->scale[0] = 1 / 127.5;
    f->network->offset[0] = -1;
    for (int64_t j = 0; j < FEATURES; j++)
        f->gamma1[j] = noise(j);
    for (int64_t i = 0; i < 8; i++)
        f->gamma2[i] = 1 + 0.3 * noise(i + 70);
    for (int64_t l = 0; l < N_LAYERS; l++) {
        norma_layer *layer = &f->network->layers[l];
        norma_kernel kernel;
        norma_test_ok_all(norma_kernel_split(&kernel, "second", layer->kernel));
        norma_test_ok_all(norma_source_shape_init(&f->source[l].shape, layer, &kernel, FEATURES));
        f->w1[l] = make_tensor(l, NORMA_TENSOR_FIRST, channels[l], 1);
        f->w2[l] =
            make_tensor(l, NORMA_TENSOR_SECOND, channels[l + 1], norma_kernel_taps(layer->kernel));
        f->source[l].w1 = f->w1[l];
        f->source[l].w2 = f->w2[l];
        f->source[l].activation.kind = NORMA_ACTIVATION_RELU;
        for (int64_t i = 0; i < channels[l + 1]; i++)
            layer->bias[i] = 0.1 * noise(i + 90 * l);
        compose(f, l, layer);
    }
    for (int64_t k = 0; k < IMAGES * SIDE * SIDE; k++)
        f->pixels[k] = (uint8_t)(127.5 + 127 * noise(k + 3000));
    for (int64_t n = 0; n < IMAGES; n++)
        f->labels[n] = (int32_t)(n % 3);
    f->images = (norma_images){
        .n_images = IMAGES, .shape = {1, SIDE, SIDE}, .pixels = f->pixels, .labels = f->labels};
}

static void teardown(fixture *f)
{
    for (int l = 0; l < N_LAYERS; l++) {
        norma_maps_destroy(&f->maps[l]);
        norma_tensor_destroy(&f->w1[l]);
        norma_tensor_destroy(&f->w2[l]);
    }
    norma_network_destroy(&f->network);
}

/* Bounds and maps of every layer, then the comparison. */
static void evaluate(fixture *f, MPI_Comm comm, int64_t n_images, int64_t budget, norma_bound bound,
                     norma_evaluate_result *result)
{
    norma_evaluate *e = NULL;
    norma_test_ok_all(norma_evaluate_create(comm, f->network, &f->images, n_images, budget, &e));
    for (int64_t l = 0; l < N_LAYERS; l++) {
        norma_test_ok_all(
            norma_evaluate_bounds(e, l, &f->source[l].shape, f->w1[l], bound, f->lo[l], f->hi[l]));
        double lo[FEATURES], hi[FEATURES];
        norma_bounds_scale(FEATURES, f->gamma1, f->lo[l], f->hi[l], accuracy.roundoff, lo, hi);
        norma_maps_destroy(&f->maps[l]);
        norma_test_ok_all(norma_maps_create(&f->source[l].shape, f->w2[l], &f->source[l].activation,
                                            &accuracy, f->gamma1, lo, hi, f->gamma2,
                                            f->network->layers[l].bias, &f->maps[l]));
        norma_maps_use(f->maps[l], &f->source[l]);
    }
    norma_test_ok_all(norma_evaluate_run(e, f->source, result));
    norma_evaluate_destroy(&e);
}

static bool same_result(const norma_evaluate_result *a, const norma_evaluate_result *b)
{
    return a->n_images == b->n_images && a->output_max_error == b->output_max_error &&
           a->output_rmse == b->output_rmse && a->output_max == b->output_max &&
           a->accuracy_target == b->accuracy_target && a->accuracy_source == b->accuracy_source &&
           a->n_decisions_differing == b->n_decisions_differing && a->n_clipped == b->n_clipped &&
           a->n_flops == b->n_flops;
}

static void test_exact_source(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    for (int bound = 0; bound < NORMA_N_BOUNDS; bound++) {
        norma_evaluate_result r;
        evaluate(&f, norma_test_runtime->world, IMAGES, 0, (norma_bound)bound, &r);
        norma_test_check_all(r.output_max_error < 1e-9 * r.output_max);
        norma_test_check_all(r.output_rmse > 0 && r.output_rmse <= r.output_max_error);
        norma_test_check_all(r.n_clipped == 0 && r.n_decisions_differing == 0);
        norma_test_check_all(r.accuracy_source == r.accuracy_target);
        norma_test_check_all(r.n_images == IMAGES);
        norma_test_check_all(r.n_flops == IMAGES * 2.0 * FEATURES *
                                              (1 * 64 + 4 * 9 * 36 + 4 * 25 + 5 * 9 * 9 + 5 + 3));
    }
    teardown(&f);
}

/* Every rank alone computes the same bits as all together, whatever the batches. */
static void test_any_number_of_ranks(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    for (int64_t n_images = 1; n_images <= IMAGES; n_images += 3) {
        norma_evaluate_result all, alone, batches;
        double lo[N_LAYERS][FEATURES], hi[N_LAYERS][FEATURES];
        evaluate(&f, norma_test_runtime->world, n_images, 0, NORMA_BOUND_DATA, &all);
        memcpy(lo, f.lo, sizeof lo);
        memcpy(hi, f.hi, sizeof hi);
        evaluate(&f, MPI_COMM_SELF, n_images, 0, NORMA_BOUND_DATA, &alone);
        norma_test_check_all(memcmp(lo, f.lo, sizeof lo) == 0);
        norma_test_check_all(memcmp(hi, f.hi, sizeof hi) == 0);
        evaluate(&f, norma_test_runtime->world, n_images, 1, NORMA_BOUND_DATA, &batches);
        norma_test_check_all(memcmp(lo, f.lo, sizeof lo) == 0);
        norma_test_check_all(same_result(&all, &alone));
        norma_test_check_all(same_result(&all, &batches));
    }
    teardown(&f);
}

/* Differences, decisions and clipping are seen when they are there; a layer without weights is the
 * target's own. */
static void test_differences(void **state)
{
    (void)state;
    fixture f;
    norma_evaluate_result r;
    norma_evaluate *e = NULL;
    setup(&f);
    evaluate(&f, norma_test_runtime->world, IMAGES, 0, NORMA_BOUND_DATA, &r);
    norma_test_ok_all(
        norma_evaluate_create(norma_test_runtime->world, f.network, &f.images, IMAGES, 0, &e));
    f.maps[2]->beta2[1] += 1000;
    norma_test_ok_all(norma_evaluate_run(e, f.source, &r));
    norma_test_check_all(fabs(r.output_max_error - 1000) < 1e-6);
    norma_test_check_all(fabs(r.output_rmse - 1000 / sqrt(3)) < 1e-6);
    /* All source decisions are now 1, which is the label of images 1 and 4. */
    norma_test_check_all(r.accuracy_source == 2.0 / IMAGES);
    norma_test_check_all(r.n_clipped == 0);
    f.maps[2]->beta2[1] -= 1000;
    double before = f.maps[0]->beta1[3];
    f.maps[0]->beta1[3] = -1e6;
    norma_test_ok_all(norma_evaluate_run(e, f.source, &r));
    norma_test_check_all(r.n_clipped >= IMAGES * 64);
    norma_test_check_all(r.output_max_error > 1e-3);
    f.maps[0]->beta1[3] = before;
    for (int l = 0; l < N_LAYERS; l++)
        f.source[l].w1 = NULL;
    norma_test_ok_all(norma_evaluate_run(e, f.source, &r));
    norma_test_check_all(r.output_max_error == 0 && r.n_flops == 0);
    norma_evaluate_destroy(&e);
    teardown(&f);
}

static void test_refusals(void **state)
{
    (void)state;
    fixture f;
    norma_evaluate *e = NULL;
    norma_evaluate_result r;
    MPI_Comm world = norma_test_runtime->world;
    setup(&f);
    norma_test_fails_all(norma_evaluate_create(world, f.network, &f.images, IMAGES + 1, 0, &e),
                         NORMA_CONFIG, "8 samples asked for");
    norma_test_ok_all(norma_evaluate_create(world, f.network, NULL, 0, 0, &e));
    norma_test_fails_all(norma_evaluate_bounds(e, 1, &f.source[1].shape, f.w1[1], NORMA_BOUND_DATA,
                                               f.lo[1], f.hi[1]),
                         NORMA_CONFIG, "--dataset");
    norma_test_fails_all(norma_evaluate_run(e, f.source, &r), NORMA_CONFIG, "no images");
    norma_test_ok_all(norma_evaluate_bounds(e, 1, &f.source[1].shape, f.w1[1],
                                            NORMA_BOUND_INTERVAL_DEEP, f.lo[1], f.hi[1]));
    norma_evaluate_destroy(&e);
    f.network->layers[1].weight[0] = NAN;
    norma_test_ok_all(norma_evaluate_create(world, f.network, &f.images, IMAGES, 0, &e));
    for (int l = 0; l < N_LAYERS; l++)
        f.source[l].w1 = NULL;
    norma_test_fails_all(norma_evaluate_run(e, f.source, &r), NORMA_NUMERIC, "not finite");
    norma_evaluate_destroy(&e);
    teardown(&f);
}

/* The forecast of operations is exact, that of memory keeps to the budget. */
static void test_cost(void **state)
{
    (void)state;
    fixture f;
    norma_evaluate_result r;
    norma_source_shape shapes[N_LAYERS];
    norma_evaluate_cost cost, more;
    setup(&f);
    evaluate(&f, norma_test_runtime->world, IMAGES, 0, NORMA_BOUND_DATA, &r);
    for (int l = 0; l < N_LAYERS; l++)
        shapes[l] = f.source[l].shape;
    norma_test_ok(norma_evaluate_cost_local(f.network, N_LAYERS, shapes, IMAGES,
                                            norma_test_runtime->size, 1, 0, &cost));
    norma_test_check_all(cost.n_flops == r.n_flops);
    norma_test_ok(norma_evaluate_cost_local(f.network, N_LAYERS, shapes, 1000000, 1, 2, 0, &more));
    norma_test_check_all(cost.held > 0 && cost.bounds > cost.held && cost.run > cost.held);
    norma_test_check_all(more.held > cost.held && more.run > cost.run);
    norma_test_check_all(more.run < NORMA_EVALUATE_BUDGET + (INT64_C(64) << 20));
    teardown(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_shared),
    cmocka_unit_test(test_exact_source),
    cmocka_unit_test(test_any_number_of_ranks),
    cmocka_unit_test(test_differences),
    cmocka_unit_test(test_refusals),
    cmocka_unit_test(test_cost),
};

norma_test_main_mpi("mpi.evaluate", tests)
