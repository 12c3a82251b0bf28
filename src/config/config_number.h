#ifndef NORMA_CONFIG_CONFIG_NUMBER_H
#define NORMA_CONFIG_CONFIG_NUMBER_H
/* Numbers as people write them, strictly. Local; `text` is zero-terminated and read whole. */
#include <stdbool.h>
#include <stdint.h>

typedef enum norma_number_result {
    NORMA_NUMBER_OK,
    NORMA_NUMBER_MALFORMED,  /* no number at all */
    NORMA_NUMBER_FRACTIONAL, /* 1.5 where a whole number is wanted */
    NORMA_NUMBER_OVERFLOW    /* beyond the type (doubles: to infinity, or to 0) */
} norma_number_result;

/* A whole number in decimal, also as 1e6 or 2.0: exact or refused. */
norma_number_result norma_number_read_integer(const char *text, int64_t *out);
norma_number_result norma_number_read_unsigned(const char *text, uint64_t *out);

/* A decimal number, inf, .inf, nan, .nan (any case, sign allowed). */
norma_number_result norma_number_read_real(const char *text, double *out);

/* 90 (seconds), 90s, 1.5h, 15min, 2d, HH:MM:SS, D-HH:MM:SS; seconds, never negative. */
norma_number_result norma_number_read_duration(const char *text, double *out);

#endif
