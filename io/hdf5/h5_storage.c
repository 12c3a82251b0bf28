#include "io/hdf5/h5_storage.h"

#include "io/hdf5/h5_input_internal.h"
#include "io/hdf5/h5_virtual.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NAME_LENGTH = 1024, MOST_SEARCHED = 65536 };

/* The folder of the file that holds an object, with the closing slash; empty for the working one.
 */
static void folder_of(hid_t object, char folder[NAME_LENGTH])
{
    folder[0] = '\0';
    if (H5Fget_name(object, folder, NAME_LENGTH) < 0)
        return;
    char *slash = strrchr(folder, '/');
    folder[slash ? slash - folder + 1 : 0] = '\0';
}

/* Where HDF5 looks for an external raw file, given the prefix. */
static void place_external(const char *prefix, const char *name, char path[2 * NAME_LENGTH])
{
    bool joined = prefix[0] && name[0] != '/';
    bool slash = joined && prefix[strlen(prefix) - 1] != '/';
    snprintf(path, (size_t)2 * NAME_LENGTH, "%s%s%s", joined ? prefix : "", slash ? "/" : "", name);
}

/* The prefix of a dataset's external files: HDF5_EXTFILE_PREFIX, or the folder of the HDF5 file
 * where the first raw file is there and not in the working folder. */
static void find_prefix(hid_t dataset, hid_t creation, char prefix[NAME_LENGTH])
{
    const char *origin = "${ORIGIN}";
    const char *given = getenv("HDF5_EXTFILE_PREFIX");
    char name[NAME_LENGTH];
    char path[2 * NAME_LENGTH];
    char folder[NAME_LENGTH];
    struct stat about;
    off_t offset = 0;
    hsize_t size = 0;
    prefix[0] = '\0';
    folder_of(dataset, folder);
    if (given && given[0]) {
        bool beside = strncmp(given, origin, strlen(origin)) == 0;
        const char *rest = beside ? given + strlen(origin) : given;
        snprintf(prefix, NAME_LENGTH, "%.500s%.500s", beside ? folder : "",
                 beside && rest[0] == '/' ? rest + 1 : rest);
        return;
    }
    if (H5Pget_external(creation, 0, sizeof name, name, &offset, &size) < 0)
        return;
    place_external(folder, name, path);
    if (stat(name, &about) != 0 && stat(path, &about) == 0)
        memcpy(prefix, folder, NAME_LENGTH);
}

hid_t norma_h5_storage_open_local(hid_t file, const char *path)
{
    char prefix[NAME_LENGTH];
    hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT);
    if (dataset < 0)
        return dataset;
    hid_t creation = H5Dget_create_plist(dataset);
    if (H5Pget_external_count(creation) > 0) {
        hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
        find_prefix(dataset, creation, prefix);
        H5Pset_efile_prefix(access, prefix[0] ? prefix : NULL);
        H5Dclose(dataset);
        dataset = H5Dopen2(file, path, access);
        H5Pclose(access);
    }
    H5Pclose(creation);
    return dataset;
}

static norma_status check_filters(hid_t creation, const char *file, const char *path)
{
    for (int i = 0; i < H5Pget_nfilters(creation); i++) {
        char name[64] = "";
        unsigned flags = 0;
        unsigned config = 0;
        size_t n = 0;
        H5Z_filter_t filter =
            H5Pget_filter2(creation, (unsigned)i, &flags, &n, NULL, sizeof name, name, &config);
        if (filter >= 0 && H5Zfilter_avail(filter) > 0)
            continue;
        H5Eclear2(H5E_DEFAULT);
        return NORMA_FAIL(
            NORMA_CONFIG,
            "%s: %s: is compressed with '%.63s' (filter %d), which this HDF5 does not "
            "have: write it again with gzip (h5py: compression=\"gzip\"), or set "
            "HDF5_PLUGIN_PATH to the folder of the filter's plugin",
            file, path, name[0] ? name : "an unnamed filter", (int)filter);
    }
    return NORMA_OK;
}

/* External raw files must reach as far as the first n_bytes of the dataset. */
static norma_status check_external(hid_t dataset, hid_t creation, const char *file,
                                   const char *path, int64_t n_bytes)
{
    char prefix[NAME_LENGTH];
    int n_files = H5Pget_external_count(creation);
    find_prefix(dataset, creation, prefix);
    for (int i = 0; i < n_files && n_bytes > 0; i++) {
        char name[NAME_LENGTH] = "";
        char raw[2 * NAME_LENGTH];
        off_t offset = 0;
        hsize_t size = 0;
        struct stat about;
        if (H5Pget_external(creation, (unsigned)i, sizeof name - 1, name, &offset, &size) < 0)
            return NORMA_H5_FAIL(NORMA_CONFIG, "%s: %s: its external files cannot be listed", file,
                                 path);
        int64_t here = size > (hsize_t)n_bytes ? n_bytes : (int64_t)size;
        place_external(prefix, name, raw);
        if (stat(raw, &about) != 0)
            return NORMA_FAIL(NORMA_CONFIG, "%s: %s: its raw file %s is not there", file, path,
                              raw);
        if ((int64_t)about.st_size < (int64_t)offset + here)
            return NORMA_FAIL(NORMA_CONFIG,
                              "%s: %s: its raw file %s has %lld bytes, %lld are expected", file,
                              path, raw, (long long)about.st_size, (long long)(offset + here));
        n_bytes -= here;
    }
    return NORMA_OK;
}

