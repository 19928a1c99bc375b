/* What the report of a reconstruction is made of: where its method and its weight come from, how well images explain
 * samples, and what samples say of themselves. SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_REPORT_H
#define LARMOR_REPORT_H

#include <stdint.h>

#include "larmor/status.h"

LARMOR_C_BEGIN

/* Where the weight of the penalty comes from. */
typedef enum larmor_lambda_from {
    LARMOR_LAMBDA_FROM_CALLER,
    LARMOR_LAMBDA_FROM_DATA,  /* chosen from the image's own data */
    LARMOR_LAMBDA_FROM_SCAN,  /* chosen from those of an earlier image of the scan */
    LARMOR_LAMBDA_FROM_NOISE, /* expected from the level of the noise, where there is no memory for more */
    LARMOR_LAMBDA_NONE,       /* there is none, or next to none: of images that take no solver, and of one coil on the
                         * grid */
    LARMOR_LAMBDA_UNPREDICTED, /* expected from the noise: no image predicts the samples held out better than zero
                                * does */
    LARMOR_LAMBDA_OF_ONE_COIL /* 0.7 of what the noise lets expect: samples of one coil on a grid predict no others */
} larmor_lambda_from;

/* Why an image is by its method. */
typedef enum larmor_method_from {
    LARMOR_METHOD_FROM_CALLER,
    LARMOR_METHOD_FROM_DATA,        /* it predicts what was held out of the image's own data */
    LARMOR_METHOD_FROM_SCAN,        /* the same of an earlier image: the images of a scan share it */
    LARMOR_METHOD_FROM_OPTIONS,     /* other options are of this method alone */
    LARMOR_METHOD_FROM_MEMORY,      /* cg, as there is no memory for tv */
    LARMOR_METHOD_FROM_LINEARITY,   /* cg, as k-space is fully sampled with little noise */
    LARMOR_METHOD_FROM_FEW_SAMPLES, /* cg, as too few samples can be held out, or none predicts another */
    LARMOR_METHOD_FROM_FAILURE,     /* cg, as no image predicts samples better than zeros do */
    LARMOR_METHOD_FROM_HOLE,        /* tv, as the centre of k-space has a hole */
    LARMOR_METHOD_FROM_ONE_COIL,    /* tv, as samples of one coil on a grid predict no others */
    LARMOR_METHOD_FROM_BINS,        /* tv in space and along bins, whose readouts leave other gaps in each of them */
    LARMOR_METHOD_FROM_MODEL /* cg, as an image by tv has more where k-space is not sampled than objects have */
} larmor_method_from;

enum { LARMOR_METHODS_COMPARED = 2 };

typedef struct larmor_method_trial {
    char name[16];
    double misfit, weight; /* as in larmor_choice */
} larmor_method_trial;

/* The method of an image, and what it was compared with. */
typedef struct larmor_method_choice {
    char name[96]; /* "cg", "grid", or a name of larmor_regulariser_create, of several penalties with their ratios */
    larmor_method_from from;
    int compared; /* FROM_DATA and FROM_SCAN: that many, */
    larmor_method_trial trial[LARMOR_METHODS_COMPARED];
} larmor_method_choice;

enum { LARMOR_MISFIT_RINGS = 8 };

/* How well the image, or the images of a series together, explain their samples b, which are whitened, compressed
 * and weighted as the solver has them; of gridding with the root of the density (docs/misfit.md). A number stands
 * for the real and imaginary part of a sample of one coil. */
typedef struct larmor_misfit {
    int measured; /* 1; 0: it was not, and all else is 0 */
    int fitted;   /* 1: least squares, also with a penalty; 0: gridding, or one FFT of a part of k-space, which seek
                 * no fit */
    int by_noise_scan;   /* 1: the noise is that of a noise scan, else it was measured on the samples */
    double relative;     /* |A x - b| / |b| */
    double beyond_noise; /* sqrt(max(0, |A x - b|^2 - what the noise is expected to leave)) / |b| */
    /* |A x - b|^2 over what the noise is expected to leave: chi squared over the degrees of freedom. 0: not known,
     * as there is no noise, or the image has about as many voxels as there are numbers */
    double chi2;
    /* beyond_noise of the best that the model can do: the same with next to no weight of a penalty. It is looked
     * for where beyond_noise is above 0.30, else it is beyond_noise: a penalty that is too strong is no fault of
     * the scan's description. */
    double beyond_model;
    /* With a noise scan: coils, virtual ones where they are compressed, whose samples have far more noise than it
     * says, and the most of that over its own; not of weighted data and volumes in slabs */
    int noisier_coils;
    double noise_ratio;
    /* Without a noise scan: the noise by differences of samples beside each other, which have signal in them where
     * those are 1/FOV apart, over that which the image leaves, or that of larmor_noise_of_lines, where it is less:
     * it is the noise of the report then, and chi2 is 0; else 0 */
    double noise_excess;
    double samples; /* numbers */
    double freedom; /* those of them that noise does not change the image by, samples - tr(A H A^H) */
    /* `relative` of the samples with |2 k / N| from i to i + 1 of so many rings; the last one has those beyond,
     * too; 0: no samples */
    double by_radius[LARMOR_MISFIT_RINGS];
    int64_t bad_readouts, worst_readout; /* that fit far worse than the others; the worst one, from 0, in the order of
                                            * the readouts of the image, frame after frame; -1: none */
    double worst_readout_ratio;          /* its |A x - b|^2 over that of the others at its radii */
    int bad_coils, worst_coil; /* that fit far worse; the worst one, from 0, of the virtual ones of compression; -1:
                                * none */
    double worst_coil_misfit;  /* |A x - b| / |b| of its samples */
} larmor_misfit;

/* What an image's samples say of themselves, before whitening and the compression of coils; readouts, samples and
 * coils are counted from 0. Of a volume in slabs nothing is looked for. */
typedef struct larmor_sample_faults {
    int64_t
        clipped; /* real and imaginary parts that are just the largest of their coil, at different places; else 0 */
    int64_t clipped_readout, clipped_sample; /* the first of them */
    double clipped_value;
    int64_t spikes;                      /* samples far from the centre that are 8 times those around them */
    int64_t spike_readout, spike_sample; /* the largest */
    int clipped_coil, spike_coil;
    double echo_distance; /* from k = 0 to where readouts that pass it have most signal, the median, in cycles per
                        * field of view, where it is more than 3; else 0 */
    double echo_hz; /* the same where it grows with the echo time, over that: what the frequency differs by from one
                     * edge of the field of view to the other; echo_distance is 0 then */
    double carrier; /* power of one frequency in the outer part of readouts over that of the others, where it is more
                  * than 10 */
    double carrier_frequency; /* cycles per sample; 0: an offset of the receiver, the same in all samples */
    int64_t copied,
        copied_readout; /* readouts that repeat the samples of the one before at another place; the first */
    int64_t zeros,
        zeros_readout; /* samples near the centre that are 0 in all coils, between others of their readout; the
                                   * first of these readouts */
    int noisy,
        noisy_coil; /* coils, of three or more, that at the edge of k-space are as loud as in its centre and five
                     * times what is usual there, or evenly 3.5 times, and relative to the centre, too; the
                     * loudest. Of recon without a noise scan alone */
} larmor_sample_faults;

LARMOR_C_END
#endif
