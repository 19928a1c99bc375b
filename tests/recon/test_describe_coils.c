/* Right scans, of sums of ellipses and coils that are waves, which other descriptions fit nearly as well.
 * SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "tests/support/test.h"

enum { SIDE = 24, MOST_COILS = 6 };

/* Samples of a disc of this radius whose centre is at x = y = off, in fields of view. */
static double complex disc_at(double kx, double ky, double radius, double off)
{
    const double k = hypot(kx, ky) + 1e-9;
    return radius * j1(2 * M_PI * radius * k) / k * cexp(-2 * M_PI * I * (kx + ky) * off);
}

/* Coil c of so many sees 1 + 0.8 sin(2 pi 0.45 x), x along its own direction; the conjugated one is -1 for none. */
static larmor_description found_of_disc(double radius, double off, int coils, int conjugated)
{
    static float complex x[SIDE * SIDE * MOST_COILS];
    OWNED(larmor_array) *kspace;
    larmor_description found;
    for (int c = 0; c < coils; c++)
        for (int i = 0; i < SIDE * SIDE; i++) {
            const double kx = i % SIDE - SIDE / 2, ky = i / SIDE - SIDE / 2, angle = 2 * M_PI * c / coils + 0.3;
            const double qx = 0.45 * cos(angle), qy = 0.45 * sin(angle);
            const double complex sine =
                (disc_at(kx - qx, ky - qy, radius, off) - disc_at(kx + qx, ky + qy, radius, off)) / (2 * I);
            const double complex sample = disc_at(kx, ky, radius, off) + 0.8 * sine;
            x[i + SIDE * SIDE * c] = (float complex)(c == conjugated ? conj(sample) : sample);
        }
    assert_ok(larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(SIDE, SIDE, coils), LARMOR_C64, x, &kspace));
    assert_ok(larmor_compare_coils(kspace, &found));
    return found;
}

TEST(coils_evenly_around_a_centred_disc_are_not_taken_for_conjugated_ones)
{
    for (int coils = 3; coils <= MOST_COILS; coils++)
        for (int i = 0; i < 3; i++) assert_false(found_of_disc(0.25 + 0.1 * i, 0, coils, -1).is_clear);
}

TEST(a_conjugated_coil_beside_a_disc_off_the_centre_is_named)
{
    for (int coils = 3; coils <= MOST_COILS; coils++) {
        assert_false(found_of_disc(0.4, 0.04, coils, -1).is_clear);
        const larmor_description found = found_of_disc(0.4, 0.04, coils, 1);
        assert_true(found.is_clear);
        assert_string_equal(found.name, "the samples of coil 1 (from 0) conjugated");
    }
}

/* ---- lines ---- */

enum { SAMPLES = 48, LINES = 30 };

/* x, y, half axes, density */
static const double head[][5] = {{0, 0, .36, .44, 1},       {0, -.01, .33, .41, -.5},    {.09, 0, .08, .15, -.3},
                                 {-.09, 0, .1, .19, -.3},   {0, .17, .1, .12, .35},      {0, .05, .022, .022, .4},
                                 {0, -.05, .022, .022, .4}, {-.04, -.3, .022, .012, .4}, {.03, -.3, .012, .012, .4},
                                 {.05, -.3, .012, .022, .4}};

static double soft; /* width of three Gaussians in the place of the head, in fields of view; 0: the head */

static double complex soft_at(double kx, double ky)
{
    double complex sum = 0;
    for (int i = 0; i < 3; i++)
        sum += cexp(-2 * M_PI * I * (kx * (0.15 * i - 0.1) + ky * (0.1 - 0.12 * i)) -
                    2 * pow(M_PI * soft, 2) * (kx * kx + (1 + 0.5 * i) * ky * ky));
    return 0.1 * sum;
}

static double complex head_at(double kx, double ky)
{
    double complex sum = 0;
    if (soft > 0) return soft_at(kx, ky);
    for (size_t e = 0; e < sizeof head / sizeof *head; e++) {
        const double *h = head[e], q = hypot(h[2] * kx, h[3] * ky) + 1e-9;
        sum += h[4] * h[2] * h[3] * j1(2 * M_PI * q) / q * cexp(-2 * M_PI * I * (kx * h[0] + ky * h[1]));
    }
    return sum;
}

/* A coil in this direction with another phase along the tangent: (1 + cos(2 pi 0.3 (x - 0.65)))^2 exp(1.1 i y). */
static double complex near_coil(double kx, double ky, double angle)
{
    static const double size[] = {0.25, 1, 1.5, 1, 0.25};
    const double ux = cos(angle), uy = sin(angle);
    double complex sum = 0;
    for (int m = -2; m <= 2; m++)
        sum += size[m + 2] * cexp(-2 * M_PI * I * 0.3 * m * 0.65) *
               head_at(kx - 0.3 * m * ux - 0.175 * uy, ky - 0.3 * m * uy + 0.175 * ux);
    return sum;
}

typedef struct change {
    double gain;
    int changed;   /* coil that has the gain; -1: all */
    int exchanged; /* coil that is in the place of the one before it, and the other way round; -1: none */
} change;

