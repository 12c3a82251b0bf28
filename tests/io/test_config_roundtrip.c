/* Written configurations read again are the same, bit for bit; mutated files never crash. */
#include "tests/io/config_fixture.h"

#include <stdio.h>
#include <stdlib.h>

/* A generator of choices for tests; not a source of Norma's numbers. */
static uint64_t draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = *seed ^ (*seed >> 29);
    return (x * 0xbf58476d1ce4e5b9u) >> 16;
}

static int64_t draw_below(uint64_t *seed, int64_t n)
{
    return (int64_t)(draw(seed) % (uint64_t)n);
}

/* A double of any bits. */
static double draw_double(uint64_t *seed)
{
    uint64_t bits = draw(seed) << 32 ^ draw(seed);
    double x = 0;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void append_text(uint64_t *seed, bool commas, norma_text *out)
{
    static const char *const pieces[] = {"a",
                                         "B",
                                         "7",
                                         " x",
                                         "#",
                                         ": ",
                                         "'",
                                         "\"",
                                         "\\",
                                         "\n",
                                         "\t",
                                         "\x01",
                                         "{",
                                         "]",
                                         "&a",
                                         "*",
                                         "!",
                                         "%",
                                         "\x7f",
                                         "\xc2\x85",
                                         "...",
                                         "---",
                                         "~",
                                         "null",
                                         "\xc3\xa9",
                                         "\xe2\x80\xa8",
                                         "\xef\xbb\xbf",
                                         "\xef\xbf\xbe",
                                         "\xf0\x9f\x98\x80",
                                         "- ",
                                         ",",
                                         "\r"};
    const int64_t n_pieces = sizeof pieces / sizeof pieces[0];
    norma_text_append(out, "t%lld", (long long)draw_below(seed, 1000000));
    for (int64_t n = draw_below(seed, 8); n > 0; n--) {
        const char *piece = pieces[draw_below(seed, n_pieces)];
        norma_text_append(out, "%s%s", *piece == ',' && !commas ? "\\" : "", piece);
    }
    norma_text_append(out, "z");
}

/* One value of an option as a user may write it. */
static void append_value(uint64_t *seed, const norma_option *option, norma_text *out)
{
    int64_t n_choices = 0;
    char number[64];
    switch (option->type) {
    case NORMA_OPTION_FLAG:
        norma_text_append(out, "%s", draw_below(seed, 2) ? "true" : "false");
        break;
    case NORMA_OPTION_INTEGER:
        norma_text_append(out, "%lld",
                          (long long)draw_below(seed, 16777216) %
                                  (long long)(option->max.kind ? option->max.value : 1e9) +
                              1);
        break;
    case NORMA_OPTION_SEED:
        norma_text_append(out, "%llu", (unsigned long long)(draw(seed) << 32 ^ draw(seed)));
        break;
    case NORMA_OPTION_REAL:
        snprintf(number, sizeof number, "%.17g",
                 option->max.kind   ? (double)(draw_below(seed, 1 << 30) + 1) / (1 << 30)
                 : option->min.kind ? (double)draw_below(seed, 1 << 30) / 3
                                    : draw_double(seed));
        norma_text_append(out, "%s", number);
        break;
    case NORMA_OPTION_CHOICE:
        while (option->choices[n_choices])
            n_choices++;
        norma_text_append(out, "%s", option->choices[draw_below(seed, n_choices)]);
        break;
    case NORMA_OPTION_DURATION:
        norma_text_append(out, "%.17gmin", (double)(draw_below(seed, 1 << 30) + 1) / 7);
        break;
    case NORMA_OPTION_SHAPE:
        norma_text_append(out, "%lldx%lld", (long long)draw_below(seed, 31) + 1,
                          (long long)draw_below(seed, 31) + 1);
        break;
    default:
        if (option->check)
            norma_text_append(out, "+");
        append_text(seed, option->many == NORMA_ONE, out);
    }
}

/* A flag (or a positional argument) of the option, one value or several distinct ones. */
static void append_argument(uint64_t *seed, const norma_option *option, norma_text *out)
{
    if (!option->positional)
        norma_text_append(out, "--%s=", option->name);
    if (strcmp(option->name, "cells") == 0) { /* no other text fits every sweep */
        norma_text_append(out, "1/1");
        return;
    }
    int64_t n = option->many == NORMA_ONE ? 1 : 1 + draw_below(seed, 3);
    for (int64_t i = 0; i < n; i++) {
        norma_text_append(out, "%s", i > 0 ? "," : "");
        append_value(seed, option, out);
    }
}

static norma_status draw_config(uint64_t *seed, norma_config **out)
{
    char *argv[40];
    int argc = 0;
    for (const norma_option *const *table = fixture_tables; *table; table++)
        for (const norma_option *option = *table; option->name; option++) {
            if (draw_below(seed, 2) || option->command_line_only)
                continue;
            norma_text argument;
            norma_text_init(&argument);
            append_argument(seed, option, &argument);
            norma_test_ok(norma_text_take(&argument, &argv[argc++]));
        }
    norma_status status = norma_config_parse(&fixture_command, argc, argv, out);
    for (int i = 0; i < argc; i++)
        norma_mem_free(argv[i]);
    if (status == NORMA_OK) {
        status = norma_config_settle(*out);
        if (status != NORMA_OK)
            norma_config_destroy(out);
    }
    return status;
}

/* The value of a cell, or of an index in a list, as text of its bits. */
static void append_bits(const norma_config *c, const norma_option *option, int64_t i,
                        norma_text *out)
{
    double real = 0;
    norma_config_shape shape = {0, 0};
    switch (option->type) {
    case NORMA_OPTION_FLAG:
        norma_text_append(out, "%d", norma_config_get_flag(c, option->name));
        break;
    case NORMA_OPTION_INTEGER:
        norma_text_append(out, "%lld", (long long)norma_config_get_integer(c, i, option->name));
        break;
    case NORMA_OPTION_SEED:
        norma_text_append(out, "%llu",
                          (unsigned long long)norma_config_get_seed(c, i, option->name));
        break;
    case NORMA_OPTION_REAL:
        real = norma_config_get_real(c, i, option->name);
        norma_text_append(out, "%a", real);
        break;
    case NORMA_OPTION_DURATION:
        real = norma_config_get_seconds(c, i, option->name);
        norma_text_append(out, "%a", real);
        break;
    case NORMA_OPTION_SHAPE:
        shape = norma_config_get_shape(c, i, option->name);
        norma_text_append(out, "%lldx%lld", (long long)shape.height, (long long)shape.width);
        break;
    default:
        norma_text_append(out, "%s", norma_config_get_text(c, i, option->name));
    }
    norma_text_append(out, "\n");
}

/* Everything the getters say, of 16 cells. */
static char *dump(const norma_config *c)
{
    norma_text out;
    char *text = NULL;
    const norma_sweep *sweep = norma_config_get_sweep(c);
    norma_text_init(&out);
    for (int64_t i = 0; i < sweep->n_axes; i++)
        norma_text_append(&out, "axis %s %lld\n", sweep->axes[i].name, (long long)sweep->axes[i].n);
    for (const norma_option *const *table = fixture_tables; *table; table++)
        for (const norma_option *option = *table; option->name; option++) {
            if (option->command_line_only)
                continue;
            int64_t count = norma_config_get_count(c, option->name);
            norma_text_append(&out, "%s %d %d %lld\n", option->name,
                              norma_config_has(c, option->name),
                              norma_config_is_given(c, option->name), (long long)count);
            if (!norma_config_has(c, option->name))
                continue;
            int64_t n = option->many == NORMA_LIST ? count : 16;
            for (int64_t i = 0; i < n; i++)
                append_bits(c, option, option->many == NORMA_LIST ? i : i * 7919 % sweep->n_cells,
                            &out);
        }
    norma_test_ok(norma_text_take(&out, &text));
    return text;
}

static void check_round_trip(const norma_config *first)
{
    norma_config *second = NULL;
    char *written = NULL, *again = NULL;
    norma_test_ok(norma_config_write(first, &written));
    norma_status_clear();
    if (fixture_read("", written, &second) != NORMA_OK)
        fail_msg("%s\n%s", norma_status_error()->message, written);
    char *a = dump(first), *b = dump(second);
    if (strcmp(a, b) != 0)
        fail_msg("first:\n%s\nwritten:\n%s\nsecond:\n%s", a, written, b);
    norma_test_ok(norma_config_write(second, &again));
    norma_mem_free(a);
    norma_mem_free(b);
    norma_mem_free(written);
    norma_mem_free(again);
    norma_config_destroy(&second);
}

/* Random configurations; about half are refused (exclusive options, repeated values). */
static void random_configurations(void **state)
{
    (void)state;
    uint64_t seed = 5;
    int n_good = 0;
    for (int trial = 0; trial < 3000; trial++) {
        norma_config *config = NULL;
        if (draw_config(&seed, &config) == NORMA_OK) {
            check_round_trip(config);
            n_good++;
        }
        norma_status_clear();
        norma_config_destroy(&config);
    }
    norma_test_check(n_good > 1000);
}

/* Values that the program settled are in the written text. */
static void settled(void **state)
{
    (void)state;
    norma_config *c = NULL;
    char *text = NULL;
    norma_test_ok(fixture_read("--features 3 --width 1..3 --scale nan,-inf --quiet", NULL, &c));
    norma_test_ok(norma_config_set_seed(c, "seed", 18446744073709551615u));
    check_round_trip(c);
    norma_test_ok(norma_config_write(c, &text));
    norma_test_check(norma_test_contains(text, "# Effective configuration of 'norma solve'"));
    norma_test_check(norma_test_contains(text, "\nsolve:\n"));
    norma_test_check(norma_test_contains(text, "\n  seed: 18446744073709551615\n"));
    norma_test_check(norma_test_contains(text, "\n  width: [1, 2, 3]\n"));
    norma_test_check(norma_test_contains(text, "\n  scale: [nan, -inf]\n"));
    norma_test_check(norma_test_contains(text, "\n  keep: 0.5  # default\n"));
    norma_test_check(norma_test_contains(text, "\n  # offset: not set, centred\n"));
    norma_test_check(norma_test_contains(text, "\n  # excess: not set\n"));
    norma_test_check(!norma_test_contains(text, "quiet") && !norma_test_contains(text, "force"));
    norma_mem_free(text);
    norma_config_destroy(&c);
}

static const char seed_text[] = "# a comment\n"
                                "chain:\n  depth: [1, 2]\n  nested: {a: [b, {c: d}]}\n"
                                "solve:\n"
                                "  width: [8, 16, 32..64:x2]\n"
                                "  offset: -3..3\n"
                                "  scale: 0.1..0.5:0.1,inf\n"
                                "  law:\n    - he-normal\n    - orthogonal\n"
                                "  kernel: 3x3\n"
                                "  split: \"1x1+3x3\"\n"
                                "  data: 'it''s, b'\n"
                                "  file: >\n    folded\n    text\n"
                                "  time-limit: 1:30:00\n"
                                "  layers: [0, 2..4]\n"
                                "  fast: true\n"
                                "  seed: 18446744073709551615\n"
                                "  save: [gamma, spectrum]\n"
                                "info: {}\n";

/* Changes, removes, inserts, repeats bytes, or cuts the text. */
static int64_t mutate(uint64_t *seed, char *text, int64_t length, int64_t capacity)
{
    static const char special[] = "\n\t :-,[]{}#&*!|>'\"%@`?~.\\0x9\xff\x80\xc3";
    for (int64_t n = 1 + draw_below(seed, 4); n > 0 && length > 1; n--) {
        int64_t at = draw_below(seed, length), kind = draw_below(seed, 6);
        char byte = special[draw_below(seed, sizeof special)];
        int64_t run = 1 + draw_below(seed, 24);
        if (kind == 0) {
            text[at] = byte;
        } else if (kind == 1) {
            text[at] = (char)draw_below(seed, 256);
        } else if (kind == 2 && at + run < length) {
            memmove(text + at, text + at + run, (size_t)(length - at - run));
            length -= run;
        } else if (kind == 3 && length < capacity) {
            memmove(text + at + 1, text + at, (size_t)(length - at));
            text[at] = byte;
            length++;
        } else if (kind == 4 && at + run <= length && length + run <= capacity) {
            memmove(text + at + run, text + at, (size_t)(length - at));
            length += run;
        } else if (kind == 5 && draw_below(seed, 8) == 0) {
            length = at;
        }
    }
    return length;
}

static void mutated_files(void **state)
{
    (void)state;
    uint64_t seed = 77;
    int n_good = 0;
    const int64_t capacity = 2048;
    norma_config *unchanged = NULL;
    norma_test_ok(fixture_read("", seed_text, &unchanged));
    norma_config_destroy(&unchanged);
    for (int trial = 0; trial < 20000; trial++) {
        /* Exactly as many bytes as the text has, for the sanitizer to watch. */
        char buffer[2048];
        int64_t length = sizeof seed_text - 1;
        memcpy(buffer, seed_text, (size_t)length);
        length = mutate(&seed, buffer, length, capacity);
        char *text = malloc((size_t)length + 1);
        norma_config *c = NULL;
        assert_non_null(text);
        memcpy(text, buffer, (size_t)length);
        text[length] = '\0';
        norma_test_ok(norma_config_parse(&fixture_command, 0, NULL, &c));
        norma_status status = norma_config_apply(c, fixture_sections, "run.yaml", text, length);
        if (status == NORMA_OK)
            status = norma_config_settle(c);
        const char *message = norma_status_error()->message;
        bool refused = status == NORMA_CONFIG || status == NORMA_LIMIT;
        if (status != NORMA_OK && (!refused || *message == '\0'))
            fail_msg("status %d, message '%s'", (int)status, message);
        if (status == NORMA_CONFIG && strncmp(message, "run.yaml:", 9) != 0)
            fail_msg("no place in '%s'", message);
        if (status == NORMA_OK) {
            n_good++;
            check_round_trip(c);
        }
        norma_status_clear();
        norma_config_destroy(&c);
        free(text);
    }
    norma_test_check(n_good > 500);
}

/* Deep nesting and long lines must not cost more than their length. */
static void large_files(void **state)
{
    (void)state;
    const int64_t n = 200000;
    norma_config *c = NULL;
    norma_text text;
    norma_text_init(&text);
    norma_text_append(&text, "chain:\n  a: ");
    for (int64_t i = 0; i < n; i++)
        norma_text_append_bytes(&text, "[", 1);
    norma_test_fails(fixture_read("", text.data, &c), NORMA_CONFIG,
                     "run.yaml:2: nested deeper than 100 levels");
    norma_text_clear(&text);
    norma_text_append(&text, "solve:\n  offset: [");
    for (int64_t i = 0; i < n; i++)
        norma_text_append(&text, "%lld,\n", (long long)(i * 7919 % n));
    norma_text_append(&text, "x]\n");
    norma_test_fails(fixture_read("", text.data, &c), NORMA_CONFIG,
                     "run.yaml:200002: solve: offset: 'x' is not a whole number");
    memcpy(text.data + text.length - 3, "5]\n", 3);
    norma_test_fails(fixture_read("", text.data, &c), NORMA_CONFIG,
                     "run.yaml:200002: solve: offset: '5' is listed twice");
    norma_text_clear(&text);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(random_configurations),
    cmocka_unit_test(settled),
    cmocka_unit_test(mutated_files),
    cmocka_unit_test(large_files),
};

norma_test_main_serial("config_roundtrip", tests)
