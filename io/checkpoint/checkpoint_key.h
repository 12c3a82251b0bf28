#ifndef NORMA_IO_CHECKPOINT_CHECKPOINT_KEY_H
#define NORMA_IO_CHECKPOINT_CHECKPOINT_KEY_H
/* Internal to io/checkpoint/checkpoint*.c: configurations as lines "  key: value  # comment". All
 * local. */
#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* The value of a key, without comment: its beginning and *length; NULL when there is none. */
const char *norma_checkpoint_value_local(const char *configuration, const char *key,
                                         int64_t *length);

/* The key of BLAS's kernels, which may always differ: only rounding depends on them. */
#define NORMA_CHECKPOINT_KERNEL "blas_kernel"

/* NORMA_CONFIG naming the keys whose values differ; free_keys (NULL-terminated) and BLAS's
 * kernels are left out. */
NORMA_MUST_USE norma_status norma_checkpoint_compare_local(const char *folder, const char *stored,
                                                           const char *mine,
                                                           const char *const *free_keys);

#endif
