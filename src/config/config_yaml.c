#include "src/config/config_yaml.h"

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/config/sweep.h"

#include <string.h>
#include <yaml.h>

/* Deepest nesting in other commands' sections: libyaml's time grows with the square of the depth.
 */
#define DEEPEST 100

typedef struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the current one */
    bool has_event;
    const char *path, *text, *name;
    int64_t length;
    const char *const *sections;
    int *seen; /* [number of sections]: line of each section, 0 before it */
} reader;

static int line_of(yaml_mark_t mark)
{
    return (int)mark.line + 1;
}

static int event_line(const reader *r)
{
    return line_of(r->event.start_mark);
}

/* Line of the byte at `offset`. */
static int count_line(const reader *r, size_t offset)
{
    int line = 1;
    for (size_t i = 0; i < offset && i < (size_t)r->length; i++)
        line += r->text[i] == '\n' ||
                (r->text[i] == '\r' && (i + 1 == offset || r->text[i + 1] != '\n'));
    return line;
}

/* By its byte order mark, or by a first letter that has a zero byte. */
static bool is_utf16(const char *text, int64_t length)
{
    if (length < 2)
        return false;
    return memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0 ||
           (text[0] == '\0') != (text[1] == '\0');
}

/* libyaml would name the byte only, and count a zero as any other character. */
static norma_status check_characters(const reader *r)
{
    if (is_utf16(r->text, r->length))
        return NORMA_FAIL(NORMA_CONFIG, "%s: is UTF-16; save it as UTF-8", r->path);
    for (size_t i = 0; i < (size_t)r->length;) {
        uint32_t code = 0;
        size_t n = norma_text_decode(r->text + i, (size_t)r->length - i, &code);
        if (n == 0)
            return NORMA_FAIL(NORMA_CONFIG, "%s:%d: byte 0x%02x is not UTF-8", r->path,
                              count_line(r, i), (unsigned)(unsigned char)r->text[i]);
        if (code == 0)
            return NORMA_FAIL(NORMA_CONFIG, "%s:%d: holds a zero byte: not a text file", r->path,
                              count_line(r, i));
        i += n;
    }
    return NORMA_OK;
}

static norma_status fail_parser(const reader *r)
{
    const yaml_parser_t *p = &r->parser;
    const char *problem = p->problem ? p->problem : "malformed";
    if (p->error == YAML_MEMORY_ERROR)
        return NORMA_FAIL(NORMA_MEMORY, "%s: out of memory", r->path);
    if (p->error == YAML_READER_ERROR)
        return NORMA_FAIL(NORMA_CONFIG, "%s:%d: %s (U+%04X)", r->path,
                          count_line(r, p->problem_offset), problem, (unsigned)p->problem_value);
    if (p->context)
        return NORMA_FAIL(NORMA_CONFIG, "%s:%d:%d: %s (%s that began in line %d)", r->path,
                          line_of(p->problem_mark), (int)p->problem_mark.column + 1, problem,
                          p->context, line_of(p->context_mark));
    return NORMA_FAIL(NORMA_CONFIG, "%s:%d:%d: %s", r->path, line_of(p->problem_mark),
                      (int)p->problem_mark.column + 1, problem);
}

/* Makes the next event the current one. */
static norma_status next_event(reader *r)
{
    if (r->has_event)
        yaml_event_delete(&r->event);
    r->has_event = false;
    if (!yaml_parser_parse(&r->parser, &r->event))
        return fail_parser(r);
    r->has_event = true;
    const yaml_char_t *anchor = NULL, *tag = NULL;
    if (r->event.type == YAML_ALIAS_EVENT) {
        anchor = r->event.data.alias.anchor;
    } else if (r->event.type == YAML_SCALAR_EVENT) {
        anchor = r->event.data.scalar.anchor;
        tag = r->event.data.scalar.tag;
    } else if (r->event.type == YAML_SEQUENCE_START_EVENT) {
        anchor = r->event.data.sequence_start.anchor;
        tag = r->event.data.sequence_start.tag;
    } else if (r->event.type == YAML_MAPPING_START_EVENT) {
        anchor = r->event.data.mapping_start.anchor;
        tag = r->event.data.mapping_start.tag;
    }
    if (anchor)
        return NORMA_FAIL(NORMA_CONFIG, "%s:%d: anchors and aliases (&name, *name) are not allowed",
                          r->path, event_line(r));
    if (tag)
        return NORMA_FAIL(NORMA_CONFIG, "%s:%d: tags (!name) are not allowed", r->path,
                          event_line(r));
    return NORMA_OK;
}

static bool event_is_null(const reader *r)
{
    if (r->event.type != YAML_SCALAR_EVENT || !r->event.data.scalar.plain_implicit)
        return false;
    const char *value = (const char *)r->event.data.scalar.value;
    return r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (value[0] == '\0' || strcmp(value, "~") == 0 || strcmp(value, "null") == 0);
}

