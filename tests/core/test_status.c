/* Status codes and the thread's message. SPDX-License-Identifier: Apache-2.0 */
#include "core/status.h"

#include <pthread.h>

#include "tests/support/test.h"

TEST(every_code_has_its_own_name)
{
    assert_string_equal(larmor_status_name(LARMOR_OK), "LARMOR_OK");
    assert_string_equal(larmor_status_name(LARMOR_ERR_SHAPE), "LARMOR_ERR_SHAPE");
    assert_string_equal(larmor_status_name(LARMOR_STOPPED), "LARMOR_STOPPED");
    for (int a = 0; a <= LARMOR_STOPPED; a++)
        for (int b = 0; b < a; b++)
            assert_string_not_equal(larmor_status_name((larmor_status)a), larmor_status_name((larmor_status)b));
    assert_string_equal(larmor_status_name((larmor_status)99), "unknown status");
    assert_string_equal(larmor_status_name((larmor_status)-1), "unknown status");
}

TEST(a_failure_leaves_its_message)
{
    assert_int_equal(LMR_FAIL(LARMOR_ERR_ARG, "subject: got %d, expected %s", 3, "4"), LARMOR_ERR_ARG);
    assert_string_equal(larmor_last_error(), "subject: got 3, expected 4");
    assert_int_equal(larmor_fail(LARMOR_ERR_NUMERIC, "mine: %s", "own words"), LARMOR_ERR_NUMERIC);
    assert_string_equal(larmor_last_error(), "mine: own words");
}

TEST(a_prefix_says_where)
{
    LMR_FAIL(LARMOR_ERR_IO, "disk full");
    assert_int_equal(lmr_fail_in(LARMOR_ERR_IO, "out.h5"), LARMOR_ERR_IO);
    assert_string_equal(larmor_last_error(), "out.h5: disk full");
}

TEST(a_message_is_one_line_and_never_overflows)
{
    static char name[5000];
    memset(name, 'x', sizeof name - 1);
    name[3] = '\n';
    name[4] = '\033';
    LMR_FAIL(LARMOR_ERR_IO, "%s", name);
    assert_in_range(strlen(larmor_last_error()), 500, 5000);
    assert_null(strpbrk(larmor_last_error(), "\n\033"));
    lmr_fail_in(LARMOR_ERR_IO, name);
    assert_null(strpbrk(larmor_last_error(), "\n\033"));
}

TEST(debugging_adds_function_and_line)
{
    setenv("LARMOR_DEBUG", "1", 1);
    const int line = __LINE__ + 1;
    LMR_FAIL(LARMOR_ERR_ARG, "subject: wrong");
    unsetenv("LARMOR_DEBUG");
    char expected[128];
    snprintf(expected, sizeof expected, "subject: wrong [%s:%d]", __func__, line);
    assert_string_equal(larmor_last_error(), expected);
}

static void *fail_elsewhere(void *message)
{
    LMR_FAIL(LARMOR_ERR_ARG, "%s", *(const char **)message);
    *(const char **)message = strcmp(larmor_last_error(), "elsewhere") ? "wrong" : "right";
    return NULL;
}

TEST(messages_belong_to_their_thread)
{
    const char *message = "elsewhere";
    pthread_t thread;
    LMR_FAIL(LARMOR_ERR_ARG, "here");
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &message), 0);
    pthread_join(thread, NULL);
    assert_string_equal(message, "right");
    assert_string_equal(larmor_last_error(), "here");
}

static larmor_status early_return(larmor_status inner, int *reached)
{
    LMR_TRY(inner);
    *reached = 1;
    return LARMOR_OK;
}

static larmor_status clean_up(larmor_status inner, int *cleaned)
{
    larmor_status st;
    LMR_OR(done, inner);
    st = LARMOR_ERR_BACKEND;
done:
    *cleaned = 1;
    return st;
}

TEST(the_macros_return_early_or_jump)
{
    int reached = 0, cleaned = 0;
    assert_int_equal(early_return(LARMOR_ERR_MEMORY, &reached), LARMOR_ERR_MEMORY);
    assert_int_equal(reached, 0);
    assert_int_equal(early_return(LARMOR_OK, &reached), LARMOR_OK);
    assert_int_equal(reached, 1);
    assert_int_equal(clean_up(LARMOR_ERR_IO, &cleaned), LARMOR_ERR_IO);
    assert_int_equal(cleaned, 1);
    assert_int_equal(clean_up(LARMOR_OK, &cleaned), LARMOR_ERR_BACKEND);
}

TEST(checked_products_refuse_overflow_and_negatives)
{
    int64_t out = 7;
    assert_true(lmr_mul(3, 4, &out));
    assert_int_equal(out, 12);
    assert_true(lmr_mul(0, INT64_MAX, &out));
    assert_int_equal(out, 0);
    assert_false(lmr_mul(INT64_C(1) << 32, INT64_C(1) << 31, &out));
    assert_false(lmr_mul(-1, 2, &out));
    assert_false(lmr_mul(2, -1, &out));
}
