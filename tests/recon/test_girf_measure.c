/* recon/gradients/girf_measure.c: the impulse response of gradients from pulses. SPDX-License-Identifier:
 * Apache-2.0 */
#include "tests/recon/support.h"

enum { SAMPLES = 1500, AXES = 3, EACH = 4, PULSES = AXES * EACH, LATE = 3 };
static const double dwell = 4e-6, slow[AXES] = {.55, .62, .5}, leak = .04, eddy = .3;

/* What a gradient of axis `in` makes of axis `out`, or of order 0 (out == AXES), of a rate x[i]: late filters of
 * first order, as y[i] = a y[i-1] + (1-a) x[i-LATE], whose transfer functions are known. */
static double part_of(int out, int in)
{
    if (out == in) return 1;
    if (out == AXES) return eddy * (in + 1);
    return out == 0 && in == 1 ? leak : 0;
}

static cplx transfer(double hz, int out, int in)
{
    const cplx step = cexp(-2 * M_PI * I * hz * dwell);
    return part_of(out, in) * cpow(step, LATE) * (1 - slow[in]) / (1 - slow[in] * step);
}

typedef struct scene {
    double *nominal, *measured; /* [SAMPLES, PULSES, AXES], and AXES + 1 */
} scene;

LMR_FREES(end_scene, scene, nominal, measured)

/* Triangles of four durations, one axis at a time. */
static double rate_at(int pulse, int i)
{
    const int half = 12 + 5 * (pulse % EACH), at = i - 10;
    return at <= 0 || at >= 2 * half ? 0 : (double)(at < half ? at : 2 * half - at);
}

static scene scene_of(double sigma, uint64_t seed)
{
    scene s = {calloc(SAMPLES * PULSES * AXES, sizeof(double)),
               calloc(SAMPLES * PULSES * (AXES + 1), sizeof(double))};
    assert_true(s.nominal && s.measured);
    for (int p = 0; p < PULSES; p++) {
        const int in = p / EACH;
        double k = 0, filtered = 0, made = 0;
        for (int i = 0; i < SAMPLES; i++) {
            const int64_t at = i + SAMPLES * p;
            s.nominal[at + (int64_t)SAMPLES * PULSES * in] = k; /* before the step of this sample */
            for (int out = 0; out <= AXES; out++)
                s.measured[at + (int64_t)SAMPLES * PULSES * out] =
                    part_of(out, in) * made + sigma * 2 * test_random(&seed);
            k += rate_at(p, i);
            filtered = slow[in] * filtered + (1 - slow[in]) * (i < LATE ? 0 : rate_at(p, i - LATE));
            made += filtered;
        }
    }
    return s;
}

/* The largest error of the response within the band, and the root mean square of each axis' own. */
static double error_of(const scene *s, double least, larmor_girf_report *report, double rms[AXES])
{
    OWNED(larmor_array) *nominal = real_array(LARMOR_SHAPE(SAMPLES, PULSES, AXES), s->nominal);
    OWNED(larmor_array) *measured = real_array(LARMOR_SHAPE(SAMPLES, PULSES, AXES + 1), s->measured);
    OWNED(larmor_array) *response = NULL, *b0 = NULL;
    assert_ok(larmor_girf_measure(nominal, measured, &(larmor_girf_opts){.dwell_s = dwell, .least = least}, &response,
                                  &b0, report));
    assert_ok(larmor_girf_check(response));
    const int64_t n = larmor_array_shape(response).dim[0];
    HEAP cplx *H = values_of(response), *zero = values_of(b0);
    double most = 0;
    for (int a = 0; a < AXES; a++) rms[a] = 0;
    for (int64_t i = 0; i < n; i++) {
        const double hz = (double)(i - n / 2) * report->spacing_hz;
        for (int in = 0; in < AXES; in++) {
            for (int out = 0; out < AXES; out++) {
                const double wrong = cabs(H[i + n * (out + AXES * in)] - transfer(hz, out, in));
                most = fmax(most, wrong);
                if (out == in) rms[in] += wrong * wrong / (double)n;
            }
            most = fmax(most, cabs(zero[i + n * in] - transfer(hz, AXES, in)));
        }
    }
    for (int a = 0; a < AXES; a++) rms[a] = sqrt(rms[a]);
    return most;
}

TEST(a_known_filter_is_found_with_its_leaks_and_order_0_over_the_band_of_the_pulses)
{
    OWNED(scene) s = scene_of(0, 1);
    larmor_girf_report report;
    double rms[AXES];
    assert_at_most(error_of(&s, 1e-6, &report, rms), 1e-10);
    assert_at_most(20000, report.band_hz);
    assert_at_most(report.residual, 1e-9);
}

