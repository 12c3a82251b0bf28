/* Follows the name of an output to the file that it leads to, and checks that a run may write it.
 */
#include "io/result/h5.h"
#include "io/result/result_claim.h"
#include "io/result/result_internal.h"
#include "src/base/mem.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

void norma_result_folder_local(const char *path, char folder[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 1;
    if (slash == path)
        length = 1;
    snprintf(folder, PATH_MAX, "%.*s", (int)length, slash ? path : ".");
}

norma_status norma_result_resolve_root(const char *path, char out[PATH_MAX])
{
    enum { MOST_LINKS = 40 };
    struct stat about;
    if (strlen(path) + sizeof ".part" > PATH_MAX)
        return NORMA_FAIL(NORMA_CONFIG, "the name of the output is too long (%zu bytes)",
                          strlen(path));
    snprintf(out, PATH_MAX, "%s", path);
    for (int k = 0; k < MOST_LINKS; k++) {
        char goal[PATH_MAX];
        char folder[PATH_MAX];
        char next[2 * PATH_MAX];
        if (lstat(out, &about) != 0 || !S_ISLNK(about.st_mode))
            return NORMA_OK;
        ssize_t n = readlink(out, goal, sizeof goal - 1);
        if (n < 0)
            return NORMA_FAIL(NORMA_IO, "output %s: the link %s cannot be read: %s", path, out,
                              strerror(errno));
        goal[n] = '\0';
        norma_result_folder_local(out, folder);
        int length = goal[0] == '/' ? snprintf(next, sizeof next, "%s", goal)
                                    : snprintf(next, sizeof next, "%s/%s", folder, goal);
        if (length < 0 || (size_t)length + sizeof ".part" > PATH_MAX)
            return NORMA_FAIL(NORMA_CONFIG, "output %s is a link to a name that is too long", path);
        memcpy(out, next, (size_t)length + 1);
    }
    return NORMA_FAIL(NORMA_CONFIG, "output %s is a symbolic link that leads in a circle", path);
}

static norma_status check_path_root(const char *path)
{
    char folder[PATH_MAX];
    struct stat about;
    size_t length = strlen(path);
    if (length == 0 || path[length - 1] == '/')
        return NORMA_FAIL(NORMA_CONFIG, "output '%s' is not a file name", path);
    if (length + sizeof ".part" > PATH_MAX)
        return NORMA_FAIL(NORMA_CONFIG, "the name of the output is too long (%zu bytes)", length);
    norma_result_folder_local(path, folder);
    if (stat(folder, &about) != 0)
        return NORMA_FAIL(NORMA_IO, "cannot write %s: folder %s: %s", path, folder,
                          strerror(errno));
    if (!S_ISDIR(about.st_mode))
        return NORMA_FAIL(NORMA_IO, "cannot write %s: %s is not a folder", path, folder);
    if (access(folder, W_OK | X_OK) != 0)
        return NORMA_FAIL(NORMA_IO, "cannot write %s: folder %s: %s", path, folder,
                          strerror(errno));
    return NORMA_OK;
}

void norma_result_status_root(const char *path, char text[32])
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    char *found = NULL;
    text[0] = '\0';
    if (file < 0) {
        H5Eclear2(H5E_DEFAULT);
        return;
    }
    if (norma_h5_get_text_local(file, "status", &found) == NORMA_OK && found)
        snprintf(text, 32, "%.31s", found);
    norma_mem_free(found);
    H5Fclose(file);
}

static norma_status check_existing_root(const char *path, const norma_result_options *options)
{
    struct stat about;
    char end[32];
    if (lstat(path, &about) != 0)
        return NORMA_OK;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode))
        return NORMA_FAIL(NORMA_CONFIG, "output %s exists and is not a regular file", path);
    if (!norma_h5_is_hdf5_local(path))
        return NORMA_FAIL(NORMA_CONFIG,
                          "output %s exists and is not an HDF5 file: it is not replaced, not even "
                          "with --force",
                          path);
    norma_result_status_root(path, end);
    if (!end[0])
        return NORMA_FAIL(NORMA_CONFIG,
                          "output %s exists and is not a result of Norma: it is not replaced, not "
                          "even with --force",
                          path);
    bool stopped = strcmp(end, "stopped") == 0;
    if (options->force || (options->resume && stopped) ||
        (options->extend && strcmp(end, "complete") == 0))
        return NORMA_OK;
    return NORMA_FAIL(
        NORMA_CONFIG,
        "output %s exists with status %s: %schoose another name, or --force to replace it", path,
        end, stopped ? "--resume continues that run; or " : "");
}

static norma_status check_space_root(const char *path, int64_t bytes)
{
    char folder[PATH_MAX];
    struct statvfs about;
    norma_result_folder_local(path, folder);
    if (bytes <= 0 || statvfs(folder, &about) != 0)
        return NORMA_OK;
    double available = (double)about.f_bavail * (double)about.f_frsize;
    if ((double)bytes <= available)
        return NORMA_OK;
    return NORMA_FAIL(NORMA_LIMIT,
                      "output %s needs %lld bytes, its file system has %.0f available: free space, "
                      "write elsewhere or save less",
                      path, (long long)bytes, available);
}

norma_status norma_result_check_path_root(const char *name, const norma_result_options *options)
{
    char part[PATH_MAX + sizeof ".part"];
    char path[PATH_MAX];
    NORMA_TRY(norma_result_resolve_root(name, path));
    NORMA_TRY(check_path_root(path));
    snprintf(part, sizeof part, "%s.part", path);
    NORMA_TRY(norma_claim_check_writer_root(path, part));
    NORMA_TRY(check_existing_root(path, options));
    return check_space_root(path, options->bytes);
}
