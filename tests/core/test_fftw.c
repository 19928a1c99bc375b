/* FFTW's planner, which a host program uses as well. SPDX-License-Identifier: Apache-2.0 */
#include <fftw3.h>
#include <pthread.h>
#include <stdatomic.h>

#include "core/device.h"
#include "tests/support/test.h"

ENDS_BY(fftw_free, fftw_complex)
ENDS_BY(fftwf_free, fftwf_complex)

/* FFTW has the questions since 3.3.9. */
extern int fftw_planner_nthreads(void) __attribute__((weak));
extern int fftwf_planner_nthreads(void) __attribute__((weak));

enum { ROUNDS = 400 };

static atomic_int over;

/* A host program that knows nothing of larmor's lock. */
static void *plan_of_ones_own(void *unused)
{
    for (int n = 8; !atomic_load(&over); n = n % 500 + 8) {
        OWNED(fftw_complex) *x = fftw_malloc(sizeof *x * (size_t)n);
        OWNED(fftwf_complex) *y = fftwf_malloc(sizeof *y * (size_t)n);
        fftw_plan in_double = fftw_plan_dft_1d(n, x, x, FFTW_FORWARD, FFTW_ESTIMATE);
        fftwf_plan in_single = fftwf_plan_dft_1d(n, y, y, FFTW_FORWARD, FFTW_ESTIMATE);
        fftwf_destroy_plan(in_single);
        fftw_destroy_plan(in_double);
    }
    return unused;
}

static void plan_and_destroy(int64_t n)
{
    for (int p = 0; p < LMR_PRECISIONS; p++) {
        void *plan;
        assert_ok(dev->be->fft[p]->plan(dev->ctx, 2, (int64_t[]){n, n + 1, 1}, 1, &plan));
        dev->be->fft[p]->destroy(dev->ctx, plan);
    }
}

TEST(a_host_program_may_plan_ffts_meanwhile)
{
    pthread_t host[3];
    for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&host[i], NULL, plan_of_ones_own, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) plan_and_destroy(8 + i % 97);
    atomic_store(&over, 1);
    for (int i = 0; i < 3; i++) pthread_join(host[i], NULL);
}

TEST(the_host_programs_threads_of_fftw_stay_as_they_are)
{
    if (!fftw_planner_nthreads || !fftwf_planner_nthreads) skip();
    assert_true(fftw_init_threads() && fftwf_init_threads());
    fftw_plan_with_nthreads(3);
    fftwf_plan_with_nthreads(5);
    plan_and_destroy(12);
    assert_int_equal(fftw_planner_nthreads(), 3);
    assert_int_equal(fftwf_planner_nthreads(), 5);
    fftw_plan_with_nthreads(1);
    fftwf_plan_with_nthreads(1);
}

static int locked, times;

static void lock(void *user)
{
    assert_ptr_equal(user, &times);
    assert_false(locked);
    locked = 1;
    times++;
}

static void unlock(void *user)
{
    assert_ptr_equal(user, &times);
    assert_true(locked);
    locked = 0;
}

TEST(planning_holds_the_lock_of_the_host_program)
{
    larmor_set_fftw_lock(lock, unlock, &times);
    plan_and_destroy(12);
    assert_true(times >= 4); /* two plans made, two destroyed */
    assert_false(locked);
    larmor_set_fftw_lock(NULL, NULL, NULL);
    times = 0;
    plan_and_destroy(12);
    assert_int_equal(times, 0);
}