/* x [SAMPLES, PULSES, columns] <- each pulse and half of one of another axis and duration. */
static void mix(double *x, int columns)
{
    HEAP NEW(double, from, SAMPLES *PULSES *columns);
    memcpy(from, x, (size_t)(SAMPLES * PULSES * columns) * sizeof *from);
    for (int64_t i = 0; i < (int64_t)SAMPLES * PULSES * columns; i++) {
        const int64_t pulse = i / SAMPLES % PULSES, other = ((pulse / EACH + 1) % AXES) * EACH + (pulse + 1) % EACH;
        x[i] += .5 * from[i + SAMPLES * (other - pulse)];
    }
}

TEST(axes_that_pulses_drive_together_are_told_apart)
{
    OWNED(scene) s = scene_of(0, 1);
    larmor_girf_report report;
    double rms[AXES];
    mix(s.nominal, AXES);
    mix(s.measured, AXES + 1);
    assert_at_most(error_of(&s, 1e-4, &report, rms), 1e-9);
}

TEST(noise_deviates_as_the_residuals_say)
{
    OWNED(scene) s = scene_of(.05, 7);
    larmor_girf_report report;
    double rms[AXES];
    assert_at_most(error_of(&s, 1e-3, &report, rms), 0.1);
    for (int a = 0; a < AXES; a++) assert_at_most(fabs(log(rms[a] / report.deviation[a])), log(1.5));
}

static double largest(const larmor_array *a, const larmor_array *b)
{
    HEAP cplx *x = values_of(a), *y = values_of(b);
    double most = 0;
    for (int64_t i = 0; i < larmor_array_count(a); i++) most = fmax(most, cabs(x[i] - y[i]));
    return most;
}

/* Spirals that such gradients make, and those by the response that was measured with noise. */
TEST(trajectories_by_a_measured_response_are_those_of_the_gradients)
{
    OWNED(scene) s = scene_of(.02, 3);
    OWNED(larmor_array) *nominal = real_array(LARMOR_SHAPE(SAMPLES, PULSES, AXES), s.nominal);
    OWNED(larmor_array) *measured = real_array(LARMOR_SHAPE(SAMPLES, PULSES, AXES), s.measured);
    OWNED(larmor_array) *response = NULL, *traj = NULL, *by_it = NULL, *by_truth = NULL;
    larmor_girf_report report;
    assert_ok(larmor_girf_measure(nominal, measured,
                                  &(larmor_girf_opts){.dwell_s = dwell, .least = 1e-5, .resolution_hz = 400},
                                  &response, NULL, &report));
    const int64_t n = larmor_array_shape(response).dim[0];
    HEAP cplx *known = calloc((size_t)(n * AXES * AXES), sizeof *known);
    for (int64_t i = 0; i < n * AXES * AXES; i++)
        known[i] = transfer((double)(i % n - n / 2) * report.spacing_hz, (int)(i / n % AXES), (int)(i / n / AXES));
    OWNED(larmor_array) *truth = complex_array(LARMOR_C128, LARMOR_SHAPE(n, AXES, AXES), known);
    assert_ok(larmor_traj_create(dev, "spiral", &(larmor_traj_opts){.matrix = {64}, .readouts = 8}, &traj));
    larmor_girf girf = {.response = response, .spacing_hz = report.spacing_hz, .dwell_s = dwell};
    assert_ok(larmor_girf_apply(traj, &girf, &by_it));
    girf.response = truth;
    assert_ok(larmor_girf_apply(traj, &girf, &by_truth));
    assert_at_most(1, largest(traj, by_truth)); /* in 1/FOV */
    assert_at_most(largest(by_it, by_truth), 0.03);
}

TEST(pulses_that_do_not_fit_are_refused)
{
    OWNED(scene) s = scene_of(0, 1);
    OWNED(larmor_array) *nominal = real_array(LARMOR_SHAPE(SAMPLES, PULSES, AXES), s.nominal);
    OWNED(larmor_array) *measured = real_array(LARMOR_SHAPE(SAMPLES, PULSES, AXES), s.measured);
    OWNED(larmor_array) *still = zeros(LARMOR_F64, LARMOR_SHAPE(SAMPLES, PULSES, AXES));
    larmor_array *response = NULL, *b0 = NULL;
    const larmor_girf_opts opts = {.dwell_s = dwell};
    assert_refused(larmor_girf_measure(nominal, measured, &opts, &response, &b0, NULL), LARMOR_ERR_ARG,
                   "girf: order 0 is asked for, but it was not measured");
    assert_refused(larmor_girf_measure(still, measured, &opts, &response, NULL, NULL), LARMOR_ERR_NUMERIC,
                   "girf: no pulse drives axis 0");
    assert_refused(larmor_girf_measure(nominal, measured, &(larmor_girf_opts){0}, &response, NULL, NULL),
                   LARMOR_ERR_ARG, "girf: dwell_s 0");
    assert_null(response);
}
