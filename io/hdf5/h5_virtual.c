#include "io/hdf5/h5_virtual.h"

#include "io/hdf5/h5_input_internal.h"
#include "io/hdf5/h5_storage.h"
#include "src/base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_LENGTH = 1024, DEEPEST = 8 };

/* One part of a virtual dataset. */
typedef struct mapping {
    hid_t there, source; /* selections: of the virtual dataset, of its source; closed by clear */
    char file[NAME_LENGTH], dataset[NAME_LENGTH];
} mapping;

static norma_status read_mapping(hid_t creation, size_t i, const char *file, const char *path,
                                 mapping *m)
{
    m->there = H5Pget_virtual_vspace(creation, i);
    m->source = H5Pget_virtual_srcspace(creation, i);
    ssize_t a = H5Pget_virtual_filename(creation, i, m->file, NAME_LENGTH);
    ssize_t b = H5Pget_virtual_dsetname(creation, i, m->dataset, NAME_LENGTH);
    if (m->there < 0 || m->source < 0 || a < 0 || b < 0 || a >= NAME_LENGTH || b >= NAME_LENGTH)
        return NORMA_H5_FAIL(NORMA_CONFIG, "%s: %s: part %zu of the virtual dataset cannot be read",
                             file, path, i);
    return NORMA_OK;
}

static void clear_mapping(mapping *m)
{
    if (m->there >= 0)
        H5Sclose(m->there);
    if (m->source >= 0)
        H5Sclose(m->source);
}

static hid_t try_open(const char *folder, int length, const char *name)
{
    char path[2 * NAME_LENGTH + 2];
    bool slash = length > 0 && folder[length - 1] != '/';
    snprintf(path, sizeof path, "%.*s%s%s", length, folder, slash ? "/" : "", name);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    H5Eclear2(H5E_DEFAULT);
    return file;
}

/* HDF5's own search for a source file; negative when there is none. */
static hid_t open_source(hid_t dataset, const char *name)
{
    char main_file[NAME_LENGTH] = "";
    const char *prefix = getenv("HDF5_VDS_PREFIX");
    const char *base = strrchr(name, '/');
    hid_t file = H5I_INVALID_HID;
    if (strcmp(name, ".") == 0)
        return H5Iget_file_id(dataset);
    if (name[0] == '/')
        file = try_open("", 0, name);
    name = name[0] == '/' ? base + 1 : name;
    if (file < 0 && prefix && prefix[0])
        file = try_open(prefix, (int)strlen(prefix), name);
    H5Fget_name(dataset, main_file, sizeof main_file);
    const char *slash = strrchr(main_file, '/');
    if (file < 0 && slash)
        file = try_open(main_file, (int)(slash - main_file + 1), name);
    if (file < 0)
        file = try_open("", 0, name);
    return file;
}

/* Is the selection of a part without end, as that of a source that grows? */
static bool is_unlimited(hid_t part)
{
    hsize_t start[H5S_MAX_RANK], stride[H5S_MAX_RANK], count[H5S_MAX_RANK], block[H5S_MAX_RANK];
    if (H5Sget_select_type(part) != H5S_SEL_HYPERSLABS || H5Sis_regular_hyperslab(part) <= 0 ||
        H5Sget_regular_hyperslab(part, start, stride, count, block) < 0)
        return false;
    for (int k = 0; k < H5Sget_simple_extent_ndims(part); k++)
        if (count[k] == H5S_UNLIMITED || block[k] == H5S_UNLIMITED)
            return true;
    return false;
}

/* Does the source dataset reach as far as what is taken from it? */
static norma_status check_extents(const mapping *m, hid_t dataset)
{
    hsize_t found[H5S_MAX_RANK] = {0};
    hsize_t first[H5S_MAX_RANK];
    hsize_t last[H5S_MAX_RANK];
    char text[512];
    int64_t extents[H5S_MAX_RANK];
    hid_t space = H5Dget_space(dataset);
    int rank = H5Sget_simple_extent_dims(space, found, NULL);
    bool bounded = H5Sget_select_bounds(m->source, first, last) >= 0 &&
                   H5Sget_simple_extent_ndims(m->source) == rank;
    hssize_t n_found = H5Sget_simple_extent_npoints(space);
    H5Sclose(space);
    H5Eclear2(H5E_DEFAULT);
    for (int k = 0; k < rank; k++)
        extents[k] = (int64_t)found[k];
    /* Where all of the source is taken, the file does not hold its extents. */
    if (H5Sget_select_type(m->source) == H5S_SEL_ALL && !is_unlimited(m->there) &&
        n_found != H5Sget_select_npoints(m->there))
        return NORMA_FAIL(NORMA_CONFIG,
                          "takes %lld values of %s in the file %s, which has extents %s",
                          (long long)H5Sget_select_npoints(m->there), m->dataset, m->file,
                          norma_h5_format_extents_local(rank, extents, text, sizeof text));
    for (int k = 0; bounded && k < rank; k++)
        if (last[k] != H5S_UNLIMITED && last[k] >= found[k])
            return NORMA_FAIL(NORMA_CONFIG,
                              "takes items up to %" PRIu64 " on axis %d of %s in the file "
                              "%s, which has extents %s only",
                              (uint64_t)last[k], k, m->dataset, m->file,
                              norma_h5_format_extents_local(rank, extents, text, sizeof text));
    return NORMA_OK;
}

