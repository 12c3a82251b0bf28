#ifndef NORMA_CONFIG_CONFIG_FACTS_H
#define NORMA_CONFIG_CONFIG_FACTS_H
/* The texts that follow from a table of options, without any layout: `--help` and the manual page
 * print the same ones. Local. */
#include "src/base/text.h"
#include "src/config/config_option.h"

/* The name of an option's value in a text: "N", "FILE"; "" for a flag. */
const char *norma_config_placeholder(const norma_option *option);

/* Appends " [images; at least 1; sweep: list or range; default: 1000]". */
void norma_config_facts_append(const norma_option *option, norma_text *out);

/* Appends "norma info FILE [OPTION]...". */
void norma_config_usage_append(const norma_command *command, norma_text *out);

/* The heading under which an option stands. */
const char *norma_config_group(const norma_option *option);

/* True when an option before `last` belongs to its group. */
bool norma_config_group_was_seen(const norma_command *command, const norma_option *last);

/* Note i = 0, 1, ... on how values are written, "" where the command has no such option, NULL
 * behind the last one. */
const char *norma_config_note(const norma_command *command, int i);

/* True when the command's options may stand in a file (--config). */
bool norma_config_has_file(const norma_command *command);

#endif
