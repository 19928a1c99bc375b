/* An object that moves as one body: what motion lets one image explain the samples best. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "recon/describe/fit.h"

enum { LMR_MOTION_NAME = 128 };

typedef enum lmr_motion_kind {
    LMR_MOTION_STEP,      /* once, after a part of the scan */
    LMR_MOTION_DRIFT,     /* steadily from the first readout to the last */
    LMR_MOTION_TO_AND_FRO /* to another place in each readout: the shift along it, of readouts that are straight */
} lmr_motion_kind;

/* k [nd, n, readouts] and cycles [n, readouts] <- the candidate of the motion that leaves least, name <- what it
 * is. Of fits in the strongest coil alone. */
larmor_status lmr_motion_find(const lmr_scan *scan, lmr_motion_kind kind, double *k, double *cycles,
                              char name[LMR_MOTION_NAME]);
