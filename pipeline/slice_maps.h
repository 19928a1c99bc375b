/* Coil maps of slices that were excited together. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/maps.h"
#include "larmor/pipeline.h"

/* Maps [x, y, slices, coils] by Walsh's method, each slice's from samples that have no phase of it: those of the
 * others differ in phase from readout to readout, and cancel in the centre of k-space where it is sampled densely. */
larmor_status lmr_slice_maps(const larmor_samples *samples, larmor_shape image, const larmor_coils_opts *opts,
                             larmor_array **maps, larmor_coils_report *report);
