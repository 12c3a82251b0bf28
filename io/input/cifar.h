#ifndef NORMA_IO_INPUT_CIFAR_H
#define NORMA_IO_INPUT_CIFAR_H
/* CIFAR's binary files, plain or gzip: records of a label byte (CIFAR-10) or two (CIFAR-100:
 * coarse, fine) and 3 x 32 x 32 bytes, channels red, green, blue, row-major. Rank 0 only. */
#include "src/base/status.h"

#include <stdint.h>

enum { NORMA_CIFAR_CHANNELS = 3, NORMA_CIFAR_SIDE = 32 };

/* Reads the first n_items of a file whose size tells which of the two it is. The file is read to
 * its end, so that a truncated or damaged one is refused whatever n_items is. Labels are CIFAR-10's
 * 0 to 9 or CIFAR-100's fine ones, 0 to 99; others are refused. The caller owns
 * *pixels[n_items][3][32][32] and *labels[n_items]. */
NORMA_MUST_USE norma_status norma_cifar_read_root(const char *path, int64_t n_items,
                                                  uint8_t **pixels, int32_t **labels);

#endif
