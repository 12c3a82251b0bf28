#include "io/result/result_read.h"

#include "io/result/h5.h"
#include "mpi/runtime/agree.h"
#include "src/base/index.h"
#include "src/base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct norma_result_reader {
    MPI_Comm comm;
    int rank;
    hid_t file;       /* rank 0 only */
    const char *path; /* borrowed */
};

/* Opens and checks that the file is a finished result. */
static norma_status open_root(norma_result_reader *reader)
{
    char *version = NULL;
    char *state = NULL;
    norma_status status = norma_h5_open_local(reader->path, &reader->file);
    if (status != NORMA_OK)
        return status;
    NORMA_GOTO(status, norma_h5_get_text_local(reader->file, "norma_version", &version));
    NORMA_GOTO(status, norma_h5_get_text_local(reader->file, "status", &state));
    if (!version || !state)
        status = NORMA_FAIL(NORMA_CONFIG, "%s: not a result of norma", reader->path);
    else if (strcmp(state, "running") == 0)
        status =
            NORMA_FAIL(NORMA_CONFIG, "%s: the run that writes it has not finished", reader->path);
    else
        norma_h5_warn_of_kernel_local(reader->file, reader->path);
done:
    norma_mem_free(version);
    norma_mem_free(state);
    return status;
}

norma_status norma_result_reader_open(MPI_Comm comm, const char *path, norma_result_reader **out)
{
    norma_result_reader *reader = NULL;
    norma_status status = NORMA_OK;
    norma_h5_prepare_local();
    NORMA_GOTO(status, norma_agree(comm, NORMA_CALLOC(reader, 1)));
    reader->comm = comm;
    reader->path = path;
    reader->file = H5I_INVALID_HID;
    MPI_Comm_rank(comm, &reader->rank);
    if (reader->rank == 0)
        status = open_root(reader);
    NORMA_GOTO(status, norma_agree(comm, status));
    *out = reader;
    return NORMA_OK;
done:
    norma_result_reader_close(&reader);
    return status;
}

norma_status norma_result_reader_has(norma_result_reader *reader, const char *path, bool *out)
{
    int there = reader->rank == 0 && norma_h5_exists_local(reader->file, path) ? 1 : 0;
    MPI_Bcast(&there, 1, MPI_INT, 0, reader->comm);
    *out = there != 0;
    return NORMA_OK;
}

static norma_status read_text_root(const norma_result_reader *reader, const char *dataset,
                                   char **text)
{
    if (!norma_h5_exists_local(reader->file, dataset))
        return NORMA_FAIL(NORMA_CONFIG, "%s: no dataset %s", reader->path, dataset);
    hid_t set = H5Dopen2(reader->file, dataset, H5P_DEFAULT);
    norma_status status = set < 0 ? NORMA_OK : norma_h5_read_text_local(set, text);
    if (status == NORMA_OK && !*text)
        status = NORMA_FAIL(NORMA_CONFIG, "it is not a text");
    if (set >= 0)
        H5Dclose(set);
    return norma_status_context(status, "%s: %s: ", reader->path, dataset);
}

norma_status norma_result_reader_text(norma_result_reader *reader, const char *dataset, char **text)
{
    char *mine = NULL;
    int64_t length = 0;
    norma_status status = NORMA_OK;
    int n = 0;
    if (reader->rank == 0)
        status = read_text_root(reader, dataset, &mine);
    NORMA_GOTO(status, norma_agree(reader->comm, status));
    if (mine) /* on rank 0 */
        length = (int64_t)strlen(mine) + 1;
    MPI_Bcast(&length, 1, MPI_INT64_T, 0, reader->comm);
    if (reader->rank != 0)
        status = NORMA_ALLOC(mine, length);
    if (status == NORMA_OK)
        status = norma_index_to_int(length, dataset, &n);
    NORMA_GOTO(status, norma_agree(reader->comm, status));
    MPI_Bcast(mine, n, MPI_CHAR, 0, reader->comm);
    *text = mine;
    return NORMA_OK;
done:
    norma_mem_free(mine);
    return status;
}

/* The extents of a float64 variable must be [more than row, n]. */
static norma_status check_extents(const norma_result_reader *reader, const char *variable,
                                  hid_t space, int64_t row, int64_t n)
{
    hsize_t extents[2] = {0, 0};
    if (H5Sget_simple_extent_ndims(space) != 2 ||
        H5Sget_simple_extent_dims(space, extents, NULL) < 0 || (int64_t)extents[1] != n ||
        (int64_t)extents[0] <= row)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: %s is not of shape [more than %" PRId64 ", %" PRId64 "]",
                          reader->path, variable, row, n);
    return NORMA_OK;
}

static norma_status read_row_root(const norma_result_reader *reader, const char *variable,
                                  int64_t row, int64_t n, double *out)
{
    norma_status status = NORMA_OK;
    hid_t set = H5I_INVALID_HID;
    hid_t space = H5I_INVALID_HID;
    hid_t memory = H5I_INVALID_HID;
    const hsize_t start[] = {(hsize_t)row, 0};
    const hsize_t count[] = {1, (hsize_t)n};
    if (!norma_h5_exists_local(reader->file, variable))
        return NORMA_FAIL(NORMA_CONFIG, "%s: no variable %s", reader->path, variable);
    set = H5Dopen2(reader->file, variable, H5P_DEFAULT);
    space = H5Dget_space(set);
    memory = H5Screate_simple(2, count, NULL);
    NORMA_GOTO(status, check_extents(reader, variable, space, row, n));
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) < 0 ||
        H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, out) < 0) {
        status = NORMA_H5_FAIL(NORMA_CONFIG, "%s: cannot read %s", reader->path, variable);
        goto done;
    }
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(out[i])) {
            status = NORMA_FAIL(NORMA_CONFIG, "%s: %s[%" PRId64 ", %" PRId64 "] is %g",
                                reader->path, variable, row, i, out[i]);
            goto done;
        }
done:
    if (memory >= 0)
        H5Sclose(memory);
    if (space >= 0)
        H5Sclose(space);
    if (set >= 0)
        H5Dclose(set);
    return status;
}

norma_status norma_result_reader_row(norma_result_reader *reader, const char *variable, int64_t row,
                                     int64_t n, double *out)
{
    int count = 0;
    norma_status status = norma_index_to_int(n, variable, &count);
    if (status == NORMA_OK && reader->rank == 0)
        status = read_row_root(reader, variable, row, n, out);
    NORMA_TRY(norma_agree(reader->comm, status));
    MPI_Bcast(out, count, MPI_DOUBLE, 0, reader->comm);
    return NORMA_OK;
}

void norma_result_reader_close(norma_result_reader **reader)
{
    if (*reader && (*reader)->file >= 0)
        H5Fclose((*reader)->file);
    NORMA_FREE(*reader);
}
