/* The transforms of disc and ball. SPDX-License-Identifier: Apache-2.0 */
#include "tests/phantoms/support.h"

/* The transform of the unit disc or ball along x, over its area or volume: its sections' lengths or areas times cos(u
 * x), with x = sin(t), by Simpson's rule. */
static double by_quadrature(int ndim, double u)
{
    enum { PANELS = 4000 };
    double sum = 0;
    for (int i = 0; i <= 2 * PANELS; i++) {
        const double t = M_PI * ((double)i / (2 * PANELS) - 0.5);
        const double weight = i % (2 * PANELS) ? 2 + 2 * (i % 2) : 1;
        sum += weight * pow(cos(t), ndim) * cos(u * sin(t));
    }
    return sum * M_PI / (6 * PANELS) * (ndim == 2 ? 2 / M_PI : 0.75);
}

TEST(transforms_of_disc_and_ball_equal_their_integrals)
{
    const double u[] = {0, 1e-12, 1e-7, 9.9e-6, 1.01e-5, 1e-3, 0.1, 0.5, 0.999,
                        1, 1.001, 2,    3.8317, 4.4934,  10,   77,  300};
    for (size_t i = 0; i < sizeof u / sizeof *u; i++)
        for (int ndim = 2; ndim <= 3; ndim++)
            assert_at_most(fabs(lmr_ball_transform(ndim, u[i]) - by_quadrature(ndim, u[i])), 2e-14);
}

TEST(a_points_coordinates_make_the_ellipsoid_the_unit_ball)
{
    const lmr_ellipsoid e = {.half_axis = {0.3, 0.2, 0.1}, .cosine = cos(0.7), .sine = sin(0.7)};
    const double tip[3] = {0.3 * cos(0.7), 0.3 * sin(0.7), 0}, flank[3] = {-0.2 * sin(0.7), 0.2 * cos(0.7), 0};
    double q[3], f[3];
    lmr_ellipsoid_point(&e, 3, tip, q);
    assert_at_most(fabs(q[0] - 1) + fabs(q[1]) + fabs(q[2]), 1e-15);
    lmr_ellipsoid_point(&e, 3, flank, q);
    assert_at_most(fabs(q[0]) + fabs(q[1] - 1) + fabs(q[2]), 1e-15);
    lmr_ellipsoid_frequency(&e, 3, (double[]){1, 2, 3}, f); /* k . r is the same in both coordinates */
    lmr_ellipsoid_point(&e, 3, (double[]){4, -5, 6}, q);
    assert_at_most(fabs(f[0] * q[0] + f[1] * q[1] + f[2] * q[2] - 12), 1e-13);
    assert_at_most(fabs(lmr_ellipsoid_volume(&e, 2) - 0.06 * M_PI), 1e-15);
    assert_at_most(fabs(lmr_ellipsoid_volume(&e, 3) - 0.008 * M_PI), 1e-15);
}
