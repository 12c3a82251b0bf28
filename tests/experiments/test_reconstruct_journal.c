/* experiments/reconstruct/journal: a finished layer comes back from its bytes with every bit, with
 * and without measured statistics and singular values; bytes of another layer are refused. */
#include "tests/harness/mpi_harness.h"

#include "experiments/reconstruct/journal.h"
#include "src/base/mem.h"

#include <math.h>
#include <string.h>

enum {
    N_FEATURES = 5,
    N_OUTPUTS = 3,
    N_MEASURED = 2 * (N_FEATURES + N_OUTPUTS),
    N_VALUES = 4,
    N_ORDERS = 7
};

/* Numbers whose bits are easily lost: NaN, infinity, a negative zero, the smallest number. */
static void fill(double *values, int64_t n, double first)
{
    static const double hard[] = {NAN, INFINITY, -0.0, 5e-324};
    for (int64_t i = 0; i < n; i++)
        values[i] = i < 4 ? hard[i] : first / (double)(i + 1);
}

static void make_layer(norma_reconstruct_layer *layer, bool measured)
{
    memset(layer, 0, sizeof *layer);
    layer->n_features = N_FEATURES;
    layer->source_shape.n_channels_out = N_OUTPUTS;
    norma_test_ok_all(norma_maps_allocate(N_FEATURES, N_OUTPUTS, &layer->maps));
    norma_maps *maps = layer->maps;
    fill(maps->gamma1, N_FEATURES, 1);
    fill(maps->beta1, N_FEATURES, 2);
    fill(maps->gamma2, N_OUTPUTS, 3);
    fill(maps->beta2, N_OUTPUTS, 4);
    fill(maps->constant, N_OUTPUTS, 5);
    maps->region = (norma_linear_region){.scale = 0.25, .slope = 0.5, .low = -1, .high = INFINITY};
    maps->magnitude = 1e300;
    if (!measured)
        return;
    norma_test_ok_all(NORMA_ALLOC(layer->measured, N_MEASURED));
    fill(layer->measured, N_MEASURED, 6);
    layer->n_values = N_VALUES;
    norma_test_ok_all(NORMA_ALLOC(layer->values, N_VALUES));
    fill(layer->values, N_VALUES, 7);
}

static void clear_layer(norma_reconstruct_layer *layer)
{
    norma_maps_destroy(&layer->maps);
    NORMA_FREE(layer->measured);
    NORMA_FREE(layer->values);
}

static bool same(const double *a, const double *b, int64_t n)
{
    return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

static void check_layer(const norma_reconstruct_layer *a, const norma_reconstruct_layer *b)
{
    norma_test_check_all(same(a->maps->gamma1, b->maps->gamma1, N_FEATURES));
    norma_test_check_all(same(a->maps->beta1, b->maps->beta1, N_FEATURES));
    norma_test_check_all(same(a->maps->gamma2, b->maps->gamma2, N_OUTPUTS));
    norma_test_check_all(same(a->maps->beta2, b->maps->beta2, N_OUTPUTS));
    norma_test_check_all(same(a->maps->constant, b->maps->constant, N_OUTPUTS));
    norma_test_check_all(a->maps->region.scale == b->maps->region.scale);
    norma_test_check_all(a->maps->region.slope == b->maps->region.slope);
    norma_test_check_all(a->maps->region.low == b->maps->region.low);
    norma_test_check_all(a->maps->region.high == b->maps->region.high);
    norma_test_check_all(a->maps->magnitude == b->maps->magnitude);
    norma_test_check_all((a->measured == NULL) == (b->measured == NULL));
    norma_test_check_all((a->values == NULL) == (b->values == NULL));
    if (!a->measured)
        return;
    norma_test_check_all(b->n_values == N_VALUES && same(a->values, b->values, N_VALUES));
    norma_test_check_all(same(a->measured, b->measured, N_MEASURED));
    norma_test_check_all(b->statistics1.mean == b->measured);
    norma_test_check_all(b->statistics2.variance == b->measured + N_MEASURED - N_OUTPUTS);
}

/* A layer of the same shapes whose values are others. */
static void make_room(norma_reconstruct_layer *layer, bool measured)
{
    make_layer(layer, measured);
    layer->maps->gamma1[4] = 77;
    layer->maps->magnitude = 77;
}

static void test_bits_come_back(void **state)
{
    (void)state;
    for (int measured = 0; measured < 2; measured++) {
        norma_reconstruct_layer from;
        norma_reconstruct_layer into;
        norma_reconstruct_record record;
        norma_reconstruct_record found;
        double orders[N_ORDERS];
        double found_orders[N_ORDERS] = {0};
        int64_t n_orders = measured ? N_ORDERS : 0;
        void *bytes = NULL;
        int64_t size = 0;
        fill(orders, N_ORDERS, 8);
        make_layer(&from, measured == 1);
        make_room(&into, measured == 0);
        memset(&record, 0, sizeof record);
        record.solution.rmse = 1.0 / 3;
        record.solution.n_rows = 12345678901;
        record.extra.digits_lost = -0.0;
        norma_test_ok_all(
            norma_reconstruct_journal_pack(&record, &from, orders, n_orders, &bytes, &size));
        norma_test_ok_all(
            norma_reconstruct_journal_unpack(bytes, size, &found, &into, found_orders, n_orders));
        norma_test_check_all(memcmp(&record, &found, sizeof record) == 0);
        check_layer(&from, &into);
        norma_test_check_all(same(orders, found_orders, n_orders));
        norma_mem_free(bytes);
        clear_layer(&from);
        clear_layer(&into);
    }
}

static void test_other_layers_are_refused(void **state)
{
    (void)state;
    norma_reconstruct_layer from;
    norma_reconstruct_layer into;
    norma_reconstruct_record record;
    void *bytes = NULL;
    int64_t size = 0;
    make_layer(&from, true);
    make_layer(&into, false);
    memset(&record, 0, sizeof record);
    norma_test_ok_all(norma_reconstruct_journal_pack(&record, &from, NULL, 0, &bytes, &size));
    for (int64_t cut = 0; cut < size; cut += cut < 16 ? 1 : 8)
        norma_test_fails_all(norma_reconstruct_journal_unpack(bytes, cut, &record, &into, NULL, 0),
                             NORMA_CONFIG, "of another layer");
    double orders[1] = {0};
    norma_test_fails_all(norma_reconstruct_journal_unpack(bytes, size, &record, &into, orders, 1),
                         NORMA_CONFIG, "of another layer");
    into.n_features++;
    norma_test_fails_all(norma_reconstruct_journal_unpack(bytes, size, &record, &into, NULL, 0),
                         NORMA_CONFIG, "of another layer");
    into.n_features--;
    into.source_shape.n_channels_out--;
    norma_test_fails_all(norma_reconstruct_journal_unpack(bytes, size, &record, &into, NULL, 0),
                         NORMA_CONFIG, "of another layer");
    norma_mem_free(bytes);
    clear_layer(&from);
    clear_layer(&into);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_bits_come_back),
    cmocka_unit_test(test_other_layers_are_refused),
};

norma_test_main_mpi("experiments.reconstruct_journal", tests)
