/* larmor inside a program that has memory and FFTs of its own: nothing is copied, and FFTW's planner is shared.
 * Usage: host. SPDX-License-Identifier: Apache-2.0
 *
 * The program's arrays become larmor's without a copy, and the transform
 *   x(r) = sum_j v_j exp(2 pi i k_j r),   r = -N/2 ... N/2 - 1,   k_j in cycles per sample,
 * arrives in the program's own memory. Meanwhile another thread of the program plans FFTs. FFTW's planner serves one
 * thread at a time, so both take the same lock. */
#include <complex.h>
#include <fftw3.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <larmor/larmor.h>

enum { N = 64, POINTS = 5000, PLANS = 200 };

/* ---- FFTs of one's own ---- */

static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;
static int planned_by_larmor; /* guarded by the lock */

static void lock(void *user)
{
    pthread_mutex_lock(&planner);
    ++*(int *)user;
}

static void unlock(void *user)
{
    (void)user;
    pthread_mutex_unlock(&planner);
}

static void *plan_ffts(void *unused)
{
    for (int n = 8; n < 8 + PLANS; n++) {
        double complex *x = calloc((size_t)n, sizeof *x);
        if (!x) return unused;
        pthread_mutex_lock(&planner);
        const fftw_plan plan = fftw_plan_dft_1d(n, x, x, FFTW_FORWARD, FFTW_ESTIMATE);
        pthread_mutex_unlock(&planner);
        fftw_execute(plan);
        pthread_mutex_lock(&planner);
        fftw_destroy_plan(plan);
        pthread_mutex_unlock(&planner);
        free(x);
    }
    return unused;
}

/* ---- memory of one's own ---- */

static double points[POINTS];
static double complex values[POINTS], modes[N];

static void measure(void)
{
    for (int j = 0; j < POINTS; j++) {
        points[j] = N * (fmod(j * 0.618033988749895, 1) - 0.5); /* larmor's k is in cycles per N samples */
        values[j] = cos(0.01 * j) + I * sin(0.003 * j);
    }
}

static larmor_status transform(larmor_device *dev)
{
    const larmor_nufft_opts opts = {
        .type = 1, .ndim = 1, .modes = {N}, .sign = 1, .tol = 1e-10, .dtype = LARMOR_C128};
    larmor_array *k = NULL, *v = NULL, *x = NULL;
    larmor_nufft *plan = NULL;
    larmor_status st = larmor_array_wrap(dev, LARMOR_F64, LARMOR_SHAPE(1, POINTS), points, NULL, NULL, &k);
    if (!st) st = larmor_array_wrap(dev, LARMOR_C128, LARMOR_SHAPE(POINTS), values, NULL, NULL, &v);
    if (!st) st = larmor_array_wrap(dev, LARMOR_C128, LARMOR_SHAPE(N), modes, NULL, NULL, &x);
    if (!st) st = larmor_nufft_create(dev, &opts, &plan);
    if (!st) st = larmor_nufft_set_points(plan, k, NULL);
    if (!st) st = larmor_nufft_execute(plan, v, x);
    if (!st) st = larmor_device_sync(dev); /* the numbers are in `modes` from here on */
    larmor_nufft_free(plan);
    larmor_array_free(x);
    larmor_array_free(v);
    larmor_array_free(k);
    return st;
}

static double difference(void)
{
    double above = 0, below = 0;
    for (int i = 0; i < N; i++) {
        double complex sum = 0;
        for (int j = 0; j < POINTS; j++)
            sum += values[j] * cexp(2 * 3.14159265358979323846 * I * points[j] * (i - N / 2) / N);
        above += cabs(modes[i] - sum) * cabs(modes[i] - sum);
        below += cabs(sum) * cabs(sum);
    }
    return sqrt(above / below);
}

int main(void)
{
    larmor_device *dev = NULL;
    pthread_t other;
    measure();
    larmor_set_fftw_lock(lock, unlock, &planned_by_larmor);
    if (pthread_create(&other, NULL, plan_ffts, NULL)) return EXIT_FAILURE;
    larmor_status st = larmor_device_open("cpu", &dev); /* a GPU wraps memory that it can access */
    if (!st) st = transform(dev);
    larmor_device_free(dev);
    pthread_join(other, NULL);
    if (st) {
        fprintf(stderr, "host: %s: %s\n", larmor_status_name(st), larmor_last_error());
        return EXIT_FAILURE;
    }
    printf("larmor took the lock %s\n", planned_by_larmor ? "when it planned" : "never");
    printf("difference from the direct sum %.1e\n", difference());
    return EXIT_SUCCESS;
}
