/* Which channels of a scan are coils: those with signal and, where there is a noise scan, noise.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "larmor/array.h"

enum { LMR_MOST_CHANNELS = 1024 };

#define LMR_NO_NOISE_TEXT "the noise scan holds no noise; it is not used."

/* 1 if any channel with signal has noise.
 *
 * alive  [channels] which have signal.
 * noise  [channels] the energy of each in the noise scan. */
int lmr_have_noise(int channels, const unsigned char *alive, const double *noise);

/* List the coils, and return how many there are. A channel with far less noise than the median has none.
 *
 * channels  at most LMR_MOST_CHANNELS.
 * noise     as above; NULL: there is no noise scan.
 * kept      [channels] the coils, ascending.
 * lines     of `size` bytes, to which a line is added for each of the others, as long as there is room. */
int lmr_choose_coils(int channels, const unsigned char *alive, const double *noise, int *kept, char *lines,
                     size_t size);

typedef struct lmr_coil_list {
    int channels, coils;
    const int *kept; /* [coils] */
} lmr_coil_list;

/* An array with a dimension of channels from these to coils, or, back, from coils to channels with zeros for the
 * others. x itself where it has the wanted number already.
 *
 * Errors  LARMOR_ERR_SHAPE if dimension `axis` has neither the number of channels nor that of coils. */
larmor_status lmr_convert_coils(const lmr_coil_list *list, larmor_array *x, int axis, int back,
                                larmor_array **result);
