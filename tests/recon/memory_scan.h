/* Scans of several sizes, for the tests of what takes how much memory. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device.h"
#include "tests/recon/support.h"

/* A GPU's memory is not the host's. */
static inline void only_for_processors(void)
{
    if (!dev->be->threads(dev->ctx)) skip();
}

typedef struct scan {
    larmor_problem problem;
    larmor_array *traj, *weights, *maps, *kspace;
} scan;

/* Spokes through the centre in all directions, [3, n, spokes]: the tiles in the centre of the grid are crowded. */
static inline double *koosh_points(double extent, int64_t n, int64_t spokes)
{
    NEW(double, k, 3 * n * spokes);
    for (int64_t j = 0; j < n * spokes; j++) {
        const double z = ((double)(j / n) + 0.5) / (double)spokes, angle = 2.399963 * (double)(j / n);
        const double t = extent * ((double)(j % n) / (double)n - 0.5), r = sqrt(1 - z * z);
        k[3 * j] = t * r * cos(angle);
        k[3 * j + 1] = t * r * sin(angle);
        k[3 * j + 2] = t * z;
    }
    return k;
}

/* Spokes in partitions along z, which follow each other, [3, n, spokes]. */
static inline double *stack_points(larmor_shape image, int64_t n, int64_t spokes)
{
    const int64_t nz = image.dim[2];
    NEW(double, k, 3 * n * spokes);
    for (int64_t j = 0; j < n * spokes; j++) {
        const double angle = 2.399963 * (double)(j / n / nz),
                     t = (double)image.dim[0] * ((double)(j % n) / (double)n - 0.5);
        k[3 * j] = t * cos(angle);
        k[3 * j + 1] = t * sin(angle);
        k[3 * j + 2] = (double)(j / n % nz - nz / 2);
    }
    return k;
}

static inline scan scan_of(larmor_shape image, int64_t samples, int64_t readouts, int64_t coils, larmor_dtype dtype,
                           int is_stack)
{
    const int64_t m = samples * readouts;
    scan s = {.problem = {.image = image, .samples = m, .coils = coils, .dtype = dtype}};
    const double extent = (double)image.dim[0];
    HEAP double *k;
    if (image.ndim == 2)
        k = radial_points(extent, samples, readouts);
    else
        k = is_stack ? stack_points(image, samples, readouts) : koosh_points(extent, samples, readouts);
    s.traj = real_array(LARMOR_SHAPE(image.ndim, samples, readouts), k);
    assert_ok(larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(samples, readouts), &s.weights));
    assert_ok(larmor_fill(s.weights, 1));
    s.maps = zeros(dtype, larmor_shape_append(image, coils));
    assert_ok(larmor_fill(s.maps, 1));
    s.kspace = zeros(dtype, LARMOR_SHAPE(samples, readouts, coils));
    assert_ok(larmor_fill(s.kspace, 1));
    return s;
}

static inline void end_scan(scan *s)
{
    LMR_FREE(s->traj, s->weights, s->maps, s->kspace);
}

static const struct {
    const char *name;
    int ndim;
    int64_t image[3], samples, readouts, coils;
    larmor_dtype dtype;
    int is_stack;
} cases[] = {
    {"2D", 2, {48, 48, 1}, 96, 75, 7, LARMOR_C64, 0},
    {"2D in double", 2, {64, 48, 1}, 128, 50, 5, LARMOR_C128, 0},
    {"2D, one coil", 2, {128, 128, 1}, 256, 201, 1, LARMOR_C64, 0},
    {"2D, few samples", 2, {64, 64, 1}, 64, 4, 4, LARMOR_C64, 0},
    {"3D", 3, {16, 16, 18}, 32, 400, 4, LARMOR_C64, 0},
    {"3D, a stack", 3, {48, 48, 16}, 96, 1200, 4, LARMOR_C64, 1},
    {"3D, a stack of few spokes", 3, {48, 48, 16}, 96, 64, 4, LARMOR_C64, 1},
};
enum { CASES = sizeof cases / sizeof *cases };

static inline scan scan_case(int i)
{
    return scan_of(larmor_shape_of(cases[i].ndim, cases[i].image), cases[i].samples, cases[i].readouts,
                   cases[i].coils, cases[i].dtype, cases[i].is_stack);
}
