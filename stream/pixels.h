/* Images as they are sent: pixels of the type that was asked for, and <ismrmrdMeta>.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/stream.h"

typedef struct lmr_pixels {
    larmor_session_pixels as;
    int most;     /* of INT16: the largest number */
    double scale; /* of INT16: from the image's unit to its numbers */
    int64_t cut;  /* pixels that passed the largest number; counted */
    int index;    /* image_index of the last image; counted */
    const char *description;
} lmr_pixels;

/* The largest magnitude of an image. */
larmor_status lmr_pixels_peak(const larmor_array *image, double *peak);

larmor_status lmr_pixels_send(lmr_pixels *pixels, larmor_stream *stream, const larmor_recon_image *image);

/* An image that was received as an array of dev: real, or complex. */
larmor_status lmr_pixels_take(const larmor_message_image *image, larmor_device *dev, larmor_array **out);
