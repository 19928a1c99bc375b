/* Images of a file as one array, and masks for them. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/larmor.h"

/* "256, 256, 8" */
typedef struct app_sizes {
    char s[160];
} app_sizes;
app_sizes app_sizes_of(larmor_shape shape);

/* The images of a file in the order of their places and counters, all of one shape. */
typedef struct app_stack {
    larmor_array *all;
    larmor_shape image; /* of one */
    int64_t voxels, slices;
} app_stack;

void app_free_stack(app_stack *s);
larmor_status app_read_stack(const char *path, larmor_device *dev, app_stack *s);

/* mask  f64 [voxels] of one image, of the slices of a volume, or of all images of s. */
larmor_status app_read_mask(const char *path, larmor_device *dev, const app_stack *s, larmor_array **mask);

/* The array of a file; of images with counters as volumes, slices in the order of their places. */
larmor_status app_read_in_order(const char *path, larmor_device *dev, larmor_array **x);

/* Say which counters the slices of a file have, where these are not 0, 1, 2, ...; of a file that was written, if its
 * format does not say where they lie. */
void app_log_slices(const char *path, const int *slice, int count);
void app_log_written_slices(const larmor_output *out, const larmor_source *source, int encoding);

/* Image i of a flat array of images, or of a mask for them. */
larmor_status app_part_of(const larmor_array *flat, const app_stack *s, int64_t i, larmor_array **part);
