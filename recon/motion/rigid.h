/* A pose as a map of coordinates in fields of view. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/motion.h"

/* u -> turn u + shift, u in fields of view from the centre; of 2D the third row and column are those of 1. */
typedef struct lmr_rigid {
    double turn[3][3], shift[3];
} lmr_rigid;

void lmr_rigid_of(const double pose[LARMOR_POSE], int nd, const double *fov_mm, lmr_rigid *map);

/* No point within radius_mm of the centre is farther from where the other pose has it. */
double lmr_rigid_distance(const double a[LARMOR_POSE], const double b[LARMOR_POSE], int nd, double radius_mm);

/* The angle of the pose's rotation, in degrees. */
double lmr_rigid_angle(const double pose[LARMOR_POSE], int nd);

/* *poses, to be freed: [6] of each readout. Errors: LARMOR_ERR_SHAPE, LARMOR_ERR_NUMERIC. */
larmor_status lmr_poses_read(const char *who, const larmor_array *motion, int64_t readouts, double **poses);

/* nd is 2 or 3 and sides of the field of view are above 0, else LARMOR_ERR_ARG. */
larmor_status lmr_rigid_check(const char *who, int nd, const double *fov_mm);

/* On the host: maps [voxels, coils] where all coils are zero become those of their neighbours. Errors:
 * LARMOR_ERR_NUMERIC where there are none, LARMOR_ERR_MEMORY. */
larmor_status lmr_maps_extend(const int64_t n[3], int64_t coils, float *maps);

/* On the host: to [n_to..., coils] <- from [n..., coils] at turn u + shift, both re, im and of one field of view. */
larmor_status lmr_maps_resample(int threads, int nd, const int64_t n[3], const int64_t n_to[3], int64_t coils,
                                const lmr_rigid *map, const float *from, float *to);
