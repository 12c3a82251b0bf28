/* Writing values into result files: hyperslabs in pieces, samples for the comparison
 * at a flush. */
#include "io/result/result.h"

#include "io/result/result_internal.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem.h"

#include <stdio.h>
#include <string.h>

/* MPI-IO and HDF5 count bytes of one call in an int in places. */
static const int64_t piece_bytes = (int64_t)512 << 20;

/* Bytes of all ranks together from which a write is collective. Below, independent ones are no
 * slower and report failures better: collective ones of Open MPI lose a short write of a rank that
 * writes for others, which only the samples show. */
static const int64_t collective_bytes = (int64_t)16 << 20;

/* One sample a so many bytes, but some of any write. */
static const int64_t sample_distance = (int64_t)1 << 20;

enum { FEWEST_SAMPLES = 4 };

/* Writes of one rank alone after which it compares by itself, long before the next flush. */
enum { MOST_SAMPLES = 256 };

/* One rank's part of a variable, and its cut into pieces: an axis is cut into ranges of `step`, the
 * axes before it are walked one by one, those behind it are whole. */
typedef struct slab {
    hid_t dataset, space;
    norma_type type;
    int n; /* dimensions */
    int64_t extent[NORMA_MAX_DIMENSIONS];
    int64_t start[NORMA_MAX_DIMENSIONS];
    int64_t count[NORMA_MAX_DIMENSIONS];
    int64_t n_elements;
    int axis;
    int64_t step, inner; /* inner: elements of one index of the cut axis */
    int64_t n_pieces;
} slab;

static norma_status open_slab(const norma_result *file, const char *variable, norma_type type,
                              slab *s)
{
    hsize_t extent[NORMA_MAX_DIMENSIONS] = {0};
    s->type = type;
    s->dataset = H5Dopen2(file->file, variable, H5P_DEFAULT);
    if (s->dataset < 0)
        return NORMA_H5_FAIL(NORMA_LIBRARY, "%s: no variable %s", file->part, variable);
    s->space = H5Dget_space(s->dataset);
    s->n = H5Sget_simple_extent_ndims(s->space);
    if (s->n < 0 || s->n > NORMA_MAX_DIMENSIONS)
        return NORMA_FAIL(NORMA_LIBRARY, "%s has %d dimensions", variable, s->n);
    H5Sget_simple_extent_dims(s->space, extent, NULL);
    for (int i = 0; i < s->n; i++)
        s->extent[i] = (int64_t)extent[i];
    hid_t stored = H5Dget_type(s->dataset);
    bool same = H5Tequal(stored, norma_h5_file_type_local(type)) > 0;
    H5Tclose(stored);
    return same ? NORMA_OK
                : NORMA_FAIL(NORMA_LIBRARY, "%s is not of the type it is written from", variable);
}

static void close_slab(slab *s)
{
    if (s->space >= 0)
        H5Sclose(s->space);
    if (s->dataset >= 0)
        H5Dclose(s->dataset);
}

static void cut(slab *s)
{
    int64_t limit = piece_bytes / norma_schema_type_size_local(s->type);
    s->axis = s->n - 1;
    s->inner = 1;
    while (s->axis > 0 && s->inner * s->count[s->axis] <= limit)
        s->inner *= s->count[s->axis--];
    s->n_pieces = s->n_elements > 0 ? 1 : 0;
    if (s->n == 0 || s->n_elements == 0)
        return;
    s->step = limit / s->inner < s->count[s->axis] ? limit / s->inner : s->count[s->axis];
    s->n_pieces = (s->count[s->axis] + s->step - 1) / s->step;
    for (int i = 0; i < s->axis; i++)
        s->n_pieces *= s->count[i];
}

static norma_status select_slab(const char *variable, const int64_t *start, const int64_t *count,
                                slab *s)
{
    s->n_elements = 1;
    for (int i = 0; i < s->n; i++) {
        s->count[i] = count ? count[i] : start ? 1 : s->extent[i];
        if (s->count[i] < 0)
            return NORMA_FAIL(NORMA_LIBRARY, "%s: negative count", variable);
        s->n_elements *= s->count[i];
    }
    for (int i = 0; i < s->n && s->n_elements > 0; i++) {
        s->start[i] = start ? start[i] : 0;
        if (s->start[i] < 0 || s->start[i] > s->extent[i] - s->count[i])
            return NORMA_FAIL(NORMA_LIBRARY,
                              "%s: elements %lld to %lld of dimension %d, which has %lld", variable,
                              (long long)s->start[i], (long long)(s->start[i] + s->count[i] - 1), i,
                              (long long)s->extent[i]);
    }
    cut(s);
    return NORMA_OK;
}

