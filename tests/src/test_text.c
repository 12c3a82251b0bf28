#include "src/base/mem.h"
#include "src/base/text.h"
#include "tests/harness/harness.h"

#include <stdio.h>
#include <string.h>

static void distance_known(void **state)
{
    (void)state;
    assert_int_equal(norma_text_distance("", ""), 0);
    assert_int_equal(norma_text_distance("", "abc"), 3);
    assert_int_equal(norma_text_distance("kitten", "sitting"), 3);
    assert_int_equal(norma_text_distance("width", "widht"), 1);
    assert_int_equal(norma_text_distance("Width", "width"), 0);
    assert_int_equal(norma_text_distance("ca", "abc"), 3);
    assert_int_equal(norma_text_distance("excess", "exces"), 1);
    char longer[80];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    norma_test_check(norma_text_distance(longer, longer) == INT64_MAX);
    longer[63] = '\0';
    assert_int_equal(norma_text_distance(longer, longer), 0);
    assert_int_equal(norma_text_distance(longer, ""), 63);
}

/* A word of 0 to 6 letters of a, b, c. */
static void draw_word(uint64_t *seed, char word[8])
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    size_t n = (size_t)(*seed >> 33) % 7;
    for (size_t i = 0; i < n; i++)
        word[i] = (char)('a' + (*seed >> (35 + 2 * i)) % 3);
    word[n] = '\0';
}

static void distance_properties(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int trial = 0; trial < 2000; trial++) {
        char a[8], b[8];
        draw_word(&seed, a);
        draw_word(&seed, b);
        int64_t d = norma_text_distance(a, b);
        int64_t difference = (int64_t)strlen(a) - (int64_t)strlen(b);
        assert_int_equal(d, norma_text_distance(b, a));
        norma_test_check((d == 0) == (strcmp(a, b) == 0));
        norma_test_check(d >= (difference < 0 ? -difference : difference) && d <= 6);
    }
}

static void nearest(void **state)
{
    (void)state;
    const char *const names[] = {"features", "excess", "he-normal", "he-uniform", "replicas", "k"};
    const int64_t n = sizeof names / sizeof names[0];
    assert_string_equal(norma_text_nearest("exces", names, n), "excess");
    assert_string_equal(norma_text_nearest("he-unifrom", names, n), "he-uniform");
    assert_string_equal(norma_text_nearest("rep", names, n), "replicas");
    assert_string_equal(norma_text_nearest("FEATURES", names, n), "features");
    assert_null(norma_text_nearest("zebra", names, n));
    assert_null(norma_text_nearest("re", names, n));
    assert_null(norma_text_nearest("excess", names, 0));
}

static void quoting(void **state)
{
    (void)state;
    char out[NORMA_TEXT_QUOTED];
    assert_string_equal(norma_text_quote("a b", 3, out), "'a b'");
    assert_string_equal(norma_text_quote("", 0, out), "''");
    assert_string_equal(norma_text_quote("a\n\x1b[\0z", 6, out), "'a??[?z'");
    assert_string_equal(norma_text_quote("\xff\xc3", 2, out), "'?\?'");
    assert_string_equal(norma_text_quote("\xc3\xa9", 2, out), "'\xc3\xa9'");
    /* Two-byte characters that do not fill the room exactly: cut between, never within. */
    char text[301] = "x";
    for (int i = 1; i < 300; i += 2)
        memcpy(text + i, "\xc3\xa9", 2);
    norma_text_quote(text, 299, out);
    size_t length = strlen(out);
    norma_test_check(length < NORMA_TEXT_QUOTED && length >= NORMA_TEXT_QUOTED - 2);
    assert_string_equal(out + length - 4, "...'");
    assert_int_equal((unsigned char)out[length - 5], 0xa9);
}

static void decoding(void **state)
{
    (void)state;
    uint32_t code = 0;
    assert_int_equal(norma_text_decode("A", 1, &code), 1);
    assert_int_equal(code, 'A');
    assert_int_equal(norma_text_decode("\xe2\x82\xac", 3, &code), 3);
    assert_int_equal(code, 0x20ac);
    assert_int_equal(norma_text_decode("\xf4\x8f\xbf\xbf", 4, &code), 4);
    assert_int_equal(code, 0x10ffff);
    assert_int_equal(norma_text_decode("\xe2\x82\xac", 2, &code), 0);     /* truncated */
    assert_int_equal(norma_text_decode("\xc0\x80", 2, &code), 0);         /* overlong */
    assert_int_equal(norma_text_decode("\xe0\x80\x80", 3, &code), 0);     /* overlong */
    assert_int_equal(norma_text_decode("\xed\xa0\x80", 3, &code), 0);     /* surrogate */
    assert_int_equal(norma_text_decode("\xf4\x90\x80\x80", 4, &code), 0); /* above U+10FFFF */
    assert_int_equal(norma_text_decode("\x80", 1, &code), 0);
    assert_int_equal(norma_text_decode("\xff", 1, &code), 0);
}

static void growing(void **state)
{
    (void)state;
    norma_text text;
    char *out = NULL;
    norma_text_init(&text);
    norma_test_ok(norma_text_take(&text, &out));
    assert_string_equal(out, "");
    NORMA_FREE(out);
    for (int i = 0; i < 1000; i++)
        norma_text_append(&text, "%03d,", i);
    norma_text_append_bytes(&text, "end", 3);
    norma_test_ok(norma_text_take(&text, &out));
    assert_int_equal(strlen(out), 4003);
    for (int i = 0; i < 1000; i++) {
        char expected[16];
        snprintf(expected, sizeof expected, "%03d,", i);
        assert_memory_equal(&out[4 * i], expected, 4);
    }
    assert_string_equal(out + 4000, "end");
    NORMA_FREE(out);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(distance_known), cmocka_unit_test(distance_properties),
    cmocka_unit_test(nearest),        cmocka_unit_test(quoting),
    cmocka_unit_test(decoding),       cmocka_unit_test(growing),
};

norma_test_main_serial("text", tests)
