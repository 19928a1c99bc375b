/* The sign of the phases of slices that were excited together. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "scan/job.h"

/* Solve for the slices of a frame by a few steps, with their phases and with those of the other sign, and warn where
 * the other ones explain the samples better. Nothing is done where maps come from the same samples: these fit either
 * sign, as slices change their places with it. Images without such slices are left alone.
 *
 * misfit  of the image, by the phases that were taken.
 *
 * What cannot be compared is logged. Errors: LARMOR_STOPPED. */
larmor_status lmr_band_sign_check(const lmr_job *job, const lmr_frame *frame, const larmor_misfit *misfit);