/* Writes piece p (nothing, when there is no such piece here). */
static norma_status write_piece(const norma_result *file, const char *variable, const slab *s,
                                int64_t p, hid_t transfer, const void *data)
{
    hsize_t start[NORMA_MAX_DIMENSIONS] = {0};
    hsize_t count[NORMA_MAX_DIMENSIONS] = {0};
    int64_t n = p < s->n_pieces ? s->n_elements : 0;
    int64_t first = 0; /* element of data */
    if (n > 0 && s->n > 0) {
        int64_t ranges = (s->count[s->axis] + s->step - 1) / s->step;
        int64_t outer = p / ranges;
        int64_t at = p % ranges * s->step;
        int64_t length = s->count[s->axis] - at < s->step ? s->count[s->axis] - at : s->step;
        first = (outer * s->count[s->axis] + at) * s->inner;
        n = length * s->inner;
        for (int i = s->n - 1; i >= 0; i--) {
            int64_t offset = i == s->axis ? at : 0;
            if (i < s->axis) {
                offset = outer % s->count[i];
                outer /= s->count[i];
            }
            offset += s->start[i];
            start[i] = (hsize_t)offset;
            count[i] = (hsize_t)(i < s->axis ? 1 : i == s->axis ? length : s->count[i]);
        }
    }
    hid_t memory = H5Screate_simple(1, &(hsize_t){(hsize_t)n}, NULL);
    if (n == 0) {
        H5Sselect_none(memory);
        H5Sselect_none(s->space);
    } else if (s->n > 0) {
        H5Sselect_hyperslab(s->space, H5S_SELECT_SET, start, NULL, count, NULL);
    }
    const char *from = n > 0 ? (const char *)data + first * norma_schema_type_size_local(s->type)
                             : (const char *)&first;
    herr_t result =
        H5Dwrite(s->dataset, norma_h5_memory_type_local(s->type), memory, s->space, transfer, from);
    norma_status status = NORMA_H5_WROTE(
        result >= 0, "cannot write %lld bytes of %s to %s",
        (long long)n * (long long)norma_schema_type_size_local(s->type), variable, file->part);
    H5Sclose(memory);
    return status;
}

/* True when the slab holds an element of the sample, which is worth nothing then. */
static bool overlaps(const norma_sample *sample, const char *variable, const slab *s)
{
    if (strcmp(sample->variable, variable) != 0)
        return false;
    for (int64_t k = 0; k < sample->n; k++) {
        bool inside = true;
        for (int i = 0; i < s->n; i++) {
            int64_t at = (int64_t)sample->index[k * s->n + i];
            inside = inside && at >= s->start[i] && at < s->start[i] + s->count[i];
        }
        if (inside)
            return true;
    }
    return false;
}

static void free_sample(norma_sample *sample)
{
    NORMA_FREE(sample->variable);
    NORMA_FREE(sample->index);
    NORMA_FREE(sample->values);
}

static norma_status allocate_sample(norma_sample *sample, const char *variable)
{
    int64_t size = norma_schema_type_size_local(sample->type);
    sample->variable = norma_mem_strdup(variable);
    NORMA_TRY(NORMA_ALLOC(sample->index, sample->n * sample->n_dimensions));
    NORMA_TRY(NORMA_ALLOC(sample->values, sample->n * size));
    return sample->variable ? NORMA_OK : NORMA_MEMORY;
}

/* Drops samples that are written over now, and makes room for one more. */
static norma_status prepare_samples(norma_result *file, const char *variable, const slab *s)
{
    for (int64_t k = 0; k < file->n_samples;) {
        if (overlaps(&file->samples[k], variable, s)) {
            free_sample(&file->samples[k]);
            file->samples[k] = file->samples[--file->n_samples];
        } else {
            k++;
        }
    }
    if (file->n_samples < file->capacity)
        return NORMA_OK;
    int64_t capacity = 2 * file->capacity + 16;
    norma_sample *larger = norma_mem_resize(file->samples, file->n_samples, capacity,
                                            sizeof *larger, __FILE__, __LINE__);
    if (!larger)
        return NORMA_MEMORY;
    file->samples = larger;
    file->capacity = capacity;
    return NORMA_OK;
}

/* Keeps elements of what was written, evenly spaced from the first to the last. */
static norma_status keep_samples(norma_result *file, const char *variable, const slab *s,
                                 const void *data)
{
    int64_t size = norma_schema_type_size_local(s->type);
    NORMA_TRY(prepare_samples(file, variable, s));
    norma_sample *sample = &file->samples[file->n_samples];
    *sample = (norma_sample){.type = s->type, .n_dimensions = s->n};
    sample->n = FEWEST_SAMPLES + s->n_elements * size / sample_distance;
    sample->n = sample->n < s->n_elements ? sample->n : s->n_elements;
    norma_status status = allocate_sample(sample, variable);
    if (status != NORMA_OK) {
        free_sample(sample);
        return status;
    }
    for (int64_t k = 0; k < sample->n; k++) {
        int64_t element = sample->n > 1 ? (s->n_elements - 1) / (sample->n - 1) * k : 0;
        if (k > 0 && k == sample->n - 1)
            element = s->n_elements - 1;
        memcpy(sample->values + k * size, (const char *)data + element * size, (size_t)size);
        for (int i = s->n - 1; i >= 0; i--) {
            int64_t at = s->start[i] + element % s->count[i];
            sample->index[k * s->n + i] = (hsize_t)at;
            element /= s->count[i];
        }
    }
    file->n_samples++;
    return NORMA_OK;
}

