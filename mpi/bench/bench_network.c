/* The source network really run: one 3 x 3 convolution layer's pair on images. */
#include "mpi/bench/bench.h"

#include "mpi/evaluate/evaluate.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem.h"

#include <math.h>
#include <stdio.h>

/* Pixels a side, and images a thread. */
enum { EXTENT = 28, N_IMAGES = 4 };

/* Features above the minimum, relative. */
#define EXCESS 0.1

typedef struct pair {
    norma_network *network;
    norma_images images;
    uint8_t *pixels;
    norma_tensor *w1, *w2;
    double *ones, *zeros; /* [c1]: maps */
    norma_source_layer source;
    norma_evaluate *evaluate;
    norma_evaluate_result result; /* of the fastest run */
    double seconds;
} pair;

static norma_status make_network(pair *p, int64_t c)
{
    norma_activation relu = {.kind = NORMA_ACTIVATION_RELU};
    norma_kernel_shape kernel = {3, 3};
    NORMA_TRY(norma_network_create_single(c, c, kernel, &relu, &p->network));
    p->network->input = (norma_shape){c, EXTENT, EXTENT};
    p->network->layers[0].padding[0] = p->network->layers[0].padding[1] = 1;
    NORMA_TRY(norma_network_allocate(p->network));
    return norma_network_infer_shapes(p->network);
}

static norma_status make_images(pair *p, int64_t c, int64_t n)
{
    int64_t n_pixels = n * c * EXTENT * EXTENT;
    NORMA_TRY(NORMA_ALLOC(p->pixels, n_pixels));
    for (int64_t e = 0; e < n_pixels; e++)
        p->pixels[e] = (uint8_t)(e * 37 % 256);
    p->images = (norma_images){.n_images = n, .shape = {c, EXTENT, EXTENT}, .pixels = p->pixels};
    return NORMA_OK;
}

static norma_status make_source(pair *p, int64_t c, uint64_t seed)
{
    norma_kernel kernel;
    norma_kernel_shape target = {3, 3};
    int64_t n_features = (int64_t)ceil((1 + EXCESS) * (double)(9 * c * c));
    norma_tensor_spec spec = {.distribution = NORMA_DISTRIBUTION_HE_NORMAL,
                              .role = NORMA_TENSOR_FIRST,
                              .seed = seed,
                              .stream = {.purpose = NORMA_RNG_SOURCE_WEIGHTS},
                              .n_features = n_features,
                              .n_channels = c,
                              .n_taps = 1};
    NORMA_TRY(norma_kernel_split(&kernel, "second", target));
    NORMA_TRY(norma_tensor_create(&spec, &p->w1));
    spec.role = NORMA_TENSOR_SECOND;
    spec.stream.tensor = 1;
    spec.n_taps = 9;
    NORMA_TRY(norma_tensor_create(&spec, &p->w2));
    NORMA_TRY(NORMA_ALLOC(p->ones, n_features));
    NORMA_TRY(NORMA_CALLOC(p->zeros, n_features));
    for (int64_t J = 0; J < n_features; J++)
        p->ones[J] = 1;
    p->source = (norma_source_layer){.w1 = p->w1,
                                     .w2 = p->w2,
                                     .activation = p->network->layers[0].activation,
                                     .gamma1 = p->ones,
                                     .beta1 = p->zeros,
                                     .gamma2 = p->ones,
                                     .beta2 = p->zeros,
                                     .region = {0, INFINITY}};
    return norma_source_shape_init(&p->source.shape, &p->network->layers[0], &kernel, n_features);
}

static void clear(pair *p)
{
    norma_evaluate_destroy(&p->evaluate);
    norma_tensor_destroy(&p->w1);
    norma_tensor_destroy(&p->w2);
    norma_network_destroy(&p->network);
    NORMA_FREE(p->pixels);
    NORMA_FREE(p->ones);
    NORMA_FREE(p->zeros);
}

static norma_status run(void *context)
{
    pair *p = context;
    norma_evaluate_result result;
    NORMA_TRY(norma_evaluate_run(p->evaluate, &p->source, &result));
    if (result.seconds < p->seconds) {
        p->seconds = result.seconds;
        p->result = result;
    }
    return NORMA_OK;
}

static norma_status time_precision(norma_bench *bench, pair *p, bool single)
{
    norma_bench_product *product = NULL;
    double seconds = 0;
    double limit = 0;
    NORMA_TRY(norma_bench_product_create(bench, single, &product));
    p->source.single = single;
    p->seconds = INFINITY;
    norma_status status =
        norma_bench_time(bench, run, p, norma_bench_product_run, product, &seconds, &limit);
    norma_bench_figure figure = {.unit = "flop",
                                 .size = p->result.n_images,
                                 .rate = p->result.n_flops / p->seconds,
                                 .limit_rate = norma_bench_product_flops_local(product) / limit,
                                 .seconds = p->seconds};
    snprintf(figure.name, sizeof figure.name, "evaluation-%s", single ? "single" : "double");
    snprintf(figure.limit, sizeof figure.limit, "%s", single ? "sgemm" : "dgemm");
    if (status == NORMA_OK)
        norma_bench_add_local(bench, &figure);
    norma_bench_product_destroy_local(&product);
    return status;
}

norma_status norma_bench_network(norma_bench *bench)
{
    pair p = {.seconds = INFINITY};
    MPI_Comm world = bench->runtime->world;
    int64_t c = bench->n_channels;
    int64_t n = (int64_t)N_IMAGES * bench->runtime->n_threads * bench->runtime->size;
    norma_status status = make_network(&p, c);
    if (status == NORMA_OK)
        status = make_images(&p, c, n);
    if (status == NORMA_OK)
        status = make_source(&p, c, bench->seed);
    NORMA_GOTO(status, norma_agree(world, status));
    NORMA_GOTO(status, norma_evaluate_create(world, p.network, &p.images, n, 0, &p.evaluate));
    NORMA_GOTO(status, time_precision(bench, &p, false));
    NORMA_GOTO(status, time_precision(bench, &p, true));
done:
    clear(&p);
    return status;
}
