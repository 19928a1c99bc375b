/* larmor recon --multiband: slices that were excited together. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "recon.h"

/* 1 if a text is one of --multiband. */
int recon_are_offsets(const char *text);

/* --multiband stands in the place of the header's. */
void recon_open_bands(const recon_settings *s, larmor_raw_opts *scan);

/* The images of the run's source become volumes of slices, if that is asked for. Returns an exit code. */
int recon_take_bands(recon_run *r);
