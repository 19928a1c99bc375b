/* The noise in the images of a series, from its frames. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_NOISE_NOISE_H
#define LMR_NOISE_NOISE_H

#include "larmor/noise.h"
#include "scan/job.h"

/* The images of a series as they were made, and what is known of their noise. */
typedef struct lmr_noisy {
    lmr_job *job;
    lmr_frame *frames;
    int count; /* of frames */
    const larmor_recon_report *report;
    double deviation; /* of the real and of the imaginary part of a sample of the frames */
    int images;
    int64_t *voxels; /* [images] */
    float **value;   /* [images], complex */
} lmr_noisy;

/* What samples of noise add up to; [images], of the images' voxels. */
typedef struct lmr_noise_sums {
    double **sum, **square;
    int images, samples;
} lmr_noise_sums;

/* deviation[i] <- that of the images at each voxel. */
larmor_status lmr_noise_exact(const lmr_noisy *n, double **deviation);
larmor_status lmr_noise_linear(const lmr_noisy *n, int samples, double **deviation, int *shared);
larmor_status lmr_noise_replicas(const lmr_noisy *n, int samples, double **deviation);

/* unit[i] <- the deviation in an image of as many samples that determine every voxel by itself, times their root. */
larmor_status lmr_noise_unit(const lmr_noisy *n, double **unit);

/* An image's values in the processor's memory. */
typedef larmor_status (*lmr_use_image)(void *user, int image, const float *value);
larmor_status lmr_noise_each_image(const lmr_noisy *n, const lmr_frame *frames, larmor_array *x, lmr_use_image use,
                                   void *user);

/* Says how far it is. LARMOR_STOPPED where the listener has asked to stop. */
larmor_status lmr_noise_step(const lmr_noisy *n, int sample, int samples);

#endif
