/* The options of recon: which exclude each other, and their translation to those of the library.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "recon.h"

/* Refuse what the chosen method would ignore; an option that has its default is never refused. Returns an exit code,
 * having said what is wrong. */
int recon_check_options(const app_command *command, const recon_settings *s);

/* The method that is asked for, by its name. */
const char *recon_method(const recon_settings *s);

/* 1 if the text is one of --delays. */
int recon_are_delays(const char *text);
int recon_is_prior(const char *text); /* 1: the path of a plugin, or the name of a penalty */

/* What the library takes for them, without maps, planner and listener; only gets the counters. */
void recon_read_options(const recon_settings *s, larmor_recon_opts *opts, larmor_counters *only);

/* How the scan is opened. */
larmor_raw_opts recon_raw(const recon_settings *s);

/* What is to be cut into frames; zeros if nothing is. */
/* The options that ask for maps of images, of noise and the like; NULL: none does. */
const char *recon_made_maps(const recon_settings *s);

larmor_frames_opts recon_frames(const recon_settings *s);

/* --delays, for a scan that is opened. */
int recon_read_delays(const recon_settings *s, const larmor_raw *raw, larmor_recon_opts *opts);
