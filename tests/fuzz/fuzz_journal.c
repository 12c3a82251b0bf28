/* Blocks of a checkpoint, followed by any bytes: the block comes back, and of the rest only what
 * has a right checksum. */
#include "io/checkpoint/checkpoint_file.h"
#include "src/base/mem.h"
#include "tests/fuzz/fuzz_file.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { KEY = 7, TASK = 3 };

/* Reads blocks until there is no whole one; returns how many of them are the written one. */
static int64_t read_blocks(int descriptor, const char *path, const uint8_t *data, size_t size)
{
    int64_t n_equal = 0;
    for (;;) {
        norma_block_header header;
        void *bytes = NULL;
        if (norma_block_read_local(descriptor, path, KEY, &header, &bytes) != NORMA_OK || !bytes)
            return n_equal;
        if (header.check != norma_block_check_local(KEY, &header, bytes))
            fuzz_finding("a block with a wrong checksum");
        n_equal +=
            header.task == TASK && header.size == (int64_t)size && memcmp(bytes, data, size) == 0;
        norma_mem_free(bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, 0);
    int descriptor = open(path, O_RDWR);
    if (size == 0)
        size = 1, data = (const uint8_t *)"x";
    if (norma_block_write_local(descriptor, path, KEY, TASK, 1, data, (int64_t)size) != NORMA_OK ||
        write(descriptor, data, size) != (ssize_t)size || lseek(descriptor, 0, SEEK_SET) != 0)
        fuzz_finding("the file cannot be written");
    if (read_blocks(descriptor, path, data, size) < 1)
        fuzz_finding("the written block does not come back");
    close(descriptor);
    fuzz_end();
    return 0;
}
