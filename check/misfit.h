/* How well an image explains the samples that it was made from. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "check/residuals.h"
#include "scan/job.h"

/* Of the samples' norm, beyond noise: good images of 15 real scans have .04 to .28, and right simulated ones less. */
#define LMR_MAX_BEYOND_NOISE 0.30

/* What a solver had. */
typedef struct lmr_solved {
    const lmr_frame *frames;
    int count;
    larmor_op *A;
    const larmor_array *b; /* with the root of the weights, as A has it */
    const larmor_array *x;
    const larmor_circulant *C;  /* or NULL */
    double weight;              /* of |x|^2; below 0: that of another penalty, so that x gives one */
    double deviation;           /* of the noise, before weights; 0: there is none */
    larmor_array *noise;        /* a sample of it, like b, whose memory is used; or NULL */
    const larmor_array *folded; /* A^H noise; NULL: not known */
} lmr_solved;

/* The relative misfit of x, the part of it beyond the noise, and chi squared over the degrees of freedom: one
 * forward map, and a few normal maps for a probe of the part of the noise that the image takes up. With job->slabs
 * called by all ranks.
 *
 * taken      the part of the noise that images like this one take up, where it is known; 0: it is found. Gets it.
 * Errors     those of A; out is then zero. */
larmor_status lmr_misfit_measure(const lmr_job *job, const lmr_solved *solved, double *taken, larmor_misfit *out);

/* The same for an image x of one frame that took no solver. Of gridding, whose samples were multiplied by their
 * weights, the samples become those with their root. */
larmor_status lmr_misfit_of_image(lmr_job *job, const lmr_frame *frame, const larmor_array *x, double deviation,
                                  larmor_misfit *out);

/* No more noise than the image leaves is in the samples, whatever their differences say: without a noise scan the
 * report's noise becomes that where it is larger, noise_excess says by how much, and chi2 is 0. */
void lmr_misfit_lower_noise(const lmr_job *job, larmor_recon_report *result);

/* The same with a noise that is known to be less. */
void lmr_misfit_set_noise(double less, larmor_recon_report *result);
