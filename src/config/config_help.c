#include "src/config/config_help.h"

#include "src/base/mem.h"
#include "src/config/config_facts.h"

#include <stdio.h>
#include <string.h>

#define WIDTH 100
#define TEXT_COLUMN 28
#define NAMES_COLUMN 30
#define SUMMARY_COLUMN 48

/* Appends words, broken so that no line passes WIDTH; `column` is where the first line stands,
 * further ones begin at `indent`. No line break at the end. */
static void append_wrapped(const char *words, size_t column, size_t indent, norma_text *out)
{
    bool fresh = true;
    while (*words) {
        size_t length = strcspn(words, " \n");
        bool is_break = words[length] == '\n';
        if (!fresh && column + 1 + length > WIDTH) {
            norma_text_append(out, "\n%*s", (int)indent, "");
            column = indent;
            fresh = true;
        }
        norma_text_append(out, "%s%.*s", fresh ? "" : " ", (int)length, words);
        column += length + (fresh ? 0 : 1);
        fresh = false;
        words += length + (words[length] != '\0');
        if (is_break) {
            norma_text_append(out, "\n%*s", (int)indent, "");
            column = indent;
            fresh = true;
        }
    }
}

/* A line for each member of the family that an option takes. */
static void append_names(const norma_names *names, norma_text *out)
{
    for (int64_t i = norma_names_next(names, 0); i < names->n; i = norma_names_next(names, i + 1)) {
        const char *name = norma_names_name(names, i);
        int64_t start = out->length;
        norma_text_append(out, "%*s%-*s ", NAMES_COLUMN, "", SUMMARY_COLUMN - NAMES_COLUMN - 1,
                          name);
        append_wrapped(norma_names_summary(names, i), (size_t)(out->length - start), SUMMARY_COLUMN,
                       out);
        norma_text_append(out, "\n");
    }
}

static void append_option(const norma_option *option, norma_text *out)
{
    norma_text words;
    int64_t start = out->length;
    const char *placeholder = norma_config_placeholder(option);
    norma_text_init(&words);
    norma_text_append(&words, "%s", option->help);
    norma_config_facts_append(option, &words);
    if (option->positional)
        norma_text_append(out, "  %s", placeholder);
    else
        norma_text_append(out, "  --%s%s%s", option->name, *placeholder ? " " : "", placeholder);
    int64_t used = out->length - start;
    if (used > TEXT_COLUMN - 2)
        norma_text_append(out, "\n%*s", TEXT_COLUMN, "");
    else
        norma_text_append(out, "%*s", (int)(TEXT_COLUMN - used), "");
    if (words.status == NORMA_OK)
        append_wrapped(words.data, TEXT_COLUMN, TEXT_COLUMN, out);
    else
        out->status = words.status;
    norma_text_append(out, "\n");
    if (option->names)
        append_names(option->names, out);
    norma_text_clear(&words);
}

static void append_group(const norma_command *command, const char *group, norma_text *out)
{
    norma_text_append(out, "\n%s:\n", group);
    for (const norma_option *const *table = command->tables; *table; table++)
        for (const norma_option *option = *table; option->name; option++)
            if (strcmp(norma_config_group(option), group) == 0)
                append_option(option, out);
}

/* How values are written, as far as the command has such options. */
static void append_notes(const norma_command *command, norma_text *out)
{
    const char *note = NULL;
    for (int i = 0; (note = norma_config_note(command, i)); i++) {
        if (!*note)
            continue;
        norma_text_append(out, "\n");
        append_wrapped(note, 0, 0, out);
        norma_text_append(out, "\n");
    }
    if (norma_config_has_file(command))
        norma_text_append(out,
                          "\nA file for --config holds the same names without '--':\n"
                          "    %s:\n      option: value\n      option: [value, value]\n",
                          command->name);
}

norma_status norma_config_help_command(const norma_command *command, char **text)
{
    norma_text out;
    norma_text_init(&out);
    norma_text_append(&out, "usage: ");
    norma_config_usage_append(command, &out);
    norma_text_append(&out, "\n\n");
    append_wrapped(command->description, 0, 0, &out);
    norma_text_append(&out, "\n");
    for (const norma_option *const *table = command->tables; *table; table++)
        for (const norma_option *option = *table; option->name; option++)
            if (!norma_config_group_was_seen(command, option))
                append_group(command, norma_config_group(option), &out);
    norma_text_append(&out, "\n  --help%*sThis text.\n", TEXT_COLUMN - 8, "");
    append_notes(command, &out);
    return norma_text_take(&out, text);
}

norma_status norma_config_help_program(const norma_names *commands, char **text)
{
    norma_text out;
    norma_text_init(&out);
    norma_text_append(&out, "usage: norma COMMAND [OPTION]...\n\n"
                            "Random networks whose only adjustable part is a normalization layer.\n"
                            "\nCommands:\n");
    for (int64_t i = 0; i < commands->n; i++) {
        norma_text_append(&out, "  %-14s", norma_names_name(commands, i));
        append_wrapped(norma_names_summary(commands, i), 16, 16, &out);
        norma_text_append(&out, "\n");
    }
    norma_text_append(&out, "\n'norma COMMAND --help' explains a command; 'norma --version' names "
                            "this version.\nRuns alike as 'norma ...', 'mpirun -n P norma ...' and "
                            "'srun norma ...'.\n");
    return norma_text_take(&out, text);
}
