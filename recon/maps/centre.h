/* The samples in the centre of k-space. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/array.h"
#include "recon/kernels.h"

/* m samples of a scan, those within an ellipsoid around the centre. */
typedef struct lmr_centre {
    larmor_device *dev;
    const lmr_recon_kernels *kernels;
    int nd;
    double radius[3];
    int64_t samples, m;   /* of the scan; of them */
    larmor_array *index;  /* i64 [samples], of which m say which those are */
    larmor_array *points; /* f64 [nd, m] */
} lmr_centre;

/* Choose the samples with sum_d (k_d / radius_d)^2 < 1.
 *
 * k        f64 [nd, samples...], finite.
 * dtype    of the k-space that is to be gathered, for its kernels.
 * centre   to be freed in either case; m may be 0, then points is NULL. */
larmor_status lmr_centre_select(const larmor_array *k, larmor_dtype dtype, const double radius[3],
                                lmr_centre *centre);
void lmr_centre_free(lmr_centre *centre);

/* values, complex [m, coils] of kspace's dtype, <- w_j times the samples that were chosen; w: f64 [m]. */
larmor_status lmr_centre_gather(const lmr_centre *centre, const larmor_array *w, const larmor_array *kspace,
                                int64_t coils, larmor_array **values);

/* The part of the centre's cells of 1/encoded that hold one of the samples that were chosen, cells weighted by the
 * energy that Hann's window leaves them. encoded: field of view in units of that of the points. */
larmor_status lmr_part_sampled(const lmr_centre *centre, const double encoded[3], double *part);
