#include "io/config/config_text.h"

#include "mpi/runtime/agree.h"
#include "src/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Refuses what is no file of bearable size; *size is the size. */
static norma_status check_root(int file, const char *path, int64_t *size)
{
    struct stat about;
    if (fstat(file, &about) != 0)
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s", path, strerror(errno));
    if (S_ISDIR(about.st_mode))
        return NORMA_FAIL(NORMA_CONFIG, "%s: is a directory; a file was expected", path);
    if (!S_ISREG(about.st_mode))
        return NORMA_FAIL(NORMA_CONFIG, "%s: is not a regular file", path);
    if (about.st_size > NORMA_CONFIG_LARGEST_FILE)
        return NORMA_FAIL(NORMA_CONFIG, "%s: %lld bytes; a configuration has at most %lld", path,
                          (long long)about.st_size, (long long)NORMA_CONFIG_LARGEST_FILE);
    *size = (int64_t)about.st_size;
    return NORMA_OK;
}

/* Reads `size` bytes; a file that shrinks meanwhile is an error. */
static norma_status read_bytes_root(int file, const char *path, char *bytes, int64_t size)
{
    int64_t done = 0;
    while (done < size) {
        ssize_t n = read(file, bytes + done, (size_t)(size - done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return NORMA_FAIL(NORMA_CONFIG, "%s: %s", path, strerror(errno));
        if (n == 0)
            return NORMA_FAIL(NORMA_CONFIG, "%s: ended while it was read", path);
        done += n;
    }
    return NORMA_OK;
}

static norma_status read_root(const char *path, char **text, int64_t *length)
{
    norma_status status = NORMA_OK;
    char *bytes = NULL;
    int64_t size = 0;
    /* Without O_NONBLOCK, opening a pipe nobody writes to would wait for ever. */
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s", path, strerror(errno));
    NORMA_GOTO(status, check_root(file, path, &size));
    NORMA_GOTO(status, NORMA_ALLOC(bytes, size + 1));
    NORMA_GOTO(status, read_bytes_root(file, path, bytes, size));
    bytes[size] = '\0';
    *text = bytes;
    *length = size;
    bytes = NULL;
done:
    NORMA_FREE(bytes);
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
