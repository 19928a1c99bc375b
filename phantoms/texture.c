/* A body with smooth shading and fine texture, which a piecewise constant phantom lacks. A few ellipses make edges,
 * several hundred Gaussians from 2 voxels of a matrix of 128 (full width at half maximum) to a third of the field of
 * view make the rest. Places are additive recurrences, so they fill the body evenly; densities are of a fixed seed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "phantoms/phantom.h"

#include "core/core.h"

/* Blobs of one size: width in 1/128 of the field of view, how many in the plane and in space, the largest density. */
typedef struct scale {
    double width;
    int count[2];
    double density;
} scale;

static const scale scales[] = {
    {40, {5, 7}, 0.22},  {18, {12, 20}, 0.16}, {9, {36, 50}, 0.16},
    {5, {90, 90}, 0.18}, {3, {200, 120}, 0.2}, {2, {400, 160}, 0.22},
};

static const double body[3] = {0.4, 0.45, 0.42}; /* half axes */

/* Additive recurrences of the generalised golden ratios, x^(n + 1) = x + 1: evenly spread in n dimensions. */
static const double ratio[2][3] = {{0.7548776662466927, 0.5698402909980532, 0},
                                   {0.8191725133961645, 0.6710436067037893, 0.5497004779019703}};

/* Point i of a sequence that fills the body, shrunk by a factor; in the plane and in space. */
static void place(int ndim, int sequence, int i, double shrink, double at[3])
{
    double u[3];
    for (int d = 0; d < 3; d++) u[d] = fmod(0.5 + 0.137 * sequence + (i + 1) * ratio[ndim - 2][d], 1);
    const double z = ndim == 3 ? 2 * u[2] - 1 : 0;
    const double angle = 2 * M_PI * u[0];
    const double radius = shrink * (ndim == 3 ? cbrt(u[1]) : sqrt(u[1]));
    const double rim = radius * sqrt(1 - z * z);
    at[0] = body[0] * rim * cos(angle);
    at[1] = body[1] * rim * sin(angle);
    at[2] = ndim == 3 ? body[2] * radius * z : 0;
}

static lmr_ellipsoid ellipsoid(int ndim, double density, const double centre[3], const double half_axis[3],
                               double degrees)
{
    lmr_ellipsoid e = {.density = density, .cosine = cos(degrees * M_PI / 180), .sine = sin(degrees * M_PI / 180)};
    for (int d = 0; d < ndim; d++) {
        e.centre[d] = centre[d];
        e.half_axis[d] = half_axis[d];
    }
    return e;
}

static void fill(larmor_phantom *phantom)
{
    const int ndim = phantom->ndim;
    const double middle[3] = {0}, left[3] = {-0.15, 0.08, 0.05}, right[3] = {0.16, -0.12, -0.06};
    phantom->parts = 3;
    phantom->enhancing = 2;
    phantom->part[0] = ellipsoid(ndim, 0.6, middle, body, 0);
    phantom->part[1] = ellipsoid(ndim, -0.3, left, (double[]){0.1, 0.16, 0.13}, 20);
    phantom->part[2] = ellipsoid(ndim, 0.25, right, (double[]){0.12, 0.09, 0.15}, -30);
    for (int s = 0; s < (int)(sizeof scales / sizeof *scales); s++) {
        const double sigma = scales[s].width / 128 / sqrt(8 * log(2));
        const double shrink = 1 - 2.5 * sigma / body[0]; /* blobs end at the body's rim */
        for (int i = 0; i < scales[s].count[ndim - 2]; i++) {
            lmr_blob *b = &phantom->blob[phantom->blobs++];
            const double size = 2 * lmr_random_uniform((uint64_t)s, (uint64_t)i) - 1;
            b->density = scales[s].density * copysign(0.5 + 0.5 * fabs(size), size);
            b->sigma = sigma;
            place(ndim, s, i, shrink, b->centre);
        }
    }
}

const lmr_phantom_kind lmr_phantom_texture = {
    .info = {"texture", "a body with smooth shading and fine texture, made of Gaussians"},
    .fill = fill,
};
