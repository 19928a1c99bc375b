/* What a trajectory is: a row of the table in names.c. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/status.h"
#include "larmor/recon.h"

/* The array a trajectory makes, [nd, samples, readouts], and the options with their defaults filled in: matrix (1
 * beyond the dimensions), tiny >= 1, density >= 1, undersampling > 0. */
typedef struct lmr_traj_plan {
    larmor_traj_opts opts;
    int nd;
    int64_t samples, readouts;
    int threads; /* to fill with */
} lmr_traj_plan;

/* A trajectory that is being filled, for lmr_parallel. */
typedef struct lmr_traj_filling {
    const lmr_traj_plan *plan;
    double *k;
} lmr_traj_filling;

typedef struct lmr_traj {
    larmor_traj_info info;
    /* nd, samples and readouts from the options, where plan's are still 0 */
    larmor_status (*size)(lmr_traj_plan *plan);
    /* all points, k [nd, samples, readouts] */
    void (*fill)(const lmr_traj_plan *plan, double *k);
} lmr_traj;

/* ---- for several of them (readouts.c, cartesian.c, radial.c) ---- */

/* count / undersampling rounded up, at least 1; LARMOR_ERR_ARG if it is out of range. */
larmor_status lmr_traj_readouts(double count, double undersampling, int64_t *readouts);

/* A refusal unless the matrix has 2 dimensions (the third 1) or 3 (none of them 1). */
larmor_status lmr_traj_flat(const lmr_traj_plan *plan, const char *name, const char *instead);

/* 1 if the options choose Cartesian lines by acceleration, calibration or partial Fourier. */
int lmr_traj_has_pattern(const larmor_traj_opts *opts);

/* One spoke through the centre along the unit vector direction [nd], k [nd, samples]: from -N/2 in steps of N /
 * samples, so that sample samples / 2 is the centre. */
void lmr_traj_spoke(const lmr_traj_plan *plan, const double *direction, double *k);

/* How far readouts that are evenly spread are rotated after opts.first others, in [0, 1) of their spacing. */
double lmr_traj_golden_shift(const lmr_traj_plan *plan);

/* The angle of spoke j in the plane, tiny golden angles: pi / (golden ratio + tiny - 1) apart. */
double lmr_traj_golden_angle(int64_t j, int64_t tiny);
