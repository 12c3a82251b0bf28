/* src/operators, src/network: the order of a graph, memory by liveness, pools, and what changes a
 * network's digest. Each operator against numpy: tests/io/test_target.c. */
#include "tests/harness/harness.h"

#include "src/base/mem.h"
#include "src/network/bounds.h"
#include "src/network/forward.h"
#include "src/network/network.h"
#include "src/operators/elementwise.h"
#include "src/operators/order.h"
#include "src/operators/slots.h"
#include "src/operators/window.h"

#include <math.h>
#include <string.h>

enum { NODES = 60 };

/* A small generator of whole numbers below n. */
static int64_t draw(uint64_t *state, int64_t n)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)(*state >> 33) % n;
}

/* A graph of NODES nodes, each of which reads up to 3 values computed before it. */
static void draw_graph(uint64_t seed, int64_t first[NODES + 1], int64_t sources[3 * NODES])
{
    int64_t at = 0;
    for (int64_t k = 0; k < NODES; k++) {
        first[k] = at;
        for (int64_t n = 1 + draw(&seed, 3); n > 0; n--)
            sources[at++] = k - 1 - draw(&seed, k < 8 ? k + 1 : 8);
    }
    first[NODES] = at;
}

static void test_order_is_kept(void **state)
{
    (void)state;
    int64_t first[NODES + 1], sources[3 * NODES], order[NODES], on_cycle = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        draw_graph(seed, first, sources);
        norma_edges edges = {NODES, first, sources};
        norma_test_ok(norma_order_find(&edges, order, &on_cycle));
        norma_test_check(on_cycle == -1);
        for (int64_t k = 0; k < NODES; k++)
            norma_test_check(order[k] == k);
    }
}

/* The nodes in reverse: each stands behind what it reads all the same. */
static void test_order_is_found(void **state)
{
    (void)state;
    int64_t first[NODES + 1], sources[3 * NODES], reversed[3 * NODES], begin[NODES + 1];
    int64_t order[NODES], place[NODES], on_cycle = 0, at = 0;
    draw_graph(7, first, sources);
    for (int64_t k = 0; k < NODES; k++) {
        int64_t old = NODES - 1 - k;
        begin[k] = at;
        for (int64_t e = first[old]; e < first[old + 1]; e++)
            reversed[at++] = sources[e] < 0 ? -1 : NODES - 1 - sources[e];
    }
    begin[NODES] = at;
    norma_edges edges = {NODES, begin, reversed};
    norma_test_ok(norma_order_find(&edges, order, &on_cycle));
    norma_test_check(on_cycle == -1);
    for (int64_t k = 0; k < NODES; k++)
        place[order[k]] = k;
    for (int64_t k = 0; k < NODES; k++)
        for (int64_t e = begin[k]; e < begin[k + 1]; e++)
            norma_test_check(reversed[e] < 0 || place[reversed[e]] < place[k]);
}

static void test_cycles(void **state)
{
    (void)state;
    static const int64_t first[] = {0, 1, 3, 4, 5}, itself[] = {0, 1, 2, 3, 4};
    static const int64_t three[] = {-1, 0, 3, 1, 2}, loop[] = {-1, 0, 1, 2};
    int64_t order[4], on_cycle = -1;
    norma_test_ok(norma_order_find(&(norma_edges){4, first, three}, order, &on_cycle));
    norma_test_check(on_cycle >= 1 && on_cycle <= 3);
    norma_test_ok(norma_order_find(&(norma_edges){4, itself, loop}, order, &on_cycle));
    norma_test_check(on_cycle == -1 && order[3] == 3);
    norma_test_ok(norma_order_find(&(norma_edges){2, itself, itself}, order, &on_cycle));
    norma_test_check(on_cycle == 0);
}

/* Two slots take turns in a chain, as large as the largest value of each. */
static void test_slots_of_a_chain(void **state)
{
    (void)state;
    static const int64_t first[] = {0, 1, 2, 3, 4}, sources[] = {-1, 0, 1, 2};
    static const int64_t sizes[] = {5, 9, 3, 4, 8};
    norma_slots slots;
    norma_test_ok(norma_slots_init(&slots, &(norma_edges){4, first, sources}, sizes));
    norma_test_check(slots.n_slots == 2 && slots.size[0] == 8 && slots.size[1] == 9);
    norma_test_check(slots.total == 17 && slots.values == 29);
    for (int64_t k = 0; k <= 4; k++)
        norma_test_check(slots.of[k] == k % 2);
    norma_slots_clear(&slots);
}

