#include "io/checkpoint/checkpoint_file.h"

#include "src/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "NORMACK1" as this machine stores it. */
static const uint64_t block_magic = 0x4e4f524d41434b31u;

uint64_t norma_block_hash_local(uint64_t hash, const void *bytes, int64_t size)
{
    const uint64_t prime = 1099511628211u;
    const unsigned char *at = bytes;
    int64_t i = 0;
    for (; i + 8 <= size; i += 8) {
        uint64_t word = 0;
        memcpy(&word, at + i, sizeof word);
        hash = (hash ^ word) * prime;
        hash ^= hash >> 29; /* upper bits of a word reach the lower ones */
    }
    for (; i < size; i++)
        hash = (hash ^ at[i]) * prime;
    return hash;
}

uint64_t norma_block_check_local(uint64_t key, const norma_block_header *header, const void *bytes)
{
    int64_t fields[] = {header->task, header->sequence, header->size};
    uint64_t hash = norma_block_hash_local(key, fields, (int64_t)sizeof fields);
    return norma_block_hash_local(hash, bytes, header->size);
}

/* All of it, or -1 with errno. */
static int write_all(int descriptor, const void *bytes, int64_t size)
{
    const char *at = bytes;
    while (size > 0) {
        ssize_t n = write(descriptor, at, (size_t)size);
        if (n < 0 && errno != EINTR)
            return -1;
        if (n > 0) {
            at += n;
            size -= n;
        }
    }
    return 0;
}

/* Bytes read, up to size; fewer at the end of the file or on an error. */
static int64_t read_all(int descriptor, void *bytes, int64_t size)
{
    char *at = bytes;
    int64_t done = 0;
    while (done < size) {
        ssize_t n = read(descriptor, at + done, (size_t)(size - done));
        if (n == 0 || (n < 0 && errno != EINTR))
            break;
        done += n > 0 ? n : 0;
    }
    return done;
}

norma_status norma_block_write_local(int descriptor, const char *path, uint64_t key, int64_t task,
                                     int64_t sequence, const void *bytes, int64_t size)
{
    norma_block_header header = {block_magic, task, sequence, size, 0};
    header.check = norma_block_check_local(key, &header, bytes);
    if (write_all(descriptor, &header, (int64_t)sizeof header) == 0 &&
        write_all(descriptor, bytes, size) == 0)
        return NORMA_OK;
    return NORMA_FAIL(NORMA_IO, "cannot write %lld bytes to %s: %s",
                      (long long)size + (long long)sizeof header, path, strerror(errno));
}

norma_status norma_block_read_local(int descriptor, const char *path, uint64_t key,
                                    norma_block_header *header, void **bytes)
{
    struct stat about;
    unsigned char *content = NULL;
    *bytes = NULL;
    if (fstat(descriptor, &about) != 0)
        return NORMA_FAIL(NORMA_IO, "cannot read %s: %s", path, strerror(errno));
    if (read_all(descriptor, header, (int64_t)sizeof *header) != (int64_t)sizeof *header ||
        header->magic != block_magic || header->size < 0 || header->size > about.st_size)
        return NORMA_OK;
    NORMA_TRY(NORMA_ALLOC(content, header->size));
    if (read_all(descriptor, content, header->size) == header->size &&
        norma_block_check_local(key, header, content) == header->check)
        *bytes = content;
    else
        norma_mem_free(content);
    return NORMA_OK;
}

norma_status norma_block_sync_folder_local(const char *folder)
{
    norma_status status = NORMA_OK;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* Some file systems cannot sync a folder (EINVAL): they have nothing better to offer. */
    if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP))
        status = NORMA_FAIL(NORMA_IO, "cannot sync folder %s: %s", folder, strerror(errno));
    if (fd >= 0)
        close(fd);
    return status;
}
