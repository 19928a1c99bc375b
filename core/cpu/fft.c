/* FFTs on the processor through FFTW. Plans are estimated unless a tuned one is asked for, so that the same build
 * gives the same bits.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fftw3.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/cpu/cpu.h"
#include "core/real.h"
#include "core/status.h"

#if LMR_REAL == 32
#define FFTW(name) fftwf_##name
#else
#define FFTW(name) fftw_##name
#endif

typedef struct transform {
    FFTW(plan) sign[2]; /* forward, backward; NULL for an empty transform */
} transform;

/* FFTW's planner is the one part of it that is not safe to call from several threads. */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int threads_work;

static void init_threads(void)
{
    threads_work = FFTW(init_threads)();
}

static void destroy(void *ctx, void *plan)
{
    (void)ctx;
    transform *t = plan;
    if (!t) return;
    pthread_mutex_lock(&planner);
    for (int s = 0; s < 2; s++)
        if (t->sign[s]) FFTW(destroy_plan)(t->sign[s]);
    pthread_mutex_unlock(&planner);
    free(t);
}

static void plan_both(transform *t, int ndim, const FFTW(iodim64) dims[3], const FFTW(iodim64) * many, void *data,
                      unsigned flags)
{
    for (int s = 0; s < 2; s++)
        t->sign[s] = FFTW(plan_guru64_dft)(ndim, dims, 1, many, data, data, s ? FFTW_BACKWARD : FFTW_FORWARD, flags);
}

static const double most_timing = 0.05; /* seconds for each sign */

/* FFTW keeps what it has timed for all later plans of the process: that is taken back, or estimates would change. */
static void time_both(transform *t, int ndim, const FFTW(iodim64) dims[3], const FFTW(iodim64) * many, void *data)
{
    char *before = FFTW(export_wisdom_to_string)();
    FFTW(set_timelimit)(most_timing);
    plan_both(t, ndim, dims, many, data, FFTW_MEASURE);
    FFTW(set_timelimit)(FFTW_NO_TIMELIMIT);
    FFTW(forget_wisdom)();
    if (before) FFTW(import_wisdom_from_string)(before);
    free(before);
}

/* data: NULL to estimate. */
static larmor_status make_plans(transform *t, const lmr_cpu *cpu, int ndim, const int64_t dim[3], int64_t batch,
                                void *data)
{
    FFTW(iodim64) dims[3], many;
    int64_t stride = 1;
    for (int d = 0; d < ndim; d++) {
        dims[ndim - 1 - d] = (FFTW(iodim64)){dim[d], stride, stride}; /* FFTW wants the slowest first */
        if (!lmr_mul(stride, dim[d], &stride)) return LMR_FAIL(LARMOR_ERR_SHAPE, "fft: the array is too large");
    }
    many = (FFTW(iodim64)){batch, stride, stride};
    int64_t total;
    if (!lmr_mul(stride, batch, &total) || total > PTRDIFF_MAX / (int64_t)sizeof(cplx))
        return LMR_FAIL(LARMOR_ERR_SHAPE, "fft: the array is too large");
    if (!total) return LARMOR_OK;
    void *probe = aligned_alloc(64, 64); /* an estimate looks at the address's alignment, not at the memory */
    if (!probe) return LMR_NO_MEMORY();
    pthread_once(&once, init_threads);
    pthread_mutex_lock(&planner);
    if (threads_work) FFTW(plan_with_nthreads)(cpu->threads);
    if (data)
        time_both(t, ndim, dims, &many, data);
    else
        plan_both(t, ndim, dims, &many, probe, FFTW_ESTIMATE);
    pthread_mutex_unlock(&planner);
    free(probe);
    if (!t->sign[0] || !t->sign[1]) return LMR_FAIL(LARMOR_ERR_BACKEND, "fft: FFTW has no plan for this size");
    return LARMOR_OK;
}

static larmor_status tuned(void *ctx, int ndim, const int64_t dim[3], int64_t batch, void *data, void **out)
{
    *out = NULL;
    if (ndim < 1 || ndim > 3 || batch < 0)
        return LMR_FAIL(LARMOR_ERR_ARG, "fft: %d dimensions, batch %lld", ndim, (long long)batch);
    transform *t = calloc(1, sizeof *t);
    if (!t) return LMR_NO_MEMORY();
    const larmor_status st = make_plans(t, ctx, ndim, dim, batch, data);
    if (st) {
        destroy(ctx, t);
        return st;
    }
    *out = t;
    return LARMOR_OK;
}

static larmor_status plan(void *ctx, int ndim, const int64_t dim[3], int64_t batch, void **out)
{
    return tuned(ctx, ndim, dim, batch, NULL, out);
}

static larmor_status exec(void *ctx, void *plan_, int sign, void *data)
{
    (void)ctx;
    const transform *t = plan_;
    const FFTW(plan) chosen = t->sign[sign > 0];
    if (!chosen) return LARMOR_OK;
    if ((uintptr_t)data % 16) return LMR_FAIL(LARMOR_ERR_ARG, "fft: data must be aligned to 16 bytes");
    FFTW(execute_dft)(chosen, data, data);
    return LARMOR_OK;
}

const lmr_fft R(lmr_cpu_fft) = {plan, exec, destroy, tuned};

/* ---- single lines ---- */

static larmor_status line_plan(int64_t n, int sign, void **out)
{
    const FFTW(iodim64) dim = {n, 1, 1};
    char *probe = aligned_alloc(64, 128); /* looked at as above: two places that differ */
    *out = NULL;
    if (!probe) return LMR_NO_MEMORY();
    pthread_once(&once, init_threads);
    pthread_mutex_lock(&planner);
    if (threads_work) FFTW(plan_with_nthreads)(1);
    *out = FFTW(plan_guru64_dft)(1, &dim, 0, NULL, (void *)probe, (void *)(probe + 64), sign, FFTW_ESTIMATE);
    pthread_mutex_unlock(&planner);
    free(probe);
    return *out ? LARMOR_OK : LMR_FAIL(LARMOR_ERR_BACKEND, "fft: FFTW has no plan for %lld numbers", (long long)n);
}

static void line_exec(void *plan, void *in, void *out)
{
    FFTW(execute_dft)(plan, in, out);
}

static void line_destroy(void *plan)
{
    if (!plan) return;
    pthread_mutex_lock(&planner);
    FFTW(destroy_plan)(plan);
    pthread_mutex_unlock(&planner);
}

const lmr_cpu_line R(lmr_cpu_line) = {line_plan, line_exec, line_destroy};
