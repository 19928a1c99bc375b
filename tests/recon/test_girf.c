/* The impulse response of gradients changes trajectories as its transfer function says. SPDX-License-Identifier:
 * Apache-2.0 */
#include <complex.h>

#include "tests/support/test.h"

enum { FREQUENCIES = 401 };
static const double spacing = 250, dwell = 4e-6;

typedef double complex (*transfer)(double hz, int out, int in);

static double complex identity(double hz LMR_UNUSED, int out, int in)
{
    return out == in;
}

static const double late[3] = {1.3, -0.6, 0.45}; /* samples */

static double complex pure_delay(double hz, int out, int in)
{
    return out == in ? cexp(-2 * I * M_PI * hz * late[out] * dwell) : 0;
}

static double complex two_samples(double hz, int out, int in)
{
    return out == in ? cexp(-2 * I * M_PI * hz * 2 * dwell) : 0;
}

/* A low-pass of first order. */
static const double time_constant = 20e-6;
static double complex low_pass(double hz, int out, int in)
{
    return out == in ? 1 / (1 + 2 * I * M_PI * hz * time_constant) : 0;
}

/* Each axis is left alone, and x gets a tenth of what y is asked for, late. */
static double complex leak(double hz, int out, int in)
{
    if (out == 0 && in == 1) return 0.1 * cexp(-2 * I * M_PI * hz * late[0] * dwell);
    return out == in;
}

static larmor_array *response_of(transfer h, int axes, int crossed)
{
    static double complex at[FREQUENCIES * 9];
    for (int in = 0; in < (crossed ? axes : 1); in++)
        for (int out = 0; out < axes; out++)
            for (int i = 0; i < FREQUENCIES; i++)
                at[i + FREQUENCIES * (out + axes * in)] = h(spacing * (i - FREQUENCIES / 2), out, crossed ? in : out);
    const larmor_shape shape = crossed ? LARMOR_SHAPE(FREQUENCIES, axes, axes) : LARMOR_SHAPE(FREQUENCIES, axes);
    return MADE(larmor_array, larmor_array_upload(dev, LARMOR_C128, shape, LARMOR_C128, at, &made));
}

static larmor_array *make(const char *name, int64_t readouts, int64_t samples)
{
    const larmor_traj_opts opts = {.matrix = {32}, .readouts = readouts, .samples = samples};
    return MADE(larmor_array, larmor_traj_create(dev, name, &opts, &made));
}

/* With turned axes if degrees are not 0. */
static double *apply(const larmor_array *traj, transfer h, int crossed, double degrees)
{
    OWNED(larmor_array) *response = response_of(h, 3, crossed), *applied;
    larmor_girf girf = {.response = response, .spacing_hz = spacing, .dwell_s = dwell};
    const double c = cos(degrees * M_PI / 180), s = sin(degrees * M_PI / 180);
    const double axes[3][3] = {{c, s, 0}, {-s, c, 0}, {0, 0, 1}};
    if (degrees != 0) memcpy(girf.axes, axes, sizeof axes);
    assert_ok(larmor_girf_apply(traj, &girf, &applied));
    return MADE(double, larmor_array_download(applied, LARMOR_F64, &made));
}

static double *values(const larmor_array *x)
{
    return MADE(double, larmor_array_download(x, LARMOR_F64, &made));
}

