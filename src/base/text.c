#include "src/base/text.h"

#include "src/base/mem.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_NAME 63

void norma_text_init(norma_text *text)
{
    memset(text, 0, sizeof *text);
}

/* Makes room for `length` bytes more and the closing zero. */
static bool reserve(norma_text *text, int64_t length)
{
    if (text->status != NORMA_OK)
        return false;
    int64_t needed = text->length + length + 1;
    if (needed <= text->capacity)
        return true;
    int64_t capacity = needed < 256 ? 256 : 2 * needed;
    char *data = norma_mem_resize(text->data, text->length, capacity, 1, __FILE__, __LINE__);
    if (!data) {
        text->status = NORMA_MEMORY;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void norma_text_append(norma_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0 || !reserve(text, length))
        return;
    va_start(arguments, format);
    vsnprintf(text->data + text->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    text->length += length;
}

void norma_text_append_bytes(norma_text *text, const char *bytes, int64_t length)
{
    if (!reserve(text, length))
        return;
    memcpy(text->data + text->length, bytes, (size_t)length);
    text->length += length;
    text->data[text->length] = '\0';
}

norma_status norma_text_take(norma_text *text, char **out)
{
    norma_text_append_bytes(text, "", 0);
    norma_status status = text->status;
    if (status == NORMA_OK) {
        *out = text->data;
        text->data = NULL;
    }
    norma_text_clear(text);
    return status;
}

void norma_text_clear(norma_text *text)
{
    norma_mem_free(text->data);
    norma_text_init(text);
}

size_t norma_text_decode(const char *bytes, size_t length, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = (unsigned char)bytes[0];
    size_t n = first < 0x80 ? 1 : first < 0xc0 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (n == 0 || n > length || first > 0xf4)
        return 0;
    uint32_t value = n == 1 ? first : first & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        unsigned char next = (unsigned char)bytes[i];
        if ((next & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (next & 0x3fu);
    }
    if (value < least[n] || (value >= 0xd800 && value <= 0xdfff) || value > 0x10ffff)
        return 0;
    *code = value;
    return n;
}

const char *norma_text_quote(const char *bytes, size_t length, char out[NORMA_TEXT_QUOTED])
{
    const size_t room = NORMA_TEXT_QUOTED - sizeof "''...";
    size_t used = 0, i = 0;
    out[used++] = '\'';
    while (i < length) {
        uint32_t code = 0;
        size_t n = norma_text_decode(bytes + i, length - i, &code);
        bool shown = n > 0 && code >= 0x20 && !(code >= 0x7f && code < 0xa0);
        size_t width = shown ? n : 1;
        if (used - 1 + width > room)
            break;
        if (shown)
            memcpy(out + used, bytes + i, n);
        else
            out[used] = '?';
        used += width;
        i += n > 0 ? n : 1;
    }
    snprintf(out + used, NORMA_TEXT_QUOTED - used, i < length ? "...'" : "'");
    return out;
}

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : (unsigned char)c;
}

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t norma_text_distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    if (n > LONGEST_NAME || m > LONGEST_NAME)
        return INT64_MAX;
    /* Rows i - 2, i - 1 and i of the table of distances between beginnings of a and b. */
    int64_t rows[3][LONGEST_NAME + 1];
    int64_t *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= m; j++)
        last[j] = (int64_t)j;
    for (size_t i = 1; i <= n; i++) {
        row[0] = (int64_t)i;
        for (size_t j = 1; j <= m; j++) {
            int64_t replaced = last[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
            row[j] = min(replaced, min(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]))
                row[j] = min(row[j], before[j - 2] + 1);
        }
        int64_t *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[m];
}

void norma_text_search_init(norma_text_search *search, const char *word)
{
    search->word = word;
    search->best = NULL;
    search->distance = INT64_MAX;
}

void norma_text_search_offer(norma_text_search *search, const char *name)
{
    size_t length = strlen(search->word), name_length = strlen(name);
    int64_t distance = norma_text_distance(search->word, name);
    int64_t longer = (int64_t)(length > name_length ? length : name_length);
    bool begun = length >= 3 && length < name_length && strncmp(name, search->word, length) == 0;
    if (begun)
        distance = min(distance, 1);
    else if (distance > (longer >= 6 ? longer / 3 : 1))
        return;
    if (distance < search->distance) {
        search->distance = distance;
        search->best = name;
    }
}

const char *norma_text_search_result(const norma_text_search *search)
{
    return search->best;
}

const char *norma_text_nearest(const char *word, const char *const *names, int64_t n)
{
    norma_text_search search;
    norma_text_search_init(&search, word);
    for (int64_t i = 0; i < n; i++)
        norma_text_search_offer(&search, names[i]);
    return norma_text_search_result(&search);
}

const char *norma_text_format_real(double value, char out[NORMA_TEXT_REAL])
{
    if (isnan(value)) {
        snprintf(out, NORMA_TEXT_REAL, "nan");
        return out;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, NORMA_TEXT_REAL, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            break;
    }
    return out;
}