/* The source of one part; what it holds may be virtual in turn. */
static norma_status check_source(const mapping *m, hid_t dataset, const char *file,
                                 const char *path)
{
    static int depth;
    if (depth >= DEEPEST)
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: is virtual more than %d times over", file, path,
                          DEEPEST);
    hid_t source_file = open_source(dataset, m->file);
    if (source_file < 0)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: %s: is a virtual dataset; its source file %s is not there or cannot "
                          "be opened",
                          file, path, m->file);
    hid_t source = norma_h5_storage_open_local(source_file, m->dataset);
    norma_status status = NORMA_OK;
    if (source < 0) {
        H5Eclear2(H5E_DEFAULT);
        status = NORMA_FAIL(NORMA_CONFIG,
                            "%s: %s: is a virtual dataset; its source file %s has no dataset %s",
                            file, path, m->file, m->dataset);
    } else {
        status = check_extents(m, source);
        depth++;
        if (status == NORMA_OK)
            status = norma_h5_storage_check_local(source, m->file, m->dataset, INT64_MAX / 2);
        if (status != NORMA_OK && depth == 1)
            status = norma_status_context(status, "%s: %s: ", file, path);
        depth--;
        H5Dclose(source);
    }
    H5Fclose(source_file);
    return status;
}

/* Adds a part's selection to `all`. */
static bool add_selection(hid_t all, hid_t part)
{
    hsize_t start[H5S_MAX_RANK], stride[H5S_MAX_RANK], count[H5S_MAX_RANK], block[H5S_MAX_RANK];
    if (H5Sget_select_type(part) == H5S_SEL_ALL)
        return H5Sselect_all(all) >= 0;
    if (H5Sis_regular_hyperslab(part) > 0)
        return H5Sget_regular_hyperslab(part, start, stride, count, block) >= 0 &&
               H5Sselect_hyperslab(all, H5S_SELECT_OR, start, stride, count, block) >= 0;
    int rank = H5Sget_simple_extent_ndims(part);
    hssize_t n = H5Sget_select_hyper_nblocks(part);
    for (hssize_t i = 0; i < n; i++) {
        hsize_t corners[2 * H5S_MAX_RANK];
        if (H5Sget_select_hyper_blocklist(part, (hsize_t)i, 1, corners) < 0)
            return false;
        for (int k = 0; k < rank; k++) {
            count[k] = 1;
            block[k] = corners[rank + k] - corners[k] + 1;
        }
        if (H5Sselect_hyperslab(all, H5S_SELECT_OR, corners, NULL, count, block) < 0)
            return false;
    }
    return n > 0;
}

/* Parts of growing sources: the dataset ends where the first of them does, or zeros fill a gap. */
static norma_status check_growing(hid_t dataset, const char *file, const char *path)
{
    hsize_t most[H5S_MAX_RANK] = {0};
    hsize_t least[H5S_MAX_RANK] = {0};
    char name[NAME_LENGTH] = "";
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    hid_t parent = H5Iget_file_id(dataset);
    H5Iget_name(dataset, name, sizeof name);
    H5Pset_virtual_view(access, H5D_VDS_FIRST_MISSING);
    hid_t shortest = H5Dopen2(parent, name, access);
    hid_t a = H5Dget_space(dataset);
    hid_t b = H5Dget_space(shortest);
    int rank = H5Sget_simple_extent_dims(a, most, NULL);
    bool same = H5Sget_simple_extent_dims(b, least, NULL) == rank;
    for (int k = 0; k < rank; k++)
        same = same && most[k] == least[k];
    H5Sclose(b);
    H5Sclose(a);
    H5Dclose(shortest);
    H5Fclose(parent);
    H5Pclose(access);
    H5Eclear2(H5E_DEFAULT);
    if (same)
        return NORMA_OK;
    return NORMA_FAIL(NORMA_CONFIG,
                      "%s: %s: is a virtual dataset; one of its source files is missing or shorter "
                      "than the others, and HDF5 would read zeros there",
                      file, path);
}

norma_status norma_h5_virtual_check_local(hid_t dataset, hid_t creation, const char *file,
                                          const char *path)
{
    norma_status status = NORMA_OK;
    size_t n = 0;
    bool growing = false;
    bool combined = true;
    hid_t all = H5Dget_space(dataset);
    hssize_t n_elements = H5Sget_simple_extent_npoints(all);
    if (H5Pget_virtual_count(creation, &n) < 0 || H5Sselect_none(all) < 0)
        status = NORMA_H5_FAIL(NORMA_CONFIG, "%s: %s: its parts cannot be listed", file, path);
    for (size_t i = 0; i < n && status == NORMA_OK; i++) {
        mapping m = {.there = H5I_INVALID_HID, .source = H5I_INVALID_HID};
        status = read_mapping(creation, i, file, path, &m);
        bool open_end = status == NORMA_OK && is_unlimited(m.there);
        growing = growing || open_end;
        if (status == NORMA_OK && !strstr(m.file, "%b") && !strstr(m.dataset, "%b"))
            status = check_source(&m, dataset, file, path);
        if (status == NORMA_OK && !open_end)
            combined = combined && add_selection(all, m.there);
        clear_mapping(&m);
    }
    if (status == NORMA_OK && growing)
        status = check_growing(dataset, file, path);
    else if (status == NORMA_OK && (!combined || H5Sget_select_npoints(all) != n_elements))
        status = NORMA_FAIL(NORMA_CONFIG,
                            "%s: %s: is a virtual dataset whose parts do not cover it; HDF5 would "
                            "read zeros there",
                            file, path);
    H5Sclose(all);
    return status;
}
