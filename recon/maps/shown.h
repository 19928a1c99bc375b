/* Where the images of a calibration region show more than noise. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "recon/maps/hankel.h"

/* shown <- 1 at the places of a grid where the coils' energy, by Hann's window over the region, is more than noise
 * has; else 0. Noise that coils share, or have unlike, leaves some places of noise alone shown.
 *
 * w      the region.
 * noise  mean of |noise|^2 of a sample of a coil.
 * fov    of the region's grid as part of that of the places; 0: 1.
 * grid   places along each axis, 1 for unused ones. */
larmor_status lmr_region_shown(const lmr_windows *w, double noise, const double fov[3], const int64_t grid[3],
                               unsigned char *shown);
