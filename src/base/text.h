#ifndef NORMA_BASE_TEXT_H
#define NORMA_BASE_TEXT_H
/* Texts: growing strings, quoting of what others wrote, and the nearest known name to a mistyped
 * one. */
#include "src/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growing string. A failure is kept in `status` and later appends do nothing, so that a writer
 * checks once, at norma_text_take. */
typedef struct norma_text {
    char *data; /* owned; ends with a zero once something was appended */
    int64_t length, capacity;
    norma_status status;
} norma_text;

/* The empty string; allocates nothing. */
void norma_text_init(norma_text *text);

/* Appends as printf does. */
void norma_text_append(norma_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends `length` bytes, any but a zero. */
void norma_text_append_bytes(norma_text *text, const char *bytes, int64_t length);

/* Hands the string over: *out (never NULL on success) is owned by the caller, who frees it with
 * norma_mem_free; `text` is empty again. Returns the first failure of the appends. */
NORMA_MUST_USE norma_status norma_text_take(norma_text *text, char **out);

/* Frees the string; `text` is empty again. */
void norma_text_clear(norma_text *text);

/* Room for norma_text_format_real. */
#define NORMA_TEXT_REAL 32

/* The fewest of 15 to 17 digits that are read back to the same bits; inf, -inf, nan. Returns out.
 */
const char *norma_text_format_real(double value, char out[NORMA_TEXT_REAL]);

/* Room for norma_text_quote, with the closing zero. */
#define NORMA_TEXT_QUOTED 80

/* Puts `length` bytes into quotes for a message: control characters and bytes that are not UTF-8
 * become '?', what does not fit is cut at a character and marked "...". Returns out. */
const char *norma_text_quote(const char *bytes, size_t length, char out[NORMA_TEXT_QUOTED]);

/* The length in bytes of the UTF-8 character that `bytes` (length > 0) begins with, its code point
 * in *code; 0 when it is none (truncated, overlong, a surrogate, above U+10FFFF). */
size_t norma_text_decode(const char *bytes, size_t length, uint32_t *code);

/* Damerau-Levenshtein distance (optimal string alignment): insertions, deletions, replacements and
 * swaps of neighbours that turn a into b; upper and lower case are equal. Names longer than 63
 * bytes are infinitely (INT64_MAX) far from any. */
int64_t norma_text_distance(const char *a, const char *b);

/* A search for the known name nearest to `word`: init, offer every known name, take the result. */
typedef struct norma_text_search {
    const char *word; /* borrowed */
    const char *best; /* borrowed from the offers */
    int64_t distance;
} norma_text_search;

void norma_text_search_init(norma_text_search *search, const char *word);
void norma_text_search_offer(norma_text_search *search, const char *name);

/* The nearest name offered, the first of equals; NULL when none is near enough to be meant: within
 * a third of the letters of the longer one (at least 1), or begun by at least 3 letters of word. */
const char *norma_text_search_result(const norma_text_search *search);

/* The same over n names. Borrowed from names. */
const char *norma_text_nearest(const char *word, const char *const *names, int64_t n);

#endif
