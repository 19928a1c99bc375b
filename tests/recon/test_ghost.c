/* Lines of both directions: what differs between them is found and corrected. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

enum { N = 64, SAMPLES = 2 * N, COILS = 2 };

static double sinc(double x)
{
    return fabs(x) < 1e-9 ? 1 : sin(M_PI * x) / (M_PI * x);
}

/* k-space of rectangles off the middle, in coils that are a plane wave with a constant. */
static cplx signal_at(double kx, double ky, int coil)
{
    static const double box[][5] = {{1, .0, .02, .6, .5}, {-.5, .1, -.05, .3, .2}, {.7, -.15, .1, .1, .08}};
    cplx sum = 0;
    for (int part = 0; part < 2; part++) {
        const double size = part ? .5 : 1;
        const double x = kx - part * .4 * (2 * coil - 1);
        for (int b = 0; b < 3; b++)
            sum += size * box[b][0] * box[b][3] * box[b][4] * sinc(box[b][3] * x) * sinc(box[b][4] * ky) *
                   cexp(-2 * M_PI * I * (x * box[b][1] + ky * box[b][2]));
    }
    return sum * cexp(I * (.4 + coil));
}

typedef struct scene {
    int ramps;           /* 1: samples are nearer to each other at the ends of the lines */
    double phase, shift; /* of the ghost */
    double noise;        /* relative to the sample at k = 0 */
    int lines, first;    /* that are acquired, and the first one's ky */
} scene;

typedef struct scan {
    larmor_array *kspace, *traj;
    cplx *truth; /* [SAMPLES, lines, COILS] */
    int lines;
} scan;

static double place(const scene *s, int i)
{
    const double t = (i + .5) / SAMPLES * 2 - 1;
    return N / 2. * (s->ramps ? 1.25 * (t - .2 * t * t * t) : t);
}

static scan make_scan(const scene *s, uint64_t seed)
{
    scan out = {.lines = s->lines};
    const int64_t m = (int64_t)SAMPLES * s->lines;
    HEAP cplx *y = malloc((size_t)(m * COILS) * sizeof *y);
    HEAP double *k = malloc((size_t)(2 * m) * sizeof *k);
    out.truth = malloc((size_t)(m * COILS) * sizeof *out.truth);
    assert_true(y && k && out.truth);
    const double noise = s->noise * cabs(signal_at(0, 0, 0));
    for (int c = 0; c < COILS; c++)
        for (int l = 0; l < s->lines; l++)
            for (int i = 0; i < SAMPLES; i++) {
                const int64_t at = i + (int64_t)SAMPLES * (l + s->lines * c);
                const double sign = l % 2 ? -1 : 1;
                const double kx = sign * place(s, i), ky = s->first + l;
                const double re = test_random(&seed), im = test_random(&seed);
                k[2 * (at % m)] = kx;
                k[2 * (at % m) + 1] = ky;
                out.truth[at] = signal_at(kx, ky, c);
                y[at] = signal_at(kx + sign * s->shift / 2, ky, c) * cexp(I * sign * s->phase / 2) +
                        1.2 * noise * (re + I * im);
            }
    out.kspace = complex_array(LARMOR_C64, LARMOR_SHAPE(SAMPLES, s->lines, COILS), y);
    out.traj = real_array(LARMOR_SHAPE(2, SAMPLES, s->lines), k);
    return out;
}

LMR_FREES(end_scan, scan, kspace, traj, truth)

/* The ghost of a thin object at x = 0.3 that is left, relative to the object. */
static double ghost_left(const scene *s, const larmor_ghost *found)
{
    return fabs(s->phase - found->phase) / 2 + .3 * M_PI * fabs(s->shift - found->shift);
}

TEST(the_ghost_of_the_image_is_found_within_a_hundredth_of_the_object)
{
    static const double phases[] = {0, .3, -.8, 1.3}, shifts[] = {0, .2, -.9, 4.1};
    for (int ramps = 0; ramps < 2; ramps++)
        for (int noisy = 0; noisy < 2; noisy++)
            for (int partial = 0; partial < 2; partial++)
                for (int i = 0; i < 4; i++) {
                    const scene s = {ramps,
                                     phases[i],
                                     shifts[(i + 2 * partial) % 4],
                                     noisy ? .003 : 0,
                                     partial ? 44 : N,
                                     partial ? -12 : -N / 2};
                    OWNED(scan) x = make_scan(&s, 7);
                    larmor_ghost found;
                    larmor_ghost_report report;
                    assert_ok(
                        larmor_ghost_estimate(x.kspace, x.traj, NULL, LARMOR_SHAPE(N, N), NULL, &found, &report));
                    assert_int_equal(report.forward, s.lines / 2);
                    assert_int_equal(report.is_clear, s.phase != 0 || s.shift != 0);
                    assert_at_most(fabs(report.spacing - 1), 1e-9);
                    assert_at_most(ghost_left(&s, &found), .01);
                }
}

