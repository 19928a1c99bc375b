/* The noise in images: its deviation at each voxel, the signal-to-noise ratio, and the geometry factor.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_NOISE_H
#define LARMOR_NOISE_H

#include "larmor/pipeline.h"

LARMOR_C_BEGIN

typedef struct larmor_noise_opts { /* zero means default */
    int samples;                   /* of noise, from 2 to LARMOR_MOST_NOISE_SAMPLES; default 64 */
    int only_exact; /* 1: nothing where samples of noise would have to be solved for: maps.count is then 0 */
    /* 1: a map by little work: exact, or by LINEAR from few samples (by default one) whose squares are averaged over
     * neighbours; nothing where replicas would be needed: maps.count is then 0. LARMOR_QUICK_IF_CHEAP: only an exact
     * one, that of an earlier image (maps.shared), or one that leaves all such maps of the reconstruction, as is
     * expected, below a tenth of the iterations that the images took of which they were asked; else maps.left_out
     * says what it would take. */
    int quick;
} larmor_noise_opts;

enum { LARMOR_MOST_NOISE_SAMPLES = 65536, LARMOR_QUICK_IF_CHEAP = 2 };

typedef enum larmor_noise_way {                       /* how the deviation is found */
                                LARMOR_NOISE_EXACT,   /* by a formula: images by one Fourier transform and weights */
                                LARMOR_NOISE_LINEAR,  /* images of samples of noise alone: conjugate gradients */
                                LARMOR_NOISE_REPLICAS /* images of the scan with more noise, at the same weight of the
                                                       * penalty: all else */
} larmor_noise_way;

typedef struct larmor_noise_map {
    /* f32 of the image's shape and unit: the standard deviation of the magnitude where that is far above the noise,
     * which is that of the real and of the imaginary part by EXACT and LINEAR; 0 where no coil sees anything */
    larmor_array *deviation;
    /* f32: the deviation over that of an image of as many samples that determine every voxel by itself, which is 1
     * for a fully sampled grid: the geometry factor of undersampling, and of densities that differ over k-space. A
     * penalty makes it smaller, below 1, too. NULL: with a basis, and with several sets of maps. */
    larmor_array *g;
} larmor_noise_map;

typedef struct larmor_noise_maps {
    larmor_noise_map *map; /* [count], as the result's images */
    int count;
    larmor_noise_way way;
    int samples; /* of noise; 0 of EXACT */
    int shared; /* 1: of LINEAR: the samples are those of an earlier image, with the same trajectory and coil maps and
                   * about the same weight */
    double level; /* of a sample, as in larmor_recon_report.noise */
    double width; /* of a quick map: the standard deviation of the window of the means, in voxels, of the first image;
                   * else 0 */
    double snr;   /* the median of the signal-to-noise ratio in the object, of the first image */
    /* Of a map that was left out by LARMOR_QUICK_IF_CHEAP: the iterations that it was expected to take over those of
     * the image; else 0. */
    double left_out;
    int steps;    /* of solvers, that samples by LINEAR took */
    int measured; /* 1: level is measured from the samples, and the noise is taken to be alike in all coils and
                   * independent; 0: it is that of the noise scan */
} larmor_noise_maps;

/* The noise in the images of the series that was run last.
 *
 * By LINEAR, x = H A^H e for white noise e of the samples' level, with H = (A^H A + lambda)^-1: the mean of |x|^2 is
 * the diagonal of H A^H A H. By REPLICAS it is the deviation of images of b + e, at the weight, the method and the
 * coil maps of the image. The relative error of a deviation from n samples is 1 / (2 sqrt(n)) and 1 / sqrt(2 n), 6 %
 * and 9 % of 64; that of a mean over voxels is less. Costs about n times the solution at a known weight. A quick map
 * has one sample and means over neighbours, by a window that is chosen so that its means of squares of real parts
 * predict those of imaginary parts: deviations that change within a few voxels are then smoothed.
 *
 * series  the last one that was run, with its result.
 * opts    NULL: all defaults.
 * maps    to be freed by larmor_noise_maps_free, also after an error.
 * Errors  LARMOR_ERR_ARG for another series, samples out of range, a result without images, images without coil maps
 *         (no_maps), a volume in slabs and series from a checkpoint; LARMOR_ERR_NUMERIC where the noise is not known;
 *         LARMOR_STOPPED; those of the device.
 * Source  Pruessmann et al., Magn. Reson. Med. 42, 952 (1999), for g; Kellman and McVeigh, Magn. Reson. Med. 54, 1439
 *         (2005), for units of SNR; Robson et al., Magn. Reson. Med. 60, 895 (2008), for replicas. */
