/* The JSON writer, by exact text, and the reader of what it wrote. SPDX-License-Identifier: Apache-2.0 */
#include "apps/common/json.h"
#include "apps/common/json_read.h"

#include <math.h>

#include "tests/support/test.h"

static char text[4096];

static json begin(void)
{
    memset(text, 0, sizeof text);
    return (json){fmemopen(text, sizeof text, "w"), 0, 0};
}

static void assert_text(json *j, const char *expected)
{
    fclose(j->out);
    assert_string_equal(text, expected);
}

static void objects_and_arrays_nest_with_commas_between(void **state)
{
    (void)state;
    json j = begin();
    json_open(&j, NULL, '{');
    json_integer(&j, "n", -3);
    json_open(&j, "list", '[');
    json_flag(&j, NULL, 1);
    json_flag(&j, NULL, 0);
    json_close(&j, ']');
    json_open(&j, "none", '[');
    json_close(&j, ']');
    json_integers(&j, "sizes", (int64_t[]){1, INT64_MAX}, 2);
    json_close(&j, '}');
    assert_text(&j, "{\n  \"n\": -3,\n  \"list\": [\n    true,\n    false\n  ],\n  \"none\": [],\n"
                    "  \"sizes\": [1, 9223372036854775807]\n}\n");
}

static void texts_are_escaped_and_always_utf8(void **state)
{
    (void)state;
    json j = begin();
    json_open(&j, NULL, '[');
    json_text(&j, NULL, "a\"b\\c\n\x01");
    json_text(&j, NULL, "gr\xc3\xbc\xc3\x9f \xf0\x9f\xa7\xb2");
    json_text(&j, NULL, "\xff \xc3( \xc0\x80 \xed\xa0\x80 \xe2\x82");
    json_close(&j, ']');
    assert_text(&j, "[\n  \"a\\\"b\\\\c\\n\\u0001\",\n  \"gr\xc3\xbc\xc3\x9f \xf0\x9f\xa7\xb2\",\n"
                    "  \"\\ufffd \\ufffd( \\ufffd\\ufffd \\ufffd\\ufffd\\ufffd \\ufffd\\ufffd\"\n]\n");
}

static void numbers_that_json_cannot_hold_are_null(void **state)
{
    (void)state;
    json j = begin();
    json_open(&j, NULL, '[');
    json_number(&j, NULL, 0.25);
    json_number(&j, NULL, NAN);
    json_numbers(&j, NULL, (double[]){1e-30, -INFINITY}, 2);
    json_close(&j, ']');
    assert_text(&j, "[\n  0.25,\n  null,\n  [1e-30, null]\n]\n");
}

/* ---- reading ---- */

static void members_and_elements_are_found_past_what_is_nested(void **state)
{
    (void)state;
    const char *o = "{ \"a\": { \"b\": 1, \"c\": [2, {\"b\": 3}] },\n \"s\": \"} \\\" b, {\", \"b\": -4.5e1,"
                    " \"list\": [[], \"x\", 7, null] }";
    char room[16];
    assert_true(json_as_number(json_member(o, "b")) == -45);
    assert_true(json_as_number(json_member(json_member(o, "a"), "b")) == 1);
    const char *list = json_member(json_member(o, "a"), "c");
    assert_true(json_as_number(json_element(list, 0)) == 2);
    assert_true(json_as_number(json_member(json_element(list, 1), "b")) == 3);
    assert_null(json_element(list, 2));
    list = json_member(o, "list");
    assert_null(json_element(json_element(list, 0), 0));
    assert_string_equal(json_as_text(json_element(list, 1), room, sizeof room), "x");
    assert_string_equal(json_as_text(json_element(list, 2), room, sizeof room), "");
    assert_true(isnan(json_as_number(json_element(list, 3))));
    assert_string_equal(json_as_text(json_member(o, "s"), room, 4), "} \\");
    assert_null(json_member(o, "c"));
    assert_null(json_member(list, "a"));
    assert_null(json_member(NULL, "a"));
    assert_null(json_element(o, 0));
}

/* No prefix of a line is read past its end, and none gives a number that the whole does not have. */
static void what_is_cut_off_is_not_there(void **state)
{
    (void)state;
    const char *whole = "{\"t\": \"a\\\"\", \"list\": [1, [2]], \"o\": {\"x\": 5}, \"last\": 9}";
    for (size_t n = 0; n < strlen(whole); n++) {
        char *part = malloc(n + 1), room[8]; /* so that a sanitizer sees its end */
        assert_non_null(part);
        memcpy(part, whole, n);
        part[n] = 0;
        const double x = json_as_number(json_member(json_member(part, "o"), "x")),
                     last = json_as_number(json_member(part, "last"));
        assert_true(isnan(x) || x == 5);
        assert_true(isnan(last) || last == 9);
        json_as_text(json_member(part, "t"), room, sizeof room);
        assert_true(!room[0] || !strcmp(room, "a\\\""));
        free(part);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_and_arrays_nest_with_commas_between),
        cmocka_unit_test(texts_are_escaped_and_always_utf8),
        cmocka_unit_test(numbers_that_json_cannot_hold_are_null),
        cmocka_unit_test(members_and_elements_are_found_past_what_is_nested),
        cmocka_unit_test(what_is_cut_off_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
