/* What an image leaves of its samples, A x - b, summed by readout, by coil and by radius of k-space.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "scan/job.h"

enum { LMR_RINGS = LARMOR_MISFIT_RINGS };

/* Sums of squares, of samples that are whitened, compressed and weighted as the solver has them. Readouts of
 * several frames are counted one frame after the other. Samples of readouts that differ in length are one readout.
 * In slabs readouts are those of this rank, and the sums over coils and rings those of all. */
typedef struct lmr_residuals {
    int64_t readouts, before; /* before: readouts of the ranks before this one */
    int coils;
    double *readout, *readout_data; /* [readouts] of |A x - b|^2, of |b|^2 */
    double *coil, *coil_data;       /* [coils] */
    double *coil_ring;              /* [LMR_RINGS, coils] of |A x - b|^2, of this rank */
    float *ring_of_readout;         /* [LMR_RINGS, readouts] of |A x - b|^2 */
    int32_t *count;                 /* [LMR_RINGS, readouts] samples of one coil */
    unsigned char
        *at_edge; /* [readouts] 1: all samples are within 2/FOV of the image from the grid's edge along one axis */
    double ring[LMR_RINGS],
        ring_data[LMR_RINGS]; /* |2 k / N| from i to i + 1 of LMR_RINGS, the last one beyond, too */
} lmr_residuals;

/* r: A x - b, and b, both in A's order, of these frames.
 *
 * out  to be freed, also after an error. */
larmor_status lmr_residuals_sum(const lmr_job *job, const lmr_frame *frames, int count, const larmor_array *r,
                                const larmor_array *b, lmr_residuals *out);
void lmr_residuals_free(lmr_residuals *r);

/* Readouts and coils that fit far worse than the others. With job->slabs called by all ranks.
 *
 * noise  what it is expected to leave of |A x - b|^2 in all coils; 0 where it is not known. */
larmor_status lmr_residuals_judge(const lmr_job *job, const lmr_residuals *r, double noise, larmor_misfit *out);
