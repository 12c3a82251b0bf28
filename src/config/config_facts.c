#include "src/config/config_facts.h"

#include "src/config/config_store.h"

#include <string.h>

const char *norma_config_placeholder(const norma_option *option)
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
        norma_text_append(out, "%s; ",
                          ranges               ? "list or range"
                          : option->positional ? "one or more"
                                               : "list");
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

void norma_config_facts_append(const norma_option *option, norma_text *out)
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
    if (option->names)
        norma_text_append(out, "a name below%s; ",
                          option->type == NORMA_OPTION_CHOICE ? "" : ", or as described");
    else if (names.n > 0)
        norma_text_append(out, "; ");
    append_many(option, out);
    append_default(option, out);
    norma_text_append(out, "]");
}

const char *norma_config_group(const norma_option *option)
{
    return option->group ? option->group : option->positional ? "Arguments" : "Options";
}

bool norma_config_group_was_seen(const norma_command *command, const norma_option *last)
{
    for (const norma_option *const *table = command->tables; *table; table++)
        for (const norma_option *option = *table; option->name; option++) {
            if (option == last)
                return false;
            if (strcmp(norma_config_group(option), norma_config_group(last)) == 0)
                return true;
        }
    return false;
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

bool norma_config_has_file(const norma_command *command)
{
    return has_option(command, is_config);
}

const char *norma_config_note(const norma_command *command, int i)
{
    static const char sweeps[] =
        "Options marked 'sweep' take several values, and the run is every combination: a list "
        "(8,16,32), a range with a step (10..50:10; 3..7 of whole numbers) or with a factor "
        "(32..256:x2), or a list of these.";
    static const char durations[] =
        "TIME: 90 (seconds), 90s, 15min, 2h, 1d, HH:MM:SS or D-HH:MM:SS.";
    switch (i) {
    case 0:
        return has_option(command, is_swept) ? sweeps : "";
    case 1:
        return has_option(command, is_duration) ? durations : "";
    default:
        return NULL;
    }
}

void norma_config_usage_append(const norma_command *command, norma_text *out)
{
    norma_config_append_invocation(command, out);
    for (const norma_option *const *table = command->tables; *table; table++)
        for (const norma_option *option = *table; option->name; option++)
            if (option->positional)
                norma_text_append(out, option->required ? " %s%s" : " [%s%s]",
                                  norma_config_placeholder(option),
                                  option->many == NORMA_LIST ? "..." : "");
    norma_text_append(out, " [OPTION]...");
}
