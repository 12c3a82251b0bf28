#ifndef NORMA_CONFIG_CONFIG_YAML_H
#define NORMA_CONFIG_CONFIG_YAML_H
/*
 * The shape of a configuration file, without the meaning of its keys: one document, a mapping of
 * sections, each a mapping of keys to a value or a list of values. Anchors, aliases, tags, further
 * documents and deeper nesting are refused. Local.
 */
#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* A value as written. */
typedef struct norma_config_scalar {
    char *text; /* `length` bytes, any among them, and a zero; owned */
    int64_t length;
    int line;     /* from 1 */
    bool is_null; /* nothing, ~ or null, unquoted */
} norma_config_scalar;

/* A key with its value, or its list of values. */
typedef struct norma_config_entry {
    norma_config_scalar key;
    bool is_list;
    norma_config_scalar *items; /* one unless is_list; owned */
    int64_t n_items, capacity;
} norma_config_entry;

typedef struct norma_config_section {
    norma_config_entry *entries; /* in the file's order; owned */
    int64_t n_entries, capacity;
} norma_config_section;

/* Reads from `length` bytes of text the section `name`, empty when the file has none; other
 * sections must be mappings with names out of `sections` (NULL-terminated). `path` is for messages.
 * The caller owns what *section holds (norma_config_section_clear). NORMA_CONFIG with path and line
 * for text that is not UTF-8 or YAML or not of this shape. */
NORMA_MUST_USE norma_status norma_config_section_read(const char *path, const char *text,
                                                      int64_t length, const char *name,
                                                      const char *const *sections,
                                                      norma_config_section *section);

void norma_config_section_clear(norma_config_section *section);

#endif
