#include "src/base/names.h"

#include "src/base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

norma_names norma_names_of_list(const char *kind, const char *const *list)
{
    norma_names names = {.kind = kind, .table = list, .size = sizeof *list};
    while (list[names.n])
        names.n++;
    return names;
}

/* The texts that descriptor i begins with. */
static const char *const *texts(const norma_names *names, int64_t i)
{
    return (const void *)((const char *)names->table + (size_t)i * names->size);
}

static bool is_member(const norma_names *names, int64_t i)
{
    return i >= 0 && i < names->n && (!names->takes || names->takes(i));
}

const char *norma_names_name(const norma_names *names, int64_t i)
{
    return is_member(names, i) ? texts(names, i)[0] : NULL;
}

const char *norma_names_summary(const norma_names *names, int64_t i)
{
    return is_member(names, i) && names->size >= 2 * sizeof(char *) ? texts(names, i)[1] : NULL;
}

int64_t norma_names_next(const norma_names *names, int64_t i)
{
    while (i < names->n && !is_member(names, i))
        i++;
    return i;
}

static int plain(char c, bool ignore_case)
{
    return c == '_' ? '-' : ignore_case ? tolower((unsigned char)c) : c;
}

static bool is_same(const char *a, const char *b, bool ignore_case)
{
    while (*a && plain(*a, ignore_case) == plain(*b, ignore_case)) {
        a++;
        b++;
    }
    return *a == '\0' && *b == '\0';
}

static int64_t find(const norma_names *names, const char *name, bool ignore_case)
{
    for (int64_t i = norma_names_next(names, 0); i < names->n; i = norma_names_next(names, i + 1))
        if (is_same(name, texts(names, i)[0], ignore_case))
            return i;
    return -1;
}

int64_t norma_names_index(const norma_names *names, const char *name)
{
    int64_t i = find(names, name, names->synonyms != NULL);
    for (const norma_synonym *s = names->synonyms; i < 0 && s && s->other; s++)
        if (is_same(name, s->other, true))
            i = find(names, s->name, false);
    return i;
}

static void append_unknown(const norma_names *names, const char *name, norma_text *out)
{
    char quoted[NORMA_TEXT_QUOTED];
    norma_text_search search;
    norma_text_search_init(&search, name);
    for (int64_t i = norma_names_next(names, 0); i < names->n; i = norma_names_next(names, i + 1))
        norma_text_search_offer(&search, texts(names, i)[0]);
    const char *nearest = norma_text_search_result(&search);
    norma_text_append(out, "unknown %s %s%s%s%s Known:", names->kind,
                      norma_text_quote(name, strlen(name), quoted),
                      nearest ? "; did you mean '" : ".", nearest ? nearest : "",
                      nearest ? "'?" : "");
    const char *separator = " ";
    for (int64_t i = norma_names_next(names, 0); i < names->n; i = norma_names_next(names, i + 1)) {
        norma_text_append(out, "%s%s", separator, texts(names, i)[0]);
        separator = ", ";
    }
}

int norma_names_list(const norma_names *names, const char *list[NORMA_NAMES_MOST])
{
    int n = 0;
    while (n < names->n && n < NORMA_NAMES_MOST) {
        list[n] = texts(names, n)[0];
        n++;
    }
    return n;
}

const char *norma_names_join(const norma_names *names, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int64_t i = norma_names_next(names, 0); i < names->n && used < size;) {
        int64_t after = norma_names_next(names, i + 1);
        bool is_last = after >= names->n;
        int length = snprintf(out + used, size - used, "%s%s",
                              used == 0 ? ""
                              : is_last ? " and "
                                        : ", ",
                              texts(names, i)[0]);
        used += length > 0 ? (size_t)length : 0;
        i = after;
    }
    return out;
}

norma_status norma_names_fail(const norma_names *names, norma_status status, const char *name)
{
    norma_text text;
    norma_text_init(&text);
    append_unknown(names, name, &text);
    if (text.status == NORMA_OK)
        (void)NORMA_FAIL(status, "%s", text.data);
    else
        status = text.status;
    norma_text_clear(&text);
    return status;
}

norma_status norma_names_find(const norma_names *names, const char *name, int64_t *out)
{
    int64_t i = norma_names_index(names, name);
    if (i < 0)
        return norma_names_fail(names, NORMA_CONFIG, name);
    *out = i;
    return NORMA_OK;
}
