/* Samples that are spoiled, and a centre that is elsewhere: what the samples of an image say of themselves.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/describe.h"

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
