/* The circulant for code that filters images by it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "recon/precond/precond.h"
#include "recon/slabs/slab_fft.h"

/* A^H A ~ E^-1 C E^-1 where coils see anything, C circulant and E one over the root of the coils' energy. */
struct larmor_circulant {
    larmor_array *eigenvalues; /* of C, in the FFT's order; complex, with imaginary parts of rounding */
    larmor_array *each;        /* of a series those of each frame, [image..., frames], whose mean they are; or NULL */
    larmor_array *support;     /* E, 0 where no coil sees anything; NULL: 1 everywhere */
    double largest, mean;      /* of the eigenvalues */
    double support_voxels;     /* voxels in the support */
    double square;             /* the mean of E^2 over them */
    double count;              /* eigenvalues, of all slabs */
    larmor_shape image;        /* what it maps: the volume or this rank's slab */
    lmr_slab_fft
        *slabs; /* of a volume in slabs, then eigenvalues [n2, 1, own lines] (recon/slabs/slab_fft.h); or NULL */
};

/* ---- what it is made of ---- */

/* The coils' energy of maps [image..., coils], and the largest. *energy: NULL before; to be freed in either case. */
larmor_status lmr_circulant_energy(const larmor_array *maps, larmor_shape image, larmor_array **energy, double *most);

/* The energy becomes E, given the largest, and how many voxels that is not 0 for; of all ranks where it is a part of
 * theirs. */
larmor_status lmr_object_support(larmor_array *energy, double most, double *support_voxels);

/* The grid of the autocorrelation. Maps are smooth, so that few voxels are enough. */
larmor_shape lmr_circulant_coarse(larmor_shape image);

/* The eigenvalues' mean, the trace of C over its size; of all ranks. */
larmor_status lmr_circulant_mean(larmor_circulant *c);

/* ---- what filters do with it ---- */

/* x <- its Fourier transform, sign -1, or the unscaled inverse, sign 1. */
larmor_status lmr_circulant_fft(larmor_array *x, int sign);

/* An image of zeros with 1 in the middle. */
larmor_status lmr_circulant_point(const larmor_array *like, larmor_array **point);

/* What is added to the eigenvalues of an inverse with this lambda. */
double lmr_circulant_added(const larmor_circulant *c, double lambda);

/* factors <- a eigenvalues + b. */
larmor_status lmr_circulant_affine(const larmor_circulant *c, double a, double b, larmor_array *factors);

/* factors <- 1 / factors, whose scale is about `scale`: a power of small numbers must not leave single precision. */
larmor_status lmr_circulant_invert(double scale, larmor_array *factors);

/* larmor_circulant_inverse for arrays of this shape: where it has one dimension more than the image, each index of
 * that by itself. */
larmor_status lmr_circulant_inverse_of(const larmor_circulant *c, double lambda, double penalty, larmor_shape shape,
                                       larmor_op **M);

/* The same by the mean of all frames. */
larmor_status lmr_circulant_inverse_by_mean(const larmor_circulant *c, double lambda, double penalty,
                                            larmor_shape shape, larmor_op **M);

/* ---- an image beside fields ---- */

/* Of an operator K of [image..., 1 + fields], of which the samples see the first image: K^H K as far as it is the
 * same everywhere, and the inverse of N + lambda + penalty K^H K, with a matrix at each frequency. c is of one image,
 * not of slabs. */
typedef struct lmr_block lmr_block;
larmor_status lmr_block_create(const larmor_circulant *c, larmor_op *K, lmr_block **block);
void lmr_block_free(lmr_block *block); /* NULL is fine */
larmor_status lmr_block_inverse(const larmor_circulant *c, const lmr_block *block, double lambda, double penalty,
                                larmor_op **M);
