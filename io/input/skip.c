#include "io/input/skip.h"

#include "io/hdf5/h5_input.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/shared.h"
#include "src/base/mem.h"

#include <inttypes.h>
#include <stdio.h>

enum { PATH_LENGTH = 64 };

/* One layer's weight: what the file has, and where it lies in the shared memory. */
typedef struct entry {
    int rank;
    int64_t extents[NORMA_H5_INPUT_MAX_RANK];
    int64_t size, position; /* doubles */
    bool whole_kernel;
} entry;

struct norma_skips {
    int64_t n_layers;
    entry *entries;       /* [n_layers]; owned */
    norma_shared *shared; /* owned */
};

static void path_of(int64_t layer, char path[PATH_LENGTH])
{
    snprintf(path, PATH_LENGTH, "/source/%03d/Ws", (int)layer);
}

static norma_status describe_root(const norma_h5_input *input, int64_t l, const norma_layer *layer,
                                  entry *e)
{
    const char *file = norma_h5_input_name_root(input);
    const int64_t *x = e->extents;
    char path[PATH_LENGTH];
    path_of(l, path);
    for (int axis = 0; axis < NORMA_H5_INPUT_MAX_RANK; axis++)
        e->extents[axis] = 1;
    NORMA_TRY(norma_h5_input_shape_root(input, path, 2, 4, &e->rank, e->extents));
    if (e->rank == 3)
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: has 3 axes, 2 or 4 are expected", file, path);
    if (x[0] != layer->n_channels_out || x[1] != layer->n_channels_in)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: %s: is from %" PRId64 " to %" PRId64 " channels, the target layer "
                          "from %" PRId64 " to %" PRId64,
                          file, path, x[1], x[0], layer->n_channels_in, layer->n_channels_out);
    e->whole_kernel = x[2] == layer->kernel.height && x[3] == layer->kernel.width;
    if (!e->whole_kernel && (x[2] != 1 || x[3] != 1))
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: %s: has a %" PRId64 "x%" PRId64 " kernel: 1x1 or the target's "
                          "%" PRId64 "x%" PRId64 " is expected",
                          file, path, x[2], x[3], layer->kernel.height, layer->kernel.width);
    e->size = x[0] * x[1] * x[2] * x[3];
    return NORMA_OK;
}

static norma_status describe_all_root(const norma_h5_input *input, const norma_network *network,
                                      const bool *needed, norma_skips *skips)
{
    int64_t used = 0;
    for (int64_t l = 0; l < network->n_layers; l++) {
        entry *e = &skips->entries[l];
        if (!needed || needed[l])
            NORMA_TRY(describe_root(input, l, &network->layers[l], e));
        e->position = used;
        used += e->size;
    }
    return NORMA_OK;
}

static norma_status read_all_root(const norma_h5_input *input, const norma_skips *skips,
                                  double *storage)
{
    for (int64_t l = 0; l < skips->n_layers; l++) {
        const entry *e = &skips->entries[l];
        char path[PATH_LENGTH];
        path_of(l, path);
        if (e->size > 0)
            NORMA_TRY(
                norma_h5_input_read_root(input, path, e->rank, e->extents, storage + e->position));
    }
    return NORMA_OK;
}

norma_status norma_skips_read(MPI_Comm comm, const char *path, const norma_network *network,
                              const bool *needed, norma_skips **out)
{
    int rank = 0;
    norma_skips *skips = NULL;
    norma_h5_input *input = NULL;
    MPI_Comm_rank(comm, &rank);
    norma_status status = NORMA_CALLOC(skips, 1);
    if (status == NORMA_OK) {
        skips->n_layers = network->n_layers;
        status = NORMA_CALLOC(skips->entries, network->n_layers);
    }
    if (status == NORMA_OK && rank == 0)
        status = norma_h5_input_open_root(path, &input);
    if (status == NORMA_OK && rank == 0)
        status = describe_all_root(input, network, needed, skips);
    NORMA_GOTO(status, norma_agree(comm, status));
    MPI_Bcast(skips->entries, (int)((size_t)skips->n_layers * sizeof *skips->entries), MPI_BYTE, 0,
              comm);
    const entry *last = &skips->entries[skips->n_layers - 1];
    NORMA_GOTO(status,
               norma_shared_create(comm, (last->position + last->size) * 8, &skips->shared));
    if (rank == 0)
        status = read_all_root(input, skips, norma_shared_data_local(skips->shared));
    NORMA_GOTO(status, norma_agree(comm, status));
    norma_shared_broadcast(skips->shared);
    *out = skips;
    skips = NULL;
done:
    norma_h5_input_close_root(&input);
    norma_skips_destroy(&skips);
    return status;
}

const double *norma_skips_values_local(const norma_skips *skips, int64_t layer, bool *whole_kernel)
{
    const entry *e = &skips->entries[layer];
    *whole_kernel = e->whole_kernel;
    return (const double *)norma_shared_data_local(skips->shared) + e->position;
}

void norma_skips_destroy(norma_skips **skips)
{
    if (!*skips)
        return;
    NORMA_FREE((*skips)->entries);
    norma_shared_destroy(&(*skips)->shared);
    NORMA_FREE(*skips);
}
