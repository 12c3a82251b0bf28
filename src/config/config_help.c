#include "src/config/config_help.h"

#include "src/base/mem.h"
#include "src/config/config_store.h"

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

static const char *placeholder_of(const norma_option *option)
{
    static const char *const names[] = {
        [NORMA_OPTION_FLAG] = "",       [NORMA_OPTION_INTEGER] = "N",
        [NORMA_OPTION_SEED] = "N",      [NORMA_OPTION_REAL] = "X",
        [NORMA_OPTION_CHOICE] = "NAME", [NORMA_OPTION_STRING] = "TEXT",
        [NORMA_OPTION_PATH] = "FILE",   [NORMA_OPTION_DURATION] = "TIME",
        [NORMA_OPTION_SHAPE] = "HxW",
    };
    if (option->positional && !option->placeholder)
        return option->name;
    if (option->many == NORMA_LIST && !option->placeholder)
        return "LIST";
    return option->placeholder ? option->placeholder : names[option->type];
}

static void append_many(const norma_option *option, norma_text *out)
{
    bool ranges = norma_config_type_is_number(option->type);
    if (option->many == NORMA_SWEEP)
        norma_text_append(out, "%s; ", ranges ? "sweep: list or range" : "sweep: list");
    else if (option->many == NORMA_LIST)
        norma_text_append(out, "%s; ", ranges ? "list or range" : "list");
}

static void append_default(const norma_option *option, norma_text *out)
{
    if (option->default_text)
        norma_text_append(out, "default: %s", option->default_text);
    else if (option->required)
        norma_text_append(out, option->exclusive ? "one of these is required" : "required");
    else if (option->type == NORMA_OPTION_FLAG)
        norma_text_append(out, "default: off");
    else
        norma_text_append(out, "default: %s", option->unset_text ? option->unset_text : "none");
}

/* "[images; at least 1; sweep: list or range; default: 1000]" */
static void append_facts(const norma_option *option, norma_text *out)
{
    norma_text_append(out, " [");
    if (option->unit)
        norma_text_append(out, "%s; ", option->unit);
    if (option->type == NORMA_OPTION_INTEGER)
        norma_text_append(out, "whole number; ");
    if (option->min.kind || option->max.kind) {
        norma_config_bounds_append(option, out);
        norma_text_append(out, "%s; ", option->type == NORMA_OPTION_DURATION ? " seconds" : "");
    }
    if (option->allow_inf)
        norma_text_append(out, "inf allowed; ");
    if (option->allow_nan)
        norma_text_append(out, "nan allowed; ");
    norma_names names = norma_config_names(option);
    const char *separator = option->type == NORMA_OPTION_CHOICE ? "one of " : "for example ";
    for (int64_t i = norma_names_next(&names, 0); i < names.n && !option->names;
         i = norma_names_next(&names, i + 1)) {
        norma_text_append(out, "%s%s", separator, norma_names_name(&names, i));
        separator = ", ";
    }
    if (names.n > 0)
        norma_text_append(out, option->names ? "a name below; " : "; ");
    append_many(option, out);
    append_default(option, out);
    norma_text_append(out, "]");
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
    const char *placeholder = placeholder_of(option);
    norma_text_init(&words);
    norma_text_append(&words, "%s", option->help);
    append_facts(option, &words);
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

static const char *group_of(const norma_option *option)
{
    return option->group ? option->group : option->positional ? "Arguments" : "Options";
}

/* True when an option before `last` belongs to its group. */
static bool group_was_seen(const norma_command *command, const norma_option *last)
{
    for (const norma_option *const *table = command->tables; *table; table++)
        for (const norma_option *option = *table; option->name; option++) {
            if (option == last)
                return false;
            if (strcmp(group_of(option), group_of(last)) == 0)
                return true;
        }
    return false;
}

static void append_group(const norma_command *command, const char *group, norma_text *out)
{
    norma_text_append(out, "\n%s:\n", group);
    for (const norma_option *const *table = command->tables; *table; table++)
        for (const norma_option *option = *table; option->name; option++)
            if (strcmp(group_of(option), group) == 0)
                append_option(option, out);
}

static void append_usage(const norma_command *command, norma_text *out)
{
    norma_text_append(out, "usage: ");
    norma_config_append_invocation(command, out);
    for (const norma_option *const *table = command->tables; *table; table++)
        for (const norma_option *option = *table; option->name; option++)
            if (option->positional)
                norma_text_append(out, option->required ? " %s" : " [%s]", placeholder_of(option));
    norma_text_append(out, " [OPTION]...\n\n");
}

static bool has_option(const norma_command *command, bool (*is_meant)(const norma_option *))
{
    for (const norma_option *const *table = command->tables; *table; table++)
        for (const norma_option *option = *table; option->name; option++)
            if (is_meant(option))
                return true;
    return false;
}

static bool is_swept(const norma_option *option)
{
    return option->many == NORMA_SWEEP;
}

static bool is_duration(const norma_option *option)
{
    return option->type == NORMA_OPTION_DURATION;
}

static bool is_config(const norma_option *option)
{
    return strcmp(option->name, "config") == 0;
}

/* How values are written, as far as the command has such options. */
static void append_notes(const norma_command *command, norma_text *out)
{
    if (has_option(command, is_swept)) {
        norma_text_append(out, "\n");
        append_wrapped("Options marked 'sweep' take several values, and the run is every "
                       "combination: a list (8,16,32), a range with a step (10..50:10; 3..7 of "
                       "whole numbers) or with a factor (32..256:x2), or a list of these.",
                       0, 0, out);
        norma_text_append(out, "\n");
    }
    if (has_option(command, is_duration))
        norma_text_append(out,
                          "\nTIME: 90 (seconds), 90s, 15min, 2h, 1d, HH:MM:SS or D-HH:MM:SS.\n");
    if (has_option(command, is_config))
        norma_text_append(out,
                          "\nA file for --config holds the same names without '--':\n"
                          "    %s:\n      option: value\n      option: [value, value]\n",
                          command->name);
}

norma_status norma_config_help_command(const norma_command *command, char **text)
{
    norma_text out;
    norma_text_init(&out);
    append_usage(command, &out);
    append_wrapped(command->description, 0, 0, &out);
    norma_text_append(&out, "\n");
    for (const norma_option *const *table = command->tables; *table; table++)
        for (const norma_option *option = *table; option->name; option++)
            if (!group_was_seen(command, option))
                append_group(command, group_of(option), &out);
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
