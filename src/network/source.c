#include "src/network/source.h"

#include "src/base/index.h"
#include "src/base/mem_place.h"
#include "src/network/source_skip.h"
#include "src/network/source_work.h"

#include <inttypes.h>

/* BLAS takes int: refuse what it cannot count. */
static norma_status check_extents(const norma_source_shape *shape)
{
    norma_source_layout layout;
    int ignored = 0;
    norma_source_layout_init(&layout, shape);
    NORMA_TRY(norma_index_to_int(layout.size_first, "c0 |K1| of a source layer", &ignored));
    NORMA_TRY(norma_index_to_int(layout.size_second, "c2 |K2| of a source layer", &ignored));
    if (shape->n_features % shape->groups != 0)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%" PRId64 " features cannot be shared by %" PRId64 " groups of channels",
                          shape->n_features, shape->groups);
    return norma_index_to_int(layout.n_columns, "pixels of a hidden layer", &ignored);
}

norma_status norma_source_shape_init(norma_source_shape *shape, const norma_layer *layer,
                                     const norma_kernel *kernel, int64_t n_features)
{
    bool plain = kernel->second.height == 1 && kernel->second.width == 1;
    const int64_t offset[2] = {kernel->offset.height, kernel->offset.width};
    const int64_t excess[2] = {kernel->composite.height - kernel->target.height,
                               kernel->composite.width - kernel->target.width};
    if (kernel->target.height != layer->kernel.height ||
        kernel->target.width != layer->kernel.width)
        return NORMA_FAIL(NORMA_CONFIG,
                          "a kernel split of %" PRId64 "x%" PRId64 " does not fit a layer with a "
                          "%" PRId64 "x%" PRId64 " kernel",
                          kernel->target.height, kernel->target.width, layer->kernel.height,
                          layer->kernel.width);
    if (n_features < 1)
        return NORMA_FAIL(NORMA_CONFIG, "a source layer needs at least one feature");
    shape->n_features = n_features;
    shape->n_channels_in = layer->n_channels_in;
    shape->n_channels_out = layer->n_channels_out;
    shape->groups = layer->groups;
    shape->kernel = *kernel;
    for (int axis = 0; axis < 2; axis++) {
        shape->stride1[axis] = plain ? layer->stride[axis] : 1;
        shape->stride2[axis] = plain ? 1 : layer->stride[axis];
        shape->dilation[axis] = layer->dilation[axis];
        shape->padding[axis] = layer->padding[axis] + offset[axis] * layer->dilation[axis];
        shape->padding_far[axis] = layer->padding[axis] + layer->padding_more[axis] +
                                   (excess[axis] - offset[axis]) * layer->dilation[axis];
    }
    shape->with_skip = false;
    shape->input = layer->input;
    shape->conv = layer->hidden;
    shape->z = (norma_shape){n_features, 0, 0};
    if (shape->conv.height > 0) {
        /* As many rows and columns as layer 2 reads, no more. */
        shape->z.height = (shape->conv.height - 1) * shape->stride2[0] +
                          (kernel->second.height - 1) * shape->dilation[0] + 1;
        shape->z.width = (shape->conv.width - 1) * shape->stride2[1] +
                         (kernel->second.width - 1) * shape->dilation[1] + 1;
    }
    return check_extents(shape);
}

double norma_source_flops(const norma_source_shape *shape)
{
    double first = (double)(shape->n_channels_in * norma_kernel_taps(shape->kernel.first)) *
                   (double)(shape->z.height * shape->z.width);
    double second = (double)(shape->n_channels_out * norma_kernel_taps(shape->kernel.second)) *
                    (double)(shape->conv.height * shape->conv.width);
    return 2 * (double)shape->n_features * (first + second) / (double)shape->groups;
}

void norma_source_layout_init(norma_source_layout *layout, const norma_source_shape *shape)
{
    int64_t n_pixels = shape->z.height * shape->z.width;
    layout->n_pixels = n_pixels;
    layout->group = n_pixels > 0 ? norma_index_ceil_divide(NORMA_SOURCE_MIN_COLUMNS, n_pixels) : 1;
    layout->n_columns = layout->group * n_pixels;
    layout->n_tiles = norma_index_ceil_divide(layout->n_columns, NORMA_SOURCE_TILE);
    layout->tile = 0;
    if (layout->n_tiles > 0) {
        layout->tile = norma_index_ceil_divide(layout->n_columns, layout->n_tiles);
        layout->tile = norma_index_ceil_divide(layout->tile, 8) * 8;
        layout->n_tiles = norma_index_ceil_divide(layout->n_columns, layout->tile);
    }
    layout->n_parts = shape->groups;
    layout->n_features = shape->n_features / shape->groups;
    layout->size_first =
        shape->n_channels_in / shape->groups * norma_kernel_taps(shape->kernel.first);
    layout->size_second =
        shape->n_channels_out / shape->groups * norma_kernel_taps(shape->kernel.second);
}

int64_t norma_source_layout_columns(const norma_source_layout *layout)
{
    return layout->n_parts * layout->size_first * layout->n_columns;
}

int64_t norma_source_layout_products(const norma_source_layout *layout)
{
    return layout->n_parts * layout->size_second * layout->n_columns;
}

