#include "io/config/config_text.h"

#include "mpi/runtime/agree.h"
#include "src/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *name_of(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* Without O_NONBLOCK, opening a pipe nobody writes to would wait for ever. */
static norma_status open_root(const char *path, int *file)
{
    struct stat about;
    *file =
        strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (*file < 0) {
        int reason = errno;
        bool of_shell = strncmp(path, "/dev/fd/", 8) == 0;
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s%s", name_of(path), strerror(reason),
                          of_shell ? ": launchers do not pass on the pipes of a shell; give "
                                     "--config - and the text on standard input"
                                   : "");
    }
    if (fstat(*file, &about) != 0)
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s", name_of(path), strerror(errno));
    if (S_ISDIR(about.st_mode))
        return NORMA_FAIL(NORMA_CONFIG, "%s: is a directory; a file was expected", path);
    if (S_ISREG(about.st_mode) && about.st_size > NORMA_CONFIG_LARGEST_FILE)
        return NORMA_FAIL(NORMA_CONFIG, "%s: %lld bytes; a configuration has at most %lld", path,
                          (long long)about.st_size, (long long)NORMA_CONFIG_LARGEST_FILE);
    return NORMA_OK;
}

/* The next bytes, 0 at the end; waits for those of a pipe that somebody writes to. */
static norma_status read_piece_root(int file, const char *path, char *bytes, int64_t size,
                                    int64_t *n)
{
    for (;;) {
        struct pollfd ready = {.fd = file, .events = POLLIN};
        ssize_t got = read(file, bytes, (size_t)size);
        if (got >= 0) {
            *n = got;
            return NORMA_OK;
        }
        if (errno == EAGAIN)
            (void)poll(&ready, 1, -1);
        else if (errno != EINTR)
            return NORMA_FAIL(NORMA_CONFIG, "%s: %s", name_of(path), strerror(errno));
    }
}

/* All of a file or pipe, and a zero. */
static norma_status read_bytes_root(int file, const char *path, char **text, int64_t *length)
{
    char *bytes = NULL;
    int64_t size = 0;
    int64_t n = 1;
    int64_t room = (int64_t)1 << 16;
    norma_status status = NORMA_ALLOC(bytes, room);
    while (status == NORMA_OK && n > 0) {
        if (size + 1 == room) {
            char *more = norma_mem_resize(bytes, room, 2 * room, 1, __FILE__, __LINE__);
            bytes = more ? more : bytes;
            room *= more ? 2 : 1;
            status = more ? NORMA_OK : NORMA_MEMORY;
        }
        if (status == NORMA_OK)
            status = read_piece_root(file, path, bytes + size, room - 1 - size, &n);
        if (status == NORMA_OK)
            size += n;
        if (status == NORMA_OK && size > NORMA_CONFIG_LARGEST_FILE)
            status = NORMA_FAIL(NORMA_CONFIG, "%s: a configuration has at most %lld bytes",
                                name_of(path), (long long)NORMA_CONFIG_LARGEST_FILE);
    }
    if (status == NORMA_OK) {
        bytes[size] = '\0';
        *text = bytes;
        *length = size;
        bytes = NULL;
    }
    NORMA_FREE(bytes);
    return status;
}

static norma_status read_root(const char *path, char **text, int64_t *length)
{
    struct stat about;
    int file = -1;
    norma_status status = open_root(path, &file);
    if (status == NORMA_OK)
        status = read_bytes_root(file, path, text, length);
    if (status == NORMA_OK && *length == 0 && fstat(file, &about) == 0 && !S_ISREG(about.st_mode)) {
        NORMA_FREE(*text);
        status = NORMA_FAIL(NORMA_CONFIG, "%s: gave no text: is there a program that writes to it?",
                            name_of(path));
    }
    if (file >= 0)
        close(file);
    return status;
}

norma_status norma_config_text_read(MPI_Comm comm, const char *path, char **text, int64_t *length)
{
    char *bytes = NULL;
    int64_t size = 0;
    int rank = 0;
    norma_status status = NORMA_OK;
    MPI_Comm_rank(comm, &rank);
    if (rank == 0)
        status = read_root(path, &bytes, &size);
    NORMA_GOTO(status, norma_agree(comm, status));

    MPI_Bcast(&size, 1, MPI_INT64_T, 0, comm);
    if (rank != 0)
        status = NORMA_ALLOC(bytes, size + 1);
    NORMA_GOTO(status, norma_agree(comm, status));
    MPI_Bcast(bytes, (int)(size + 1), MPI_BYTE, 0, comm);
    *text = bytes;
    *length = size;
    bytes = NULL;
done:
    NORMA_FREE(bytes);
    return status;
}
