/* The files of a reconstruction: images with their provenance, coil maps and density weights.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "recon.h"

/* Begin all files, so that what can be refused is refused before the work. This and the others return an exit code,
 * having said what is wrong. */
int recon_open_outputs(recon_run *r);

/* Reserve the space that they will take, as far as it is known before the work. */
int recon_reserve(recon_run *r);

/* The checkpoint after all of them, which is no output. */
int recon_open_checkpoint(recon_run *r);

/* Refuse to save maps of several slices and weights of several images. */
int recon_check_saved(const recon_run *r);

/* The run's identity, where UIDs follow from it; while the arrays of the options are there. */
void recon_identify(recon_run *r);

/* Write all of them. */
int recon_write(recon_run *r);

/* Where lambda comes from, in a word. */
const char *recon_origin(const larmor_recon_report *report);

/* Why it is its method, in a word. */
const char *recon_method_origin(const larmor_recon_report *report);

/* What was done about partial Fourier: "none" where there is none. */
const char *recon_partial(const larmor_recon_report *report);
