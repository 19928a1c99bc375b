/* The lines that a reconstruction writes to the log. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "schedule/state.h"

/* The scan: readouts, trajectory, and what its source warns of; and the device, if it was chosen by itself. */
void lmr_report_source(larmor_recon *r);
void lmr_report_ghosts(larmor_recon *r); /* of a source that is not corrected */

void lmr_report_holes(larmor_recon *r); /* the reader's warning */

/* The GPU is left for the processor, and why. */
void lmr_report_left(larmor_recon *r, const char *gpu, const char *why);

/* The whitening matrix was made. */
void lmr_report_whitening(larmor_recon *r);
void lmr_report_compression(larmor_recon *r);

/* Delays as the caller gave them; those that were found in an encoding, or why there are none. */
void lmr_report_given_delays(larmor_recon *r);
void lmr_report_delays(larmor_recon *r, int encoding, const larmor_delays *found, larmor_status status);

/* The image and the grid of the first series; the method with its parameters and where coil maps come from. */
void lmr_report_method(larmor_recon *r);

/* The plan of memory, and the parts that were left out for it. */
void lmr_report_plan(larmor_recon *r);

/* LARMOR_ERR_MEMORY: the plan does not fit. */
larmor_status lmr_report_too_large(const larmor_recon *r);

/* The plan of each process, whose volume is in slabs. */
void lmr_report_slabs(larmor_recon *r);

/* The plan did not fit, so that the field of view is not enlarged. */
void lmr_report_shrunk(larmor_recon *r);

/* How a series went. before: how the one before it did, whose warnings are not said again, or NULL. */
void lmr_report_series(larmor_recon *r, const char *name, const larmor_recon_report *now,
                       const larmor_recon_report *before);
