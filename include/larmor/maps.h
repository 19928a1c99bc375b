/* Coil sensitivity maps from a fully sampled centre of k-space: ESPIRiT. SPDX-License-Identifier: Apache-2.0
 *
 * larmor/recon.h has larmor_coils_estimate, which makes smooth maps of images of low resolution. */
#ifndef LARMOR_MAPS_H
#define LARMOR_MAPS_H

#include "larmor/recon.h"

LARMOR_C_BEGIN

/* ---- the calibration region ---- */

typedef struct larmor_region_opts { /* zero means default */
    int64_t side[3];   /* most samples along each axis; default 24, or as many more as `encoded` is larger than 1 */
    double encoded[3]; /* the field of view that was encoded, as part of the image's; default 1 */
} larmor_region_opts;

typedef struct larmor_region_report {
    double fov[3];   /* of the region's grid, in units of the image's field of view: samples are 1 / fov apart */
    int cartesian;   /* 1: the samples lie on that grid and were taken as they are; 0: they were solved for */
    int64_t samples; /* of each coil that the region comes from */
    int64_t side[3]; /* of the region, in samples; 1 in unused dimensions */
} larmor_region_report;

/* The largest box of k-space around its centre that is fully sampled, on a grid.
 *
 * Samples that lie on the grid of the encoded field of view are put where they belong; several of one place are
 * averaged. Others are solved for: coil images of low resolution by ten steps of conjugate gradients with the
 * NUFFT and density weights, and their transform.
 *
 * kspace  [samples, readouts, coils], complex.
 * traj    [nd, samples, readouts].
 * image   shape of the image.
 * opts    may be NULL.
 * region  [x, y(, z), coils], dtype of kspace; the place of the centre of k-space within it varies; NULL: only the
 *         report is wanted, and nothing is solved for.
 * report  may be NULL.
 * Errors  LARMOR_ERR_SHAPE; LARMOR_ERR_ARG; LARMOR_ERR_NUMERIC if there are no samples around the centre;
 *         LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_calibration_region(const larmor_array *kspace, const larmor_array *traj,
                                                   larmor_shape image, const larmor_region_opts *opts,
                                                   larmor_array **region, larmor_region_report *report);

/* Where a part of the samples is enough for that: the half axes, in 1/FOV, of the ellipsoid around the centre of
 * k-space beyond which larmor_calibration_region looks at none; opts may be NULL. */
LARMOR_API void larmor_calibration_radius(const larmor_region_opts *opts, larmor_shape image, double radius[3]);

/* How much images of the centre of k-space alias, by its trajectory alone: of the point spread function of the
 * samples within 16/FOV (10/FOV in 3D), with density weights and Hann's window, the energy beside the peak over
 * that of the peak, each distance weighted by how often a field of view holds it. It is below 0.03 where the
 * centre is sampled densely, and near R - 1 where it is undersampled R times.
 *
 * traj      [nd, samples, readouts].
 * image     shape of the image.
 * encoded   the field of view that holds the object, as part of the image's, for each axis; NULL: 1.
 * aliasing  infinite without samples there.
 * Errors    LARMOR_ERR_SHAPE, LARMOR_ERR_ARG, LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_calibration_aliasing(const larmor_array *traj, larmor_shape image,
                                                     const double *encoded, double *aliasing);

/* ---- ESPIRiT ---- */

/* What happens to maps where their eigenvalue says that there is no signal. */
typedef enum larmor_crop {
    LARMOR_CROP_DEFAULT, /* of the function: NONE */
    LARMOR_CROP_SOFT, /* weighted by a smooth step that is 1/2 where the root of the eigenvalue is at the threshold */
    LARMOR_CROP_HARD, /* 0 where the eigenvalue is at most the threshold */
    LARMOR_CROP_NONE, /* unit norm everywhere */
    LARMOR_CROP_NOISE /* 0 where the eigenvalue is at most the threshold and the region's images show noise alone;
                       * of a second set as HARD */
} larmor_crop_mode;

