/* Scans with noise of a known deviation, and medians over the object. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tests/pipeline/scan.h"

#define SIGMA 2e-3 /* of the real and of the imaginary part of a sample */
/* Voxels brighter than this part of the brightest one are the object's. */
#define OBJECT_PART 0.2

/* At a weight, and without what is looked for before the first image. */
#define AT(weight) .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = (weight), AS_IT_IS
#define AS_IT_IS .delays = LARMOR_DELAYS_OFF, .oversample = {1}, .compress = -1

static inline void add_noise(scan *s, double sigma, uint64_t seed)
{
    for (int i = 0; i < s->arrays.images; i++)
        assert_ok(larmor_phantom_noise(s->image[i].kspace, sigma, seed + 977 * (uint64_t)i));
}

static inline scan noisy(scan (*make)(void))
{
    scan s = make();
    add_noise(&s, SIGMA, 5);
    return s;
}

static inline scan spokes(void)
{
    return scan_of(COILS, 1, 0);
}

static inline scan lines_of(int acceleration, double partial)
{
    const larmor_traj_opts lines = {
        .matrix = {N, N}, .acceleration = {acceleration}, .calibration = {0}, .partial_fourier = partial};
    scan s = {.arrays = {.matrix = {N, N}, .trajectory = "cartesian", .images = 1}};
    assert_ok(larmor_phantom_create("shepp-logan", 2, &s.phantom));
    assert_ok(larmor_phantom_bandlimited(s.phantom, dev, LARMOR_C64, LARMOR_SHAPE(N, N), &s.truth));
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C64, LARMOR_SHAPE(N, N), NULL, COILS, &s.maps));
    assert_ok(larmor_traj_create(dev, "cartesian", &lines, &s.image[0].traj));
    assert_ok(larmor_phantom_kspace(s.phantom, s.image[0].traj, COILS, LARMOR_C64, &s.image[0].kspace));
    return s;
}

static inline scan all_lines(void)
{
    return lines_of(1, 0);
}

static inline int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of a / b over the object. */
static inline double median_ratio(const larmor_array *image, const float *a, const double *b)
{
    HEAP float *x = host_of(image);
    const int64_t voxels = larmor_array_count(image);
    double *ratio = calloc((size_t)voxels, sizeof *ratio), most = 0;
    int count = 0;
    for (int64_t v = 0; v < voxels; v++) most = fmax(most, hypot(x[2 * v], x[2 * v + 1]));
    for (int64_t v = 0; v < voxels; v++)
        if (hypot(x[2 * v], x[2 * v + 1]) > OBJECT_PART * most) ratio[count++] = a[v] / b[v];
    assert_true(count > 20);
    qsort(ratio, (size_t)count, sizeof *ratio, ascending);
    const double median = ratio[count / 2];
    free(ratio);
    return median;
}
