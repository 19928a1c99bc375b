/* Which of BART's 16 axes an image's counters are. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "io/images/volume.h"

enum { LMR_BART_AXES = 16 };

/* 1 if all axes beyond z that are used are those of counters. */
int lmr_is_bart_series(int axes, const int64_t *dim);

/* Where image i of an array, in the order of the file, is in its axes beyond z: counters, and slices 1 mm apart. */
void lmr_bart_counters(int axes, const int64_t *dim, int64_t i, larmor_image_meta *meta);

/* The axes of a file for these images, and their places in it.
 *
 * dim    [LMR_BART_AXES].
 * place  [images] the index of each in the order of the file.
 * Errors LARMOR_ERR_MEMORY. */
larmor_status lmr_bart_axes(const lmr_images *images, int64_t *dim, int *place);