/* Run through random graphs: whatever is read is still in its slot, which is large enough. */
static void test_slots_hold(void **state)
{
    (void)state;
    int64_t first[NODES + 1], sources[3 * NODES], sizes[NODES + 1], holds[NODES + 1];
    for (uint64_t seed = 1; seed <= 50; seed++) {
        uint64_t noise = seed;
        norma_slots slots;
        draw_graph(seed, first, sources);
        for (int64_t k = 0; k <= NODES; k++)
            sizes[k] = 1 + draw(&noise, 100);
        norma_test_ok(norma_slots_init(&slots, &(norma_edges){NODES, first, sources}, sizes));
        norma_test_check(slots.n_slots <= 10 && slots.total < slots.values / 3);
        holds[slots.of[0]] = 0;
        for (int64_t k = 0; k < NODES; k++) {
            int64_t own = slots.of[k + 1];
            norma_test_check(slots.size[own] >= sizes[k + 1]);
            for (int64_t e = first[k]; e < first[k + 1]; e++) {
                norma_test_check(holds[slots.of[sources[e] + 1]] == sources[e] + 1);
                norma_test_check(slots.of[sources[e] + 1] != own);
            }
            holds[own] = k + 1;
        }
        norma_slots_clear(&slots);
    }
}

/* By hand, with windows that reach over the edges. */
static void test_windows(void **state)
{
    (void)state;
    static const double x[] = {-1, -2, -3, -4, -5, -6};
    norma_window window = {{2, 3}, {1, 2}, {1, 1}, false};
    norma_shape in = {1, 2, 3}, out = {1, 3, 2};
    double y[6];
    norma_window_max(&window, in, out, x, y);
    static const double largest[] = {-1, -2, -1, -2, -4, -5};
    norma_test_check(memcmp(y, largest, sizeof y) == 0);
    norma_window_average(&window, in, out, x, y);
    static const double means[] = {-1.5, -2.5, -3, -4, -4.5, -5.5};
    norma_test_check(memcmp(y, means, sizeof y) == 0);
    window.counts_padding = true;
    norma_window_average(&window, in, out, x, y);
    norma_test_check(y[0] == -0.5 && y[2] == -2 && y[5] == -11.0 / 6);
    double bad[] = {-1, -2, NAN, -4, -5, -6};
    norma_window_max(&window, in, out, bad, y);
    norma_test_check(y[0] == -1 && isnan(y[1]) && isnan(y[3]) && y[5] == -5);
}

static void test_broadcast(void **state)
{
    (void)state;
    norma_shape pixel = {3, 1, 1}, image = {3, 2, 2}, plane = {1, 2, 2}, out;
    double a[] = {1, 2, 3}, b[] = {1, 2, 3, 4}, y[12];
    norma_test_check(norma_elementwise_shape(pixel, image, &out) && norma_shape_equal(out, image));
    norma_test_check(norma_elementwise_shape(pixel, plane, &out) && norma_shape_equal(out, image));
    norma_test_check(!norma_elementwise_shape((norma_shape){2, 2, 2}, image, &out));
    norma_elementwise_copy(image, pixel, a, y);
    norma_elementwise_multiply(image, plane, b, y);
    norma_elementwise_add(image, pixel, a, y);
    for (int64_t k = 0; k < 12; k++)
        norma_test_check(y[k] == a[k / 4] * b[k % 4] + a[k / 4]);
}

/* A residual block of one channel: x + relu(x), then a mean. */
static norma_network *block(int64_t kernel)
{
    static const int64_t first[] = {0, 1, 2, 4, 5}, sources[] = {-1, 0, 0, 1, 2};
    norma_network *network = NULL;
    norma_test_ok(norma_network_create(4, &network));
    norma_test_ok(norma_network_connect(network, &(norma_edges){4, first, sources}));
    network->input = (norma_shape){1, 6, 6};
    network->layers[0].n_channels_in = network->layers[0].n_channels_out = 1;
    network->layers[1].kind = NORMA_LAYER_ACTIVATION;
    network->layers[1].activation.kind = NORMA_ACTIVATION_RELU;
    network->layers[2].kind = NORMA_LAYER_ADD;
    network->layers[3].kind = NORMA_LAYER_MAX_POOL;
    network->layers[3].kernel = (norma_kernel_shape){kernel, kernel};
    norma_test_ok(norma_network_infer_shapes(network));
    norma_test_ok(norma_network_allocate(network));
    return network;
}

