/* Numbers in order, at a place of an order, and lists that grow. SPDX-License-Identifier: Apache-2.0 */
#include "core/select.h"

#include "core/owned.h"
#include "core/status.h"
#include "tests/support/test.h"

enum { MOST = 300, TIMES = 2000 };

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Few values, so that many are alike. */
static void fill(double *x, int count, int values)
{
    for (int i = 0; i < count; i++) x[i] = (double)(rand() % values) - (double)values / 2;
}

TEST(the_number_at_a_place_is_that_of_the_sorted_numbers)
{
    double x[MOST], sorted[MOST];
    float single[MOST];
    for (int t = 0; t < TIMES; t++) {
        const int count = 1 + rand() % MOST, place = rand() % count;
        fill(x, count, 1 + rand() % 1000);
        for (int i = 0; i < count; i++) single[i] = (float)(sorted[i] = x[i]);
        qsort(sorted, (size_t)count, sizeof *sorted, ascending);
        assert_true(lmr_select_f64(x, count, place) == sorted[place]);
        assert_true((double)lmr_select_f32(single, count, place) == sorted[place]);
        assert_true(lmr_median_f64(x, count) == sorted[count / 2]);
        assert_true(lmr_median_f32(single, count) == sorted[count / 2]);
    }
}

TEST(the_median_of_no_numbers_is_0)
{
    double x = 1;
    float single = 1;
    assert_true(lmr_median_f64(&x, 0) == 0);
    assert_true(lmr_median_f32(&single, 0) == 0);
}

TEST(numbers_that_cannot_be_compared_end_it)
{
    double x[] = {1, NAN, 3, NAN, 2};
    (void)lmr_select_f64(x, 5, 2);
    int found = 0;
    for (int i = 0; i < 5; i++) found += isnan(x[i]) ? 10 : (int)x[i];
    assert_int_equal(found, 26); /* all are still there */
}

TEST(sorted_numbers_ascend_and_are_the_same_numbers)
{
    double x[MOST], other[MOST];
    int whole[MOST];
    for (int t = 0; t < TIMES; t++) {
        const int count = 1 + rand() % MOST;
        fill(x, count, 1 + rand() % 1000);
        for (int i = 0; i < count; i++) whole[i] = (int)(2 * (other[i] = x[i]));
        qsort(other, (size_t)count, sizeof *other, ascending);
        lmr_sort_f64(x, count);
        lmr_sort_int(whole, count);
        for (int i = 0; i < count; i++) assert_true(x[i] == other[i] && whole[i] == (int)(2 * other[i]));
    }
    lmr_sort_f64(x, 0);
    lmr_sort_int(whole, 0);
}

TEST(ranks_are_by_value_and_where_values_are_equal_by_index)
{
    double x[MOST];
    lmr_ranked list[MOST];
    for (int t = 0; t < TIMES; t++) {
        const int count = 2 + rand() % (MOST - 2);
        fill(x, count, 1 + rand() % 20);
        for (int i = 0; i < count; i++) list[i] = (lmr_ranked){x[count - 1 - i], count - 1 - i};
        lmr_sort_ranked(list, count);
        for (int i = 0; i < count; i++) assert_true(list[i].value == x[list[i].index]);
        for (int i = 1; i < count; i++) {
            assert_true(list[i].value >= list[i - 1].value);
            assert_true(list[i].value > list[i - 1].value || list[i].index > list[i - 1].index);
        }
    }
}

TEST(a_list_that_grows_keeps_what_it_has)
{
    LMR_HEAP int *list = NULL;
    int64_t room = 0;
    for (int i = 0; i < MOST; i++) {
        assert_int_equal(lmr_grow(&list, i, &room, sizeof *list), LARMOR_OK);
        assert_true(room > i);
        list[i] = i;
    }
    for (int i = 0; i < MOST; i++) assert_int_equal(list[i], i);
    int64_t full = INT64_C(1) << 50; /* what cannot be had leaves the list as it is */
    assert_int_equal(lmr_grow(&list, full, &full, sizeof *list), LARMOR_ERR_MEMORY);
    assert_true(full == INT64_C(1) << 50 && list[MOST - 1] == MOST - 1);
}
