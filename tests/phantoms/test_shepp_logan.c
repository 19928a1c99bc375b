/* The head's tissues are where the publications put them. SPDX-License-Identifier: Apache-2.0 */
#include "tests/phantoms/support.h"

enum { N = 128 };

typedef struct spot {
    double x, y, z; /* in the head of [-1, 1]^n, y up, as published */
    double density;
} spot;

static void assert_densities(int ndim, const spot *spots, int count)
{
    OWN(larmor_phantom, *p, larmor_phantom_create("shepp-logan", ndim, &p));
    const int64_t dims[3] = {N, N, N};
    OWN(larmor_array, *image, larmor_phantom_image(p, dev, LARMOR_C64, larmor_shape_of(ndim, dims), &image));
    HEAP double complex *v = values_of(image);
    for (int i = 0; i < count; i++) {
        const int64_t x = lround((spots[i].x + 1) * N / 2), y = lround((1 - spots[i].y) * N / 2);
        const int64_t z = ndim == 3 ? lround((spots[i].z + 1) * N / 2) : 0;
        const double got = creal(v[x + N * (y + N * z)]);
        if (fabs(got - spots[i].density) > 1e-6)
            fail_msg("%dD at (%g, %g, %g): %g, expected %g", ndim, spots[i].x, spots[i].y, spots[i].z, got,
                     spots[i].density);
    }
}

TEST(tissues_in_the_plane_have_tofts_densities)
{
    const spot spots[] = {
        {0.9, 0.9, 0, 0},    {0, 0.9, 0, 1},        {0, -0.905, 0, 1},       {0, 0.75, 0, 0.2},
        {0.22, 0, 0, 0},     {-0.22, 0, 0, 0},      {0.3, 0.25, 0, 0},       {-0.3, 0.25, 0, 0},
        {0.13, -0.25, 0, 0}, {0.06, 0.25, 0, 0.3},  {0, 0.125, 0, 0.4},      {0, 0.08, 0, 0.3},
        {0, -0.1, 0, 0.3},   {0, -0.605, 0, 0.3},   {-0.08, -0.605, 0, 0.3}, {0.06, -0.605, 0, 0.3},
        {0.5, -0.3, 0, 0.2}, {0.36, -0.25, 0, 0.2},
    };
    assert_densities(2, spots, sizeof spots / sizeof *spots);
}

TEST(tissues_in_space_have_tofts_densities)
{
    const spot spots[] = {
        {0.9, 0.9, 0, 0},      {0, 0, 0.89, 1},       {0, 0, -0.89, 1},         {0, 0, 0, 0.2},
        {0, 0.9, 0, 1},        {-0.22, 0, -0.25, 0},  {0.22, 0, -0.25, 0},      {0, 0.35, -0.25, 0.4},
        {0, 0.35, 0.2, 0.4},   {0, 0.35, 0.3, 0.2},   {0, 0.08, -0.25, 0.4},    {0, 0.1, 0.625, 0},
        {0.3, 0.25, -0.25, 0}, {-0.3, 0.3, -0.25, 0}, {-0.3, -0.3, -0.25, 0.2}, {0.06, -0.105, 0.625, 0.4},
    };
    assert_densities(3, spots, sizeof spots / sizeof *spots);
}
