/* An object of tissues, each inside of another one. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "phantoms/phantom.h"

typedef struct region { /* in units of the field of view */
    int around;         /* the tissue that it is cut out of, or -1 */
    double centre[3], half_axis[3];
} region;

static const region regions[LARMOR_TISSUES] = {
    {-1, {0, 0, 0}, {0.42, 0.36, 0.40}},        {0, {0, 0, 0}, {0.37, 0.31, 0.35}},
    {1, {-0.14, -0.05, 0}, {0.15, 0.17, 0.20}}, {1, {0.16, 0.14, 0}, {0.08, 0.08, 0.10}},
    {1, {0.15, -0.12, 0}, {0.10, 0.10, 0.12}},  {2, {-0.16, -0.06, 0}, {0.05, 0.06, 0.07}},
};

static const larmor_tissue tissues[LARMOR_TISSUES] = {
    {"fat", 0.9, 0.95, 350, 70},    {"muscle", 0.7, 0.03, 1100, 45}, {"liver", 0.8, 0.2, 800, 60},
    {"marrow", 0.85, 0.5, 500, 90}, {"fluid", 1, 0, 2500, 200},      {"lesion", 0.75, 0.08, 1400, 110},
};

larmor_tissue larmor_phantom_tissue(int i)
{
    return i >= 0 && i < LARMOR_TISSUES ? tissues[i] : (larmor_tissue){.name = NULL};
}

static void fill_with(larmor_phantom *p, const double density[])
{
    p->parts = LARMOR_TISSUES;
    p->enhancing = LARMOR_TISSUES - 1;
    for (int i = 0; i < LARMOR_TISSUES; i++) {
        lmr_ellipsoid *e = &p->part[i];
        *e = (lmr_ellipsoid){.density = density[i] - (regions[i].around < 0 ? 0 : density[regions[i].around]),
                             .cosine = 1};
        for (int d = 0; d < p->ndim; d++) {
            e->centre[d] = regions[i].centre[d];
            e->half_axis[d] = regions[i].half_axis[d];
        }
    }
}

static void fill(larmor_phantom *p)
{
    double density[LARMOR_TISSUES];
    for (int i = 0; i < LARMOR_TISSUES; i++) density[i] = tissues[i].density;
    fill_with(p, density);
}

const lmr_phantom_kind lmr_phantom_tissues = {
    .info = {"tissues", "ellipses of tissues with T1, T2 and a fraction of fat of their own"},
    .fill = fill,
};

larmor_status larmor_phantom_of_tissues(int ndim, const double *density, larmor_phantom **phantom)
{
    LMR_NEED_OUT(phantom, density);
    for (int i = 0; i < LARMOR_TISSUES; i++)
        LMR_REFUSE(!isfinite(density[i]), LARMOR_ERR_ARG,
                   "phantom: density %d of the tissues is %g, a number expected", i, density[i]);
    LMR_REFUSE(ndim != 2 && ndim != 3, LARMOR_ERR_ARG, "phantom: got %d dimensions, expected 2 or 3", ndim);
    LMR_NEW_ZEROS(larmor_phantom, p, 1);
    p->ndim = ndim;
    p->reach = 1;
    fill_with(p, density);
    *phantom = p;
    return LARMOR_OK;
}