int64_t norma_source_layout_groups(const norma_source_layout *layout, int64_t first,
                                   int64_t n_images)
{
    return (first + n_images - 1) / layout->group - first / layout->group + 1;
}

int64_t norma_source_layout_fit(const norma_source_layout *layout, int64_t arena_size,
                                int64_t group_size, int64_t first, int64_t n_images)
{
    int64_t n_groups = arena_size / group_size;
    if (n_groups < 1)
        n_groups = 1;
    int64_t end = (first / layout->group + n_groups) * layout->group;
    return end - first < n_images ? end - first : n_images;
}

/* Sizes of the buffers of a work, in doubles. */
typedef struct work_sizes {
    int64_t arena, first, second, hidden, conv, skip, skip_weights;
} work_sizes;

static void raise(int64_t *size, int64_t n)
{
    n = norma_index_ceil_divide(n, 8) * 8; /* threads' parts do not share cache lines */
    if (n > *size)
        *size = n;
}

static work_sizes find_sizes(int64_t n_shapes, const norma_source_shape *shapes, int64_t n_images,
                             int64_t budget)
{
    work_sizes sizes = {8, 8, 8, 8, 8, 8, 8};
    for (int64_t k = 0; k < n_shapes; k++) {
        norma_source_layout layout;
        norma_source_layout_init(&layout, &shapes[k]);
        /* Images may begin and end inside a group. */
        int64_t n_groups = norma_index_ceil_divide(n_images, layout.group);
        n_groups += layout.group > 1 ? 1 : 0;
        int64_t group_size =
            norma_source_layout_columns(&layout) + norma_source_layout_products(&layout);
        int64_t affordable = budget / (int64_t)sizeof(double) / (group_size > 0 ? group_size : 1);
        if (n_groups > affordable)
            n_groups = affordable > 1 ? affordable : 1;
        raise(&sizes.arena, n_groups * group_size);
        raise(&sizes.first, NORMA_SOURCE_BLOCK * layout.size_first);
        raise(&sizes.second, NORMA_SOURCE_BLOCK * layout.size_second);
        raise(&sizes.hidden, NORMA_SOURCE_BLOCK * layout.tile);
        raise(&sizes.conv, norma_shape_size(shapes[k].conv));
        raise(&sizes.skip, norma_source_skip_size(&shapes[k]));
        raise(&sizes.skip_weights, norma_source_skip_weights(&shapes[k]));
    }
    return sizes;
}

/* Measures or allocates: src/base/mem_place.h. */
static norma_status place(norma_source_work *w, const work_sizes *sizes, double *bytes)
{
    const int64_t n = w->n_threads;
    NORMA_TRY(NORMA_PLACE_UNSET(w->arena, sizes->arena, 1, bytes));
    NORMA_TRY(NORMA_PLACE_UNSET(w->w1, sizes->first, 1, bytes));
    NORMA_TRY(NORMA_PLACE_UNSET(w->w2, sizes->second, 1, bytes));
    NORMA_TRY(NORMA_PLACE_UNSET(w->hidden, n, sizes->hidden, bytes));
    NORMA_TRY(NORMA_PLACE_UNSET(w->conv, n, sizes->conv, bytes));
    NORMA_TRY(NORMA_PLACE_UNSET(w->range, 2 * n, NORMA_SOURCE_BLOCK, bytes));
    NORMA_TRY(NORMA_PLACE_UNSET(w->skip, n, sizes->skip, bytes));
    return NORMA_PLACE_UNSET(w->skip_weights, sizes->skip_weights, 1, bytes);
}

int64_t norma_source_work_bytes(int64_t n_shapes, const norma_source_shape *shapes,
                                int64_t n_images, int64_t budget, int n_threads)
{
    work_sizes sizes = find_sizes(n_shapes, shapes, n_images, budget);
    norma_source_work work = {.n_threads = n_threads};
    double bytes = (double)sizeof work;
    (void)place(&work, &sizes, &bytes);
    return (int64_t)bytes;
}

norma_status norma_source_work_create(int64_t n_shapes, const norma_source_shape *shapes,
                                      int64_t n_images, int64_t budget, int n_threads,
                                      norma_source_work **out)
{
    norma_status status = NORMA_OK;
    norma_source_work *work = NULL;
    work_sizes sizes = find_sizes(n_shapes, shapes, n_images, budget);
    NORMA_GOTO(status, NORMA_CALLOC(work, 1));
    work->n_threads = n_threads;
    work->arena_size = sizes.arena;
    work->hidden_size = sizes.hidden;
    work->conv_size = sizes.conv;
    work->skip_size = sizes.skip;
    NORMA_GOTO(status, place(work, &sizes, NULL));
    *out = work;
    return NORMA_OK;
done:
    norma_source_work_destroy(&work);
    return status;
}

void norma_source_work_destroy(norma_source_work **work)
{
    if (!*work)
        return;
    NORMA_FREE((*work)->arena);
    NORMA_FREE((*work)->w1);
    NORMA_FREE((*work)->w2);
    NORMA_FREE((*work)->hidden);
    NORMA_FREE((*work)->conv);
    NORMA_FREE((*work)->range);
    NORMA_FREE((*work)->skip);
    NORMA_FREE((*work)->skip_weights);
    NORMA_FREE(*work);
}
