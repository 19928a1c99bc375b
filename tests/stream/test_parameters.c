/* stream/parameters.c. SPDX-License-Identifier: Apache-2.0 */
#include "stream/parameters.h"

#include "tests/support/test.h"

static lmr_parameters parameters;

static larmor_status read_text(const char *text)
{
    lmr_parameters_free(&parameters);
    return lmr_parameters_read(text, (int64_t)strlen(text), &parameters);
}

static void assert_parameter(int i, const char *name, const char *value)
{
    assert_true(i < parameters.count);
    assert_string_equal(parameters.each[i].name, name);
    assert_string_equal(parameters.each[i].value, value);
}

TEST(values_are_texts_as_they_are_written)
{
    assert_ok(read_text(
        " {\"version\":\"1.1.0\", \"x\":{\"y\":[1]}, \"parameters\" : {\"a\":\"b c\", \"n\":-1.50e3,"
        "\"t\":true,\"f\":false,\"none\":null,\"list\":[1, 2.5,\"x\"],\"empty\":[],\"deep\":{\"a\":1}}} \n"));
    assert_int_equal(parameters.count, 6);
    assert_parameter(0, "a", "b c");
    assert_parameter(1, "n", "-1.50e3");
    assert_parameter(2, "t", "true");
    assert_parameter(3, "f", "false");
    assert_parameter(4, "list", "1,2.5,x");
    assert_parameter(5, "empty", "");
}

TEST(without_a_member_of_that_name_all_are_parameters)
{
    assert_ok(read_text("{\"method\":\"cg\",\"iters\":3}"));
    assert_int_equal(parameters.count, 2);
    assert_parameter(1, "iters", "3");
    assert_ok(read_text("{\"a\":1,\"parameters\":{}}"));
    assert_int_equal(parameters.count, 0);
    assert_ok(read_text("{}"));
    assert_int_equal(parameters.count, 0);
}

TEST(escaped_characters_are_read)
{
    assert_ok(read_text("{\"\\u0061\":\"\\\"\\\\\\/\\n\\u00e9\\u20ac\\ud83d\"}"));
    assert_parameter(0, "a", "\"\\/\n\xc3\xa9\xe2\x82\xac?");
}

TEST(what_is_no_json_is_refused_with_its_place)
{
    static const struct {
        const char *text, *why;
    } wrong[] = {
        {"", "parameters: '{' expected at byte 0 of the JSON text."},
        {"[1]", "parameters: '{' expected at byte 0"},
        {"{\"a\" 1}", "parameters: ':' expected at byte 5"},
        {"{\"a\":}", "parameters: a value expected at byte 5"},
        {"{\"a\":hello}", "parameters: a value expected at byte 5"},
        {"{\"a\":1 \"b\":2}", "parameters: ',' or '}' expected at byte 7"},
        {"{\"a\":1,}", "parameters: a string expected at byte 7"},
        {"{\"a\":\"\\u0000\"}", "parameters: an escaped character expected at byte 7"},
        {"{\"a\":\"\\x\"}", "parameters: an escaped character expected at byte 7"},
        {"{\"a\":\"\n\"}", "parameters: the end of a string expected at byte 6"},
        {"{\"a\":[1,[2]]}", "parameters: a value expected at byte 8"},
        {"{\"a\":1}}", "parameters: the end expected at byte 7"},
        {"{\"a\":1e99999999999999999999999999999999999999999999999999999999999999999}",
         "parameters: a value expected"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_refused(read_text(wrong[i].text), LARMOR_ERR_FORMAT, wrong[i].why);
        assert_int_equal(parameters.count, 0);
    }
}

TEST(a_text_that_is_cut_anywhere_is_refused)
{
    static const char whole[] = "{\"a\":\"\\u0041\\n\",\"parameters\":{\"b\":[1,true,null],\"c\":{\"d\":1.5}}}";
    for (size_t length = 0; length + 1 < sizeof whole - 1; length++) {
        char *cut = malloc(length + 1); /* of just this size, for AddressSanitizer */
        memcpy(cut, whole, length);
        lmr_parameters_free(&parameters);
        assert_int_equal(lmr_parameters_read(cut, (int64_t)length, &parameters), LARMOR_ERR_FORMAT);
        free(cut);
    }
    assert_ok(read_text(whole));
}

TEST(depth_and_number_are_bounded)
{
    static char text[20000];
    size_t used = 0;
    for (int i = 0; i < 1000; i++) used += (size_t)sprintf(text + used, "{\"a\":");
    assert_refused(read_text(text), LARMOR_ERR_FORMAT, "less depth expected");
    used = (size_t)sprintf(text, "{\"a\":1");
    for (int i = 0; i < LMR_MOST_PARAMETERS; i++) used += (size_t)sprintf(text + used, ",\"a\":1");
    sprintf(text + used, "}");
    assert_refused(read_text(text), LARMOR_ERR_FORMAT, "parameters: more than 256; fewer expected.");
}

TEST(names_are_the_same_whatever_their_dashes_and_case)
{
    assert_true(lmr_parameter_is("spokesPerFrame", "spokes-per-frame"));
    assert_true(lmr_parameter_is("spokes_per_frame", "spokes-per-frame"));
    assert_false(lmr_parameter_is("spokes", "spokes-per-frame"));
    assert_false(lmr_parameter_is("spokes-per-frames", "spokes-per-frame"));
    lmr_parameters_free(&parameters);
}