LARMOR_API larmor_status larmor_recon_noise(larmor_recon *recon, int series, const larmor_recon_result *result,
                                            const larmor_noise_opts *opts, larmor_noise_maps *maps);
LARMOR_API void larmor_noise_maps_free(larmor_noise_maps *maps); /* NULL is fine; also sets all to zero */

typedef struct larmor_response_opts { /* zero means default */
    int probes;                       /* reconstructions of as many lattices of points; default 4 */
    double contrast; /* height of the points over the intensity of the object, its median magnitude; default 0.1 */
} larmor_response_opts;

enum { LARMOR_MOST_PROBES = 4096 };

/* f32 of the image's shape. */
typedef struct larmor_response_map {
    larmor_array *height; /* of a point in the image over its height in the object: 1 where nothing is taken away */
    larmor_array
        *width; /* of a point in voxels: (sum / height)^(1/d) of what it becomes in d dimensions, which is 1 of
                           * a point that stays one; 0 where less than a twentieth of the height is left */
} larmor_response_map;

typedef struct larmor_response_maps {
    larmor_response_map *map; /* [count], as the result's images */
    int count;
    double height, width; /* their medians over the object, of the first image */
} larmor_response_maps;

/* What the reconstruction of the series that was run last makes of a small change of the object: what a penalty, too
 * few samples or a resolution that differs take away. Points on a lattice, 8 voxels apart, with the image's phase and
 * of either sign, are added to the samples by the scan's own model; the image at the same weight, method and coil
 * maps, less that without points, is the response. Maps are means over points in the neighbourhood. As penalties are
 * not linear, a higher contrast is kept better. Costs probes + 1 solutions at a known weight.
 *
 * series  the last one that was run, with its result.
 * opts    NULL: all defaults.
 * maps    to be freed by larmor_response_maps_free, also after an error.
 * Errors  those of larmor_recon_noise; LARMOR_ERR_ARG with a basis or several sets of maps; LARMOR_ERR_NUMERIC for an
 *         image of zeros.
 * Source  local impulse response: Fessler and Rogers, IEEE Trans. Image Process. 5, 1346 (1996); of compressed
 *         sensing, Wech et al., Med. Phys. 39, 4328 (2012). */
LARMOR_API larmor_status larmor_recon_response(larmor_recon *recon, int series, const larmor_recon_result *result,
                                               const larmor_response_opts *opts, larmor_response_maps *maps);
LARMOR_API void larmor_response_maps_free(larmor_response_maps *maps); /* NULL is fine; also sets all to zero */

/* Of samples of what the object may be, of the image's shape and unit. */
typedef struct larmor_posterior_map {
    larmor_array *mean;      /* c64; of cg the image */
    larmor_array *deviation; /* f32, along the phase of the mean: 95 % of them lie within 1.96 deviations of it */
} larmor_posterior_map;

typedef struct larmor_posterior_maps {
    larmor_posterior_map *map; /* [count], as the result's images */
    int count, samples;
} larmor_posterior_maps;

/* Mean and deviation of samples of the posterior distribution (larmor_posterior_create) at the weight and the coil
 * maps of the series that was run last: what the object may be, if the penalty is what is known of it beforehand. For
 * cg exactly, a Gaussian prior of the same deviation in all voxels; for tv and wavelet by a chain of samples, whose
 * images have textures that few objects have. Where the prior does not hold, intervals do not either.
 *
 * series   the last one that was run, with its result, by cg, tv or wavelet.
 * samples  from 2 to LARMOR_MOST_NOISE_SAMPLES; 0: 32. Each costs a solution at a known weight or less.
 * maps     to be freed by larmor_posterior_maps_free, also after an error.
 * Errors   those of larmor_recon_noise and of larmor_posterior_create; LARMOR_ERR_ARG for gridding, a basis, several
 *          sets of maps, weighted data, and parts of k-space that are filled. */
LARMOR_API larmor_status larmor_recon_posterior(larmor_recon *recon, int series, const larmor_recon_result *result,
                                                int samples, larmor_posterior_maps *maps);
LARMOR_API void larmor_posterior_maps_free(larmor_posterior_maps *maps); /* NULL is fine; also sets all to zero */

/* The signal-to-noise ratio in absolute units: |image| / deviation, and 0 where the deviation is 0.
 *
 * image   complex or real; deviation real, of the same shape.
 * snr     f32 on the image's device.
 * Errors  LARMOR_ERR_SHAPE; LARMOR_ERR_ARG for a complex deviation; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_snr_map(const larmor_array *image, const larmor_array *deviation, larmor_array **snr);

LARMOR_C_END
#endif