/* The largest difference of the readouts' samples from `first` on. */
static double farthest(const larmor_array *traj, const double *a, const double *b, int64_t first)
{
    const larmor_shape s = larmor_array_shape(traj);
    double most = 0;
    for (int64_t i = 0; i < larmor_array_count(traj); i++)
        if (i / s.dim[0] % s.dim[1] >= first) most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

TEST(perfect_gradients_change_nothing)
{
    const char *names[] = {"golden", "koosh", "spiral"};
    for (int i = 0; i < 3; i++) {
        OWNED(larmor_array) *traj = make(names[i], 5, 300);
        HEAP double *k = values(traj);
        for (int crossed = 0; crossed < 2; crossed++) {
            HEAP double *made = apply(traj, identity, crossed, crossed ? 30 : 0);
            assert_at_most(farthest(traj, k, made, 0), 1e-9);
        }
    }
}

TEST(a_delay_is_that_of_larmor_traj_delay)
{
    const double delay[6] = {late[0], late[1], late[2]};
    const char *names[] = {"golden", "koosh", "spiral"};
    for (int i = 0; i < 3; i++) {
        OWNED(larmor_array) *traj = make(names[i], 5, i == 2 ? 700 : 64);
        OWN(larmor_array, *delayed, larmor_traj_delay(traj, delay, NULL, &delayed));
        HEAP double *k = values(delayed), *made = apply(traj, pure_delay, 0, 0);
        /* curved readouts begin with a kink, which the two interpolate differently */
        assert_at_most(farthest(traj, k, made, i == 2 ? 20 : 0), i == 2 ? 2e-3 : 1e-9);
    }
}

/* Arms from the centre: late by whole samples they are where they were so many samples before, and in the centre
 * until then. At the kink the correction, which fades out at high frequencies, rings. */
TEST(a_delay_of_arms_from_the_centre_lets_them_wait_there)
{
    OWNED(larmor_array) *traj = make("spiral", 6, 0);
    const larmor_shape shape = larmor_array_shape(traj);
    const int64_t n = shape.dim[1];
    HEAP double *k = values(traj), *got = apply(traj, two_samples, 0, 0);
    double begin = 0, most = 0;
    for (int64_t j = 0; j < shape.dim[2]; j++)
        for (int64_t i = 0; i + 4 < n; i++)
            for (int d = 0; d < 2; d++) {
                const double expected = i < 2 ? 0 : k[d + 2 * (i - 2 + n * j)];
                const double apart = fabs(got[d + 2 * (i + n * j)] - expected);
                if (i < 20)
                    begin = fmax(begin, apart);
                else
                    most = fmax(most, apart);
            }
    assert_at_most(begin, 0.1);
    assert_at_most(most, 0.01);
}

/* k(t) = (1 - cos(w t)) / w^2 begins at rest; a low-pass of first order follows it as its differential equation
 * says. */
TEST(a_low_pass_gives_the_solution_of_its_differential_equation)
{
    enum { N = 1000 };
    const double w = 2 * M_PI * 2000, tau = time_constant;
    static double k[2 * N], expected[2 * N];
    for (int i = 0; i < N; i++) {
        const double t = dwell * i, x = w * tau;
        k[2 * i] = 1 - cos(w * t);
        k[2 * i + 1] = -2 * k[2 * i];
        expected[2 * i] = 1 - (cos(w * t) + x * sin(w * t)) / (1 + x * x) - exp(-t / tau) * x * x / (1 + x * x);
        expected[2 * i + 1] = -2 * expected[2 * i];
    }
    OWN(larmor_array, *traj, larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, N, 1), LARMOR_F64, k, &traj));
    HEAP double *made = apply(traj, low_pass, 0, 0);
    assert_at_most(farthest(traj, expected, made, 0), 1e-3);
    assert_true(farthest(traj, k, made, 0) > 0.2);
}

TEST(what_leaks_to_another_axis_moves_it)
{
    OWNED(larmor_array) *traj = make("golden", 7, 64);
    HEAP double *k = values(traj), *made = apply(traj, leak, 1, 0);
    for (int64_t i = 0; i < 64 * 7; i++) {
        const int64_t first = i / 64 * 64;
        const double step = k[2 * (first + 1) + 1] - k[2 * first + 1];
        assert_at_most(fabs(made[2 * i] - k[2 * i] - 0.1 * (k[2 * i + 1] - late[0] * step)), 1e-9);
        assert_at_most(fabs(made[2 * i + 1] - k[2 * i + 1]), 1e-9);
    }
}

/* A quarter turn exchanges the delays of x and y. */
TEST(directions_choose_the_axes)
{
    const double delay[6] = {late[1], late[0], late[2]};
    OWNED(larmor_array) *traj = make("golden", 7, 64), *delayed;
    assert_ok(larmor_traj_delay(traj, delay, NULL, &delayed));
    HEAP double *k = values(delayed), *made = apply(traj, pure_delay, 0, 90);
    assert_at_most(farthest(traj, k, made, 0), 1e-9);
}

/* T phase' + phase = C k, where k is straight between samples: each step is exact. */
static void follow(const double *k, int64_t n, int stride, int rests, double C, double T, double *phase)
{
    const double e = exp(-dwell / T);
    double x = k[0] - (rests ? 0 : T / dwell * (k[stride] - k[0]));
    for (int64_t i = 0; i < n; i++) {
        phase[i] += C * x;
        if (i + 1 == n) break;
        const double a = k[stride * i], b = k[stride * (i + 1)], slope = (b - a) / dwell;
        x = b - T * slope + (x - a + T * slope) * e;
    }
}

