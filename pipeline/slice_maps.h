/* Coil maps of slices that were excited together, and given ones within a larger image. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "pipeline/maps_task.h"

/* What a method finds the maps of one slice from.
 *
 * own   the slice's samples, to be freed: of it alone where every readout is there with all of the slices' phases,
 *       one partition after the other. Else of all slices without the phase of this one, so that the others, whose
 *       phases differ from readout to readout, cancel in the centre of k-space where it is sampled densely.
 * task  of the slice in 2D, from these; `shared` says which. */
larmor_status lmr_slice_task(const lmr_maps_task *all, int64_t slice, larmor_samples *own, lmr_maps_task *task);

/* Maps [x, y, slices, coils(, sets)] of a task whose slices are no neighbours, each slice's by itself. */
larmor_status lmr_slice_maps(const lmr_maps_task *task, const lmr_maps_method *method, larmor_array **maps,
                             larmor_coils_report *report);

/* The most bytes that these take, as the method's own: of one slice at a time, with its samples. p: of all slices. */
larmor_status lmr_slice_maps_bytes(const lmr_job *job, const lmr_maps_method *method, const larmor_problem *p,
                                   int64_t *bytes);

/* own, on the larger image, becomes given in the smaller one. Elsewhere only its size is changed, to that of the
 * given maps on average: the size of maps outside is part of what is cropped. */
void lmr_put_maps_inside(const float _Complex *given, larmor_shape small, larmor_shape large, int64_t coils,
                         float _Complex *own);
