/* Coil compression: few virtual coils in the place of many. SPDX-License-Identifier: Apache-2.0
 *
 * The signals of many coils are nearly linearly dependent. The eigenvectors of their covariance with the largest
 * eigenvalues, as rows of C, mix them into few virtual coils that hold nearly all of the signal; C C^H = I, so white
 * noise stays white. Whatever is linear in the coils holds for virtual ones as well: maps are mixed like samples.
 *
 *     R = 0; larmor_coils_covariance(kspace, traj, 16, 1, R, NULL)      for each image of the scan
 *     larmor_compression(R, &opts, &C, &report)
 *     larmor_compress_coils(C, kspace, &virtual)        and the same for maps
 *
 * Fully sampled readouts can have a matrix for each place along them, and fewer virtual coils then hold as much:
 *
 *     R = 0; larmor_coils_covariance_along(kspace, traj, 16, 1, R, NULL)
 *     larmor_geometric_compression(R, n, &opts, &C, &report)
 *     larmor_compress_readouts(C, kspace, traj, &virtual); larmor_compress_coils(C, maps, &virtual_maps)
 *
 * Source  Buehrer, Pruessmann, Boesiger, Kozerke, Magn. Reson. Med. 57, 1131 (2007); Huang, Vijayakumar, Li,
 *         Hertel, Duensing, Magn. Reson. Imaging 26, 133 (2008); geometric: Zhang, Pauly, Vasanawala, Lustig,
 *         Magn. Reson. Med. 69, 571 (2013). */
#ifndef LARMOR_COMPRESS_H
#define LARMOR_COMPRESS_H

#include "larmor/array.h"

LARMOR_C_BEGIN

/* R <- R + scale sum_t y(t) y(t)^H, of the coils' samples y: all, or those in the centre of k-space, which show
 * the coils with the least noise. Sensitivities are smooth, so what tells coils apart is there.
 *
 * kspace   [samples, readouts, coils], complex, whitened if their noise is known.
 * traj     [nd, samples, readouts], nd 1 to 3; NULL: all samples.
 * radius   samples that are closer to the centre count, in cycles per field of view; all if fewer than 8 a coil
 *          are.
 * R        [coils, coils] c128.
 * count    <- how many samples were taken; may be NULL.
 * Errors   LARMOR_ERR_SHAPE; LARMOR_ERR_ARG for numbers that are not finite; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_coils_covariance(const larmor_array *kspace, const larmor_array *traj, double radius,
                                                 double scale, larmor_array *R, int64_t *count);

#define LARMOR_COMPRESSION_ENERGY 0.999999 /* the part of the signal's energy that is kept by default */

typedef struct larmor_compression_opts { /* zero means default */
    int64_t coils; /* virtual coils, at most those that there are; default: as many as `energy` asks for */
    double energy; /* part of the signal's energy to keep, above 0 and at most 1; default 0.999999 */
    double noise;  /* energy of the noise of one coil in R: 2 sigma^2 for each sample; default 0 */
    double
        samples; /* that R was made from; directions within the spread of the noise count as noise; default: many */
} larmor_compression_opts;

typedef struct larmor_compression_report {
    int64_t coils; /* virtual coils */
    double energy; /* the part of the signal's energy that they keep at least; the signal is what exceeds the noise */
} larmor_compression_report;

/* The matrix that compresses: the eigenvectors of R with the largest eigenvalues, conjugated, in falling order.
 *
 * R        [coils, coils] c128, Hermitian.
 * opts     may be NULL.
 * C        [virtual coils, coils] c128, C C^H = I.
 * report   may be NULL.
 * Errors   LARMOR_ERR_ARG; LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for values that are not finite or all zero. */
LARMOR_API larmor_status larmor_compression(const larmor_array *R, const larmor_compression_opts *opts,
                                            larmor_array **C, larmor_compression_report *report);

/* ---- geometric: a matrix for each place along fully sampled readouts ---- */

enum { LARMOR_GEOMETRIC_PARTS = 4 };

/* R <- R + scale times the covariances of the coils at places along the readouts, which run along x: of the
 * transforms of their samples in the centre of k-space, with Hann's window. The places divide the field of view
 * evenly. Readouts add to the parts of R in turn, so that the compression can be tested by what it was not made
 * from.
 *
 * kspace   [samples, readouts, coils], complex, whitened if their noise is known.
 * traj     [nd, samples, readouts], cycles per field of view, nd 1 to 3; each readout along x.
 * radius   of the centre, in the same unit.
 * R        [coils, coils, places, LARMOR_GEOMETRIC_PARTS] c128, at least 2 radius places.
 * count    <- sum of the samples' squared weights, for noise and samples of larmor_compression_opts; may be NULL.
 * Errors   LARMOR_ERR_SHAPE; LARMOR_ERR_ARG for numbers that are not finite; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_coils_covariance_along(const larmor_array *kspace, const larmor_array *traj,
                                                       double radius, double scale, larmor_array *R, double *count);

/* The matrices that compress: at each place the eigenvectors with the largest eigenvalues of the covariance,
 * averaged over as wide a neighbourhood as is best, each place's aligned to those of the place before and
 * interpolated to n places.
 *
 * R        of larmor_coils_covariance_along.
 * n        voxels of the field of view along the readout; voxel i is at i - floor(n / 2).
 * opts     may be NULL. The energy that is left out is measured in each part of R, by coils from the others.
 * C        [virtual coils, coils, n] c128, C C^H = I at each place.
 * report   may be NULL.
 * Errors   LARMOR_ERR_ARG; LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for values that are not finite or all zero. */
LARMOR_API larmor_status larmor_geometric_compression(const larmor_array *R, int64_t n,
                                                      const larmor_compression_opts *opts, larmor_array **C,
                                                      larmor_compression_report *report);

/* Samples of virtual coils: each readout's transform along x, mixed place by place, and transformed back.
 *
 * Noise stays white where a readout has all its n samples. Those that are missing are taken for zeros, and what is
 * made of them is not given back; with smooth C that changes samples beside the gap alone.
 *
 * C       [virtual coils, coils, n], complex; converted to the precision of kspace.
 * kspace  [samples, readouts, coils], complex.
 * traj    [nd, samples, readouts]; x in whole numbers of cycles per field of view to within 1e-3, each place
 *         (modulo n) at most once in a readout, in any order.
 * y       [samples, readouts, virtual coils], of kspace's dtype.
 * Errors  LARMOR_ERR_ARG for readouts of another kind; LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_compress_readouts(const larmor_array *C, const larmor_array *kspace,
                                                  const larmor_array *traj, larmor_array **y);

/* ---- to virtual coils and back ---- */

/* Virtual coils from coils, and back: C x and C^H x over the last dimension. Expanding is the adjoint and, because
 * C C^H = I, the pseudo-inverse: what was compressed comes back without the part that was left out.
 *
 * C       [virtual coils, coils], or [virtual coils, coils, n] with a matrix for each of x's n places along its first
 *         dimension, such as the voxels of maps; complex, converted to the precision of x.
 * x       [..., coils] or [..., virtual coils], complex; of C with places [n, ..., coils].
 * y       [..., virtual coils] or [..., coils], of x's dtype.
 * Errors  LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_compress_coils(const larmor_array *C, const larmor_array *x, larmor_array **y);
LARMOR_API larmor_status larmor_expand_coils(const larmor_array *C, const larmor_array *x, larmor_array **y);

LARMOR_C_END
#endif
