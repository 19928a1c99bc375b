/* Maps of low resolution on the image's grid. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/array.h"

/* Bytes of device memory that planes of maps take beside them; image: whole. */
double lmr_maps_interpolate_planes_bytes(larmor_dtype dtype, const int64_t n[3], larmor_shape image, int64_t planes);

/* maps [image..., coils] <- planes `first` and the following, as many as maps have, of low, c128 [n..., coils], as an
 * image with `planes` along its last axis: by cubic convolution. */
larmor_status lmr_maps_resize(const larmor_array *low, const int64_t n[3], int64_t first, int64_t planes,
                              larmor_array *maps);

/* maps [image..., coils] <- low, c128 [n..., coils] over the same field of view, by cubic convolution, divided so
 * that sum_c |s_c|^2 = 1. Dimensions of `low` may be joined; n has 1 in dimensions that the image lacks. */
larmor_status lmr_maps_interpolate(const larmor_array *low, const int64_t n[3], larmor_array *maps);

/* The same of planes `first` and the following of an image with `planes` along its last axis, as many as maps
 * have. */
larmor_status lmr_maps_interpolate_planes(const larmor_array *low, const int64_t n[3], int64_t first, int64_t planes,
                                          larmor_array *maps);

/* Bytes of device memory that it takes. */
double lmr_maps_interpolate_bytes(larmor_dtype dtype, larmor_shape image);
