/* Devices by name. SPDX-License-Identifier: Apache-2.0 */
#include "core/device.h"

#include "tests/support/test.h"

static void a_processor_opens_with_the_asked_threads(void **state)
{
    (void)state;
    larmor_device *d;
    assert_ok(larmor_device_open("cpu:3", &d));
    assert_string_equal(larmor_device_spec(d), "cpu:3");
    assert_int_equal(lmr_device_threads(d), 3);
    assert_ok(larmor_device_sync(d));
    larmor_device_free(d);
}

static void auto_and_null_resolve_to_a_name_that_opens_again(void **state)
{
    (void)state;
    const char *const specs[] = {"auto", NULL, "cpu"};
    for (int i = 0; i < 3; i++) {
        larmor_device *d, *again;
        assert_ok(larmor_device_open(specs[i], &d));
        assert_ok(larmor_device_open(larmor_device_spec(d), &again));
        assert_string_equal(larmor_device_spec(d), larmor_device_spec(again));
        assert_true(lmr_device_threads(d) >= 1);
        larmor_device_free(again);
        larmor_device_free(d);
    }
}

static void a_device_says_what_it_is(void **state)
{
    (void)state;
    larmor_device *d;
    assert_ok(larmor_device_open("cpu:3", &d));
    assert_int_equal(strncmp(larmor_device_reason(d), "cpu:3 (", 7), 0);
    larmor_device_free(d);
    assert_ok(larmor_device_open("auto", &d));
    assert_int_equal(strncmp(larmor_device_reason(d), "auto: ", 6), 0);
    assert_int_equal(strncmp(larmor_device_reason(d) + 6, larmor_device_spec(d), strlen(larmor_device_spec(d))), 0);
    larmor_device_free(d);
}

static void names_that_are_none_are_refused_with_the_choices(void **state)
{
    (void)state;
    const char *const wrong[] = {
        "",    "cp",    "cpux",  "cpu:",    "cpu:0",  "cpu:-1",   "cpu:4x", "cpu: 4", "cpu:99999999999999",
        "gpu", "cuda0", "cuda:", "cuda:-1", "cuda:x", "cuda:4096"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        larmor_device *d = (larmor_device *)&d;
        assert_refused(larmor_device_open(wrong[i], &d), LARMOR_ERR_ARG, "expected auto, cpu or cpu:THREADS");
        assert_null(d);
    }
    assert_refused(larmor_device_open("cpu", NULL), LARMOR_ERR_ARG, "out is NULL");
}

static void a_backend_that_is_not_there_is_unsupported_and_says_why(void **state)
{
    (void)state;
    larmor_device *d = (larmor_device *)&d;
    assert_refused(larmor_device_open("cuda:1023", &d), LARMOR_ERR_UNSUPPORTED,
                   "device cuda:1023: cuda unavailable: ");
    assert_null(d);
}

static void the_list_names_every_backend_with_a_reason_where_it_cannot_be_had(void **state)
{
    (void)state;
    larmor_device_info infos[8];
    int count = 0, alone = 0;
    assert_ok(larmor_device_list(infos, 8, &count));
    assert_in_range(count, 2, 8);
    for (int i = 0; i < count; i++) {
        larmor_device *d;
        assert_int_equal(infos[i].available, !infos[i].reason[0]);
        assert_int_equal(infos[i].available, !larmor_device_open(infos[i].spec, &d));
        larmor_device_free(d);
    }
    assert_string_equal(infos[0].spec, "cpu");
    assert_true(infos[0].threads >= 1 && infos[0].memory > 0 && infos[0].name[0]);
    assert_ok(larmor_device_list(NULL, 0, &alone));
    assert_int_equal(alone, count);
}

static void the_list_fills_no_more_than_there_is_room_for(void **state)
{
    (void)state;
    larmor_device_info infos[2];
    int count;
    memset(&infos[1], 0x5a, sizeof infos[1]);
    assert_ok(larmor_device_list(infos, 1, &count));
    assert_string_equal(infos[0].spec, "cpu");
    assert_int_equal(infos[1].spec[0], 0x5a);
    assert_int_equal(larmor_device_list(infos, -1, &count), LARMOR_ERR_ARG);
    assert_int_equal(larmor_device_list(infos, 1, NULL), LARMOR_ERR_ARG);
    assert_int_equal(larmor_device_list(NULL, 1, &count), LARMOR_ERR_ARG);
}

static void a_device_lives_until_its_last_user_is_gone(void **state)
{
    (void)state;
    larmor_device *d;
    larmor_array *x;
    double v[2] = {1, 2}, back[2] = {0};
    assert_ok(larmor_device_open("cpu:2", &d));
    assert_ok(larmor_array_create(d, LARMOR_F64, LARMOR_SHAPE(2), &x));
    larmor_device_free(d);
    assert_ok(larmor_array_write(x, v, sizeof v));
    assert_ok(larmor_array_read(x, back, sizeof back));
    assert_memory_equal(v, back, sizeof v);
    assert_string_equal(larmor_device_spec(larmor_array_device(x)), "cpu:2");
    larmor_array_free(x);
    larmor_device_free(NULL);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_processor_opens_with_the_asked_threads),
        cmocka_unit_test(auto_and_null_resolve_to_a_name_that_opens_again),
        cmocka_unit_test(a_device_says_what_it_is),
        cmocka_unit_test(names_that_are_none_are_refused_with_the_choices),
        cmocka_unit_test(a_backend_that_is_not_there_is_unsupported_and_says_why),
        cmocka_unit_test(the_list_names_every_backend_with_a_reason_where_it_cannot_be_had),
        cmocka_unit_test(the_list_fills_no_more_than_there_is_room_for),
        cmocka_unit_test(a_device_lives_until_its_last_user_is_gone),
    };
    RUN_TESTS(tests);
}
