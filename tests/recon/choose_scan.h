/* Small scans with samples held out, whose weight is chosen. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "recon/choose/choose.h"
#include "tests/recon/support.h"

enum { N = 24, COILS = 3, SPOKES = 30 };

typedef struct design {
    const char *traj;
    int64_t matrix[3], readouts;
} design;

static const design radial = {"radial", {N, N, 1}, SPOKES}, spiral = {"spiral", {N, N, 1}, 6},
                    koosh = {"koosh", {12, 12, 12}, 140}, dense = {"radial", {N, N, 1}, 4 * SPOKES},
                    cartesian = {"cartesian", {N, N, 1}, N};

typedef struct scan {
    larmor_shape image;
    int64_t voxels;
    larmor_array *traj, *maps, *b, *noise;
    larmor_op *A;
    larmor_circulant *C;
    larmor_held_out held;
    larmor_array *factors;
    cplx *truth;
    double deviation;
} scan;

/* A tenth of the spokes. */
static inline void hold_out(scan *s)
{
    OWNED(larmor_array) *kept, *factors;
    assert_ok(larmor_hold_out(s->traj, NULL, s->C, 3, &kept, &factors));
    assert_ok(larmor_op_sense(s->maps, &(larmor_sense_opts){.traj = s->traj, .weights = kept}, &s->held.A));
    s->factors = zeros(LARMOR_C64, s->b->shape);
    assert_ok(larmor_fill(s->factors, 1));
    assert_ok(larmor_sense_weigh(factors, s->factors));
    s->held.factors = s->factors;
    s->held.noise = s->noise;
}

/* Data of two discs or balls, with noise of this deviation relative to the mean sample; `noise` is another sample
 * of it. */
static inline scan scan_of(const design *d, double relative)
{
    const int ndim = d->matrix[2] > 1 ? 3 : 2;
    const larmor_traj_opts opts = {.matrix = {d->matrix[0], d->matrix[1], d->matrix[2]}, .readouts = d->readouts};
    scan s = {.image = larmor_shape_of(ndim, d->matrix)};
    const int64_t voxels = larmor_shape_count(s.image);
    HEAP cplx *maps = malloc((size_t)(voxels * COILS) * sizeof *maps);
    s.voxels = voxels;
    s.truth = calloc((size_t)voxels, sizeof *s.truth);
    assert_ok(larmor_traj_create(dev, d->traj, &opts, &s.traj));
    for (int64_t i = 0; i < voxels; i++) {
        const double u = position(s.image, i, 0), v = position(s.image, i, 1);
        const double w = ndim > 2 ? position(s.image, i, 2) : 0;
        s.truth[i] = (hypot(hypot(u, v), w) < 0.4) - 0.5 * (hypot(hypot(u - 0.1, v), w) < 0.12);
        for (int c = 0; c < COILS; c++) {
            const double angle = 2 * M_PI * c / COILS;
            maps[i + c * voxels] =
                exp(-2 * (pow(u - cos(angle) / 2, 2) + pow(v - sin(angle) / 2, 2))) * cexp(I * (u + c));
        }
    }
    s.maps = complex_array(LARMOR_C64, larmor_shape_append(s.image, COILS), maps);
    OWNED(larmor_array) *x = complex_array(LARMOR_C64, s.image, s.truth);
    assert_ok(larmor_op_sense(s.maps, &(larmor_sense_opts){.traj = s.traj}, &s.A));
    s.b = zeros(LARMOR_C64, larmor_op_out_shape(s.A));
    s.noise = zeros(LARMOR_C64, larmor_op_out_shape(s.A));
    assert_ok(larmor_op_forward(s.A, x, s.b));
    s.deviation = relative * norm_of(s.b) / sqrt((double)larmor_array_count(s.b));
    assert_ok(larmor_noise_fill(s.noise, s.deviation, 7));
    assert_ok(larmor_axpby(1, s.noise, 1, s.b));
    assert_ok(larmor_noise_fill(s.noise, s.deviation, 8));
    assert_ok(larmor_circulant_create(s.maps, s.traj, NULL, s.image, LARMOR_C64, &s.C));
    hold_out(&s);
    return s;
}

static inline scan noisy_scan(double relative)
{
    return scan_of(&radial, relative);
}

static inline void end_scan(scan *s)
{
    LMR_FREE(s->held.A, s->factors, s->traj, s->maps, s->b, s->noise, s->A);
    larmor_circulant_free(s->C);
    free(s->truth);
}
