/* The Shepp-Logan head. SPDX-License-Identifier: Apache-2.0 */
#include "phantoms/phantom.h"

#include <math.h>

/* Density, half axes, centre, angle in degrees, as published: in a head of [-1, 1]^n with y up.
 *
 * Plane: Shepp and Logan, IEEE Trans. Nucl. Sci. 21, 21 (1974), with the contrast of Toft, PhD thesis, DTU (1996).
 * Solid: Koay, Sarlls, Ozarslan, Magn. Reson. Med. 58, 430 (2007), with the skull at 1 instead of 2, so that its
 * tissues have Toft's values too. */
typedef struct row {
    double density, half_axis[3], centre[3], degrees;
} row;

static const row plane[] = {
    {1.0, {0.69, 0.92, 0}, {0, 0, 0}, 0},        {-0.8, {0.6624, 0.874, 0}, {0, -0.0184, 0}, 0},
    {-0.2, {0.11, 0.31, 0}, {0.22, 0, 0}, -18},  {-0.2, {0.16, 0.41, 0}, {-0.22, 0, 0}, 18},
    {0.1, {0.21, 0.25, 0}, {0, 0.35, 0}, 0},     {0.1, {0.046, 0.046, 0}, {0, 0.1, 0}, 0},
    {0.1, {0.046, 0.046, 0}, {0, -0.1, 0}, 0},   {0.1, {0.046, 0.023, 0}, {-0.08, -0.605, 0}, 0},
    {0.1, {0.023, 0.023, 0}, {0, -0.606, 0}, 0}, {0.1, {0.023, 0.046, 0}, {0.06, -0.605, 0}, 0},
};

static const row solid[] = {
    {1.0, {0.69, 0.92, 0.9}, {0, 0, 0}, 0},
    {-0.8, {0.6624, 0.874, 0.88}, {0, 0, 0}, 0},
    {-0.2, {0.41, 0.16, 0.21}, {-0.22, 0, -0.25}, 108},
    {-0.2, {0.31, 0.11, 0.22}, {0.22, 0, -0.25}, 72},
    {0.2, {0.21, 0.25, 0.5}, {0, 0.35, -0.25}, 0},
    {0.2, {0.046, 0.046, 0.046}, {0, 0.1, -0.25}, 0},
    {0.1, {0.046, 0.023, 0.02}, {-0.08, -0.65, -0.25}, 0},
    {0.1, {0.046, 0.023, 0.02}, {0.06, -0.65, -0.25}, 90},
    {0.2, {0.056, 0.04, 0.1}, {0.06, -0.105, 0.625}, 90},
    {-0.2, {0.056, 0.056, 0.1}, {0, 0.1, 0.625}, 0},
};

static void fill(larmor_phantom *phantom)
{
    const row *rows = phantom->ndim == 3 ? solid : plane;
    phantom->parts = LMR_PHANTOM_PARTS;
    phantom->enhancing = 4; /* the large one above the middle */
    for (int i = 0; i < LMR_PHANTOM_PARTS; i++) {
        lmr_ellipsoid *e = &phantom->part[i];
        e->density = rows[i].density;
        for (int d = 0; d < 3; d++) {
            e->half_axis[d] = rows[i].half_axis[d] / 2;
            e->centre[d] = rows[i].centre[d] / 2;
        }
        /* our y runs down the page, to the back of the head (DICOM): mirrored, the picture stands as it is known */
        e->centre[1] = -e->centre[1];
        e->cosine = cos(rows[i].degrees * (M_PI / 180));
        e->sine = -sin(rows[i].degrees * (M_PI / 180));
    }
}

const lmr_phantom_kind lmr_phantom_shepp_logan = {
    .info = {"shepp-logan", "a head of ellipses with the modified contrast of Toft"},
    .fill = fill,
};