typedef struct larmor_espirit_opts { /* zero means default */
    int64_t kernel[3]; /* side of the windows in samples; default 6, in 3D 5, less where the region is small */
    double threshold; /* eigenvalues of the calibration matrix's Gram matrix that are signal, relative to the largest;
                              default 0.001; those that noise alone may have are never signal */
    double
        noise; /* mean of |noise|^2 of a sample of a coil, where it is known; default: by the smaller eigenvalues */
    double cropped_below; /* threshold of the eigenvalues of the maps, which are between 0 and 1; default 0.8 */
    larmor_crop_mode crop;
    int64_t
        coils; /* at most so many mixtures of coils are used; default: as many as the windows' problem has room for */
    int sets;  /* of maps: 1 (default) or 2 */
    double
        fov[3]; /* field of view of the region's grid as part of the image's, as in larmor_region_report; default 1 */
    int64_t first, planes; /* maps of these planes along the last axis alone, the same numbers; default: of all */
} larmor_espirit_opts;

typedef struct larmor_espirit_report {
    int64_t kernel[3];
    int64_t rows, signal; /* of the Gram matrix; its eigenvectors that are signal */
    int64_t coils;        /* mixtures of coils that were used: fewer than there are, where those are many */
    int64_t grid[3];      /* on which eigenvectors were found, before interpolation to the image */
    double object;        /* part of the voxels whose first eigenvalue is above cropped_below */
    double folded;        /* part of those whose second one is, too: the object overlaps itself there */
    double dominance;     /* part of the energy of the calibration data that the maps explain */
} larmor_espirit_report;

/* Coil maps by ESPIRiT: windows of the calibration data span a space of few dimensions; maps are, at every voxel,
 * the eigenvectors to eigenvalues near 1 of the projection onto that space. sum_c |s_c|^2 = 1, times the weight of
 * the crop. The phase is that of a fixed combination of coils, the dominant one of the data.
 *
 * The Gram matrix of the windows comes from correlations, without the windows' own matrix. Where the image has
 * many voxels, eigenvectors are found on a coarser grid and interpolated (not with 2 sets, which may mix from
 * voxel to voxel).
 *
 * region       [x, y(, z), coils], complex: k-space on a grid, as larmor_calibration_region makes it.
 * image        shape of the image, of as many dimensions.
 * opts         may be NULL.
 * maps         [image..., coils], with 2 sets [image..., coils, 2], or planes of that; dtype of region.
 * eigenvalues  may be NULL: [image..., sets], complex, dtype of region.
 * report       may be NULL; of a region that is zero, or noise alone, it has its rows, and else zeros.
 * Errors       LARMOR_ERR_ARG; LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for a region that is too small for windows of
 *              2 samples, zero, not finite or noise alone; LARMOR_ERR_MEMORY.
 * Source       Uecker et al., Magn. Reson. Med. 71, 990 (2014); the smooth step: Iyer, Ong, Lustig, ISMRM Workshop on
 *              Data Sampling and Image Reconstruction (2016). */
LARMOR_API larmor_status larmor_espirit(const larmor_array *region, larmor_shape image,
                                        const larmor_espirit_opts *opts, larmor_array **maps,
                                        larmor_array **eigenvalues, larmor_espirit_report *report);

/* Bytes of device memory that larmor_calibration_region and larmor_espirit after it take at most, beyond their inputs
 * and results. Errors: LARMOR_ERR_ARG and LARMOR_ERR_SHAPE for impossible sizes. */
LARMOR_API larmor_status larmor_espirit_memory(const larmor_device *dev, const larmor_problem *problem,
                                               const larmor_region_opts *region, const larmor_espirit_opts *opts,
                                               int64_t *bytes);

/* ---- normalisation ---- */

/* What shading maps leave in the image. */
typedef enum larmor_normalise {
    LARMOR_NORMALISE_RSS, /* sum_c |s_c|^2 = 1: that of the root sum of squares of the coils */
    LARMOR_NORMALISE_SUM, /* sum_c |s_c| = sqrt(coils): that of the mean magnitude, which a near coil raises less */
    LARMOR_NORMALISE_BODY /* relative to the first virtual coil, the dominant combination of all */
} larmor_normalise_mode;

/* maps <- maps divided, at every voxel, by one real number, all sets by that of the first; voxels of zeros stay so.
 *
 * BODY divides by the magnitude of the first virtual coil, held at 1/10 of its largest value where it is less.
 *
 * maps    [image..., coils] or, with sets > 1, [image..., coils, sets]; complex, in place.
 * Errors  LARMOR_ERR_ARG; LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_maps_normalise(larmor_array *maps, int sets, larmor_normalise_mode mode);

LARMOR_C_END
#endif
