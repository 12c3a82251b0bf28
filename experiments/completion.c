#include "experiments/completion.h"

#include "experiments/subcommands.h"
#include "src/config/config_complete.h"

static const char beginning[] =
    "# Completion of norma's command line for bash: . <(norma --completion)\n"
    "_norma() {\n"
    "    local word=$2 previous=$3 command=${COMP_WORDS[1]} options='' values=''\n"
    "    [ \"$COMP_CWORD\" -gt 1 ] || command=''\n"
    "    [ \"$command\" != plan ] || [ \"$COMP_CWORD\" -eq 2 ] || command=${COMP_WORDS[2]}\n"
    "    case $command in\n";

static const char end[] =
    "    esac\n"
    "    case $word in -*) values=$options ;; esac\n"
    "    COMPREPLY=()\n"
    "    case $values in\n"
    "    FILE) return ;; # the names of files, as -o default offers them\n"
    "    NONE) compopt +o bashdefault +o default; return ;;\n"
    "    esac\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"${values:-$options}\" -- \"$word\")\n"
    "}\n"
    "complete -o bashdefault -o default -F _norma norma\n";

static void append_names(const char *pattern, const norma_names *names, norma_text *out)
{
    norma_text_append(out, "    %s) values='", pattern);
    for (int64_t i = norma_names_next(names, 0); i < names->n; i = norma_names_next(names, i + 1))
        norma_text_append(out, "%s ", norma_names_name(names, i));
    norma_text_append(out, "' ;;\n");
}

norma_status norma_completion(char **text)
{
    norma_text out;
    norma_text_init(&out);
    norma_text_append(&out, "%s", beginning);
    norma_text_append(&out, "    '') options='--help --version --manual --completion' ;;&\n");
    append_names("''", &norma_subcommand_names, &out);
    append_names("plan", &norma_subcommand_planned_names, &out);
    for (int64_t i = 0; i < norma_subcommand_names.n; i++)
        if (norma_subcommand_get(i)->driver)
            norma_config_complete_command(norma_subcommand_get(i)->driver->command, &out);
    norma_text_append(&out, "%s", end);
    return norma_text_take(&out, text);
}
