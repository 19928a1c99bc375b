/* recon/ops/band.c: images without the corners of k-space. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

enum { NX = 9, NY = 6, IMAGES = 2 };

/* A wave of frequency (kx, ky), and nothing in the second image. */
static larmor_array *wave(int kx, int ky)
{
    cplx x[NX * NY * IMAGES] = {0};
    for (int y = 0; y < NY; y++)
        for (int i = 0; i < NX; i++)
            x[y * NX + i] = cexp(2 * M_PI * I * ((double)(kx * i) / NX + (double)(ky * y) / NY));
    return complex_array(LARMOR_C128, LARMOR_SHAPE(NX, NY, IMAGES), x);
}

TEST(waves_inside_the_ellipse_stay_and_others_go)
{
    for (int ky = -NY / 2; ky < NY / 2; ky++)
        for (int kx = -NX / 2; kx <= NX / 2; kx++) {
            const int inside = 4. * kx * kx / (NX * NX) + 4. * ky * ky / (NY * NY) < 1;
            OWNED(larmor_array) *before = wave(kx, ky), *after = wave(kx, ky);
            assert_ok(larmor_band_limit(after, 3));
            HEAP cplx *was = values_of(before), *is = values_of(after);
            double left = 0, changed = 0;
            for (int i = 0; i < NX * NY * IMAGES; i++) {
                left = fmax(left, cabs(is[i]));
                changed = fmax(changed, cabs(is[i] - was[i]));
            }
            assert_at_most(inside ? changed : left, 1e-13);
        }
}

TEST(corners_go_and_ends_of_one_axis_stay)
{
    OWNED(larmor_array) *corner = wave(4, 2), *along = wave(4, 0);
    double norm;
    assert_ok(larmor_band_limit(corner, 1)); /* along x alone there are no corners */
    assert_ok(larmor_nrm2(corner, &norm));
    assert_at_most(fabs(norm - sqrt(NX * NY)), 1e-12);
    assert_ok(larmor_band_limit(corner, 3));
    assert_ok(larmor_nrm2(corner, &norm));
    assert_at_most(norm, 1e-12);
    assert_ok(larmor_band_limit(along, 3));
    assert_ok(larmor_nrm2(along, &norm));
    assert_at_most(fabs(norm - sqrt(NX * NY)), 1e-12);
}

TEST(axes_that_are_not_there_are_refused)
{
    OWNED(larmor_array) *x = wave(0, 0);
    assert_refused(larmor_band_limit(x, 8), LARMOR_ERR_ARG, "");
    assert_refused(larmor_band_limit(NULL, 1), LARMOR_ERR_ARG, "an image is needed");
}