TEST(of_two_phases_the_one_whose_image_does_not_wrap_is_found)
{
    static const double phases[] = {1.7, -1.7, 2.5, -3, 1.2};
    for (int noisy = 0; noisy < 2; noisy++)
        for (int i = 0; i < 5; i++) {
            const scene s = {0, phases[i], -.9, noisy ? .003 : 0, N, -N / 2};
            OWNED(scan) x = make_scan(&s, 7);
            larmor_ghost found;
            assert_ok(larmor_ghost_estimate(x.kspace, x.traj, NULL, LARMOR_SHAPE(N, N), NULL, &found, NULL));
            assert_at_most(ghost_left(&s, &found), .01);
        }
}

/* Against the samples as they would be without a ghost. */
TEST(corrected_lines_are_those_without_a_ghost)
{
    for (int ramps = 0; ramps < 2; ramps++) {
        const scene s = {ramps, .7, -.6, 0, N, -N / 2};
        OWNED(scan) x = make_scan(&s, 1);
        larmor_ghost all[N];
        for (int l = 0; l < N; l++) all[l] = (larmor_ghost){s.phase, s.shift};
        assert_ok(larmor_ghost_correct(x.kspace, x.traj, NULL, all));
        HEAP cplx *y = values_of(x.kspace);
        double *k = NULL, error = 0, size = 0;
        assert_ok(larmor_array_download(x.traj, LARMOR_F64, &k));
        for (int64_t i = 0; i < (int64_t)SAMPLES * N; i++)
            for (int c = 0; c < COILS; c++) {
                const cplx truth = signal_at(k[2 * i], k[2 * i + 1], c);
                error += pow(cabs(y[i + (int64_t)SAMPLES * N * c] - truth), 2);
                size += pow(cabs(truth), 2);
            }
        assert_at_most(sqrt(error / size), ramps ? 1e-5 : 8e-3); /* evenly spaced ones are interpolated */
        for (int l = 0; l < N; l++) {
            const double sign = l % 2 ? -1 : 1;
            const double moved = k[2 * (int64_t)SAMPLES * l] - sign * place(&s, 0);
            assert_at_most(fabs(moved - ramps * sign * s.shift / 2), 1e-9);
        }
        free(k);
    }
}

/* Three lines, as scanners acquire them, whose phase grows with time, too. */
TEST(navigators_give_the_phase_and_the_shift_whatever_grows_with_time)
{
    for (int ramps = 0; ramps < 2; ramps++)
        for (int first = 0; first < 2; first++) {
            const scene s = {ramps, 2.6, -1.3, 0, 3, 0};
            cplx y[SAMPLES * 3 * COILS];
            double k[SAMPLES * 3];
            for (int c = 0; c < COILS; c++)
                for (int l = 0; l < 3; l++)
                    for (int i = 0; i < SAMPLES; i++) {
                        const double sign = (l + first) % 2 ? -1 : 1;
                        const double kx = sign * place(&s, i);
                        k[i + SAMPLES * l] = kx;
                        y[i + SAMPLES * (l + 3 * c)] =
                            cexp(I * (sign * s.phase / 2 + .5 * l)) * signal_at(kx + sign * s.shift / 2, 0, c);
                    }
            OWNED(larmor_array) *kspace = complex_array(LARMOR_C64, LARMOR_SHAPE(SAMPLES, 3, COILS), y);
            OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(SAMPLES, 3), k);
            larmor_ghost found;
            assert_ok(larmor_ghost_navigators(kspace, traj, 0, 3, &found));
            assert_at_most(fabs(found.phase - s.phase), 3e-3);
            assert_at_most(fabs(found.shift - s.shift), 3e-3);
            assert_int_equal(larmor_ghost_navigators(kspace, traj, 0, 4, &found), LARMOR_ERR_ARG);
        }
}

