/* YAML files: whole messages, exact lines, precedence. */
#include "tests/io/config_fixture.h"

static void refuse(const char *yaml, const char *message)
{
    fixture_refuse("", yaml, NORMA_CONFIG, message);
}

static void values(void **state)
{
    (void)state;
    norma_config *c = NULL;
    norma_test_ok(fixture_read("--width 3",
                               "chain:\n  whatever: {a: [1, {b: 2}]}\n"
                               "solve: # comment\n"
                               "  width: [4, 5]\n"
                               "  offset: \"-7\"\n"
                               "  file: 'it''s'\n"
                               "  split: 1x1+3x3\n"
                               "  time-limit: 1:30:00\n"
                               "  fast: true\n"
                               "  layers: [1, 4..6]\n"
                               "  data:\n  - mnist\n  - \"a b\"\n"
                               "  input: x.h5\n"
                               "info:\n",
                               &c));
    assert_int_equal(norma_config_get_integer(c, 0, "width"), 3);
    assert_string_equal(norma_config_where(c, "width"), "--width");
    assert_string_equal(norma_config_where(c, "offset"), "run.yaml:5: solve: offset");
    assert_int_equal(norma_config_get_integer(c, 0, "offset"), -7);
    assert_string_equal(norma_config_get_text(c, 0, "file"), "it's");
    assert_string_equal(norma_config_get_text(c, 0, "input"), "x.h5");
    norma_test_check(norma_config_get_seconds(c, 0, "time-limit") == 5400);
    norma_test_check(norma_config_get_flag(c, "fast"));
    assert_int_equal(norma_config_get_count(c, "layers"), 4);
    assert_int_equal(norma_config_get_sweep(c)->n_cells, 2);
    assert_string_equal(norma_config_get_text(c, 1, "data"), "a b");
    norma_config_destroy(&c);
}

static void empty(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "\n\n",
                                        "# only a comment\n",
                                        "---\n",
                                        "---\n...\n",
                                        "solve:\n",
                                        "solve: {}\n",
                                        "solve: ~\n",
                                        "solve:\n  # nothing\nchain:\n",
                                        "null\n",
                                        "chain: {a: 1}",
                                        "\xef\xbb\xbfsolve:\n  width: 8\n",
                                        "%YAML 1.1\n---\nsolve:\r\n  width: 8\r\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        norma_config *c = NULL;
        norma_test_ok(fixture_read("", texts[i], &c));
        assert_int_equal(norma_config_get_integer(c, 0, "width"), 8);
        norma_config_destroy(&c);
    }
}

static void keys(void **state)
{
    (void)state;
    refuse("\n\n# c\nsolve:\n\n  samples: 5\n  widht: 8\n",
           "run.yaml:7: solve: unknown key 'widht'; did you mean 'width'?");
    refuse("solve:\n  zebra: 8\n", "run.yaml:2: solve: unknown key 'zebra'");
    refuse("solve:\n  --width: 8\n",
           "run.yaml:2: solve: unknown key '--width'; did you mean 'width'?");
    refuse("solve:\n  \"wid\\0th\": 8\n",
           "run.yaml:2: solve: unknown key 'wid?th'; did you mean 'width'?");
    refuse("solve:\n  width: 8\n  samples: 3\n\n  width: 9\n",
           "run.yaml:5: solve: width: given again; first in line 2");
    refuse("solve:\n  config: a.yaml\n",
           "run.yaml:2: solve: config: belongs on the command line, not in a file");
    refuse("solve:\n  force: true\n",
           "run.yaml:2: solve: force: belongs on the command line, not in a file");
    refuse("solve:\n  [a]: 8\n", "run.yaml:2: solve: a key must be the name of an option");
    refuse("solve:\n  features: 8\n  width: 1\n  excess: 3\n",
           "run.yaml:4: solve: excess: excludes run.yaml:2: solve: features; give one of them");
    refuse("solve:\n  overparam: 1\n  width: 1\n  excess: 3\n",
           "run.yaml:4: solve: excess: excludes run.yaml:2: solve: overparam; give one of them");
}

