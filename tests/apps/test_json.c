/* The JSON writer, by exact text. SPDX-License-Identifier: Apache-2.0 */
#define OWN_MAIN
#include "apps/common/json.h"

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

TEST(objects_and_arrays_nest_with_commas_between)
{
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

TEST(texts_are_escaped_and_always_utf8)
{
    json j = begin();
    json_open(&j, NULL, '[');
    json_text(&j, NULL, "a\"b\\c\n\x01");
    json_text(&j, NULL, "gr\xc3\xbc\xc3\x9f \xf0\x9f\xa7\xb2");
    json_text(&j, NULL, "\xff \xc3( \xc0\x80 \xed\xa0\x80 \xe2\x82");
    json_close(&j, ']');
    assert_text(&j, "[\n  \"a\\\"b\\\\c\\n\\u0001\",\n  \"gr\xc3\xbc\xc3\x9f \xf0\x9f\xa7\xb2\",\n"
                    "  \"\\ufffd \\ufffd( \\ufffd\\ufffd \\ufffd\\ufffd\\ufffd \\ufffd\\ufffd\"\n]\n");
}

TEST(numbers_that_json_cannot_hold_are_null)
{
    json j = begin();
    json_open(&j, NULL, '[');
    json_number(&j, NULL, 0.25);
    json_number(&j, NULL, NAN);
    json_numbers(&j, NULL, (double[]){1e-30, -INFINITY}, 2);
    json_close(&j, ']');
    assert_text(&j, "[\n  0.25,\n  null,\n  [1e-30, null]\n]\n");
}

int main(void)
{
    return run_claims(NULL, NULL);
}
