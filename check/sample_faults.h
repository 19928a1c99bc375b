/* Samples that are spoiled, and a centre that is elsewhere: what the samples of an image say of themselves.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "scan/source.h"

#define LMR_MIN_SPIKE_RATIO 8 /* to the 90th percentile at the radius, and to the samples beside it in the readout */

/* Clipped samples, spikes and the place of the echo in samples as they were acquired, before whitening.
 *
 * samples  with their trajectory, in cycles per field of view.
 * matrix   voxels, whose k-space the radius of samples is relative to.
 * Errors   LARMOR_ERR_MEMORY; LARMOR_STOPPED. */
larmor_status lmr_sample_faults_find(const larmor_samples *samples, const int64_t matrix[3],
                                     larmor_sample_faults *out);

/* Those of several frames: counts are added up, the places are those of the first that has any. */
void lmr_sample_faults_join(const larmor_sample_faults *more, larmor_sample_faults *all);

/* A line for each, to be asked for where there is one. */
void lmr_describe_clipping(const larmor_sample_faults *f, char *line, size_t room);
void lmr_describe_spikes(const larmor_sample_faults *f, char *line, size_t room);
void lmr_describe_echo(const larmor_sample_faults *f, char *line, size_t room);
void lmr_describe_copied(const larmor_sample_faults *f, char *line, size_t room);
void lmr_describe_zeros(const larmor_sample_faults *f, char *line, size_t room);
void lmr_describe_carrier(const larmor_sample_faults *f, char *line, size_t room);
void lmr_describe_noisy(const larmor_sample_faults *f, char *line, size_t room);
