/* Images of low resolution that are fitted to the centre of k-space as one or another description has it.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/array.h"

enum { LMR_FIT_MOST_COILS = 4 };
#define LMR_FIT_WIDER 1.5 /* field of view: an object beyond the described one is no wrong description */

typedef struct lmr_range {
    int64_t first, end;
} lmr_range;

/* A scan on the host. */
typedef struct lmr_scan {
    larmor_device *dev;
    int nd;
    int64_t n, readouts, coils; /* the coils with most energy, that first */
    double *k;                  /* [nd, n, readouts], as described */
    float *x;                   /* [2, n, readouts, coils] */
    lmr_range *near;            /* [readouts], their samples that may be in the centre, as described; NULL: all */
    double
        noise[LMR_FIT_MOST_COILS]; /* energy of a sample in the outermost part of k-space: that of noise, or more */
    double reach;                  /* 1/FOV, of the centre that is compared; 0: sampled too sparsely */
    double reach_of_wide; /* 1/FOV, of the centre that an image of 1.5 times the field of view can be compared in */
    double reach_of_two;  /* 1/FOV, of the centre that two images of half the readouts each can be compared in */
    double spacing;       /* 1/FOV, between the samples of a readout that are used */
} lmr_scan;

/* LARMOR_ERR_SHAPE, with `what` first in the message, unless kspace is [samples, readouts, coils] and traj
 * [nd, samples, readouts]. */
larmor_status lmr_scan_expect(const larmor_array *kspace, const larmor_array *traj, const char *what);

larmor_status lmr_scan_open(const larmor_array *kspace, const larmor_array *traj, lmr_scan *scan);
void lmr_scan_close(lmr_scan *scan);

/* Another description of the scan. */
typedef struct lmr_candidate {
    const double *k;      /* [nd, n, readouts]; NULL: the scan's */
    const double *cycles; /* [n, readouts], samples are multiplied by exp(2 pi i cycles) first; NULL: not */
    const int *image;     /* [readouts], which image a readout is of; NULL: all of one */
    int images;           /* 0: one */
    double field;         /* of view, in units of the described one; 0: 1 */
    double reach;         /* 1/FOV; 0: the scan's */
} lmr_candidate;

typedef enum lmr_effort {
    LMR_FIT_ROUGH, /* of the strongest coil alone, in few steps: enough to see whether a candidate is worth more */
    LMR_FIT_FULL
} lmr_effort;

typedef struct lmr_fitted {
    double misfit;       /* |F x - y| / |y| of the images that fit best */
    double beyond_noise; /* the misfit without what the noise leaves at most */
    double energy;       /* |y|^2, samples weighted by the inverse of their density */
    double cells;        /* of 1/FOV that hold a sample */
    int64_t samples;
} lmr_fitted;

/* Errors: LARMOR_ERR_NUMERIC where there is no energy in the centre. */
larmor_status lmr_fit(const lmr_scan *scan, const lmr_candidate *candidate, lmr_effort effort, lmr_fitted *fitted);

/* A rough fit of one image. model, data [2, n, readouts]: F x and y in the strongest coil, times the roots of
 * weights; 0 beyond the reach. */
larmor_status lmr_fit_model(const lmr_scan *scan, const lmr_candidate *candidate, float *model, float *data);
