/* What changes in the centre of k-space in the course of a scan: the coils' shares and the signal's size.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/array.h"
#include "larmor/describe.h"

typedef struct lmr_coil_change {
    double change; /* of the coils' magnitudes at the centre, as a vector of length 1; 0: there is no step */
    double after;  /* part of the readouts that are before it */
    int coil;      /* that which changes most beside the others */
    double gain;   /* by this factor */
    double drift;  /* the size of all coils' signal at the end over that at the beginning; 0: it has no trend */
} lmr_coil_change;

/* Look for a step in the coils' magnitudes where readouts are nearest to the centre of k-space, relative to each
 * other: of an object that rests they are the same in all readouts, whatever its contrast as a whole, its phase or
 * the angle of the readout. An object that moves, and a coil that fails or gets another gain, change them.
 *
 * kspace  [samples, readouts, coils], complex, in the order of time.
 * traj    [nd, samples, readouts], real, in cycles per field of view.
 * found   change is 0 with fewer than two coils or ten readouts through the centre. drift is of at least ten readouts
 *         with a sample within 0.15/FOV of the centre, whose sizes follow an exponential.
 * Errors  LARMOR_ERR_MEMORY. */
larmor_status lmr_coil_change_find(const larmor_array *kspace, const larmor_array *traj, lmr_coil_change *found);

/* The same as lines. */
void lmr_describe_coil_change(const lmr_coil_change *found, char *line, size_t room);
void lmr_describe_drift(const lmr_coil_change *found, char *line, size_t room);
/* larmor_compare_coil_steps, which is not clear where lines say that the object has moved: it has moved in the coils
 * as well. */
larmor_status lmr_coil_step_find(const larmor_array *kspace, const larmor_array *traj,
                                 const larmor_description *lines, larmor_description *found);
void lmr_describe_coil_step(const larmor_description *found, char *line, size_t room);
/* The same of larmor_compare_repeats. */
void lmr_describe_repeats(const larmor_description *found, char *line, size_t room);