static void sections(void **state)
{
    (void)state;
    refuse("sovle:\n  width: 8\n", "run.yaml:1: unknown section 'sovle'; did you mean 'solve'?");
    refuse("\nwidth: 8\n", "run.yaml:2: unknown section 'width'; sections are named like the "
                           "subcommands, and options stand indented inside one, here 'solve'");
    refuse("solve:\n  width: 8\nchain:\nsolve:\n",
           "run.yaml:4: section 'solve' again; it began in line 1");
    refuse("chain:\nchain:\n", "run.yaml:2: section 'chain' again; it began in line 1");
    refuse("solve: 5\n",
           "run.yaml:1: section 'solve' holds a single value; lines 'option: value' were expected");
    refuse("\nchain:\n- a\n",
           "run.yaml:2: section 'chain' holds a list; lines 'option: value' were expected");
    refuse("- solve\n", "run.yaml:1: sections named like the subcommands were expected ('solve:' "
                        "and its options indented below)");
    refuse("width\n", "run.yaml:1: sections named like the subcommands were expected ('solve:' and "
                      "its options indented below)");
    refuse("[a]: 5\n", "run.yaml:1: a section must have a name");
    refuse("\"sol\\0ve\": {}\n", "run.yaml:1: unknown section 'sol?ve'; did you mean 'solve'?");
}

static void bad_values(void **state)
{
    (void)state;
    refuse("solve:\n  samples: 3\n  width: abc\n",
           "run.yaml:3: solve: width: 'abc' is not a whole number");
    refuse("solve:\n  width: 0\n",
           "run.yaml:2: solve: width: 0 is out of range; it must be at least 1 and at most 100000");
    refuse("solve:\n  width:\n  - 8\n  -\n    1.5\n  - 9\n",
           "run.yaml:5: solve: width: '1.5' is not a whole number");
    refuse("solve:\n  width: [8,\n\n    0,\n  9]\n",
           "run.yaml:4: solve: width: 0 is out of range; it must be at least 1 and at most 100000");
    refuse("solve:\n  width: [8,\n    4..6,\n  5]\n",
           "run.yaml:4: solve: width: '5' is listed twice");
    refuse("solve:\n  width: [8,\n    5,\n  4..6,\n 7]\n",
           "run.yaml:4: solve: width: '5' is listed twice");
    refuse("solve:\n  width: [5, 8,\n    9,\n  8,\n 5]\n",
           "run.yaml:4: solve: width: '8' is listed twice");
    refuse("solve:\n  law:\n    - he-normal\n    - he-unifrom\n",
           "run.yaml:4: solve: law: unknown name 'he-unifrom'; did you mean 'he-uniform'? Known: "
           "he-normal, he-uniform, orthogonal, er-sign");
    refuse("solve:\n  width:\n  samples: 3\n",
           "run.yaml:2: solve: width: no value; leave the key out for the default");
    refuse("solve:\n  ? width\n\n\n  ? samples\n",
           "run.yaml:2: solve: width: no value; leave the key out for the default");
    refuse("solve:\n  file: ~\n",
           "run.yaml:2: solve: file: no value; leave the key out for the default");
    refuse("solve:\n  width:\n  - 8\n  -\n  - 9\n",
           "run.yaml:4: solve: width: no value; leave the key out for the default");
    refuse("solve:\n  file: ''\n", "run.yaml:2: solve: file: the value is empty");
    refuse("solve:\n  file: \"a\\0b\"\n",
           "run.yaml:2: solve: file: the value holds a zero character");
    refuse("solve:\n  width: []\n", "run.yaml:2: solve: width: an empty list");
    refuse("solve:\n  samples: [1]\n", "run.yaml:2: solve: samples: takes one value, not a list");
    refuse("solve:\n  fast: yes\n", "run.yaml:2: solve: fast: 'yes' is not true or false");
    refuse("solve:\n  width: \"a\\nb\\e[31m\"\n",
           "run.yaml:2: solve: width: 'a?b?[31m' is not a whole number");
}

/* A flag wins over the file, but the file must be right all the same. */
static void precedence(void **state)
{
    (void)state;
    norma_config *c = NULL;
    fixture_refuse("--width 3", "solve:\n  width: x\n", NORMA_CONFIG,
                   "run.yaml:2: solve: width: 'x' is not a whole number");
    norma_test_ok(fixture_read("--features 9", "solve:\n  excess: 4\n  fast: true\n", &c));
    norma_test_check(!norma_config_has(c, "excess"));
    assert_int_equal(norma_config_get_integer(c, 0, "features"), 9);
    norma_config_destroy(&c);
    norma_test_ok(fixture_read("--fast=false", "solve:\n  overparam: 4\n  fast: true\n", &c));
    norma_test_check(!norma_config_has(c, "excess") && norma_config_has(c, "overparam"));
    norma_test_check(!norma_config_get_flag(c, "fast"));
    norma_config_destroy(&c);
}

