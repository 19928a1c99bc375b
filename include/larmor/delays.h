/* What gradients do other than asked for: delays, found from the samples themselves, and impulse responses.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_DELAYS_H
#define LARMOR_DELAYS_H

#include "larmor/array.h"

LARMOR_C_BEGIN

typedef struct larmor_delays_opts { /* zero means default */
    double fov[3]; /* relative lengths of the field of view, which couplings between its axes need; default: alike */
} larmor_delays_opts;

typedef struct larmor_delays {
    double delay[6]; /* in samples, as larmor_traj_delay takes them: x, y, z, xy, xz, yz */
    double
        deviation[6]; /* standard deviation of each, from the data; that of a delay that data do not show is large */
    double shift;     /* the farthest that a readout is shifted, in cycles per field of view */
    double before, after; /* what neighbouring samples cannot explain of each other, relative to all of them as
                             amplitudes: with the given trajectory and with the delays */
    int significant;      /* 1: delays explain clearly more of the samples */
    int64_t readouts;     /* that were used */
} larmor_delays;

/* The delays of the gradients of a scan whose readouts are straight near the centre of k-space: spokes in two or
 * three dimensions, through the centre or from it, stacks of stars; and of arms from the centre or to it: spirals,
 * their stacks, cones.
 *
 * Readouts that are late by delays S, a symmetric matrix in samples, are shifted by S times their step. They meet
 * elsewhere then than their coordinates say, and samples that should be neighbours contradict each other. Found is
 * first where readouts intersect, which gives S by least squares. That S is refined to the likeliest one for an
 * object of limited size, whose k-space is smooth; the size and the noise are found with it. No coil maps are
 * needed.
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

typedef struct larmor_girf {
    const larmor_array *response; /* complex [frequencies, axes] or [frequencies, axes, axes that were asked for] */
    double spacing_hz;            /* from one frequency to the next; frequency i of n is (i - floor(n/2)) of them */
    double dwell_s;               /* from one sample of a readout to the next */
    double axes[3][3]; /* row d: direction d of the trajectory in terms of the response's axes; zeros: the same */
    double fov[3];     /* relative lengths of the field of view, which other axes need; zeros: alike */
} larmor_girf;

/* LARMOR_ERR_SHAPE, with what is expected, if an array cannot be the response of larmor_girf. */
LARMOR_API larmor_status larmor_girf_check(const larmor_array *response);

/* The trajectory that gradients of this impulse response make where `traj` was asked for.
 *
 * The gradient that was asked for is the derivative of traj. It is convolved with the response and integrated
 * again. Before the readout it had its first value for long, and after it the last, so that a readout that begins on
 * a plateau is shifted; one that begins in the centre of k-space, on a ramp or in a plane exactly there, was at rest
 * before. What precedes a readout is taken to reach the place that was meant, up to that. The response between its
 * frequencies is interpolated linearly but for its mean delay; beyond them it stays as it is; above 0.6 of the
 * sampling rate's half the correction fades out. Phases are those of exp(+2 pi i f t): a delay of tau is
 * exp(-2 pi i f tau). Only real gradients are meant, so that a response
 * that is not Hermitian is made so.
 *
 * traj       [nd, samples, readouts] real, cycles per field of view.
 * corrected  f64 of traj's shape.
 * Errors     LARMOR_ERR_SHAPE; LARMOR_ERR_ARG for a spacing or dwell time that is not above 0, for fewer axes than
 *            needed; LARMOR_ERR_NUMERIC for values that are not finite; LARMOR_ERR_MEMORY.
 * Source     Vannesjo et al., Magn. Reson. Med. 69, 583 (2013) and 76, 45 (2016). */
LARMOR_API larmor_status larmor_girf_apply(const larmor_array *traj, const larmor_girf *girf,
                                           larmor_array **corrected);

/* The phase of order 0 that such gradients make, alike at all places: signals are exp(-i phase).
 *
 * girf    response is that of order 0, complex [frequencies, axes that were asked for], in rad for each unit of
 *         traj / fov, as of larmor_girf_measure with k in 1/m and fov in m. What precedes a readout is taken as in
 *         larmor_girf_apply.
 * phase   f64 [samples, readouts], rad. Errors and source as of larmor_girf_apply. */
LARMOR_API larmor_status larmor_girf_phase(const larmor_array *traj, const larmor_girf *girf, larmor_array **phase);

/* LARMOR_ERR_SHAPE, with what is expected, if an array cannot be the response of larmor_girf_phase. */
LARMOR_API larmor_status larmor_girf_phase_check(const larmor_array *response);

LARMOR_C_END
#endif
