#include "experiments/reconstruct/journal.h"

#include "io/checkpoint/checkpoint.h"
#include "src/base/mem.h"

#include <string.h>

static void append_hash(norma_text *text, const char *what, const void *bytes, int64_t size)
{
    norma_text_append(text, "  content-of-%s: %016llx\n", what,
                      (unsigned long long)norma_checkpoint_hash_local(bytes, size));
}

static void append_pair(norma_text *text, const norma_source_pair *pair)
{
    int64_t width1 = pair->n_channels_in / pair->groups * norma_kernel_taps(pair->k1);
    int64_t width2 = pair->n_channels_out / pair->groups * norma_kernel_taps(pair->k2);
    append_hash(text, "W1", pair->w1, pair->n_features * width1 * (int64_t)sizeof(double));
    append_hash(text, "W2", pair->w2, pair->n_features * width2 * (int64_t)sizeof(double));
}

void norma_reconstruct_fingerprint(const norma_reconstruct_inputs *inputs, norma_text *text)
{
    char digest[NORMA_RECONSTRUCT_DIGEST];
    const norma_images *images = norma_reconstruct_images(inputs);
    norma_reconstruct_digest(inputs, digest);
    if (digest[0])
        norma_text_append(text, "  content-of-target: %s\n", digest);
    if (images) {
        int64_t n = images->n_images * norma_shape_size(images->shape);
        if (images->values)
            append_hash(text, "dataset", images->values, n * (int64_t)sizeof(double));
        else
            append_hash(text, "dataset", images->pixels, n);
    }
    int64_t n_pairs = 1;
    if (inputs->target)
        n_pairs = norma_target_network_local(inputs->target)->n_layers;
    for (int64_t l = 0; inputs->source && l < n_pairs; l++)
        append_pair(text, norma_source_pair_local(inputs->source, l));
}

/* In front of the numbers. */
typedef struct head {
    norma_reconstruct_record record;
    norma_linear_region region;
    double magnitude;
    int64_t n_features, n_outputs, n_measured, n_values, n_orders;
} head;

/* The arrays of a layer's maps, all of them doubles. */
enum { N_PARTS = 5 };
typedef struct part {
    double *values;
    int64_t n;
} part;

static void list_parts(const norma_maps *maps, part parts[N_PARTS])
{
    parts[0] = (part){maps->gamma1, maps->n_features};
    parts[1] = (part){maps->beta1, maps->n_features};
    parts[2] = (part){maps->gamma2, maps->n_channels_out};
    parts[3] = (part){maps->beta2, maps->n_channels_out};
    parts[4] = (part){maps->constant, maps->n_channels_out};
}

static int64_t size_of(const head *h)
{
    int64_t numbers =
        2 * h->n_features + 3 * h->n_outputs + h->n_measured + h->n_values + h->n_orders;
    return (int64_t)sizeof *h + numbers * (int64_t)sizeof(double);
}

static void *append(void *at, const void *from, int64_t size)
{
    if (size > 0)
        memcpy(at, from, (size_t)size);
    return (char *)at + size;
}

norma_status norma_reconstruct_journal_pack(const norma_reconstruct_record *record,
                                            const norma_reconstruct_layer *layer,
                                            const double *orders, int64_t n_orders, void **bytes,
                                            int64_t *size)
{
    const norma_maps *maps = layer->maps;
    part parts[N_PARTS];
    head h;
    char *buffer = NULL;
    memset(&h, 0, sizeof h); /* padding too: equal records have equal bytes */
    h.record = *record;
    h.region = maps->region;
    h.magnitude = maps->magnitude;
    h.n_features = maps->n_features;
    h.n_outputs = maps->n_channels_out;
    h.n_measured = layer->measured ? 2 * (maps->n_features + maps->n_channels_out) : 0;
    h.n_values = layer->values ? layer->n_values : 0;
    h.n_orders = n_orders;
    NORMA_TRY(NORMA_ALLOC(buffer, size_of(&h)));
    void *at = append(buffer, &h, (int64_t)sizeof h);
    list_parts(maps, parts);
    for (int k = 0; k < N_PARTS; k++)
        at = append(at, parts[k].values, parts[k].n * (int64_t)sizeof(double));
    at = append(at, layer->measured, h.n_measured * (int64_t)sizeof(double));
    at = append(at, orders, h.n_orders * (int64_t)sizeof(double));
    (void)append(at, layer->values, h.n_values * (int64_t)sizeof(double));
    *bytes = buffer;
    *size = size_of(&h);
    return NORMA_OK;
}

norma_status norma_reconstruct_journal_unpack(const void *bytes, int64_t size,
                                              norma_reconstruct_record *record,
                                              norma_reconstruct_layer *layer, double *orders,
                                              int64_t n_orders)
{
    part parts[N_PARTS];
    head h;
    if (size >= (int64_t)sizeof h)
        memcpy(&h, bytes, sizeof h);
    if (size < (int64_t)sizeof h || h.n_features != layer->n_features ||
        h.n_outputs != layer->source_shape.n_channels_out || h.n_orders != n_orders ||
        size != size_of(&h))
        return NORMA_FAIL(NORMA_CONFIG,
                          "the saved state is of another layer: its %lld bytes do "
                          "not fit",
                          (long long)size);
    *record = h.record;
    norma_maps_destroy(&layer->maps);
    NORMA_TRY(norma_maps_allocate(h.n_features, h.n_outputs, &layer->maps));
    layer->maps->region = h.region;
    layer->maps->magnitude = h.magnitude;
    const char *at = (const char *)bytes + sizeof h;
    list_parts(layer->maps, parts);
    for (int k = 0; k < N_PARTS; k++) {
        memcpy(parts[k].values, at, (size_t)parts[k].n * sizeof(double));
        at += parts[k].n * (int64_t)sizeof(double);
    }
    NORMA_FREE(layer->measured);
    NORMA_FREE(layer->values);
    layer->n_values = h.n_values;
    if (h.n_measured > 0) {
        NORMA_TRY(NORMA_ALLOC(layer->measured, h.n_measured));
        memcpy(layer->measured, at, (size_t)h.n_measured * sizeof(double));
        norma_reconstruct_use_measured(layer);
    }
    at += h.n_measured * (int64_t)sizeof(double);
    if (n_orders > 0)
        memcpy(orders, at, (size_t)n_orders * sizeof(double));
    at += n_orders * (int64_t)sizeof(double);
    if (h.n_values == 0)
        return NORMA_OK;
    NORMA_TRY(NORMA_ALLOC(layer->values, h.n_values));
    memcpy(layer->values, at, (size_t)h.n_values * sizeof(double));
    return NORMA_OK;
}
