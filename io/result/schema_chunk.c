/* The shape of chunks: about 1 MiB, dividing the array with the least waste, whole rows first. */
#include "io/result/schema.h"

#include "src/base/index.h"

/* Bytes from which an array is chunked, and the size that chunks are given. */
static const int64_t chunked_bytes = (int64_t)1 << 20;
static const int64_t chunk_aim = (int64_t)1 << 20;

enum { CHUNK_TRIES = 64 };

bool norma_schema_chunk_local(int n, const int64_t *extents, int64_t size, int64_t *chunk)
{
    int64_t bytes = size;
    for (int i = 0; i < n; i++)
        bytes *= extents[i];
    if (bytes < chunked_bytes)
        return false;
    /* Axes behind `axis` are whole, those before it are cut into single indices. */
    int axis = n - 1;
    int64_t row = size;
    while (axis > 0 && row * extents[axis] <= chunk_aim)
        row *= extents[axis--];
    for (int i = 0; i < n; i++)
        chunk[i] = i < axis ? 1 : extents[i];
    /* Of some numbers of parts from the aim on, the one that wastes least at the end. */
    int64_t parts = norma_index_ceil_divide(extents[axis] * row, chunk_aim);
    int64_t least = INT64_MAX;
    for (int64_t k = parts; k < parts + CHUNK_TRIES && k <= extents[axis]; k++) {
        int64_t length = norma_index_ceil_divide(extents[axis], k);
        int64_t waste = norma_index_ceil_divide(extents[axis], length) * length - extents[axis];
        if (length * row < chunk_aim / 2 && least < INT64_MAX)
            break;
        if (waste < least) {
            least = waste;
            chunk[axis] = length;
        }
    }
    return true;
}