/* Of x and of y; in place of a trajectory's unit 1/FOV, 2 of it. */
TEST(the_phase_of_order_0_is_what_a_filter_of_first_order_makes_of_all_axes)
{
    const double C[2] = {0.4, -0.3}, T = 60e-6;
    double complex at[2 * FREQUENCIES];
    for (int i = 0; i < 2 * FREQUENCIES; i++)
        at[i] = C[i / FREQUENCIES] / (1 + 2 * I * M_PI * spacing * (i % FREQUENCIES - FREQUENCIES / 2) * T);
    OWNED(larmor_array) *response, *traj = make("golden", 4, 300), *arms = make("spiral", 3, 0);
    assert_ok(larmor_array_upload(dev, LARMOR_C128, LARMOR_SHAPE(FREQUENCIES, 2), LARMOR_C128, at, &response));
    for (int rests = 0; rests < 2; rests++) {
        const larmor_girf girf = {
            .response = response, .spacing_hz = spacing, .dwell_s = dwell, .fov = {0.5, 0.5, 0.5}};
        const larmor_array *nominal = rests ? arms : traj;
        OWN(larmor_array, *phase, larmor_girf_phase(nominal, &girf, &phase));
        const int64_t n = larmor_array_shape(phase).dim[0], count = larmor_array_count(phase);
        HEAP double *k = values(nominal), *got = values(phase);
        HEAP double *expected = calloc((size_t)count, sizeof *k);
        for (int64_t r = 0; r < count / n; r++)
            for (int d = 0; d < 2; d++) follow(k + 2 * n * r + d, n, 2, rests, 2 * C[d], T, expected + n * r);
        double most = 0;
        for (int64_t i = 0; i < count; i++) {
            most = fmax(most, fabs(expected[i]));
            assert_at_most(fabs(got[i] - expected[i]), 0.01);
        }
        assert_true(most > 4);
    }
}

TEST(a_response_of_order_0_is_that_of_each_axis)
{
    OWNED(larmor_array) *crossed = response_of(identity, 2, 1), *x = response_of(identity, 1, 0),
                        *traj = make("golden", 2, 64);
    larmor_girf girf = {.response = crossed, .spacing_hz = spacing, .dwell_s = dwell};
    assert_none_made(larmor_array, larmor_girf_phase(traj, &girf, &made), LARMOR_ERR_SHAPE,
                     "girf: the response of order 0 is c128 [401, 2, 2] on ");
    girf.response = x;
    assert_none_made(larmor_array, larmor_girf_phase(traj, &girf, &made), LARMOR_ERR_SHAPE,
                     "girf: the response is that of 1 axes, the trajectory needs 2");
}

TEST(a_transverse_trajectory_takes_a_response_of_two_axes_and_gets_what_one_of_three_gives)
{
    OWNED(larmor_array) *two = response_of(pure_delay, 2, 0), *three = response_of(pure_delay, 3, 0),
                        *traj = make("golden", 5, 64);
    larmor_girf girf = {
        .response = two, .spacing_hz = spacing, .dwell_s = dwell, .axes = {{.8, .6, 0}, {-.6, .8, 0}, {0, 0, 1}}};
    OWNED(larmor_array) *by_two = NULL, *by_three = NULL, *tilted = NULL;
    assert_ok(larmor_girf_apply(traj, &girf, &by_two));
    girf.response = three;
    assert_ok(larmor_girf_apply(traj, &girf, &by_three));
    double moved = 0;
    OWN_MEMORY(double, *of_two, larmor_array_download(by_two, LARMOR_F64, &of_two));
    OWN_MEMORY(double, *of_three, larmor_array_download(by_three, LARMOR_F64, &of_three));
    OWN_MEMORY(double, *nominal, larmor_array_download(traj, LARMOR_F64, &nominal));
    for (int64_t i = 0; i < larmor_array_count(traj); i++) {
        assert_at_most(fabs(of_two[i] - of_three[i]), 1e-12);
        moved = fmax(moved, fabs(of_two[i] - nominal[i]));
    }
    assert_true(moved > .1);
    girf.response = two;
    const double tilt[3][3] = {{.8, 0, .6}, {0, 1, 0}, {-.6, 0, .8}};
    memcpy(girf.axes, tilt, sizeof tilt);
    assert_refused(larmor_girf_apply(traj, &girf, &tilted), LARMOR_ERR_SHAPE,
                   "girf: the response is that of 2 axes, the trajectory needs 3");
}

TEST(what_is_no_response_is_refused)
{
    OWNED(larmor_array) *traj = make("koosh", 5, 16), *two = response_of(identity, 2, 0);
    larmor_array *applied;
    larmor_girf girf = {.response = two, .spacing_hz = 0, .dwell_s = dwell};
    assert_refused(larmor_girf_apply(traj, &girf, &applied), LARMOR_ERR_ARG, "girf: frequencies are 0 Hz apart");
    girf.spacing_hz = 1;
    assert_refused(larmor_girf_apply(traj, &girf, &applied), LARMOR_ERR_SHAPE,
                   "girf: the response is that of 2 axes, the trajectory needs 3");
    girf.response = traj;
    assert_refused(larmor_girf_apply(traj, &girf, &applied), LARMOR_ERR_SHAPE, "girf: response is f64");
    assert_refused(larmor_girf_apply(two, &girf, &applied), LARMOR_ERR_SHAPE, "girf: trajectory is c128");
}
