#define _GNU_SOURCE /* fallocate */
#include "io/result/result.h"

#include "io/result/guard.h"
#include "io/result/provenance.h"
#include "io/result/result_claim.h"
#include "io/result/result_internal.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Room for what HDF5 adds to the values: headers, indices, attributes. */
static const int64_t metadata_room = (int64_t)256 << 10;

/* The same for one group or variable. */
static const int64_t object_room = (int64_t)16 << 10;

norma_status norma_result_check(MPI_Comm world, const char *path,
                                const norma_result_options *options)
{
    int rank = 0;
    norma_h5_prepare_local();
    MPI_Comm_rank(world, &rank);
    return norma_agree(world, rank == 0 ? norma_result_check_path_root(path, options) : NORMA_OK);
}

static void destroy(norma_result **file)
{
    norma_result *f = *file;
    norma_result_forget_local(f);
    norma_result_batch_destroy_local(&f->batch);
    norma_mem_free(f->samples);
    norma_mem_free(f->path);
    norma_mem_free(f->part);
    norma_claim_release_root(f);
    MPI_Comm_free(&f->comm);
    norma_mem_free(f);
    *file = NULL;
}

static norma_status allocate(norma_result *file, const char *path)
{
    size_t length = strlen(path) + sizeof ".part";
    file->path = norma_mem_strdup(path);
    NORMA_TRY(NORMA_CALLOC(file->part, (int64_t)length));
    snprintf(file->part, length, "%s.part", path);
    return file->path ? NORMA_OK : NORMA_MEMORY;
}

/* Keeps all metadata in the cache of each rank. Changes of metadata are collective, and HDF5 hangs
 * or fails where the caches of the ranks differ. They would differ if HDF5 dropped the entries that
 * a rank has not used for long, since rank 0 uses more of them than the others. */
static bool keep_metadata(hid_t access_list)
{
    H5AC_cache_config_t config = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
    if (H5Pget_mdc_config(access_list, &config) < 0)
        return false;
    config.evictions_enabled = false;
    config.incr_mode = H5C_incr__off;
    config.flash_incr_mode = H5C_flash_incr__off;
    config.decr_mode = H5C_decr__off;
    return H5Pset_mdc_config(access_list, &config) >= 0;
}

static norma_status open_parallel(norma_result *file)
{
    norma_status status = NORMA_OK;
    hid_t creation = norma_schema_group_properties_local(H5P_FILE_CREATE);
    hid_t access_list = H5Pcreate(H5P_FILE_ACCESS);
    if (H5Pset_fapl_mpio(access_list, file->comm, MPI_INFO_NULL) < 0 ||
        !keep_metadata(access_list) || H5Pset_fclose_degree(access_list, H5F_CLOSE_STRONG) < 0)
        status = NORMA_H5_FAIL(NORMA_LIBRARY, "parallel HDF5 cannot be set up");
    status = norma_agree(file->comm, status);
    if (status == NORMA_OK) {
        file->file = H5Fcreate(file->part, H5F_ACC_TRUNC, creation, access_list);
        status = NORMA_H5_WROTE(file->file >= 0, "cannot create %s", file->part);
        status = norma_agree(file->comm, status);
    }
    H5Pclose(access_list);
    H5Pclose(creation);
    return status;
}

/* Writes the attributes that identify a file of Norma and its state. */
static norma_status mark_running(const norma_result *file)
{
    NORMA_TRY(norma_h5_set_text(file->file, "status", "running"));
    return norma_h5_set_text(file->file, "norma_version", norma_provenance_version_local());
}

