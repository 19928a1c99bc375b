/* Ellipses and ellipsoids and their exact Fourier transforms: Koay, Sarlls, Ozarslan, Magn. Reson. Med. 58, 430
 * (2007). SPDX-License-Identifier: Apache-2.0 */
#include "phantoms/phantom.h"

#include <math.h>

static void rotate(const lmr_ellipsoid *e, int ndim, const double v[3], double out[3])
{
    out[0] = e->cosine * v[0] + e->sine * v[1];
    out[1] = e->cosine * v[1] - e->sine * v[0];
    out[2] = ndim == 3 ? v[2] : 0;
}

void lmr_ellipsoid_point(const lmr_ellipsoid *e, int ndim, const double v[3], double out[3])
{
    rotate(e, ndim, v, out);
    for (int d = 0; d < ndim; d++) out[d] /= e->half_axis[d];
}

void lmr_ellipsoid_frequency(const lmr_ellipsoid *e, int ndim, const double v[3], double out[3])
{
    rotate(e, ndim, v, out);
    for (int d = 0; d < ndim; d++) out[d] *= e->half_axis[d];
}

double lmr_ellipsoid_volume(const lmr_ellipsoid *e, int ndim)
{
    const double *a = e->half_axis;
    return ndim == 2 ? M_PI * a[0] * a[1] : 4 * M_PI / 3 * a[0] * a[1] * a[2];
}

double lmr_ball_transform(int ndim, double u)
{
    if (ndim == 2) return u < 1e-5 ? 1 - u * u / 8 : 2 * j1(u) / u;
    if (u > 1) return 3 * (sin(u) - u * cos(u)) / (u * u * u);
    /* the difference above cancels for small u: 3 sum_n (-1)^n 2 (n + 1) / (2 n + 3)! u^(2 n), to 1e-17 for u <= 1 */
    double term = 1, sum = 1;
    for (int n = 1; n <= 8; n++) {
        term *= -u * u / (2 * n * (2 * n + 3));
        sum += term;
    }
    return sum;
}
