/* The list of a file's tests: each TEST stands in it by itself. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_TESTS = 100 };
static struct CMUnitTest tests[MOST_TESTS]; /* in the order of the file */
static size_t test_count;

/* TEST_IN(a_claim, set_up, tear_down) { its law }: a test, with what cmocka calls before and after it. */
#define TEST_IN(claim, set_up, tear_down)                                                                            \
    static void claim(void **);                                                                                      \
    enum { number_of_##claim = __COUNTER__ };                                                                        \
    _Static_assert((int)number_of_##claim < MOST_TESTS, "more tests in one file than the list has room for");        \
    __attribute__((constructor)) static void list_##claim(void)                                                      \
    {                                                                                                                \
        tests[number_of_##claim] = (struct CMUnitTest){#claim, claim, set_up, tear_down, NULL};                      \
        if (test_count <= (size_t)number_of_##claim) test_count = (size_t)number_of_##claim + 1;                     \
    }                                                                                                                \
    static void claim(__attribute__((unused)) void **state)
#define TEST(claim) TEST_IN(claim, NULL, NULL)

/* All of the file's tests; of them those whose name fits the pattern in LARMOR_TEST_FILTER, e.g. "*clustered*": for
 * tools under which the whole file takes too long. Returns how many fail. */
static inline int run_claims(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    cmocka_set_test_filter(getenv("LARMOR_TEST_FILTER"));
    return _cmocka_run_group_tests("tests", tests, test_count, set_up, tear_down);
}
