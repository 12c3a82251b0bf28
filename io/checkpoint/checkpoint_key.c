#include "io/checkpoint/checkpoint_key.h"

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

/* Every key of `a` against `b`; a_is_stored says whose is whose. */
static norma_status compare(const char *folder, const char *a, const char *b, bool a_is_stored,
                            const char *const *free_keys)
{
    char key[KEY_LENGTH];
    char quoted[2][NORMA_TEXT_QUOTED];
    const char *value = NULL;
    int64_t length = 0;
    for (const char *line = a; *line; line = next_line(line)) {
        int64_t other_length = 0;
        if (!parse_line(line, key, &value, &length) || is_free(key, free_keys))
            continue;
        const char *other = norma_checkpoint_value_local(b, key, &other_length);
        if (other && other_length == length && memcmp(other, value, (size_t)length) == 0)
            continue;
        const char *mine = norma_text_quote(value, (size_t)length, quoted[0]);
        const char *theirs =
            other ? norma_text_quote(other, (size_t)other_length, quoted[1]) : "not set";
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s is of another configuration: %s was %s there and is %s now; resume "
                          "with the same, or --force without --resume to start over",
                          folder, key, a_is_stored ? mine : theirs, a_is_stored ? theirs : mine);
    }
    return NORMA_OK;
}

norma_status norma_checkpoint_compare_local(const char *folder, const char *stored,
                                            const char *mine, const char *const *free_keys)
{
    NORMA_TRY(compare(folder, stored, mine, true, free_keys));
    return compare(folder, mine, stored, false, free_keys);
}
