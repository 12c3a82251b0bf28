#include "io/result/result_claim.h"

#include "src/base/status.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Does a process have this file open? No for those whose open files we may not see. */
static bool has_open(const char *process, const struct stat *file)
{
    char folder[64];
    struct dirent *entry = NULL;
    struct stat about;
    bool found = false;
    snprintf(folder, sizeof folder, "/proc/%.20s/fd", process);
    DIR *open_files = opendir(folder);
    if (!open_files)
        return false;
    while (!found && (entry = readdir(open_files)))
        found = fstatat(dirfd(open_files), entry->d_name, &about, 0) == 0 &&
                about.st_ino == file->st_ino && about.st_dev == file->st_dev;
    closedir(open_files);
    return found;
}

/* The number of a process of this host that has the file open; 0 when none is seen. */
static long find_writer(const char *path)
{
    struct stat about;
    struct dirent *entry = NULL;
    long writer = 0;
    if (stat(path, &about) != 0)
        return 0;
    DIR *processes = opendir("/proc");
    if (!processes)
        return 0;
    while (writer == 0 && (entry = readdir(processes)))
        if (isdigit((unsigned char)entry->d_name[0]) && has_open(entry->d_name, &about))
            writer = strtol(entry->d_name, NULL, 10);
    closedir(processes);
    return writer;
}

norma_status norma_claim_check_writer_root(const char *path, const char *part)
{
    long writer = find_writer(part);
    if (writer == 0)
        return NORMA_OK;
    return NORMA_FAIL(NORMA_CONFIG,
                      "output %s is being written by another run (process %ld has %s open): "
                      "choose another name, or end that run first",
                      path, writer, part);
}

/* One that a dead run left is removed and not written over, so that, should that run be alive on
 * another host, it notices and mixes nothing into ours. No locks: MPI libraries lock the file
 * themselves and would wait for ours, and network file systems may not have them. */
norma_status norma_claim_part_root(norma_result *file)
{
    NORMA_TRY(norma_claim_check_writer_root(file->path, file->part));
    if (unlink(file->part) != 0 && errno != ENOENT)
        return NORMA_FAIL(NORMA_IO, "cannot replace %s: %s", file->part, strerror(errno));
    file->descriptor = open(file->part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file->descriptor < 0)
        return NORMA_FAIL(NORMA_IO, "cannot write %s: %s", file->part, strerror(errno));
    return NORMA_OK;
}

bool norma_claim_holds_root(const norma_result *file)
{
    struct stat named;
    struct stat opened;
    return file->descriptor >= 0 && stat(file->part, &named) == 0 &&
           fstat(file->descriptor, &opened) == 0 && named.st_ino == opened.st_ino &&
           named.st_dev == opened.st_dev;
}

norma_status norma_claim_check_root(const norma_result *file)
{
    return norma_claim_holds_root(file)
               ? NORMA_OK
               : NORMA_FAIL(NORMA_IO,
                            "%s was removed, or replaced by another run with the same "
                            "output",
                            file->part);
}

norma_status norma_claim_check_reach_local(const norma_result *file)
{
    struct utsname machine;
    int fd = open(file->part, O_RDWR | O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
        return NORMA_OK;
    }
    int reason = errno;
    return NORMA_FAIL(NORMA_IO,
                      "cannot write %s from host %s: %s; its folder must be one that all hosts of "
                      "the run share",
                      file->part, uname(&machine) == 0 ? machine.nodename : "?", strerror(reason));
}

void norma_claim_release_root(norma_result *file)
{
    if (file->descriptor >= 0)
        close(file->descriptor);
    file->descriptor = -1;
}
