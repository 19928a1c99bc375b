/* Pictures of images: tiles of greys or colours, each with a name above it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "io/bytes.h"
#include "io/images/volume.h"

/* A picture [channels, width, height] of 1 or 3 channels, as a PNG file in memory. */
larmor_status lmr_png_encode(const unsigned char *pixel, int64_t width, int64_t height, int channels,
                             lmr_bytes *file);

/* The magnitudes of all images, one after the other; free() them. */
larmor_status lmr_magnitudes(const lmr_images *images, float **voxels);

/* larmor_image_window for magnitudes. */
larmor_status lmr_window(const float *voxels, int64_t count, double window[2]);

/* The colour of a phase (rad), as bright as `value` from 0 to 1: red at -pi and pi, green at -pi/3, blue at pi/3. */
void lmr_phase_colour(double phase, double value, unsigned char rgb[3]);

/* ---- names of tiles (label.c) ---- */

typedef struct lmr_label {
    char s[80];
} lmr_label;

enum { LMR_LETTER_WIDTH = 6, LMR_LETTER_HEIGHT = 9 }; /* pixels with what is between letters */

/* The counters in which images differ, as bits for lmr_label_of; without that of slices where `is_volume`. */
unsigned lmr_label_counters(const lmr_images *images, int is_volume);

/* The name of image i, "slice 3 rep 12", or its number if no counter differs; axis 'x', 'y' or 'z' adds "z 5", and 0
 * nothing. All count from 0. */
lmr_label lmr_label_of(const lmr_images *images, int i, unsigned counters, char axis, int64_t at);

/* Write letters in white, `scale` pixels for a point, right of and below a corner of a picture of this width. */
void lmr_label_draw(const lmr_label *label, int64_t scale, int64_t width, int channels, unsigned char *corner);

/* ---- tiles (picture.c) ---- */

/* GREY and INDEX have a channel, INDEX a number of lmr_picture_palette. */
typedef enum lmr_paint { LMR_GREY, LMR_COLOUR, LMR_INDEX } lmr_paint;

typedef struct lmr_picture {
    const lmr_images *images;
    lmr_paint paint;
    lmr_volumes order;
    int64_t planes, tiles;     /* of a volume: planes along z, tiles */
    int64_t frames, per_frame; /* pictures, and the tiles of each */
    int64_t size[3];           /* pixels of a volume along its axes */
    int64_t cell[2], columns;  /* pixels of a tile with its name; tiles beside each other */
    int64_t width, height;     /* pixels */
    int64_t scale;             /* of letters; 0: no names */
    unsigned counters;         /* that names have */
    double window[2];
    float *value, *phase; /* [volumes, planes, y, x]; phase: NULL for greys */
} lmr_picture;

/* The values. Errors: LARMOR_ERR_NUMERIC, LARMOR_ERR_MEMORY. */
larmor_status lmr_picture_load(const larmor_output *out, lmr_picture *p);

/* A frame [channels, width, height] into zeros. */
void lmr_picture_paint(const lmr_picture *p, int64_t frame, unsigned char *pixel);

/* Lay out tiles, load, encode and write. is_series: volumes, or the planes of a single one, are frames; else there is
 * one frame. most: pixels of a side. Errors: LARMOR_ERR_ARG for too many tiles; those of all steps. */
larmor_status lmr_picture_write(larmor_output *out, const lmr_images *images, int is_series, int64_t most,
                                larmor_status (*encode)(lmr_picture *p, lmr_bytes *file));

/* Whether a picture can hold the images. Errors: LARMOR_ERR_ARG for too many tiles; LARMOR_ERR_MEMORY. */
larmor_status lmr_picture_check(const char *path, const lmr_images *images, int is_series, int64_t most);

/* The colours of LMR_INDEX, [3, 256]. */
void lmr_picture_palette(unsigned char *rgb);
