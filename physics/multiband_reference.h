/* Coil calibration of slices that were excited together, by scans of each alone.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/multiband.h"

typedef struct lmr_slice_scans {
    const larmor_source *source;
    int encoding; /* of the source, whose images they are; -1: of any */
    int solid;    /* 1: a volume of all slices, a stack of equal readouts along them */
    int bands;
    const double *offset_mm;       /* [bands] of the slices from the scan's position */
    double reach_mm;               /* an image may be so far from its slice */
    const larmor_image_meta *scan; /* of the scan's image, before slices; for lmr_reference_samples */
} lmr_slice_scans;

/* The images of the slices of a scan's image; scan: of it, before slices.
 *
 * Errors  LARMOR_ERR_ARG where a slice has none. */
larmor_status lmr_reference_find(const lmr_slice_scans *r, const larmor_image_meta *scan,
                                 int group[LARMOR_MOST_BANDS]);

/* Their readouts as those of a volume: each one in all partitions, of which the slices are the Fourier transform, so
 * that noise stays white. flat: the grid of a slice; scale: cycles of the volume's field of view for a partition.
 *
 * Errors  LARMOR_ERR_SHAPE where the slices' readouts or trajectories differ, or coils are not as many;
 *         LARMOR_ERR_UNSUPPORTED for a volume that is no stack, and for readouts of several lengths. */
larmor_status lmr_reference_samples(const lmr_slice_scans *r, const int group[LARMOR_MOST_BANDS],
                                    const larmor_grid *flat, double scale, int64_t coils, larmor_device *dev,
                                    larmor_samples *out);

/* Readouts of a volume. */
larmor_status lmr_reference_count(const lmr_slice_scans *r, const int group[LARMOR_MOST_BANDS], int64_t *readouts);