/* Lines of the head that are `apart` from each other from `from` on, those from 1/FOV on with a change. */
static void make_lines(int from, int count, int apart, int coils, change by, larmor_array **kspace,
                       larmor_array **traj)
{
    static float complex x[SAMPLES * LINES * MOST_COILS];
    static double k[2 * SAMPLES * LINES];
    for (int i = 0; i < SAMPLES * count; i++) {
        k[2 * i] = i % SAMPLES - SAMPLES / 2;
        k[2 * i + 1] = from + apart * (i / SAMPLES);
    }
    for (int c = 0; c < coils; c++)
        for (int i = 0; i < SAMPLES * count; i++) {
            const int late = k[2 * i + 1] > 0.5, is_exchanged = late && by.exchanged > 0;
            const int of = is_exchanged && c >= by.exchanged - 1 && c <= by.exchanged ? 2 * by.exchanged - 1 - c : c;
            const double gain = late && (by.changed < 0 || by.changed == c) ? by.gain : 1;
            const double angle = 2 * M_PI * (of + 0.3) / coils;
            x[i + SAMPLES * count * c] = (float complex)(gain * near_coil(k[2 * i], k[2 * i + 1], angle));
        }
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, SAMPLES, count), LARMOR_F64, k, traj));
    assert_ok(larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(SAMPLES, count, coils), LARMOR_C64, x, kspace));
    assert_ok(larmor_phantom_noise(*kspace, 5e-4, 1));
}

static larmor_description found_of_lines(int from, int count, int coils, double gain)
{
    OWNED(larmor_array) *kspace, *traj;
    larmor_description found;
    make_lines(from, count, 1, coils, (change){gain, -1, -1}, &kspace, &traj);
    assert_ok(larmor_compare_lines(kspace, traj, &found));
    return found;
}

TEST(lines_that_end_nearer_to_the_centre_on_one_side_have_no_step)
{
    for (int coils = 2; coils <= MOST_COILS; coils++) {
        assert_false(found_of_lines(-4, 28, coils, 1).is_clear);
        assert_false(found_of_lines(-24, 30, coils, 1).is_clear);
        assert_false(found_of_lines(-24, 29, coils, 1).is_clear);
    }
}

TEST(another_gain_from_the_centre_on_is_a_step_there_too)
{
    for (int coils = 2; coils <= MOST_COILS; coils++) assert_true(found_of_lines(-24, 30, coils, 2.5).is_clear);
}

static larmor_description coil_step_of(int from, int count, int apart, int coils, change by)
{
    OWNED(larmor_array) *kspace, *traj;
    larmor_description found;
    make_lines(from, count, apart, coils, by, &kspace, &traj);
    assert_ok(larmor_compare_coil_steps(kspace, traj, &found));
    return found;
}

/* The part of a coil that is left where those before are g times what others predict, those after 1 / g times, and
 * both predictions have the same factor: c makes the sum of |1 - c / g|^2 and |1 - c g|^2 least. */
static double left_by_a_common_factor(double g)
{
    const double c = (g + 1 / g) / (g * g + 1 / (g * g));
    return fmax(fabs(1 - c / g), fabs(1 - c * g));
}

TEST(a_coil_that_changes_between_lines_is_named)
{
    for (int coils = 4; coils <= MOST_COILS; coils++)
        for (int apart = 1; apart <= 2; apart++) { /* lines from 1/FOV, or from 2/FOV, on: number 13 */
            const int from = -12 * apart, count = 24;
            int coil, other, readout;
            double gain, angle;
            larmor_description found = coil_step_of(from, count, apart, coils, (change){1, 2, -1});
            assert_false(found.is_clear);
            found = coil_step_of(from, count, apart, coils, (change){1, -1, 2});
            assert_true(found.is_clear);
            assert_int_equal(sscanf(found.name,
                                    "coils %d and %d (from 0) in each other's place from about readout %d", &coil,
                                    &other, &readout),
                             3);
            assert_true(coil == 1 && other == 2);
            assert_at_most(abs(readout - 13), 2);
            found = coil_step_of(from, count, apart, coils, (change){0.5, 2, -1});
            assert_true(found.is_clear);
            assert_int_equal(sscanf(found.name, "coil %d (from 0) at %lf times its gain from about readout %d", &coil,
                                    &gain, &readout),
                             3);
            assert_int_equal(coil, 2);
            assert_at_most(fabs(gain - 0.5), 0.05);
            assert_at_most(fabs(found.misfit / left_by_a_common_factor(0.5) - 1), 0.06);
            found = coil_step_of(from, count, apart, coils, (change){-1, 2, -1});
            assert_int_equal(sscanf(found.name, "coil %d (from 0) at %lf times its gain, turned by %lf degrees",
                                    &coil, &gain, &angle),
                             3);
            assert_int_equal(coil, 2);
            assert_at_most(fabs(fabs(angle) - 180), 10);
        }
}

TEST(what_all_coils_have_is_no_change_of_a_coil)
{
    for (int coils = 2; coils <= MOST_COILS; coils++)
        for (double gain = 0.5; gain <= 2; gain *= 2)
            assert_false(coil_step_of(-12, 24, 1, coils, (change){gain, -1, -1}).is_clear);
}

TEST(smooth_objects_have_no_step)
{
    for (soft = 0.06; soft < 0.13; soft += 0.03)
        for (int coils = 2; coils <= 4; coils++)
            for (int from = -24; from <= -14; from += 10) {
                assert_false(found_of_lines(from, 30, coils, 1).is_clear);
                assert_false(coil_step_of(from, 30, 1, coils, (change){1, -1, -1}).is_clear);
            }
    soft = 0;
}
