/* Gradient delays: found from the samples themselves. SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_DELAYS_H
#define LARMOR_DELAYS_H

#include "larmor/array.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct larmor_delays_opts { /* zero means default */
    double fov[3]; /* relative lengths of the field of view, which couplings between its axes need; default: alike */
} larmor_delays_opts;

typedef struct larmor_delays {
    double delay[6]; /* in samples, as larmor_traj_delay takes them: x, y, z, xy, xz, yz */
    double
        deviation[6]; /* standard deviation of each, from the data; that of a delay that data do not show is large */
    double shift;     /* the farthest that a readout is shifted, in cycles per field of view */
    double before, after; /* what neighbouring samples cannot explain of each other, relative to the signal as
                             amplitudes: with the given trajectory and with the delays */
    int significant;      /* 1: the data leave no doubt that there are delays */
    int64_t readouts;     /* that were used */
} larmor_delays;

/* The delays of the gradients of a scan whose readouts are straight near the centre of k-space: spokes in two or three
 * dimensions, through the centre or from it, stacks of stars.
 *
 * Readouts that are late by delays S, a symmetric matrix in samples, are shifted by S times their step. They meet
 * elsewhere then than their coordinates say, and samples that should be neighbours contradict each other. Found is
 * first where readouts intersect, which gives S by least squares. That S is refined to the likeliest one for an object
 * of limited size, whose k-space is smooth; the size and the noise are found with it. No coil maps are needed.
 *
 * kspace   complex [samples, readouts, coils]; several coils, whitened, are best; one works, too.
 * traj     [nd, samples, readouts] real, cycles per field of view, nd 2 or 3; the nominal one.
 * opts     may be NULL.
 * found    delays of 0 that are not significant where nothing was found.
 * Errors   LARMOR_ERR_SHAPE; LARMOR_ERR_UNSUPPORTED for readouts that do not cross or are too few or not straight;
 *          LARMOR_ERR_NUMERIC for values that are not finite or zero; LARMOR_ERR_MEMORY.
 * Source   intersections: Rosenzweig, Holme, Uecker, Magn. Reson. Med. 81, 1898 (2019). */
LARMOR_API larmor_status larmor_delays_estimate(const larmor_array *kspace, const larmor_array *traj,
                                                const larmor_delays_opts *opts, larmor_delays *found);

#ifdef __cplusplus
}
#endif
#endif