/* A copy of the current scalar. */
static norma_status copy_scalar(const reader *r, norma_config_scalar *out)
{
    size_t length = r->event.data.scalar.length;
    char *text = norma_mem_alloc((int64_t)length + 1, 1, __FILE__, __LINE__);
    if (!text)
        return NORMA_MEMORY;
    memcpy(text, r->event.data.scalar.value, length);
    text[length] = '\0';
    *out = (norma_config_scalar){.text = text,
                                 .length = (int64_t)length,
                                 .line = event_line(r),
                                 .is_null = event_is_null(r)};
    return NORMA_OK;
}

static norma_status add_item(const reader *r, norma_config_entry *entry)
{
    if (entry->n_items == NORMA_SWEEP_MOST_CELLS)
        return NORMA_FAIL(NORMA_CONFIG, "%s:%d: %s: %s: more than %d values", r->path,
                          event_line(r), r->name, entry->key.text, NORMA_SWEEP_MOST_CELLS);
    if (entry->n_items == entry->capacity) {
        int64_t capacity = entry->capacity > 0 ? 2 * entry->capacity : 1;
        norma_config_scalar *items = norma_mem_resize(entry->items, entry->n_items, capacity,
                                                      sizeof *items, __FILE__, __LINE__);
        if (!items)
            return NORMA_MEMORY;
        entry->items = items;
        entry->capacity = capacity;
    }
    NORMA_TRY(copy_scalar(r, &entry->items[entry->n_items]));
    /* A value left out behind "? key" carries the mark of the next token. */
    if (!entry->is_list && entry->items[0].is_null && entry->items[0].length == 0)
        entry->items[0].line = entry->key.line;
    entry->n_items++;
    return NORMA_OK;
}

static norma_status fail_nested(const reader *r, const norma_config_entry *entry, const char *what)
{
    char quoted[NORMA_TEXT_QUOTED];
    return NORMA_FAIL(NORMA_CONFIG, "%s:%d: %s: key %s holds %s; a value or a list was expected",
                      r->path, event_line(r), r->name,
                      norma_text_quote(entry->key.text, (size_t)entry->key.length, quoted), what);
}

/* The list that has just begun. */
static norma_status read_items(reader *r, norma_config_entry *entry)
{
    entry->is_list = true;
    for (;;) {
        NORMA_TRY(next_event(r));
        if (r->event.type == YAML_SEQUENCE_END_EVENT)
            return NORMA_OK;
        if (r->event.type != YAML_SCALAR_EVENT)
            return fail_nested(r, entry,
                               r->event.type == YAML_SEQUENCE_START_EVENT ? "a list within a list"
                                                                          : "a mapping in a list");
        NORMA_TRY(add_item(r, entry));
    }
}

/* An empty entry at the end of the section. */
static norma_status add_entry(norma_config_section *section, norma_config_entry **out)
{
    if (section->n_entries == section->capacity) {
        int64_t capacity = section->capacity > 0 ? 2 * section->capacity : 16;
        norma_config_entry *entries = norma_mem_resize(
            section->entries, section->n_entries, capacity, sizeof *entries, __FILE__, __LINE__);
        if (!entries)
            return NORMA_MEMORY;
        section->entries = entries;
        section->capacity = capacity;
    }
    *out = &section->entries[section->n_entries++];
    memset(*out, 0, sizeof **out);
    return NORMA_OK;
}

/* The command's own section, whose mapping has just begun. */
static norma_status read_section(reader *r, norma_config_section *section)
{
    for (;;) {
        norma_config_entry *entry = NULL;
        NORMA_TRY(next_event(r));
        if (r->event.type == YAML_MAPPING_END_EVENT)
            return NORMA_OK;
        if (r->event.type != YAML_SCALAR_EVENT)
            return NORMA_FAIL(NORMA_CONFIG, "%s:%d: %s: a key must be the name of an option",
                              r->path, event_line(r), r->name);
        NORMA_TRY(add_entry(section, &entry));
        NORMA_TRY(copy_scalar(r, &entry->key));
        NORMA_TRY(next_event(r));
        if (r->event.type == YAML_SCALAR_EVENT)
            NORMA_TRY(add_item(r, entry));
        else if (r->event.type == YAML_SEQUENCE_START_EVENT)
            NORMA_TRY(read_items(r, entry));
        else
            return fail_nested(r, entry, "a nested mapping");
    }
}

/* Leaves the mapping that has just begun. */
static norma_status skip_mapping(reader *r)
{
    int64_t depth = 1;
    while (depth > 0) {
        NORMA_TRY(next_event(r));
        if (r->event.type == YAML_MAPPING_START_EVENT || r->event.type == YAML_SEQUENCE_START_EVENT)
            depth++;
        else if (r->event.type == YAML_MAPPING_END_EVENT ||
                 r->event.type == YAML_SEQUENCE_END_EVENT)
            depth--;
        if (depth > DEEPEST)
            return NORMA_FAIL(NORMA_CONFIG, "%s:%d: nested deeper than %d levels", r->path,
                              event_line(r), DEEPEST);
    }
    return NORMA_OK;
}

