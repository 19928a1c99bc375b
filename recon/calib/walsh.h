/* From low-resolution coil images to smooth coil maps. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_RECON_WALSH_H
#define LMR_RECON_WALSH_H

#include "core/array.h"

/* Pixels of the coil images for n pixels of the maps, so that products of two images do not alias. */
static inline int64_t lmr_fine_size(int64_t n)
{
    return n > 1 ? 2 * n : 1;
}

/* Low-resolution maps [n..., coils] from coil images [lmr_fine_size(n)..., coils]; unused dimensions are 1 in n.
 *
 * dev      does the eigenvalue problems.
 * window   side of the neighbourhood, in pixels of n.
 * maps     unit vectors over the coils; the caller frees them.
 * Errors   LARMOR_ERR_NUMERIC if the images are zero or not finite; LARMOR_ERR_MEMORY. */
larmor_status lmr_walsh(larmor_device *dev, const double _Complex *images, const int64_t n[3], int64_t coils,
                        int64_t window, double _Complex **maps);

/* [n...] interpolated to [to...] by cubic convolution over the same field of view; its outer pixels are repeated.
 *
 * Errors  LARMOR_ERR_MEMORY.
 * Source  Keys, IEEE Trans. Acoust. Speech Signal Process. 29, 1153 (1981). */
larmor_status lmr_resize(const double _Complex *x, const int64_t n[3], const int64_t to[3], int threads,
                         double _Complex **out);

#endif
