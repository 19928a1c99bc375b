/* A step in the course of a scan that explains what an image leaves of its samples. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "check/misfit.h"

/* Warn where what a single image leaves of its samples is explained by an object that moves as one body, or by a
 * coil whose gain changes, after a part of the readouts. The motion is that of first order: its derivatives are
 * those of the image. What the image itself takes up of it is not counted, so that both are larger than is said.
 *
 * misfit   of the image; nothing is looked for where it is small or that of the noise.
 * Errors   those of A; LARMOR_ERR_MEMORY. */
larmor_status lmr_misfit_step_check(const lmr_job *job, const lmr_solved *solved, const larmor_misfit *misfit);
