/* The effective configuration as YAML. */
#include "src/config/config.h"

#include "src/config/config_expand.h"
#include "src/config/config_store.h"

#include <string.h>

/* A text in double quotes: what YAML would not keep as it stands is escaped, and so are commas that
 * would end the item of a list. */
static void append_quoted(const char *text, bool escapes_commas, norma_text *out)
{
    size_t length = strlen(text);
    norma_text_append(out, "\"");
    for (size_t i = 0; i < length;) {
        uint32_t code = 0;
        size_t n = norma_text_decode(text + i, length - i, &code);
        bool is_break = code == 0x2028 || code == 0x2029;
        if (code == ',' && escapes_commas)
            norma_text_append(out, "\\\\,");
        else if (code == '"' || code == '\\')
            norma_text_append(out, "\\%c", (char)code);
        else if (code < 0x20 || (code >= 0x7f && code < 0xa0))
            norma_text_append(out, "\\x%02X", (unsigned)code);
        else if (is_break || code == 0xfeff || code == 0xfffe || code == 0xffff)
            norma_text_append(out, "\\u%04X", (unsigned)code);
        else
            norma_text_append_bytes(out, text + i, (int64_t)n);
        i += n;
    }
    norma_text_append(out, "\"");
}

static void append_value(const norma_option *option, const norma_config_value *value,
                         norma_text *out)
{
    if (norma_config_type_is_text(option->type))
        append_quoted(value->text, norma_config_needs_escape(option, value->text), out);
    else if (option->type == NORMA_OPTION_CHOICE)
        append_quoted(norma_config_choice(option, value), false, out);
    else
        norma_config_value_append(option, value, out);
}

static void append_item(const norma_config_item *item, norma_text *out)
{
    const norma_option *option = item->option;
    if (item->origin == NORMA_ORIGIN_NONE) {
        norma_text_append(out, "  # %s: not set%s%s\n", option->name,
                          option->unset_text ? ", " : "",
                          option->unset_text ? option->unset_text : "");
        return;
    }
    bool is_list = option->many == NORMA_LIST || item->values.n > 1;
    norma_text_append(out, "  %s: %s", option->name, is_list ? "[" : "");
    for (int64_t i = 0; i < item->values.n; i++) {
        norma_text_append(out, "%s", i > 0 ? ", " : "");
        append_value(option, &item->values.values[i], out);
    }
    norma_text_append(out, "%s%s\n", is_list ? "]" : "",
                      item->origin == NORMA_ORIGIN_DEFAULT ? "  # default" : "");
}

norma_status norma_config_write(const norma_config *config, char **text)
{
    norma_text out;
    norma_text_init(&out);
    norma_text_append(&out, "# Effective configuration of '");
    norma_config_append_invocation(config->command, &out);
    norma_text_append(&out, "'; give it to --config to run it again.\n%s:\n",
                      config->command->name);
    for (int64_t i = 0; i < config->n_items; i++)
        if (!config->items[i].option->command_line_only)
            append_item(&config->items[i], &out);
    return norma_text_take(&out, text);
}

bool norma_config_has_section(const char *text, const char *command)
{
    size_t length = strlen(command);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n' ? 1 : 0;
        if (strncmp(line, command, length) == 0 && line[length] == ':')
            return true;
    }
    return false;
}
