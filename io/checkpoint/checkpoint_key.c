#include "io/checkpoint/checkpoint_key.h"

#include "src/base/mem.h"
#include "src/base/text.h"

#include <stdio.h>
#include <string.h>

enum { KEY_LENGTH = 64 };

/* The key and value of a line; false for one without a key. Values in quotes may hold '#'. */
static bool parse_line(const char *line, char key[KEY_LENGTH], const char **value, int64_t *length)
{
    size_t end = strcspn(line, "\n");
    const char *colon = memchr(line, ':', end);
    if (strncmp(line, "  ", 2) != 0 || line[2] == '#' || !colon || colon - line - 2 >= KEY_LENGTH)
        return false;
    snprintf(key, KEY_LENGTH, "%.*s", (int)(colon - line - 2), line + 2);
    const char *at = colon + 1;
    while (*at == ' ')
        at++;
    bool quoted = false;
    const char *stop = at;
    while (stop < line + end && (quoted || strncmp(stop, "  #", 3) != 0)) {
        if (*stop == '\\' && quoted)
            stop++;
        else if (*stop == '"')
            quoted = !quoted;
        stop++;
    }
    *value = at;
    *length = stop - at;
    return true;
}

static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return *line ? line + 1 : line;
}

const char *norma_checkpoint_value_local(const char *configuration, const char *key,
                                         int64_t *length)
{
    char found[KEY_LENGTH];
    const char *value = NULL;
    for (const char *line = configuration; *line; line = next_line(line))
        if (parse_line(line, found, &value, length) && strcmp(found, key) == 0)
            return value;
    return NULL;
}

static bool is_free(const char *key, const char *const *free_keys)
{
    for (; free_keys && *free_keys; free_keys++)
        if (strcmp(key, *free_keys) == 0)
            return true;
    return strcmp(key, NORMA_CHECKPOINT_KERNEL) == 0;
}

/* Appends "key was A there and is B now"; texts of `length` bytes, NULL: not set. */
static void append_difference(const char *key, const char *stored, int64_t stored_length,
                              const char *mine, int64_t length, norma_text *out)
{
    char quoted[2][NORMA_TEXT_QUOTED];
    norma_text_append(out, "%s%s was %s there and is %s now", out->length > 0 ? ", " : "", key,
                      stored ? norma_text_quote(stored, (size_t)stored_length, quoted[0])
                             : "not set",
                      mine ? norma_text_quote(mine, (size_t)length, quoted[1]) : "not set");
}

/* The keys of the stored configuration whose values differ now. */
static void compare_stored(const char *stored, const char *mine, const char *const *free_keys,
                           norma_text *out)
{
    char key[KEY_LENGTH];
    const char *value = NULL;
    int64_t length = 0;
    for (const char *line = stored; *line; line = next_line(line)) {
        int64_t other_length = 0;
        if (!parse_line(line, key, &value, &length) || is_free(key, free_keys))
            continue;
        const char *other = norma_checkpoint_value_local(mine, key, &other_length);
        if (!other || other_length != length || memcmp(other, value, (size_t)length) != 0)
            append_difference(key, value, length, other, other_length, out);
    }
}

/* The keys that have a value now only. */
static void compare_new(const char *stored, const char *mine, const char *const *free_keys,
                        norma_text *out)
{
    char key[KEY_LENGTH];
    const char *value = NULL;
    int64_t length = 0;
    for (const char *line = mine; *line; line = next_line(line)) {
        int64_t ignored = 0;
        if (parse_line(line, key, &value, &length) && !is_free(key, free_keys) &&
            !norma_checkpoint_value_local(stored, key, &ignored))
            append_difference(key, NULL, 0, value, length, out);
    }
}

norma_status norma_checkpoint_compare_local(const char *folder, const char *stored,
                                            const char *mine, const char *const *free_keys)
{
    norma_text text;
    char *differences = NULL;
    norma_text_init(&text);
    norma_text_append(&text, "%s", "");
    compare_stored(stored, mine, free_keys, &text);
    compare_new(stored, mine, free_keys, &text);
    NORMA_TRY(norma_text_take(&text, &differences));
    norma_status status =
        differences[0]
            ? NORMA_FAIL(NORMA_CONFIG,
                         "%s is of another configuration: %.600s; resume with the same, or --force "
                         "without --resume to start over",
                         folder, differences)
            : NORMA_OK;
    norma_mem_free(differences);
    return status;
}
