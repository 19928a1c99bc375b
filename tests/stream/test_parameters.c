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

static void values_are_texts_as_they_are_written(void **state)
{
    (void)state;
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

static void without_a_member_of_that_name_all_are_parameters(void **state)
{
    (void)state;
    assert_ok(read_text("{\"method\":\"cg\",\"iters\":3}"));
    assert_int_equal(parameters.count, 2);
    assert_parameter(1, "iters", "3");
    assert_ok(read_text("{\"a\":1,\"parameters\":{}}"));
    assert_int_equal(parameters.count, 0);
    assert_ok(read_text("{}"));
    assert_int_equal(parameters.count, 0);
}

static void escaped_characters_are_read(void **state)
{
    (void)state;
    assert_ok(read_text("{\"\\u0061\":\"\\\"\\\\\\/\\n\\u00e9\\u20ac\\ud83d\"}"));
    assert_parameter(0, "a", "\"\\/\n\xc3\xa9\xe2\x82\xac?");
}

static void what_is_no_json_is_refused_with_its_place(void **state)
{
    (void)state;
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

static void a_text_that_is_cut_anywhere_is_refused(void **state)
{
    (void)state;
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

static void depth_and_number_are_bounded(void **state)
{
    (void)state;
    static char text[20000];
    size_t used = 0;
    for (int i = 0; i < 1000; i++) used += (size_t)sprintf(text + used, "{\"a\":");
    assert_refused(read_text(text), LARMOR_ERR_FORMAT, "less depth expected");
    used = (size_t)sprintf(text, "{\"a\":1");
    for (int i = 0; i < LMR_MOST_PARAMETERS; i++) used += (size_t)sprintf(text + used, ",\"a\":1");
    sprintf(text + used, "}");
    assert_refused(read_text(text), LARMOR_ERR_FORMAT, "parameters: more than 256; fewer expected.");
}

static void names_are_the_same_whatever_their_dashes_and_case(void **state)
{
    (void)state;
    assert_true(lmr_parameter_is("spokesPerFrame", "spokes-per-frame"));
    assert_true(lmr_parameter_is("spokes_per_frame", "spokes-per-frame"));
    assert_false(lmr_parameter_is("spokes", "spokes-per-frame"));
    assert_false(lmr_parameter_is("spokes-per-frames", "spokes-per-frame"));
    lmr_parameters_free(&parameters);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(values_are_texts_as_they_are_written),
    cmocka_unit_test(without_a_member_of_that_name_all_are_parameters),
    cmocka_unit_test(escaped_characters_are_read),
    cmocka_unit_test(what_is_no_json_is_refused_with_its_place),
    cmocka_unit_test(a_text_that_is_cut_anywhere_is_refused),
    cmocka_unit_test(depth_and_number_are_bounded),
    cmocka_unit_test(names_are_the_same_whatever_their_dashes_and_case),
};

int main(void)
{
    RUN_TESTS(tests);
}