norma_status norma_result_create(MPI_Comm world, const char *path,
                                 const norma_result_options *options, norma_result **out)
{
    int topology = MPI_UNDEFINED;
    norma_result *file = NULL;
    char resolved[PATH_MAX] = "";
    norma_h5_prepare_local();
    MPI_Topo_test(world, &topology);
    norma_status status =
        topology == MPI_UNDEFINED
            ? NORMA_CALLOC(file, 1)
            : NORMA_FAIL(NORMA_LIBRARY, "a result file cannot use a Cartesian communicator");
    status = norma_agree(world, status);
    if (status != NORMA_OK) {
        norma_mem_free(file);
        return status;
    }
    MPI_Comm_dup(world, &file->comm);
    MPI_Comm_rank(world, &file->rank);
    file->file = H5I_INVALID_HID;
    file->descriptor = -1;
    file->force = options->force;
    file->resume = options->resume;
    file->extend = options->extend;
    status = file->rank == 0 ? norma_result_resolve_root(path, resolved) : NORMA_OK;
    status = norma_agree(file->comm, status);
    MPI_Bcast(resolved, PATH_MAX, MPI_CHAR, 0, file->comm);
    if (status == NORMA_OK)
        status = allocate(file, resolved);
    if (status == NORMA_OK && file->rank == 0)
        status = norma_result_check_path_root(path, options);
    if (status == NORMA_OK && file->rank == 0)
        status = norma_claim_part_root(file);
    status = norma_agree(file->comm, status);
    if (status == NORMA_OK)
        status = norma_agree(file->comm, norma_claim_check_reach_local(file));
    if (status == NORMA_OK)
        status = norma_result_reserve(file, object_room);
    if (status == NORMA_OK)
        status = open_parallel(file);
    if (status == NORMA_OK)
        status = norma_agree(file->comm, mark_running(file));
    if (status != NORMA_OK) {
        norma_result_abandon(&file);
        return status;
    }
    *out = file;
    return NORMA_OK;
}

/* Reserves space for `bytes` more. HDF5 does not report how long a file under MPI-IO will be, so
 * that file->promised is an upper bound, which each flush corrects. */
static norma_status reserve_root(norma_result *file, int64_t bytes)
{
    struct statvfs about;
    file->promised += bytes > 0 ? bytes + bytes / 1024 + object_room : 0;
    int64_t length = file->promised + metadata_room;
    if (fallocate(file->descriptor, FALLOC_FL_KEEP_SIZE, 0, (off_t)length) == 0)
        return NORMA_OK;
    int reason = errno;
    double available = 0;
    if (fstatvfs(file->descriptor, &about) == 0)
        available = (double)about.f_bavail * (double)about.f_frsize;
    /* The file system cannot reserve space: compare with the space that it calls available. */
    if (reason != ENOSPC && reason != EDQUOT && reason != EFBIG &&
        (double)(bytes + metadata_room) <= available)
        return NORMA_OK;
    char why[160];
    snprintf(why, sizeof why, "%s", strerror(reason));
    if (reason == EFBIG)
        norma_guard_append_limit_local(why, sizeof why);
    return NORMA_FAIL(NORMA_IO,
                      "cannot write %s: %lld bytes are needed for the file so far, %.0f are "
                      "available on top of what it has (%s)",
                      file->part, (long long)length, available, why);
}

norma_status norma_result_reserve(norma_result *file, int64_t bytes)
{
    return norma_agree(file->comm, file->rank == 0 ? reserve_root(file, bytes) : NORMA_OK);
}

/* HDF5 reports success even where it could not write its metadata. So space for them is reserved
 * before the flush, and the bytes in the file are checked after it. */
static norma_status flush(norma_result *file)
{
    struct stat about;
    norma_status status = file->rank == 0 ? norma_claim_check_root(file) : NORMA_OK;
    if (status == NORMA_OK)
        status = norma_result_spill_local(file);
    status = norma_agree(file->comm, status);
    if (status == NORMA_OK)
        status = norma_result_reserve(file, 0);
    if (status != NORMA_OK)
        return status;
    herr_t result = H5Fflush(file->file, H5F_SCOPE_GLOBAL);
    status = NORMA_H5_WROTE(result >= 0, "cannot write %s", file->part);
    if (status == NORMA_OK && file->rank == 0 && fstat(file->descriptor, &about) == 0)
        file->promised = (int64_t)about.st_size;
    status = norma_agree(file->comm, status);
    if (status == NORMA_OK)
        status = norma_agree(file->comm, norma_result_verify_local(file));
    return status;
}

norma_status norma_result_begin(norma_result *file)
{
    return flush(file);
}

norma_status norma_result_flush(norma_result *file)
{
    norma_status status = flush(file);
    if (status == NORMA_OK)
        file->has_cells = true;
    return status;
}

static norma_status sync_folder_root(const char *path)
{
    char folder[PATH_MAX];
    norma_result_folder_local(path, folder);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* Some file systems cannot sync a folder (EINVAL), which is no error. */
    if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP)) {
        int reason = errno;
        if (fd >= 0)
            close(fd);
        return NORMA_FAIL(NORMA_IO, "cannot sync folder %s: %s", folder, strerror(reason));
    }
    close(fd);
    return NORMA_OK;
}