void norma_result_forget_local(norma_result *file)
{
    for (int64_t k = 0; k < file->n_samples; k++)
        free_sample(&file->samples[k]);
    file->n_samples = 0;
}

static norma_status verify_sample(const norma_result *file, const norma_sample *sample)
{
    int64_t bytes = sample->n * norma_schema_type_size_local(sample->type);
    hsize_t n = (hsize_t)sample->n;
    unsigned char *found = NULL;
    NORMA_TRY(NORMA_CALLOC(found, bytes));
    norma_status status = NORMA_OK;
    hid_t dataset = H5Dopen2(file->file, sample->variable, H5P_DEFAULT);
    hid_t space = H5Dget_space(dataset);
    hid_t memory = H5Screate_simple(1, &n, NULL);
    if (sample->n_dimensions > 0)
        H5Sselect_elements(space, H5S_SELECT_SET, (size_t)n, sample->index);
    if (H5Dread(dataset, norma_h5_memory_type_local(sample->type), memory, space, H5P_DEFAULT,
                found) < 0)
        status =
            NORMA_H5_FAIL(NORMA_IO, "%s: %s cannot be read back", file->part, sample->variable);
    else if (memcmp(found, sample->values, (size_t)bytes) != 0)
        status = NORMA_FAIL(NORMA_IO,
                            "%s: %s does not hold the values that were written: the disk "
                            "is full, or the file system or MPI-IO lost data",
                            file->part, sample->variable);
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(dataset);
    norma_mem_free(found);
    return status;
}

norma_status norma_result_verify_local(norma_result *file)
{
    norma_status status = NORMA_OK;
    for (int64_t k = 0; k < file->n_samples && status == NORMA_OK; k++)
        status = verify_sample(file, &file->samples[k]);
    norma_result_forget_local(file);
    return status;
}

/* All ranks write all pieces, also behind a failure: a rank that left would hang the others. */
static norma_status write_pieces(norma_result *file, const char *variable, const slab *s,
                                 int64_t n_pieces, H5FD_mpio_xfer_t kind, const void *data)
{
    norma_status status = NORMA_OK;
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(transfer, kind);
    for (int64_t p = 0; p < n_pieces; p++) {
        norma_status one = write_piece(file, variable, s, p, transfer, data);
        status = status == NORMA_OK ? one : status;
    }
    H5Pclose(transfer);
    if (status == NORMA_OK && s->n_elements > 0)
        status = keep_samples(file, variable, s, data);
    return status;
}

static norma_status prepare(const norma_result *file, const char *variable, norma_type type,
                            const int64_t *start, const int64_t *count, slab *s)
{
    *s = (slab){.dataset = H5I_INVALID_HID, .space = H5I_INVALID_HID};
    NORMA_TRY(open_slab(file, variable, type, s));
    return select_slab(variable, start, count, s);
}

norma_status norma_result_write(norma_result *file, const char *variable, norma_type type,
                                const int64_t *start, const int64_t *count, const void *data)
{
    slab s;
    norma_status status = norma_agree(file->comm, prepare(file, variable, type, start, count, &s));
    if (status == NORMA_OK) {
        int64_t bytes = s.n_elements * norma_schema_type_size_local(type);
        int64_t n_pieces = 0;
        MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_INT64_T, MPI_SUM, file->comm);
        MPI_Allreduce(&s.n_pieces, &n_pieces, 1, MPI_INT64_T, MPI_MAX, file->comm);
        bool together = bytes >= collective_bytes;
        status = write_pieces(file, variable, &s, together ? n_pieces : s.n_pieces,
                              together ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT, data);
        status = norma_agree(file->comm, status);
    }
    close_slab(&s);
    return status;
}

norma_status norma_result_extent_local(norma_result *file, const char *variable, norma_type type,
                                       int *n, int64_t extent[NORMA_MAX_DIMENSIONS])
{
    slab s = {.dataset = H5I_INVALID_HID, .space = H5I_INVALID_HID};
    norma_status status = open_slab(file, variable, type, &s);
    *n = s.n;
    memcpy(extent, s.extent, sizeof s.extent);
    close_slab(&s);
    return status;
}

norma_status norma_result_write_replicated(norma_result *file, const char *variable,
                                           norma_type type, const int64_t *start,
                                           const int64_t *count, const void *data)
{
    norma_status status = NORMA_OK;
    if (file->rank == 0)
        status = norma_result_write_local(file, variable, type, start, count, data);
    return norma_agree(file->comm, status);
}

norma_status norma_result_write_local(norma_result *file, const char *variable, norma_type type,
                                      const int64_t *start, const int64_t *count, const void *data)
{
    slab s;
    norma_status status = prepare(file, variable, type, start, count, &s);
    if (status == NORMA_OK)
        status = write_pieces(file, variable, &s, s.n_pieces, H5FD_MPIO_INDEPENDENT, data);
    close_slab(&s);
    if (status == NORMA_OK && file->n_samples >= MOST_SAMPLES)
        status = norma_result_verify_local(file);
    return status;
}
