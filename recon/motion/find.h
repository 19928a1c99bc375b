/* Rigid motion that is found from samples: what its steps share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/motion.h"
#include "larmor/solve.h"
#include "recon/motion/rigid.h"

/* The scan, and the states of its readouts. */
typedef struct lmr_motion_scan {
    larmor_device *dev;
    int nd, states, numbers; /* numbers of a pose that are looked for: 3 in 2D, else 6 */
    int64_t readouts, coils, n[3];
    const double *fov_mm;
    const int *state;       /* [readouts] */
    const float *maps;      /* [n..., coils] on the host, without zeros */
    unsigned char *is_held; /* [readouts] */
} lmr_motion_scan;

/* The samples within a distance from the centre of k-space, on a grid that holds them. */
typedef struct lmr_motion_level {
    double reach;
    int64_t n[3];
    larmor_shape image;
    larmor_array *kspace, *traj, *kept, *held, *all; /* the last three: weights */
    int64_t samples;
} lmr_motion_level;

void lmr_motion_level_free(lmr_motion_level *level);
larmor_status lmr_motion_level_open(const lmr_motion_scan *scan, const larmor_array *kspace, const larmor_array *traj,
                                    double reach, lmr_motion_level *level);

/* f64 [readouts, 6], the pose of each readout's state; poses NULL: at rest. */
larmor_status lmr_motion_poses(const lmr_motion_scan *scan, const double *poses, larmor_array **motion);

/* Operator and samples, with the roots of weights, in the frame of an object in poses [6, states]. */
typedef struct lmr_motion_fit {
    larmor_op *A, *M; /* M: the preconditioner, or NULL */
    larmor_array *y;
} lmr_motion_fit;

void lmr_motion_fit_free(lmr_motion_fit *fit);

/* lambda > 0: with a preconditioner for that weight. */
larmor_status lmr_motion_fit_open(const lmr_motion_scan *scan, const lmr_motion_level *level, const double *poses,
                                  const larmor_array *weights, double lambda, lmr_motion_fit *fit);

/* The image that explains the samples best, from x on, by at most so many steps; r <- A x - y, and *cost |r|^2 +
 * lambda |x|^2. */
larmor_status lmr_motion_fit_solve(const lmr_motion_fit *fit, double lambda, int steps, larmor_array *x,
                                   larmor_array *r, double *cost);
