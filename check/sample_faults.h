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
/* f->echo_hz in place of echo_distance, if that grows with the echo time, as the field makes it and gradients do not.
 *
 * first_ms, first_distance  of an earlier echo: its time and its echo_distance */
void lmr_echo_is_of_field(double first_ms, double first_distance, double echo_ms, larmor_sample_faults *f);
void lmr_describe_copied(const larmor_sample_faults *f, char *line, size_t room);
void lmr_describe_zeros(const larmor_sample_faults *f, char *line, size_t room);
void lmr_describe_carrier(const larmor_sample_faults *f, char *line, size_t room);
void lmr_describe_noisy(const larmor_sample_faults *f, char *line, size_t room);