/* The next chunk in row-major order: its first element; false behind the last. */
static bool step_chunk(int rank, const hsize_t *extents, const hsize_t *chunk, hsize_t *start)
{
    for (int k = rank - 1; k >= 0; k--) {
        start[k] += chunk[k];
        if (start[k] < extents[k])
            return true;
        start[k] = 0;
    }
    return false;
}

/* Names the first chunk that was never written. */
static norma_status find_missing_chunk(hid_t dataset, const char *file, const char *path, int rank,
                                       const hsize_t *extents, const hsize_t *chunk)
{
    hsize_t start[H5S_MAX_RANK] = {0};
    for (int64_t n = 0; n < MOST_SEARCHED; n++) {
        int64_t index[H5S_MAX_RANK];
        char text[512];
        unsigned mask = 0;
        haddr_t address = HADDR_UNDEF;
        hsize_t size = 0;
        if (H5Dget_chunk_info_by_coord(dataset, start, &mask, &address, &size) < 0)
            return NORMA_H5_FAIL(NORMA_CONFIG, "%s: %s: its chunks cannot be listed", file, path);
        for (int k = 0; k < rank; k++)
            index[k] = (int64_t)start[k];
        if (address == HADDR_UNDEF || size == 0)
            return NORMA_FAIL(NORMA_CONFIG,
                              "%s: %s: the chunk from %s on was never written; HDF5 would read "
                              "zeros there",
                              file, path,
                              norma_h5_format_extents_local(rank, index, text, sizeof text));
        if (!step_chunk(rank, extents, chunk, start))
            return NORMA_OK;
    }
    return NORMA_FAIL(NORMA_CONFIG,
                      "%s: %s: some of its chunks were never written; HDF5 would read zeros there",
                      file, path);
}

static norma_status check_chunks(hid_t dataset, hid_t creation, const char *file, const char *path,
                                 int rank, const hsize_t *extents, int64_t n_first)
{
    hsize_t chunk[H5S_MAX_RANK] = {0};
    hsize_t first[H5S_MAX_RANK] = {0};
    hsize_t expected = 1;
    hsize_t found = 0;
    if (rank < 1 || rank > H5S_MAX_RANK || H5Pget_chunk(creation, H5S_MAX_RANK, chunk) < 0)
        return NORMA_H5_FAIL(NORMA_CONFIG, "%s: %s: its chunks cannot be read", file, path);
    hid_t space = H5Dget_space(dataset);
    bool listed = H5Dget_num_chunks(dataset, space, &found) >= 0;
    H5Sclose(space);
    for (int k = 0; k < rank; k++) {
        expected *= (extents[k] + chunk[k] - 1) / chunk[k];
        first[k] = extents[k];
    }
    if (listed && found >= expected)
        return NORMA_OK;
    H5Eclear2(H5E_DEFAULT);
    first[0] = (hsize_t)n_first;
    return find_missing_chunk(dataset, file, path, rank, first, chunk);
}

/* The bytes of the first n_first items. */
static int64_t count_bytes(hid_t dataset, int rank, const hsize_t *extents, int64_t n_first)
{
    hid_t type = H5Dget_type(dataset);
    int64_t n = (int64_t)H5Tget_size(type);
    H5Tclose(type);
    for (int k = 0; k < rank; k++)
        n *= k == 0 ? n_first : (int64_t)extents[k];
    return n;
}

norma_status norma_h5_storage_check_local(hid_t dataset, const char *file, const char *path,
                                          int64_t n_first)
{
    hsize_t extents[H5S_MAX_RANK] = {1};
    hid_t creation = H5Dget_create_plist(dataset);
    hid_t space = H5Dget_space(dataset);
    int rank = H5Sget_simple_extent_dims(space, extents, NULL);
    H5D_space_status_t allocated = H5D_SPACE_STATUS_ERROR;
    H5Sclose(space);
    n_first = n_first < (int64_t)extents[0] ? n_first : (int64_t)extents[0];
    norma_status status = check_filters(creation, file, path);
    if (status != NORMA_OK) {
        H5Pclose(creation);
        return status;
    }
    switch (H5Pget_layout(creation)) {
    case H5D_VIRTUAL:
        status = norma_h5_virtual_check_local(dataset, creation, file, path);
        break;
    case H5D_CHUNKED:
        status = check_chunks(dataset, creation, file, path, rank, extents, n_first);
        break;
    case H5D_CONTIGUOUS:
        if (H5Pget_external_count(creation) > 0)
            status = check_external(dataset, creation, file, path,
                                    count_bytes(dataset, rank, extents, n_first));
        else if (H5Dget_space_status(dataset, &allocated) < 0 ||
                 allocated == H5D_SPACE_STATUS_NOT_ALLOCATED)
            status = NORMA_FAIL(NORMA_CONFIG,
                                "%s: %s: was created but never written; HDF5 would read zeros",
                                file, path);
        break;
    default: /* a compact dataset lies in its header */
        break;
    }
    H5Pclose(creation);
    return status;
}
