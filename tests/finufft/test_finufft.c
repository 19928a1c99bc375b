/* FINUFFT's interface against the sums that its documentation defines, and its error codes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "finufft/finufft.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <pthread.h>

#include "tests/support/claims.h"

enum { M = 40, NX = 7, NY = 6, N = NX * NY };

static double uniform(void)
{
    return 2.0 * rand() / RAND_MAX - 1;
}

static void fill(double *x, int count, double scale)
{
    for (int i = 0; i < count; i++) x[i] = scale * uniform();
}

static finufft_opts quiet(void)
{
    finufft_opts o;
    finufft_default_opts(&o);
    o.showwarn = 0;
    return o;
}

static double error(const double complex *a, const double complex *b, int count)
{
    double difference = 0, size = 0;
    for (int i = 0; i < count; i++) {
        difference += pow(cabs(a[i] - b[i]), 2);
        size += pow(cabs(b[i]), 2);
    }
    return sqrt(difference / size);
}

TEST(type_1_sums_over_points_x_fastest)
{
    double x[M], y[M], parts[2 * M];
    double complex c[M], f[N], sum[N];
    const finufft_opts o = quiet();
    fill(x, M, 9); /* any real number is legal */
    fill(y, M, 9);
    fill(parts, 2 * M, 1);
    for (int j = 0; j < M; j++) c[j] = CMPLX(parts[2 * j], parts[2 * j + 1]);
    for (int b = 0; b < NY; b++)
        for (int a = 0; a < NX; a++) {
            sum[b * NX + a] = 0;
            for (int j = 0; j < M; j++)
                sum[b * NX + a] += c[j] * cexp(I * ((a - NX / 2) * x[j] + (b - NY / 2) * y[j]));
        }
    assert_int_equal(finufft2d1(M, x, y, c, 1, 1e-11, NX, NY, f, &o), 0);
    assert_true(error(f, sum, N) < 1e-10);
}

TEST(type_3_sums_for_each_vector)
{
    double x[M], y[M], s[N], t[N], parts[4 * M];
    double complex c[2 * M], f[2 * N], sum[2 * N];
    const finufft_opts o = quiet();
    fill(x, M, 3);
    fill(y, M, 3);
    fill(s, N, 5);
    fill(t, N, 5);
    fill(parts, 4 * M, 1);
    for (int j = 0; j < 2 * M; j++) c[j] = CMPLX(parts[2 * j], parts[2 * j + 1]);
    for (int v = 0; v < 2; v++)
        for (int k = 0; k < N; k++) {
            sum[v * N + k] = 0;
            for (int j = 0; j < M; j++) sum[v * N + k] += c[v * M + j] * cexp(-I * (s[k] * x[j] + t[k] * y[j]));
        }
    assert_int_equal(finufft2d3many(2, M, x, y, c, -1, 1e-10, N, s, t, f, &o), 0);
    assert_true(error(f, sum, 2 * N) < 1e-9);
}

TEST(a_plan_in_fft_order_has_an_exact_adjoint)
{
    double x[M], parts[2 * (M + N)];
    double complex c[M], f[N], Ac[N], Af[M];
    finufft_opts o = quiet();
    finufft_plan p = NULL;
    const int64_t modes[3] = {N, 1, 1};
    double complex left = 0, right = 0;
    o.modeord = 1;
    fill(x, M, 3);
    fill(parts, 2 * (M + N), 1);
    for (int i = 0; i < M; i++) c[i] = CMPLX(parts[2 * i], parts[2 * i + 1]);
    for (int i = 0; i < N; i++) f[i] = CMPLX(parts[2 * (M + i)], parts[2 * (M + i) + 1]);
    assert_int_equal(finufft_makeplan(1, 1, modes, 1, 1, 1e-9, &p, &o), 0);
    assert_int_equal(finufft_setpts(p, M, x, NULL, NULL, 0, NULL, NULL, NULL), 0);
    assert_int_equal(finufft_execute(p, c, Ac), 0);
    assert_int_equal(finufft_execute_adjoint(p, Af, f), 0);
    for (int i = 0; i < N; i++) left += conj(f[i]) * Ac[i];
    for (int i = 0; i < M; i++) right += conj(Af[i]) * c[i];
    assert_true(cabs(left - right) < 1e-12 * cabs(left) + 1e-12);
    double complex mode_1 = 0;
    for (int j = 0; j < M; j++) mode_1 += c[j] * cexp(I * x[j]);
    assert_true(cabs(Ac[1] - mode_1) < 1e-7); /* mode 1 is the second */
    assert_int_equal(finufft_destroy(p), 0);
}

