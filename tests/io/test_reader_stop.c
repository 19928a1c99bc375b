/* Reading ends where the caller wants it to. SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/reader_support.h"

#include <time.h>

typedef struct patience { /* of a caller: so many questions, or so many seconds */
    int left;
    double until;
} patience;

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int wants_to_stop(void *user)
{
    patience *p = user;
    return p->until > 0 ? seconds_now() > p->until : p->left-- <= 0;
}

/* 1 if the reading was stopped and left nothing behind. */
static int read_until(patience *p, const char *scan_path, const char *image_path)
{
    larmor_raw *raw = NULL;
    OWNED(larmor_array) *x = NULL;
    const int before = open_descriptors();
    larmor_stop_when(wants_to_stop, p);
    const larmor_status st =
        scan_path ? larmor_raw_open(scan_path, NULL, &raw) : larmor_image_read(image_path, dev, &x);
    larmor_stop_when(NULL, NULL);
    assert_true(st == LARMOR_OK || st == LARMOR_STOPPED);
    assert_int_equal(st == LARMOR_OK, raw != NULL || x != NULL);
    larmor_raw_free(raw);
    assert_int_equal(open_descriptors(), before);
    assert_no_child();
    return st == LARMOR_STOPPED;
}

WITH_REAL(reading_ends_at_any_question_whether_to_stop)
{
    scan *s = radial_scan(24, 2);
    write_scan(s);
    int asked = 0;
    for (; read_until(&(patience){.left = asked}, path, NULL); asked++) assert_true(asked < 1000);
    assert_true(asked > 4); /* of the reader's answers, samples and checks */
    free_scan(s);
    OWN(larmor_array, *x, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(8, 8), &x));
    assert_ok(larmor_fill(x, 1));
    const larmor_image image = {.data = x};
    larmor_output *out = MADE(larmor_output, larmor_output_open(in_folder("i.h5"), 0, &made));
    assert_ok(larmor_image_write(out, &image, 1, NULL));
    larmor_output_free(out);
    for (asked = 0; read_until(&(patience){.left = asked}, NULL, in_folder("i.h5")); asked++)
        assert_true(asked < 1000);
    assert_true(asked > 2);
}

/* The least of some tries, for the machine may be at work for others. */
WITH_FAKE(waiting_for_a_reader_ends_within_a_second)
{
    double least = HUGE_VAL;
    for (int i = 0; i < 20 && least > 1.2; i++) {
        const double began = seconds_now();
        assert_true(read_until(&(patience){.until = began + .2}, file_for("hangs", "slow.h5"), NULL));
        least = fmin(least, seconds_now() - began);
    }
    assert_at_most(least, 1.2);
}
