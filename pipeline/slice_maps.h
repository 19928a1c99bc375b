/* Coil maps of slices that were excited together, and given ones within a larger image. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "larmor/maps.h"
#include "larmor/pipeline.h"

/* Maps [x, y, slices, coils] by Walsh's method, each slice's from samples that have no phase of it: those of the
 * others differ in phase from readout to readout, and cancel in the centre of k-space where it is sampled densely. */
larmor_status lmr_slice_maps(const larmor_samples *samples, larmor_shape image, const larmor_coils_opts *opts,
                             larmor_array **maps, larmor_coils_report *report);

/* own, on the larger image, becomes given in the smaller one. Elsewhere only its size is changed, to that of the
 * given maps on average: the size of maps outside is part of what is cropped. */
void lmr_put_maps_inside(const float _Complex *given, larmor_shape small, larmor_shape large, int64_t coils,
                         float _Complex *own);
