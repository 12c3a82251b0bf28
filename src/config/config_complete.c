#include "src/config/config_complete.h"

#include "src/config/config_value.h"

/* A flag is followed by one of some names, by FILE, or by NONE where only the user knows it. */
static void append_values(const norma_option *option, norma_text *out)
{
    norma_names names = norma_config_names(option);
    norma_text_append(out, " values='");
    for (int64_t i = norma_names_next(&names, 0); i < names.n; i = norma_names_next(&names, i + 1))
        norma_text_append(out, "%s ", norma_names_name(&names, i));
    if (names.n == 0)
        norma_text_append(out, option->type == NORMA_OPTION_PATH ? "FILE" : "NONE");
    norma_text_append(out, "' ;;\n");
}

static bool takes_value(const norma_option *option)
{
    return !option->positional && option->type != NORMA_OPTION_FLAG;
}

void norma_config_complete_command(const norma_command *command, norma_text *out)
{
    const norma_option *argument = NULL;
    norma_text_append(out, "    %s)\n        options='--help", command->name);
    for (const norma_option *const *table = command->tables; *table; table++)
        for (const norma_option *option = *table; option->name; option++)
            if (!option->positional)
                norma_text_append(out, " --%s", option->name);
    norma_text_append(out, "'\n        case $previous in\n");
    for (const norma_option *const *table = command->tables; *table; table++)
        for (const norma_option *option = *table; option->name; option++) {
            argument = option->positional ? option : argument;
            if (!takes_value(option))
                continue;
            norma_text_append(out, "        --%s)", option->name);
            append_values(option, out);
        }
    if (argument) {
        norma_text_append(out, "        *)");
        append_values(argument, out);
    }
    norma_text_append(out, "        esac\n        ;;\n");
}
