/* Maps of the noise in the images of a reconstruction. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "recon.h"

/* This and the others return an exit code, having said what is wrong. */
int recon_noise_open(recon_run *r);

/* Refuse what has no maps before the work. */
int recon_noise_check(const recon_run *r);

/* The maps that are asked for, and for a page those that cost next to nothing, of the images of a series that was
 * just run. */
int recon_noise_take(recon_run *r, int series, const larmor_recon_result *result);

/* The SNR of the images that have one, [*count], for the caller to free; NULL: of none. */
larmor_image *recon_noise_snr(const recon_run *r, int *count);

int recon_noise_write(const recon_run *r);
void recon_noise_free(recon_run *r);
