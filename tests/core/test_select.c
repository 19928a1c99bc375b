/* Numbers at a place of an order against the order. SPDX-License-Identifier: Apache-2.0 */
#include "core/select.h"

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
