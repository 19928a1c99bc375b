/* What a picture shows beside its voxels: the range of greys and the tiles' names. SPDX-License-Identifier:
 * Apache-2.0 */
#ifndef LMR_PNG_H
#define LMR_PNG_H

#include "io/bytes.h"
#include "io/images/formats.h"

/* A picture [channels, width, height] of 1 or 3 channels, as a file in memory. */
larmor_status lmr_png_encode(const unsigned char *pixel, int64_t width, int64_t height, int channels,
                             lmr_bytes *file);

/* The magnitudes of all images, one after the other; free() them. */
larmor_status lmr_magnitudes(const lmr_images *images, float **voxels);

/* larmor_image_window for magnitudes. */
larmor_status lmr_window(const float *voxels, int64_t count, double window[2]);

typedef struct lmr_label {
    char s[64];
} lmr_label;

/* What distinguishes slice z of image i from the others: counters that differ, "s3 r12", and "z5" of a volume, all
 * counted from 0; an image's number if nothing else differs; "" for a single slice. */
lmr_label lmr_label_of(const lmr_images *images, int i, int64_t z);

/* Write the label into the upper left corner of a tile of nx x ny pixels, whose rows are `width` apart, white on
 * black; a tile too small for it stays as it is. */
void lmr_label_draw(const lmr_label *label, int64_t nx, int64_t ny, int64_t width, unsigned char *tile);

#endif