/* Graphs that compute something else have other digests; a copy has the same. */
static void test_digest(void **state)
{
    (void)state;
    norma_network *two = block(2), *three = block(3), *other = block(2);
    norma_test_check(!norma_network_is_chain(two));
    norma_test_check(two->layers[3].output.height == 5 && three->layers[3].output.height == 4);
    norma_test_check(norma_network_digest(two) == norma_network_digest(other));
    norma_test_check(norma_network_digest(two) != norma_network_digest(three));
    other->inputs[other->layers[2].first_input] = 1; /* twice the activation */
    norma_test_check(norma_network_digest(two) != norma_network_digest(other));
    norma_network_destroy(&two);
    norma_network_destroy(&three);
    norma_network_destroy(&other);
}

/* Two channels, scaled and shifted apart from each other, each convolved by itself, times
 * themselves, and means of windows that reach over the edges. */
static void test_ranges(void **state)
{
    (void)state;
    static const int64_t first[] = {0, 1, 2, 4, 5, 6}, sources[] = {-1, 0, 1, 0, 2, 3};
    norma_network *network = NULL;
    double lo[2], hi[2];
    norma_test_ok(norma_network_create(5, &network));
    norma_test_ok(norma_network_connect(network, &(norma_edges){5, first, sources}));
    network->input = (norma_shape){2, 2, 2};
    network->input_min = -1;
    network->input_max = 1;
    norma_layer *layers = network->layers;
    for (int l = 0; l < 5; l++)
        layers[l].n_channels_in = layers[l].n_channels_out = 2;
    layers[0].kind = NORMA_LAYER_BATCHNORM;
    layers[1].groups = 2;
    layers[2].kind = NORMA_LAYER_MULTIPLY;
    layers[3].kind = NORMA_LAYER_AVERAGE_POOL;
    layers[3].kernel = (norma_kernel_shape){2, 2};
    layers[3].padding[0] = 1;
    norma_test_ok(norma_network_infer_shapes(network));
    norma_test_ok(norma_network_allocate(network));
    layers[0].weight[0] = layers[0].weight[1] = 1;
    layers[0].bias[1] = 5;
    layers[1].weight[0] = 2;
    layers[1].weight[1] = -3;
    for (int counts = 0; counts < 2; counts++) {
        layers[3].counts_padding = counts == 1;
        norma_test_ok(norma_bounds_propagate(network, 4, lo, hi));
        const double expected[] = {-2, 2, -108, counts ? 0 : -48};
        const double ranges[] = {lo[0], hi[0], lo[1], hi[1]};
        for (int k = 0; k < 4; k++) {
            double outward = (k % 2 ? 1 : -1) * (ranges[k] - expected[k]);
            norma_test_check(outward >= 0 && outward < 1e-11);
        }
    }
    norma_network_destroy(&network);
}

/* y[n_out] = all layers of the network for one image x[n_in]. */
static void run_all(const norma_network *network, size_t n_in, const double *x, size_t n_out,
                    double *y)
{
    norma_forward *forward = NULL;
    norma_slots slots = {0};
    double *buffers[6] = {NULL};
    norma_test_ok(norma_forward_create(network, 1, &forward));
    norma_test_ok(norma_network_place(network, &slots));
    for (int64_t s = 0; s < slots.n_slots; s++)
        norma_test_ok(NORMA_ALLOC(buffers[s], slots.size[s]));
    memcpy(buffers[slots.of[0]], x, n_in * sizeof *x);
    for (int64_t l = 0; l < network->n_layers; l++)
        norma_forward_step(forward, l, 1, &slots, buffers);
    memcpy(y, buffers[slots.of[network->n_layers]], n_out * sizeof *y);
    for (int64_t s = 0; s < slots.n_slots; s++)
        NORMA_FREE(buffers[s]);
    norma_slots_clear(&slots);
    norma_forward_destroy(&forward);
}