TEST(readouts_that_are_no_lines_of_both_directions_stay_as_they_are)
{
    for (int spokes = 0; spokes < 2; spokes++) {
        double k[2 * SAMPLES * 16];
        for (int l = 0; l < 16; l++)
            for (int i = 0; i < SAMPLES; i++) {
                const double angle = spokes * l * 1.94, at = (i + .5) / 2 - N / 2.;
                k[2 * (i + SAMPLES * l)] = at * cos(angle);
                k[2 * (i + SAMPLES * l) + 1] = spokes ? at * sin(angle) : l - 8;
            }
        OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, SAMPLES, 16), k);
        HEAP cplx *y = random_values(SAMPLES * 16, 3);
        OWNED(larmor_array) *kspace = complex_array(LARMOR_C64, LARMOR_SHAPE(SAMPLES, 16, 1), y);
        larmor_ghost found, all[16];
        larmor_ghost_report report;
        for (int l = 0; l < 16; l++) all[l] = (larmor_ghost){1, 1};
        assert_ok(larmor_ghost_estimate(kspace, traj, NULL, LARMOR_SHAPE(N, N), NULL, &found, &report));
        assert_true(report.forward == 0 && report.backward == 0 && found.phase == 0 && found.shift == 0);
        assert_ok(larmor_ghost_correct(kspace, traj, NULL, all));
        HEAP cplx *after = values_of(kspace);
        for (int i = 0; i < SAMPLES * 16; i++) assert_at_most(cabs(after[i] - y[i]), 1e-6);
    }
}

/* Lines of one direction whose order in time is given. */
static larmor_array *ordered_lines(const int *ky, int count, int forward)
{
    double k[2 * 4 * 16];
    for (int l = 0; l < count; l++)
        for (int i = 0; i < 4; i++) {
            k[2 * (i + 4 * l)] = forward ? i - 2 : 2 - i;
            k[2 * (i + 4 * l) + 1] = ky[l];
        }
    return real_array(LARMOR_SHAPE(2, 4, count), k);
}

TEST(every_second_line_of_a_shot_may_be_turned_and_none_of_other_orders)
{
    static const struct {
        int ky[9];
        const char *turned; /* of each line */
    } of[] = {
        {{-4, -3, -2, -1, 0, 1, 2, 3}, "01010101"},
        {{-4, -2, 0, 2, 4, -3, -1, 1, 3}, "010100101"},
        {{3, 2, 1, 0, -1, -2, -3}, "0101010"},
        {{0, 1, 2, 3, 4, -1, -2, -3, -4}, "010100101"},
        {{-6, -4, -2, -1, 0, 1, 2, 4}, "01010101"},
        {{0, -1, 1, -2, 2, -3, 3, -4}, "00000000"},     /* from the centre outwards */
        {{-4, -4, -3, -3, -2, -2, -1, -1}, "00000000"}, /* averages */
        {{-4, -1, 2, -3, 0, 3, -2, 1}, "00000000"},     /* shots of three */
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        for (int forward = 0; forward < 2; forward++) {
            const int lines = (int)strlen(of[i].turned);
            OWNED(larmor_array) *traj = ordered_lines(of[i].ky, lines, forward);
            unsigned char turned[9];
            int64_t count, expected = 0;
            assert_ok(larmor_ghost_turned(traj, turned, &count));
            for (int l = 0; l < lines; l++) {
                assert_int_equal(turned[l], of[i].turned[l] - '0');
                expected += turned[l];
            }
            assert_int_equal(count, expected);
        }
}

/* What is stored the other way round, with the ghost that it was acquired with. */
TEST(the_ghost_of_turned_lines_is_that_of_lines_as_acquired)
{
    const scene s = {0, .7, -.6, 0, N, -N / 2};
    OWNED(scan) x = make_scan(&s, 1);
    HEAP cplx *y = values_of(x.kspace);
    HEAP double *k = NULL;
    unsigned char turned[N];
    larmor_ghost found;
    int64_t count;
    assert_ok(larmor_array_download(x.traj, LARMOR_F64, &k));
    for (int l = 1; l < N; l += 2)
        for (int i = 0; i < SAMPLES / 2; i++) {
            const int64_t a = i + (int64_t)SAMPLES * l, b = SAMPLES - 1 - i + (int64_t)SAMPLES * l;
            for (int c = 0; c < COILS; c++) {
                const int64_t from = (int64_t)SAMPLES * N * c;
                const cplx swap = y[a + from];
                y[a + from] = y[b + from];
                y[b + from] = swap;
            }
            const double swap = k[2 * a];
            k[2 * a] = k[2 * b];
            k[2 * b] = swap;
        }
    OWNED(larmor_array) *kspace = complex_array(LARMOR_C64, LARMOR_SHAPE(SAMPLES, N, COILS), y);
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, SAMPLES, N), k);
    assert_ok(larmor_ghost_turned(traj, turned, &count));
    assert_int_equal(count, N / 2);
    assert_ok(larmor_ghost_estimate(kspace, traj, turned, LARMOR_SHAPE(N, N), NULL, &found, NULL));
    assert_at_most(ghost_left(&s, &found), .01);
}
