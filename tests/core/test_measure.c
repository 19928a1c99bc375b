/* The device that counts: sizes without memory. SPDX-License-Identifier: Apache-2.0 */
#include "core/measure/measure.h"

#include "core/array.h"
#include "tests/support/test.h"

enum { HANDLE = 1024 }; /* more than is added for each array */

static larmor_device *opened(const larmor_device *like)
{
    return MADE(larmor_device, lmr_measure_open(like, NULL, &made));
}

static void assert_bytes(double counted, double bytes, int arrays)
{
    assert_true(counted >= bytes);
    assert_true(counted <= bytes + arrays * HANDLE);
}

TEST(arrays_larger_than_any_memory_are_counted)
{
    OWNED(larmor_device) *counting = opened(NULL);
    larmor_array *x, *y, *part;
    const larmor_shape shape = LARMOR_SHAPE(1000000, 1000, 100);
    assert_ok(larmor_array_create(counting, LARMOR_C64, shape, &x));
    assert_ok(larmor_array_create(counting, LARMOR_C64, shape, &y));
    assert_bytes(lmr_measure_held(counting), 2 * 8e11, 2);
    assert_ok(larmor_array_slice(x, 7, 1, &part));
    assert_ok(larmor_fill(x, 3));
    assert_ok(larmor_axpby(1, x, 1, y));
    assert_bytes(lmr_measure_held(counting), 2 * 8e11, 2);
    larmor_array_free(x);
    assert_bytes(lmr_measure_held(counting), 2 * 8e11, 2); /* the part holds it */
    larmor_array_free(part);
    assert_bytes(lmr_measure_held(counting), 8e11, 1);
    larmor_array_free(y);
    assert_true(lmr_measure_held(counting) == 0);
    assert_bytes(lmr_measure_peak(counting), 2 * 8e11, 2);
}

/* In any order, more than the first table of them has. */
TEST(the_peak_is_the_largest_sum_that_was_held_at_a_time)
{
    enum { MOST = 300, STEPS = 20000 };
    OWNED(larmor_device) *counting = opened(NULL);
    larmor_array *live[MOST] = {NULL};
    double held = 0, peak = 0;
    int count = 0;
    for (int i = 0; i < STEPS; i++) {
        const int at = rand() % MOST;
        if (i == STEPS / 2) {
            lmr_measure_begin(counting);
            held = peak = 0;
        }
        if (live[at]) {
            held -= (double)larmor_array_bytes(live[at]);
            larmor_array_free(live[at]);
            live[at] = NULL;
            count--;
        } else {
            assert_ok(larmor_array_create(counting, LARMOR_F64, LARMOR_SHAPE(1000 + rand() % 100000), &live[at]));
            held += (double)larmor_array_bytes(live[at]);
            count++;
        }
        peak = fmax(peak, held);
    }
    assert_true(count > 0);
    assert_true(fabs(lmr_measure_peak(counting) - peak) <= MOST * HANDLE);
    assert_true(fabs(lmr_measure_held(counting) - held) <= MOST * HANDLE);
    for (int i = 0; i < MOST; i++) larmor_array_free(live[i]);
}

TEST(numbers_that_are_read_are_0_and_norms_are_1)
{
    OWNED(larmor_device) *counting = opened(NULL);
    double host[6] = {1, 2, 3, 4, 5, 6};
    OWN(larmor_array, *x, larmor_array_create(counting, LARMOR_C128, LARMOR_SHAPE(3), &x));
    assert_ok(larmor_array_write(x, host, sizeof host));
    assert_ok(larmor_array_read(x, host, sizeof host));
    for (int i = 0; i < 6; i++) assert_true(host[i] == 0);
    assert_true(norm_of(x) == 1);
}

/* An FFT's plan is as large as that of the device, which may be a GPU. */
TEST(plans_are_those_of_the_device_that_it_is_like)
{
    const int64_t dim[3] = {120, 60, 1};
    for (int precision = 0; precision < LMR_PRECISIONS; precision++) {
        OWNED(larmor_device) *counting = opened(dev), *any = opened(NULL);
        const lmr_fft *fft = counting->be->fft[precision];
        const double bytes = dev->be->fft[precision]->bytes(dev->ctx, 2, dim, 3);
        void *plan;
        assert_true(fft->bytes(counting->ctx, 2, dim, 3) == bytes);
        assert_ok(fft->plan(counting->ctx, 2, dim, 3, &plan));
        assert_bytes(lmr_measure_held(counting), bytes, 1);
        fft->destroy(counting->ctx, plan);
        fft->destroy(counting->ctx, NULL);
        assert_true(lmr_measure_held(counting) == 0);
        assert_true(fft->bytes(any->ctx, 2, dim, 3) == (precision == LMR_F64 ? 16 : 8) * 120. * 60 * 3);
        assert_int_equal(lmr_device_is_processor(counting), lmr_device_is_processor(dev));
    }
}

TEST(an_operator_takes_what_it_is_made_with_until_it_is_freed)
{
    OWNED(larmor_device) *counting = opened(dev);
    const larmor_shape in = LARMOR_SHAPE(4), out = LARMOR_SHAPE(3, 2);
    OWN(larmor_array, *x, larmor_array_create(counting, LARMOR_C64, in, &x));
    OWN(larmor_array, *y, larmor_array_create(counting, LARMOR_C64, out, &y));
    lmr_measure_begin(counting);
    larmor_op *A = MADE(larmor_op, lmr_measure_op(counting, 1e9, LARMOR_C64, in, out, &made));
    assert_bytes(lmr_measure_held(counting), 1e9, 1);
    assert_ok(larmor_op_forward(A, x, y));
    assert_ok(larmor_op_adjoint(A, y, x));
    assert_bytes(lmr_measure_peak(counting), 1e9, 1);
    larmor_op_free(A);
    assert_true(lmr_measure_held(counting) == 0);
    assert_refused(lmr_measure_op(counting, 1e40, LARMOR_C64, in, out, &A), LARMOR_ERR_MEMORY, "so much memory");
    assert_null(A);
}

TEST(a_device_that_counts_is_told_from_others)
{
    OWNED(larmor_device) *counting = opened(dev);
    assert_true(lmr_measure_is(counting));
    assert_false(lmr_measure_is(dev));
    assert_true(lmr_measure_like(counting) == dev);
    assert_int_equal(lmr_measure_repeats(counting), 0);
    lmr_measure_set_repeats(counting, 3);
    assert_int_equal(lmr_measure_repeats(counting), 3);
}

TEST(what_no_address_reaches_is_refused)
{
    OWNED(larmor_device) *counting = opened(NULL);
    assert_none_made(larmor_array, larmor_array_create(counting, LARMOR_C64, LARMOR_SHAPE(INT64_C(1) << 56), &made),
                     LARMOR_ERR_MEMORY, "are more than any device has");
    assert_true(lmr_measure_held(counting) == 0);
}
