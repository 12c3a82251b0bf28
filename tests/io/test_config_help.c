/* Help texts: complete, narrow, from the table alone. */
#include "src/config/config_help.h"
#include "tests/io/config_fixture.h"

#include <stdio.h>

static void check_width(const char *text)
{
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        if (length > 100 || (length > 0 && line[length - 1] == ' '))
            fail_msg("line of %zu columns: '%.*s'", length, (int)length, line);
        line += length + (line[length] != '\0');
    }
}

/* `part` stands in the text, whatever the line breaks. */
static void check_holds(const char *text, const char *part)
{
    const char *start = text;
    for (; *start; start++) {
        const char *a = start, *b = part;
        while (*a && *b) {
            if (*b == ' ' && (*a == ' ' || *a == '\n')) {
                a += strspn(a, " \n");
                b++;
            } else if (*a == *b) {
                a++;
                b++;
            } else {
                break;
            }
        }
        if (!*b)
            return;
    }
    fail_msg("no '%s' in:\n%s", part, text);
}

static void command_help(void **state)
{
    (void)state;
    char *text = NULL;
    norma_test_ok(norma_config_help_command(&fixture_command, &text));
    check_width(text);
    assert_int_equal(strncmp(text,
                             "usage: norma solve [INPUT] [OPTION]...\n\nSolves something.\n\n"
                             "At length.\n\nArguments:\n  INPUT ",
                             79),
                     0);
    for (const norma_option *const *table = fixture_tables; *table; table++)
        for (const norma_option *option = *table; option->name; option++) {
            char flag[64];
            snprintf(flag, sizeof flag, " --%s ", option->name);
            if (!option->positional)
                check_holds(text, flag);
            check_holds(text, option->help);
        }
    check_holds(text, "--width N Width of a layer. [channels; whole number; at least 1 and at most "
                      "100000; sweep: list or range; default: 8]");
    check_holds(text, "[whole number; sweep: list or range; default: centred]");
    check_holds(text,
                "--keep X Probability. [above 0 and at most 1; sweep: list or range; default: "
                "0.5]");
    check_holds(text, "--law NAME Law of the weights. [one of he-normal, he-uniform, orthogonal, "
                      "er-sign; sweep: list; default: he-normal]");
    check_holds(text,
                "--kernel HxW Kernel. [at least 1 and at most 31; sweep: list; default: 3x3]");
    check_holds(text, "--time-limit TIME When to stop. [above 0 seconds; default: none]");
    check_holds(text, "--fast Hurry. [default: off]");
    check_holds(text, "[inf allowed; nan allowed; ");
    check_holds(text, "--help This text.");
    check_holds(text, "a range with a step (10..50:10; 3..7 of whole numbers)");
    norma_mem_free(text);
}

/* Every group has one heading, also when two tables name it. */
static void groups(void **state)
{
    (void)state;
    static const char *const headings[] = {"\nSize:\n", "\nData:\n", "\nOutput:\n", "\nOptions:\n"};
    char *text = NULL;
    norma_test_ok(norma_config_help_command(&fixture_command, &text));
    for (size_t i = 0; i < sizeof headings / sizeof headings[0]; i++) {
        const char *found = strstr(text, headings[i]);
        assert_non_null(found);
        assert_null(strstr(found + 1, headings[i]));
    }
    norma_mem_free(text);
}

static void program_help(void **state)
{
    (void)state;
    static const struct {
        const char *name, *summary;
    } table[] = {{"solve", "Solve something."}, {"info", "What a result file holds."}};
    static const norma_names commands = NORMA_NAMES("subcommand", "subcommands", table);
    char *text = NULL;
    norma_test_ok(norma_config_help_program(&commands, &text));
    check_width(text);
    check_holds(text, " solve Solve something.");
    check_holds(text, " info What a result file holds.");
    norma_mem_free(text);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(command_help),
    cmocka_unit_test(groups),
    cmocka_unit_test(program_help),
};

norma_test_main_serial("config_help", tests)