/* Channels of known ranges, split, joined by pairs and made larger: ranges, values, digest. */
static void test_other_extents(void **state)
{
    (void)state;
    norma_network *network = NULL;
    double lo[4], hi[4], x[4 * 2 * 2], y[2 * 3 * 4];
    norma_test_ok(norma_network_create(5, &network));
    network->input = (norma_shape){4, 2, 2};
    network->input_min = 0;
    network->input_max = 1;
    norma_layer *layers = network->layers;
    for (int l = 1; l < 4; l++)
        layers[l].kind = NORMA_LAYER_RESHAPE;
    layers[0].kind = NORMA_LAYER_BATCHNORM;
    layers[4].kind = NORMA_LAYER_RESIZE;
    layers[0].n_channels_in = layers[0].n_channels_out = 4;
    memcpy(layers[1].extents, (const int64_t[]){8, -1, 1}, sizeof layers[1].extents);
    memcpy(layers[2].extents, (const int64_t[]){1, 4, 4}, sizeof layers[2].extents);
    memcpy(layers[3].extents, (const int64_t[]){-1, 4, 2}, sizeof layers[3].extents);
    memcpy(layers[4].extents, (const int64_t[]){0, 3, 4}, sizeof layers[4].extents);
    norma_test_ok(norma_network_infer_shapes(network));
    norma_test_check(norma_shape_equal(layers[1].output, (norma_shape){8, 2, 1}));
    norma_test_check(norma_shape_equal(layers[3].output, (norma_shape){2, 4, 2}));
    norma_test_check(norma_shape_equal(layers[4].output, (norma_shape){2, 3, 4}));
    norma_test_ok(norma_network_allocate(network));
    for (int c = 0; c < 4; c++) {
        layers[0].weight[c] = 1;
        layers[0].bias[c] = 10 * c;
    }
    norma_test_ok(norma_bounds_propagate(network, 3, lo, hi));
    norma_test_check_close(lo[0] + 1, 1, 1e-13);
    norma_test_check_close(hi[0], 31, 1e-13);
    for (int k = 0; k < 16; k++)
        x[k] = k / 16.0;
    run_all(network, 16, x, 24, y);
    for (int c = 0; c < 2; c++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 4; j++) {
                int k = c * 8 + i * 4 / 3 * 2 + j * 2 / 4; /* of 16 values in their order */
                int bias = k / 4 * 10;
                norma_test_check(y[(c * 3 + i) * 4 + j] == x[k] + bias);
            }
    uint64_t digest = norma_network_digest(network);
    layers[4].extents[1] = 5;
    norma_test_ok(norma_network_infer_shapes(network));
    norma_test_check(norma_network_digest(network) != digest);
    layers[2].extents[0] = 3;
    norma_test_fails(norma_network_infer_shapes(network), NORMA_CONFIG,
                     "layer 002 (reshape) makes 3 x 4 x 4 values of 8 x 2 x 1");
    norma_network_destroy(&network);
}

/* A kernel of one tap with zeros behind the last row and column alone: they give the bias. */
static void test_padding_behind(void **state)
{
    (void)state;
    norma_network *network = NULL;
    norma_forward *forward = NULL;
    static const double x[] = {1, 2, 3, 4};
    double y[6];
    for (int axis = 0; axis < 2; axis++) {
        norma_test_ok(norma_network_create(1, &network));
        network->input = (norma_shape){1, 2, 2};
        network->layers[0].n_channels_in = network->layers[0].n_channels_out = 1;
        network->layers[0].padding_more[axis] = 1;
        norma_test_ok(norma_network_infer_shapes(network));
        norma_test_ok(norma_network_allocate(network));
        network->layers[0].weight[0] = 2;
        network->layers[0].bias[0] = 1;
        norma_test_ok(norma_forward_create(network, 1, &forward));
        norma_forward_layer(forward, 0, 1, x, y);
        static const double below[] = {3, 5, 7, 9, 1, 1}, beside[] = {3, 5, 1, 7, 9, 1};
        norma_test_check(memcmp(y, axis == 0 ? below : beside, sizeof y) == 0);
        norma_forward_destroy(&forward);
        norma_network_destroy(&network);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_order_is_kept), cmocka_unit_test(test_order_is_found),
    cmocka_unit_test(test_cycles),        cmocka_unit_test(test_slots_of_a_chain),
    cmocka_unit_test(test_slots_hold),    cmocka_unit_test(test_windows),
    cmocka_unit_test(test_broadcast),     cmocka_unit_test(test_digest),
    cmocka_unit_test(test_ranges),        cmocka_unit_test(test_padding_behind),
    cmocka_unit_test(test_other_extents),
};

norma_test_main_serial("src.graph", tests)
