/* io/parts.c, and files that are large enough for several threads. SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>

#include "io/parts.h"
#include "tests/io/mrd_scan.h"

enum { ITEMS = 1000 };

typedef struct items {
    atomic_int done[ITEMS];
    int fails_at[2]; /* items that fail; -1: none */
} items;

static larmor_status count_items(void *user, int part, int64_t first, int64_t end)
{
    items *all = user;
    assert_true(part >= 0 && part < LMR_MOST_PARTS);
    for (int64_t i = first; i < end; i++) {
        atomic_fetch_add(&all->done[i], 1);
        for (int f = 0; f < 2; f++)
            if (i == all->fails_at[f]) return larmor_fail(LARMOR_ERR_FORMAT, "item %d", all->fails_at[f]);
    }
    return LARMOR_OK;
}

TEST(every_item_is_worked_on_once)
{
    for (int parts = 0; parts < 12; parts++)
        for (int count = 0; count < 40; count++) {
            items all = {.fails_at = {-1, -1}};
            assert_ok(lmr_in_parts(count, parts, count_items, &all));
            for (int i = 0; i < ITEMS; i++) assert_int_equal(atomic_load(&all.done[i]), i < count);
        }
}

TEST(the_first_failure_is_reported_whichever_comes_first)
{
    for (int parts = 1; parts <= LMR_MOST_PARTS; parts++)
        for (int first = 0; first < ITEMS; first += 83) {
            char expected[32];
            items all = {.fails_at = {first, ITEMS - 1}};
            snprintf(expected, sizeof expected, "item %d", first);
            assert_refused(lmr_in_parts(ITEMS, parts, count_items, &all), LARMOR_ERR_FORMAT, expected);
        }
}

static larmor_status wait_for_stop(void *user, int part, int64_t first LMR_UNUSED, int64_t end LMR_UNUSED)
{
    const int callers_ends = *(int *)user;
    if (callers_ends && !part) return LARMOR_OK;
    for (;;) LMR_TRY(lmr_go_on());
}

static int times_asked;

static int stop_soon(void *user LMR_UNUSED)
{
    return times_asked++ > 5;
}

TEST(a_caller_that_stops_ends_all_parts)
{
    for (int parts = 2; parts <= LMR_MOST_PARTS; parts += 3)
        for (int callers_ends = 0; callers_ends < 2; callers_ends++) {
            times_asked = 0;
            larmor_stop_when(stop_soon, NULL);
            const larmor_status st = lmr_in_parts(ITEMS, parts, wait_for_stop, &callers_ends);
            larmor_stop_when(NULL, NULL);
            assert_int_equal(st, LARMOR_STOPPED);
        }
}

TEST(few_bytes_are_for_one_thread)
{
    assert_int_equal(lmr_parts_for(0), 1);
    assert_int_equal(lmr_parts_for(1 << 20), 1);
    assert_true(lmr_parts_for(INT64_C(1) << 40) <= LMR_MOST_PARTS);
}

/* 20 MB, which two cores share. */
static scan *large_scan(void)
{
    return radial_scan(MOST_READOUTS, 200);
}

WITH_SCAN(a_large_file_has_the_numbers_that_were_written)
{
    OWNED(scan) *s = large_scan();
    OWNED(larmor_raw) *raw = written(s);
    for (int i = 0; i < s->count; i++) {
        larmor_acquisition a;
        assert_ok(larmor_raw_acquisition(raw, i, &a));
        assert_memory_equal(a.data, data_of(s, i), s->r[i].data.len * sizeof(float));
        assert_memory_equal(a.traj, traj_of(s, i), s->r[i].traj.len * sizeof(float));
    }
}

WITH_SCAN(what_is_wrong_in_a_large_file_is_counted_and_named_in_its_order)
{
    OWNED(scan) *s = large_scan();
    data_of(s, 20)[2 * 64 * 7 + 10] = NAN;
    data_of(s, 150)[3] = INFINITY;
    data_of(s, 151)[4] = INFINITY;
    write_scan(s);
    refused(
        "3 non-finite values, first in acquisition 20, channel 7, sample 5. Use opts.drop_nonfinite to leave those "
        "acquisitions out.");
    OWNED(larmor_raw) *raw = opened_with(&(larmor_raw_opts){.drop_nonfinite = 1});
    const larmor_raw_info info = larmor_raw_describe(raw);
    assert_true(info.nonfinite == 3 && info.imaging == s->count - 3);
}
