#include "tests/fuzz/fuzz_file.h"

#include "src/base/mem.h"
#include "src/base/status.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char path[64];

static void remove_file(void)
{
    unlink(path);
}

const char *fuzz_file(const uint8_t *data, size_t size)
{
    if (!path[0]) {
        snprintf(path, sizeof path, "/dev/shm/norma-fuzz-%ld", (long)getpid());
        atexit(remove_file);
    }
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (descriptor < 0 || write(descriptor, data, size) != (ssize_t)size)
        fuzz_finding("the file cannot be written");
    close(descriptor);
    return path;
}

void fuzz_finding(const char *message)
{
    fprintf(stderr, "%s\n", message);
    abort();
}

void fuzz_end(void)
{
    norma_status_clear();
    if (norma_mem_live() != 0)
        fuzz_finding("allocations are alive");
}
