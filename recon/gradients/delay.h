/* Where the samples of one readout are when gradients are late. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

enum { LMR_DELAYS = 6 }; /* x, y, z, xy, xz, yz, as larmor_traj_delay takes them */

/* The two axes of delay number e, a <= b. */
void lmr_delay_axes(int e, int *a, int *b);

/* Sample i of a readout k [nd, n] under delays, and what each delay moves there.
 *
 * fov    [nd] relative lengths of the field of view, or NULL where they are alike.
 * place  [nd].
 * slope  [6 nd], d place[d] / d delay[e] at d + nd e; or NULL. */
void lmr_delay_place(const double *k, int nd, int64_t n, int64_t i, const double delay[LMR_DELAYS], const double *fov,
                     double *place, double *slope);

/* Not 0 if a readout k [nd, n] begins at rest in the centre of k-space, on a ramp or, in a plane, exactly there: no
 * gradient precedes it. */
int lmr_rests_before(const double *k, int nd, int64_t n);