/* Renames the closed FILE.part to FILE, after a check that it opens and has the right status. */
static norma_status publish_root(norma_result *file, const char *end)
{
    char found[32];
    struct stat about;
    norma_result_status_root(file->part, found);
    if (strcmp(found, end) != 0)
        return NORMA_FAIL(NORMA_IO, "%s is damaged: what was written does not open", file->part);
    /* Releases the space that was reserved behind the end. */
    if (fstat(file->descriptor, &about) != 0 || ftruncate(file->descriptor, about.st_size) != 0 ||
        fsync(file->descriptor) != 0)
        return NORMA_FAIL(NORMA_IO, "cannot write %s: %s", file->part, strerror(errno));
    norma_result_status_root(file->path, found);
    if (!file->force && !(file->resume && strcmp(found, "stopped") == 0) &&
        !(file->extend && strcmp(found, "complete") == 0) && lstat(file->path, &about) == 0)
        return NORMA_FAIL(NORMA_IO,
                          "%s appeared during the run: it is not replaced; the results "
                          "are in %s",
                          file->path, file->part);
    if (rename(file->part, file->path) != 0)
        return NORMA_FAIL(NORMA_IO, "cannot rename %s to %s: %s", file->part, file->path,
                          strerror(errno));
    return sync_folder_root(file->path);
}

norma_status norma_result_close(norma_result **file, norma_result_end end)
{
    norma_result *f = *file;
    static const char *const names[] = {[NORMA_RESULT_COMPLETE] = "complete",
                                        [NORMA_RESULT_STOPPED] = "stopped",
                                        [NORMA_RESULT_PARTIAL] = "partial"};
    const char *text = names[end];
    char now[24] = "";
    if (f->rank == 0)
        norma_provenance_now_local(now);
    MPI_Bcast(now, (int)sizeof now, MPI_CHAR, 0, f->comm);
    norma_status status = norma_h5_set_text(f->file, "finished", now);
    if (status == NORMA_OK)
        status = norma_h5_set_text(f->file, "status", text);
    status = norma_agree(f->comm, status);
    if (status == NORMA_OK)
        status = flush(f);
    if (status == NORMA_OK) {
        herr_t result = H5Fclose(f->file);
        status = NORMA_H5_WROTE(result >= 0, "cannot write %s", f->part);
        f->file = H5I_INVALID_HID;
        status = norma_agree(f->comm, status);
    }
    if (status == NORMA_OK) {
        f->has_cells = true;
        status = norma_agree(f->comm, f->rank == 0 ? publish_root(f, text) : NORMA_OK);
    }
    if (status != NORMA_OK) {
        norma_result_abandon(file);
        return status;
    }
    destroy(file);
    return NORMA_OK;
}

static void tidy_part_root(norma_result *file)
{
    hid_t part = file->has_cells ? H5Fopen(file->part, H5F_ACC_RDONLY, H5P_DEFAULT) : -1;
    if (part >= 0) {
        H5Fclose(part);
        norma_log_info("finished cells are kept in %s", file->part);
    } else {
        unlink(file->part);
    }
}

norma_status norma_result_is_complete(MPI_Comm world, const char *path, bool *out)
{
    char found[32] = "";
    int complete = 0;
    int rank = 0;
    norma_h5_prepare_local();
    MPI_Comm_rank(world, &rank);
    if (rank == 0) {
        norma_result_status_root(path, found);
        complete = strcmp(found, "complete") == 0 ? 1 : 0;
    }
    MPI_Bcast(&complete, 1, MPI_INT, 0, world);
    *out = complete != 0;
    return NORMA_OK;
}

void norma_result_discard(norma_result **file)
{
    if (*file)
        (*file)->has_cells = false;
    norma_result_abandon(file);
}

void norma_result_abandon(norma_result **file)
{
    norma_result *f = *file;
    if (!f)
        return;
    if (f->file >= 0)
        H5Fclose(f->file);
    MPI_Barrier(f->comm);
    /* Without the claim, FILE.part belongs to another run. */
    if (norma_claim_holds_root(f))
        tidy_part_root(f);
    H5Eclear2(H5E_DEFAULT);
    norma_guard_clear_local();
    MPI_Barrier(f->comm);
    destroy(file);
}
