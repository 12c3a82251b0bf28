/* CIFAR's binary files, plain and gzip. */
#include "io/input/cifar.h"
#include "src/base/mem.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *pixels = NULL;
    int32_t *labels = NULL;
    if (norma_cifar_read_root(fuzz_file(data, size), 1, &pixels, &labels) == NORMA_OK) {
        norma_mem_free(pixels);
        norma_mem_free(labels);
    }
    fuzz_end();
    return 0;
}