/* The section that the current scalar names; refuses unknown and repeated ones. */
static norma_status find_section(const reader *r, const char **name)
{
    norma_text_search search;
    char quoted[NORMA_TEXT_QUOTED];
    const char *key = (const char *)r->event.data.scalar.value;
    size_t length = r->event.data.scalar.length;
    norma_text_search_init(&search, key);
    norma_text_quote(key, length, quoted);
    for (int i = 0; r->sections[i]; i++) {
        if (strlen(r->sections[i]) == length && strcmp(r->sections[i], key) == 0) {
            *name = r->sections[i];
            if (r->seen[i])
                return NORMA_FAIL(NORMA_CONFIG, "%s:%d: section %s again; it began in line %d",
                                  r->path, event_line(r), quoted, r->seen[i]);
            r->seen[i] = event_line(r);
            return NORMA_OK;
        }
        norma_text_search_offer(&search, r->sections[i]);
    }
    const char *nearest = norma_text_search_result(&search);
    if (nearest)
        return NORMA_FAIL(NORMA_CONFIG, "%s:%d: unknown section %s; did you mean '%s'?", r->path,
                          event_line(r), quoted, nearest);
    return NORMA_FAIL(NORMA_CONFIG,
                      "%s:%d: unknown section %s; sections are named like the subcommands, and "
                      "options stand indented inside one, here '%s'",
                      r->path, event_line(r), quoted, r->name);
}

/* The mapping of sections that has just begun. */
static norma_status read_sections(reader *r, norma_config_section *section)
{
    for (;;) {
        const char *name = NULL;
        NORMA_TRY(next_event(r));
        if (r->event.type == YAML_MAPPING_END_EVENT)
            return NORMA_OK;
        if (r->event.type != YAML_SCALAR_EVENT)
            return NORMA_FAIL(NORMA_CONFIG, "%s:%d: a section must have a name", r->path,
                              event_line(r));
        NORMA_TRY(find_section(r, &name));
        int line = event_line(r);
        NORMA_TRY(next_event(r));
        if (event_is_null(r))
            continue;
        if (r->event.type != YAML_MAPPING_START_EVENT)
            return NORMA_FAIL(NORMA_CONFIG,
                              "%s:%d: section '%s' holds %s; lines 'option: value' were expected",
                              r->path, line, name,
                              r->event.type == YAML_SCALAR_EVENT ? "a single value" : "a list");
        if (strcmp(name, r->name) == 0)
            NORMA_TRY(read_section(r, section));
        else
            NORMA_TRY(skip_mapping(r));
    }
}

static norma_status read_document(reader *r, norma_config_section *section)
{
    NORMA_TRY(next_event(r)); /* the stream's start */
    NORMA_TRY(next_event(r));
    if (r->event.type == YAML_STREAM_END_EVENT)
        return NORMA_OK;
    NORMA_TRY(next_event(r));
    if (r->event.type == YAML_MAPPING_START_EVENT)
        NORMA_TRY(read_sections(r, section));
    else if (!event_is_null(r))
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s:%d: sections named like the subcommands were expected ('%s:' and its "
                          "options indented below)",
                          r->path, event_line(r), r->name);
    NORMA_TRY(next_event(r)); /* the document's end */
    NORMA_TRY(next_event(r));
    if (r->event.type != YAML_STREAM_END_EVENT)
        return NORMA_FAIL(NORMA_CONFIG, "%s:%d: a second document; one was expected", r->path,
                          event_line(r));
    return NORMA_OK;
}

norma_status norma_config_section_read(const char *path, const char *text, int64_t length,
                                       const char *name, const char *const *sections,
                                       norma_config_section *section)
{
    norma_status status = NORMA_OK;
    int64_t n_sections = 0;
    reader r = {.path = path, .text = text, .name = name, .length = length, .sections = sections};
    memset(section, 0, sizeof *section);
    NORMA_TRY(check_characters(&r));
    while (sections[n_sections])
        n_sections++;
    if (!yaml_parser_initialize(&r.parser))
        return NORMA_FAIL(NORMA_MEMORY, "%s: out of memory", path);
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, (size_t)length);
    NORMA_GOTO(status, NORMA_CALLOC(r.seen, n_sections));
    NORMA_GOTO(status, read_document(&r, section));
done:
    if (r.has_event)
        yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    NORMA_FREE(r.seen);
    if (status != NORMA_OK)
        norma_config_section_clear(section);
    return status;
}

static void clear_entry(norma_config_entry *entry)
{
    for (int64_t i = 0; i < entry->n_items; i++)
        norma_mem_free(entry->items[i].text);
    norma_mem_free(entry->items);
    norma_mem_free(entry->key.text);
}

void norma_config_section_clear(norma_config_section *section)
{
    for (int64_t i = 0; i < section->n_entries; i++)
        clear_entry(&section->entries[i]);
    norma_mem_free(section->entries);
    memset(section, 0, sizeof *section);
}