TEST(tolerances_out_of_reach_are_refused_or_raised_as_the_options_say)
{
    float x[2] = {0.5F, -1};
    float complex c[2], f[3] = {1, 2, 3};
    finufft_opts o = quiet();
    assert_int_equal(finufftf1d2(2, x, c, 1, 1e-9F, 3, f, &o), FINUFFT_ERR_EPS_TOO_SMALL);
    assert_int_equal(finufftf1d2(2, x, c, 1, 0.9F * FLT_EPSILON, 3, f, &o), FINUFFT_ERR_EPS_TOO_SMALL);
    o.allow_eps_too_small = 1;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(finufftf1d2(2, x, c, 1, i ? 2.0F : 1e-9F, 3, f, &o), 0);
        const float complex sum = cexpf(-I * 0.5F) + 2 + 3 * cexpf(I * 0.5F);
        assert_true(cabsf(c[0] - sum) < (i ? 6 : 1e-4F));
    }
}

TEST(upsampling_out_of_range_gives_the_same_sums)
{
    double x[M], y[M], parts[2 * M];
    double complex c[M], f[N], g[N];
    finufft_opts o = quiet();
    fill(x, M, 3);
    fill(y, M, 3);
    fill(parts, 2 * M, 1);
    for (int j = 0; j < M; j++) c[j] = CMPLX(parts[2 * j], parts[2 * j + 1]);
    assert_int_equal(finufft2d1(M, x, y, c, 1, 1e-5, NX, NY, f, &o), 0);
    const double factors[] = {1.01, 1.1, 2.75, 4};
    for (int i = 0; i < 4; i++) {
        o.upsampfac = factors[i];
        assert_int_equal(finufft2d1(M, x, y, c, 1, 1e-5, NX, NY, g, &o), 0);
        assert_true(error(g, f, N) < 1e-4);
    }
}

TEST(values_may_be_aligned_for_half_a_number)
{
    static double memory[2 * (M + N) + 1];
    static float memory_f[2 * (M + N) + 1];
    const finufft_opts o = quiet();
    for (int odd = 0; odd < 2; odd++) {
        double *c = memory + odd;
        float *cf = memory_f + odd;
        double complex sum = 0;
        float x[M];
        double xd[M];
        srand(1);
        for (int j = 0; j < M; j++) {
            xd[j] = 3 * uniform();
            x[j] = (float)xd[j];
            c[2 * j] = uniform();
            c[2 * j + 1] = uniform();
            cf[2 * j] = (float)c[2 * j];
            cf[2 * j + 1] = (float)c[2 * j + 1];
            sum += CMPLX(c[2 * j], c[2 * j + 1]) * cexp(I * xd[j]);
        }
        double *f = c + 2 * M;
        float *ff = cf + 2 * M;
        assert_int_equal(finufft1d1(M, xd, (void *)c, 1, 1e-9, N, (void *)f, &o), 0);
        assert_true(cabs(CMPLX(f[2 * (N / 2 + 1)], f[2 * (N / 2 + 1) + 1]) - sum) < 1e-7);
        assert_int_equal(finufftf1d1(M, x, (void *)cf, 1, 1e-4F, N, (void *)ff, &o), 0);
        assert_true(cabs(CMPLX((double)ff[2 * (N / 2 + 1)], (double)ff[2 * (N / 2 + 1) + 1]) - sum) < 1e-2);
        /* and back */
        for (int i = 0; i < 2 * N; i++) f[i] = i == 2 * (N / 2 + 1);
        assert_int_equal(finufft1d2(M, xd, (void *)c, -1, 1e-9, N, (void *)f, &o), 0);
        for (int j = 0; j < M; j++) assert_true(cabs(CMPLX(c[2 * j], c[2 * j + 1]) - cexp(-I * xd[j])) < 1e-7);
    }
}

enum { POINTS = 20000, MODES = 4096 };
typedef struct job {
    finufft_plan plan;
    double complex c[POINTS], f[MODES];
    int code;
} job;

static void *execute_often(void *given)
{
    job *j = given;
    for (int i = 0; i < 20 && !j->code; i++) {
        memset(j->f, 1, sizeof j->f);
        j->code = finufft_execute(j->plan, j->c, j->f);
    }
    return NULL;
}

TEST(a_plan_serves_several_threads)
{
    enum { THREADS = 4 };
    static job jobs[THREADS];
    static double x[POINTS], parts[2 * POINTS];
    static double complex alone[MODES];
    finufft_opts o = quiet();
    const int64_t modes[3] = {MODES, 1, 1};
    pthread_t thread[THREADS];
    finufft_plan p = NULL;
    o.nthreads = 1;
    fill(x, POINTS, 3);
    assert_int_equal(finufft_makeplan(1, 1, modes, 1, 1, 1e-9, &p, &o), 0);
    assert_int_equal(finufft_setpts(p, POINTS, x, NULL, NULL, 0, NULL, NULL, NULL), 0);
    for (int t = 0; t < THREADS; t++) {
        fill(parts, 2 * POINTS, 1);
        jobs[t].plan = p;
        for (int j = 0; j < POINTS; j++) jobs[t].c[j] = CMPLX(parts[2 * j], parts[2 * j + 1]);
    }
    for (int t = 0; t < THREADS; t++) assert_int_equal(pthread_create(&thread[t], NULL, execute_often, &jobs[t]), 0);
    for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(jobs[t].code, 0);
        assert_int_equal(finufft_execute(p, jobs[t].c, alone), 0);
        assert_true(error(jobs[t].f, alone, MODES) < 1e-13);
    }
    assert_int_equal(finufft_destroy(p), 0);
}