static void structure(void **state)
{
    (void)state;
    refuse("solve:\n  width: {a: 1}\n", "run.yaml:2: solve: key 'width' holds a nested mapping; a "
                                        "value or a list was expected");
    refuse("solve:\n  width:\n    a: 1\n", "run.yaml:3: solve: key 'width' holds a nested mapping; "
                                           "a value or a list was expected");
    refuse("solve:\n  width:\n  - 1\n  - [2]\n",
           "run.yaml:4: solve: key 'width' holds a list within "
           "a list; a value or a list was expected");
    refuse("solve:\n  width:\n  - a: 2\n", "run.yaml:3: solve: key 'width' holds a mapping in a "
                                           "list; a value or a list was expected");
    refuse("solve:\n  width: &w 3\n",
           "run.yaml:2: anchors and aliases (&name, *name) are not allowed");
    refuse("solve:\n  width: 3\n  samples: *w\n",
           "run.yaml:3: anchors and aliases (&name, *name) are not allowed");
    refuse("chain: &c {}\n", "run.yaml:1: anchors and aliases (&name, *name) are not allowed");
    refuse("solve:\n  width: !!int 3\n", "run.yaml:2: tags (!name) are not allowed");
    refuse("solve:\n  width: ! 3\n", "run.yaml:2: tags (!name) are not allowed");
    refuse("--- !x\nsolve:\n", "run.yaml:1: tags (!name) are not allowed");
    refuse("solve:\n  width: 3\n---\nsolve:\n", "run.yaml:3: a second document; one was expected");
}

static void malformed(void **state)
{
    (void)state;
    refuse("solve:\n  width: [1, 2\n  samples: 3\n",
           "run.yaml:3:10: did not find expected ',' or ']' (while parsing a flow sequence that "
           "began in line 2)");
    refuse("solve:\n\twidth: 3\n", "run.yaml:2:1: found character that cannot start any token "
                                   "(while scanning for the next token that began in line 2)");
    refuse("solve:\n  width: \"3\n", "run.yaml:3:1: found unexpected end of stream (while scanning "
                                     "a quoted scalar that began in line 2)");
    refuse("solve:\n  width: 3: 4\n",
           "run.yaml:2:11: mapping values are not allowed in this context");
    refuse("solve:\n width: 3\n  samples: 3\n",
           "run.yaml:3:10: mapping values are not allowed in this context");
    refuse("solve:\n  file: a\x01z\n", "run.yaml:2: control characters are not allowed (U+0001)");
    refuse("solve:\n\n  file: caf\xe9\n", "run.yaml:3: byte 0xe9 is not UTF-8");
    refuse("solve:\r\n\r  file: caf\xe9\n", "run.yaml:3: byte 0xe9 is not UTF-8");
    refuse("s\xff\n", "run.yaml:1: byte 0xff is not UTF-8");
    refuse("\xff\xfes", "run.yaml: is UTF-16; save it as UTF-8");
    refuse("\xfe\xff\ns", "run.yaml: is UTF-16; save it as UTF-8");
}

/* Texts with zeros, and paths too long for a message. */
static void bytes(void **state)
{
    (void)state;
    norma_config *c = NULL;
    char path[3000];
    norma_test_ok(norma_config_parse(&fixture_command, 0, NULL, &c));
    norma_test_fails(norma_config_apply(c, fixture_sections, "r", "solve:\n  width: 8\0\n", 19),
                     NORMA_CONFIG, "r:2: holds a zero byte: not a text file");
    norma_test_fails(norma_config_apply(c, fixture_sections, "r", "s\0o\0l\0", 6), NORMA_CONFIG,
                     "r: is UTF-16; save it as UTF-8");
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    norma_test_fails(norma_config_apply(c, fixture_sections, path, "solve:\n  widht: 8\n", 18),
                     NORMA_CONFIG, "p:2: solve: unknown key 'widht'; did you mean 'width'?");
    norma_config_destroy(&c);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(values),    cmocka_unit_test(empty),      cmocka_unit_test(keys),
    cmocka_unit_test(sections),  cmocka_unit_test(bad_values), cmocka_unit_test(precedence),
    cmocka_unit_test(structure), cmocka_unit_test(malformed),  cmocka_unit_test(bytes),
};

norma_test_main_serial("config_file", tests)
