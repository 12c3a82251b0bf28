/* IDX files, plain and gzip. */
#include "io/input/idx.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    norma_idx idx = {0};
    const char *path = fuzz_file(data, size);
    if (norma_idx_read_root(path, 1, NORMA_IDX_MAX_AXES, size > 4 ? data[3] % 4 : 0, &idx) ==
        NORMA_OK)
        norma_idx_clear(&idx);
    fuzz_end();
    return 0;
}
