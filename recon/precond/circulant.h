/* The circulant for code that filters images by it. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_CIRCULANT_H
#define LMR_CIRCULANT_H

#include "recon/precond/precond.h"

/* A^H A ~ E^-1 C E^-1 where coils see anything, C circulant and E one over the root of the coils' energy. */
struct larmor_circulant {
    larmor_array *eigenvalues; /* of C, in the FFT's order; complex, with imaginary parts of rounding */
    larmor_array *sight;       /* E, 0 where no coil sees anything; NULL: 1 everywhere */
    double largest, mean;      /* of the eigenvalues */
    double seen;               /* voxels that coils see */
    double square;             /* the mean of E^2 over them */
};

/* factors <- a eigenvalues + b. */
larmor_status lmr_circulant_affine(const larmor_circulant *c, double a, double b, larmor_array *factors);

/* factors <- 1 / factors, whose scale is about `scale`: a power of small numbers must not leave single precision. */
larmor_status lmr_circulant_invert(double scale, larmor_array *factors);

/* What an inverse takes: factors, E, two images while it is made, and what an FFT works with. */
enum { LMR_INVERSE_IMAGES = 5 };

/* larmor_circulant_inverse with another floor, relative to the mean eigenvalue. */
larmor_status lmr_circulant_inverse(const larmor_circulant *c, double lambda, larmor_op *K, double penalty,
                                    double floor, larmor_op **M);

/* larmor_circulant_inverse for arrays of this shape: where it has one dimension more than the image, each index of that
 * by itself. */
larmor_status lmr_circulant_inverse_of(const larmor_circulant *c, double lambda, double penalty, larmor_shape shape,
                                       larmor_op **M);

/* x <- its Fourier transform, sign -1, or the unscaled inverse, sign 1. */
larmor_status lmr_circulant_fft(larmor_array *x, int sign);

/* x <- E x, in place. */
larmor_status lmr_circulant_see(const larmor_circulant *c, larmor_array *x);

#endif
