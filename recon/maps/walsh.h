/* From low-resolution coil images to smooth coil maps. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/array.h"

/* Pixels of the coil images for n pixels of the maps, so that products of two images do not alias. */
static inline int64_t lmr_fine_size(int64_t n)
{
    return n > 1 ? 2 * n : 1;
}

/* Low-resolution maps [pixels, coils] from coil images [lmr_fine_size(n)..., coils], both c128; unused dimensions are
 * 1 in n.
 *
 * window   side of the neighbourhood, in pixels of n.
 * dominance  the part of the energy of all neighbourhoods that their dominant eigenvectors hold; may be NULL.
 * maps     unit vectors over the coils.
 * Errors   LARMOR_ERR_NUMERIC if the images are zero or not finite; LARMOR_ERR_MEMORY. */
larmor_status lmr_walsh(const larmor_array *images, const int64_t n[3], int64_t coils, int64_t window,
                        double *dominance, larmor_array **maps);

/* The coils' images (or k-space) c128 [fine, coils] as those of `kept` mixtures [fine, kept], the strongest last,
 * whose conjugated factors are the last columns of *vectors [coils, coils]; part: of the energy that they hold. */
larmor_status lmr_mix_coils(const larmor_array *images, int64_t fine, int64_t coils, int64_t kept,
                            larmor_array **vectors, larmor_array **mixed, double *part);

/* Bytes that lmr_walsh takes, the maps among them. */
double lmr_walsh_bytes(const larmor_device *dev, const int64_t n[3], int64_t coils);
