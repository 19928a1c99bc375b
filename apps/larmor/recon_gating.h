/* larmor recon --bins: readouts sorted by heart, breath and time. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "recon.h"

/* The numbers of --bins; 1 if the text is one. */
int recon_read_bins(const char *text, larmor_bins_opts *opts);

/* 1 if a text is one of --bins. */
int recon_are_bins(const char *text);

/* The way of --gating; 1 if the text is one of its words, else 0 and AUTO: it is a file. */
int recon_gating_way(const char *text, larmor_gating_way *way);

/* The images of the run's source become bins, and the log says what they rest on. Returns an exit code. */
int recon_sort_bins(recon_run *r);

/* Draw what they rest on to the run's output. Returns an exit code. */
int recon_draw_gating(const recon_run *r);
