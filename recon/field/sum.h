/* Segments, or the sum of products of a model: what both hold. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/gate.h"
#include "core/refs.h"
#include "recon/field/segments.h"

struct larmor_segments {
    lmr_refs refs;
    larmor_device *dev;
    larmor_shape image, samples; /* of the map and of the times */
    double f0, t0;               /* the middles of their ranges */
    double normal_bound;
    lmr_fit fit;
    lmr_interpolators forward, normal; /* normal: without segments until it is asked for */
    larmor_array *field;               /* [voxels] Hz, f64, from f0 */
    larmor_array *place;               /* int64 [samples]: which of the distinct times */
    larmor_array *terms;               /* c128 [times, normal.segments], or NULL */
    /* of the terms of a model, c64, else NULL; the interpolators then are `time` */
    larmor_array *space, *time; /* [voxels, forward.segments], [distinct times, forward.segments] */
    larmor_array *voxel;        /* int64 [voxels]: 0, 1, ... */
    lmr_gate gate;              /* around what is found later: normal and terms */
};

/* With one reference, and nothing but its shapes; NULL without memory. */
larmor_segments *lmr_segments_new(larmor_device *dev, larmor_shape image, larmor_shape samples);