/* FINUFFT's tolsweeptest.m allows 1e-9 here, where an upsampling of 1.25 keeps no smaller tolerance. */
TEST(type_3_beyond_reach_takes_hardly_more_than_the_least_tolerance)
{
    enum { SOURCES = 60, TARGETS = 50 };
    double x[SOURCES], s[TARGETS], parts[2 * SOURCES];
    double complex c[SOURCES], f[TARGETS], sum[TARGETS];
    finufft_opts o = quiet();
    o.upsampfac = 1.25;
    fill(x, SOURCES, 3.14159);
    fill(s, TARGETS, 25);
    fill(parts, 2 * SOURCES, 1);
    x[0] = 3.14159;
    x[1] = -x[0];
    s[0] = 25;
    s[1] = -s[0];
    for (int j = 0; j < SOURCES; j++) c[j] = CMPLX(parts[2 * j], parts[2 * j + 1]);
    for (int k = 0; k < TARGETS; k++) {
        sum[k] = 0;
        for (int j = 0; j < SOURCES; j++) sum[k] += c[j] * cexp(I * s[k] * x[j]);
    }
    for (double tol = 4e-10; tol > 5e-11; tol /= 1.1) {
        assert_int_equal(finufft1d3(SOURCES, x, c, 1, tol, TARGETS, s, f, &o), 0);
        assert_true(error(f, sum, TARGETS) < 4e-10);
    }
}

TEST(sums_over_nothing_are_zero)
{
    float x[2] = {0.5F, -1};
    float complex c[2] = {7, 7};
    float complex f[1] = {0};
    const finufft_opts o = quiet();
    assert_int_equal(finufftf1d2(2, x, c, 1, 1e-3F, 0, f, &o), 0);
    assert_true(c[0] == 0 && c[1] == 0);
    double complex g[N];
    memset(g, 1, sizeof g);
    assert_int_equal(finufft2d1(0, NULL, NULL, NULL, 1, 1e-3, NX, NY, g, &o), 0);
    for (int i = 0; i < N; i++) assert_true(g[i] == 0);
    assert_int_equal(finufftf1d2(2, x, NULL, 1, 1e-3F, 0, f, &o), FINUFFT_ERR_INVALID_ARGUMENT);
}

TEST(what_makes_no_sense_has_finuffts_code)
{
    const int64_t modes[3] = {N, 1, 1};
    finufft_opts o = quiet();
    finufft_plan p = NULL;
    double x[1] = {NAN};
    assert_int_equal(finufft_makeplan(4, 1, modes, 1, 1, 1e-6, &p, &o), FINUFFT_ERR_TYPE_NOTVALID);
    assert_int_equal(finufft_makeplan(1, 4, modes, 1, 1, 1e-6, &p, &o), FINUFFT_ERR_DIM_NOTVALID);
    assert_int_equal(finufft_makeplan(1, 1, modes, 1, 0, 1e-6, &p, &o), FINUFFT_ERR_NTRANS_NOTVALID);
    assert_null(p);
    o.upsampfac = 1;
    assert_int_equal(finufft_makeplan(1, 1, modes, 1, 1, 1e-6, &p, &o), FINUFFT_ERR_UPSAMPFAC_TOO_SMALL);
    o = quiet();
    assert_int_equal(finufft_makeplan(1, 1, modes, 1, 1, 1e-6, &p, &o), 0);
    assert_int_equal(finufft_execute(p, NULL, NULL), FINUFFT_ERR_INVALID_ARGUMENT);
    assert_int_equal(finufft_setpts(p, -1, x, NULL, NULL, 0, NULL, NULL, NULL), FINUFFT_ERR_NUM_NU_PTS_INVALID);
    assert_int_equal(finufft_setpts(p, 1, x, NULL, NULL, 0, NULL, NULL, NULL), FINUFFT_ERR_INVALID_ARGUMENT);
    assert_int_equal(finufft_destroy(p), 0);
    assert_int_equal(finufft_destroy(NULL), FINUFFT_ERR_PLAN_NOTVALID);
}

int main(void)
{
    return run_claims(NULL, NULL);
}
