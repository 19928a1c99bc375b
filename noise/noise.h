/* The noise in the images of a series, from its frames. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <math.h>

#include "larmor/noise.h"
#include "scan/job.h"

/* The images of a series as they were made, and what is known of their noise. */
typedef struct lmr_noisy {
    lmr_job *job;
    lmr_frame *frames;
    int count; /* of frames */
    const larmor_recon_report *report;
    double deviation; /* of the real and of the imaginary part of a sample of the frames; over facts->colouring, where
                       * there is that */
    int images;
    larmor_shape *shape; /* [images] */
    int64_t *voxels;     /* [images] */
    float **value;       /* [images], complex */
} lmr_noisy;

/* LARMOR_ERR_ARG where a series has no maps, with a line that begins with who. */
larmor_status lmr_noisy_check(const char *who, const larmor_recon *recon, int series,
                              const larmor_recon_result *result);

/* A copy of the job, whose found has references of its own, by the method of the result. */
lmr_job lmr_noisy_job(const larmor_recon *recon, const larmor_recon_result *result);

/* n: to be closed, also after an error, which frees what the job has found. */
larmor_status lmr_noisy_open(lmr_job *job, const larmor_recon *recon, int series, const larmor_recon_result *result,
                             lmr_noisy *n);
void lmr_noisy_close(lmr_noisy *n);

/* [images] of room for so many numbers of each of their voxels, which are zero. */
larmor_status lmr_noisy_room(const lmr_noisy *n, int numbers, double ***room);
void lmr_free_each(void **each, int count);

/* A map like the image. */
larmor_status lmr_noisy_upload(const larmor_recon_image *image, const double *value, larmor_array **map);

static inline double lmr_noisy_size(const lmr_noisy *n, int image, int64_t v)
{
    return hypot((double)n->value[image][2 * v], (double)n->value[image][2 * v + 1]);
}

/* The magnitude of an image above which voxels are the object's. */
double lmr_noisy_object(const lmr_noisy *n, int image);

/* What samples of noise add up to; [images], of the images' voxels. */
typedef struct lmr_noise_sums {
    double **sum, **square;
    int images, samples;
} lmr_noise_sums;

typedef struct lmr_noise_samples {
    int count;
    int steps;    /* of solvers, which they took */
    int may_take; /* 0: no step; what is not there from an earlier image is left out: */
    int left_out;
    int averages; /* 1: squares are averaged over neighbours */
    double width; /* of that, the deviation of the window in voxels, of the first image; 0: of an earlier one */
    int shared;   /* 1: those of an earlier image */
} lmr_noise_samples;

/* deviation[i] <- that of the images at each voxel. unit: where means over neighbours are of squares in this unit;
 * NULL: in the image's. */
larmor_status lmr_noise_exact(const lmr_noisy *n, double **deviation);
larmor_status lmr_noise_linear(const lmr_noisy *n, lmr_noise_samples *how, double *const *unit, double **deviation);
larmor_status lmr_noise_replicas(const lmr_noisy *n, int samples, double **deviation);

/* unit[i] <- the deviation in an image of as many samples that determine every voxel by itself, times their root. */
larmor_status lmr_noise_unit(const lmr_noisy *n, double **unit);

/* square <- its means over neighbours, in the object and around it, of as many as predict the squares of imaginary
 * parts from those of real parts best, and the other way round. real: the part of it by real parts. *width <- the
 * deviation of the window in voxels; NULL: not needed. */
larmor_status lmr_noise_average(const lmr_noisy *n, int image, const double *unit, const double *real, double *square,
                                double *width);

/* An image's values in the processor's memory. */
typedef larmor_status (*lmr_use_image)(void *user, int image, const float *value);
larmor_status lmr_noise_each_image(const lmr_noisy *n, const lmr_frame *frames, larmor_array *x, lmr_use_image use,
                                   void *user);

/* Says how far it is. LARMOR_STOPPED where the listener has asked to stop. */
larmor_status lmr_noise_step(const lmr_noisy *n, int sample, int samples);
