/* Coils that are placed evenly around an object that is its own mirror image. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>
#include <math.h>

#include "larmor/describe.h"
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
