#ifndef NORMA_CONFIG_CONFIG_MANUAL_H
#define NORMA_CONFIG_CONFIG_MANUAL_H
/* The manual page (the macros of man(7)), made from the same tables as `--help`. Local. */
#include "src/base/text.h"
#include "src/config/config_option.h"

/* Appends a subsection: usage, description, options by group with their facts and the summaries of
 * the names that they take. */
void norma_config_manual_command(const norma_command *command, norma_text *out);

/* Appends a hanging paragraph: the name in bold, then the text (NULL: none). */
void norma_config_manual_item(const char *name, const char *text, norma_text *out);

/* Appends a text for troff as one line: minus signs stay minus signs, and neither backslashes nor
 * a point at its beginning are commands. */
void norma_config_manual_line(const char *text, norma_text *out);

#endif
