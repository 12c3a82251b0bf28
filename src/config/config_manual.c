#include "src/config/config_manual.h"

#include "src/config/config_facts.h"

#include <string.h>

/* Appends text of which no character is a command to troff. */
static void append_plain(const char *text, norma_text *out)
{
    for (; *text; text++)
        if (*text == '-')
            norma_text_append(out, "\\-");
        else if (*text == '\\')
            norma_text_append(out, "\\e");
        else if (*text == '\'')
            norma_text_append(out, "\\(aq");
        else if (*text == '\n')
            norma_text_append(out, "\n.PP\n");
        else
            norma_text_append_bytes(out, text, 1);
}

void norma_config_manual_line(const char *text, norma_text *out)
{
    norma_text_append(out, "\\&");
    append_plain(text, out);
    norma_text_append(out, "\n");
}

void norma_config_manual_item(const char *name, const char *text, norma_text *out)
{
    norma_text_append(out, ".TP\n\\fB");
    append_plain(name, out);
    norma_text_append(out, "\\fR\n");
    norma_config_manual_line(text ? text : "", out);
}

static void append_option(const norma_option *option, norma_text *out)
{
    const char *placeholder = norma_config_placeholder(option);
    norma_text words;
    norma_text_init(&words);
    norma_text_append(&words, "%s", option->help);
    norma_config_facts_append(option, &words);
    norma_text_append(out, ".TP\n");
    if (!option->positional) {
        norma_text_append(out, "\\fB\\-\\-");
        append_plain(option->name, out);
        norma_text_append(out, "\\fR ");
    }
    norma_text_append(out, "\\fI");
    append_plain(placeholder, out);
    norma_text_append(out, "\\fR\n");
    if (words.status == NORMA_OK)
        norma_config_manual_line(words.data, out);
    else
        out->status = words.status;
    norma_text_clear(&words);
    if (!option->names)
        return;
    norma_text_append(out, ".RS\n");
    for (int64_t i = norma_names_next(option->names, 0); i < option->names->n;
         i = norma_names_next(option->names, i + 1))
        norma_config_manual_item(norma_names_name(option->names, i),
                                 norma_names_summary(option->names, i), out);
    norma_text_append(out, ".RE\n");
}

static void append_group(const norma_command *command, const char *group, norma_text *out)
{
    norma_text_append(out, ".PP\n\\fI");
    append_plain(group, out);
    norma_text_append(out, ":\\fR\n");
    for (const norma_option *const *table = command->tables; *table; table++)
        for (const norma_option *option = *table; option->name; option++)
            if (strcmp(norma_config_group(option), group) == 0)
                append_option(option, out);
}

void norma_config_manual_command(const norma_command *command, norma_text *out)
{
    const char *note = NULL;
    norma_text usage;
    norma_text_init(&usage);
    norma_config_usage_append(command, &usage);
    norma_text_append(out, ".SS ");
    if (usage.status == NORMA_OK)
        norma_config_manual_line(usage.data, out);
    else
        out->status = usage.status;
    norma_text_clear(&usage);
    norma_config_manual_line(command->description, out);
    for (const norma_option *const *table = command->tables; *table; table++)
        for (const norma_option *option = *table; option->name; option++)
            if (!norma_config_group_was_seen(command, option))
                append_group(command, norma_config_group(option), out);
    for (int i = 0; (note = norma_config_note(command, i)); i++)
        if (*note) {
            norma_text_append(out, ".PP\n");
            norma_config_manual_line(note, out);
        }
}
