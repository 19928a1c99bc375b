/* A scan of random numbers, its maps and its operator. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tests/recon/support.h"

enum { SAMPLES = 6, READOUTS = 5, M = SAMPLES * READOUTS, COILS = 3 };

typedef struct scan {
    larmor_shape image, maps_shape, kspace_shape;
    int64_t voxels;
    cplx *maps;
    double *k, weights[M];
    larmor_array *maps_array, *traj, *weights_array;
    larmor_op *A;
} scan;

static inline scan random_scan(larmor_dtype dtype, larmor_shape image, double tol)
{
    scan s = {.image = image, .voxels = larmor_shape_count(image)};
    s.maps_shape = larmor_shape_append(image, COILS);
    s.kspace_shape = LARMOR_SHAPE(SAMPLES, READOUTS, COILS);
    s.maps = random_values(s.voxels * COILS, 1);
    s.k = random_points(image, M, 2);
    uint64_t seed = 3;
    for (int j = 0; j < M; j++) s.weights[j] = j == 7 ? 0 : 1 + test_random(&seed);
    s.maps_array = complex_array(dtype, s.maps_shape, s.maps);
    s.traj = real_array(LARMOR_SHAPE(image.ndim, SAMPLES, READOUTS), s.k);
    s.weights_array = real_array(LARMOR_SHAPE(SAMPLES, READOUTS), s.weights);
    const larmor_sense_opts opts = {.traj = s.traj, .weights = s.weights_array, .nufft_tol = tol};
    assert_ok(larmor_op_sense(s.maps_array, &opts, &s.A));
    return s;
}

static inline void end_scan(scan *s)
{
    LMR_FREE(s->A, s->maps_array, s->traj, s->weights_array, s->maps, s->k);
}
