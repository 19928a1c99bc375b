/* The model of nonlinear inversion: coil images as products of images and smooth maps, and its derivative.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/array.h"
#include "larmor/nlinv.h"
#include "recon/kernels.h"

/* Unknowns are one line of numbers: the images [image..., sets], then the maps' coefficients [box..., coils,
 * sets].
 *
 * Coefficients are those of a Fourier series on the doubled field of view, divided by the weights of the Sobolev
 * norm; box holds those that the weights leave. Its centre is at the highest frequency of the doubled grid, so
 * that maps and images have the signs (-1)^i along each axis: no phases are multiplied with on the way, and
 * lmr_nlinv_result takes the signs away. */
typedef struct lmr_nlinv {
    larmor_device *dev;
    larmor_dtype dtype;
    const lmr_recon_kernels *kernels;
    larmor_shape image, fine, box;             /* fine: twice the image */
    int64_t coils, sets, voxels, modes, block; /* of image and of box; coils that are transformed at a time */
    larmor_op *T;                              /* F^H W F, of mean eigenvalue 1, on [image..., coils] */
    double scale;                              /* of T */
    larmor_op *F;                              /* on [fine..., block] */
    larmor_array *weight;                      /* [box...] */
    larmor_array *wide, *spectrum;             /* [fine..., block] */
    larmor_array *part;                        /* [box..., block] */
    larmor_array *at;                          /* the unknowns at which the derivative is taken */
    larmor_array *maps;                        /* [image..., coils, sets], theirs */
    larmor_array *sum, *backprojected, *one;   /* [image..., coils] */
} lmr_nlinv;

/* image, coils and dtype are those of the problem; in opts are no zeros but for weights. */
larmor_status lmr_nlinv_create(larmor_device *dev, const larmor_problem *p, const larmor_nlinv_opts *opts,
                               const larmor_array *traj, lmr_nlinv *n);
void lmr_nlinv_free(lmr_nlinv *n);

/* Take other samples, at traj; the rest stays. */
larmor_status lmr_nlinv_sample(lmr_nlinv *n, const larmor_nlinv_opts *opts, const larmor_array *traj);

/* The number of unknowns. */
int64_t lmr_nlinv_unknowns(const lmr_nlinv *n);

/* Take the derivative at these unknowns from now on; sum becomes the coil images there. */
larmor_status lmr_nlinv_at(lmr_nlinv *n, const larmor_array *unknowns);

/* z <- D^H T D d, D the derivative. z and d do not share memory. */
larmor_status lmr_nlinv_normal(lmr_nlinv *n, const larmor_array *d, larmor_array *z);

/* z <- D^H y of coil images y, which may be n->backprojected. */
larmor_status lmr_nlinv_adjoint(lmr_nlinv *n, const larmor_array *y, larmor_array *z);

/* Image, scaled, and maps with sum_cm |s_cm|^2 = 1. x may be NULL. */
larmor_status lmr_nlinv_result(lmr_nlinv *n, double scale, larmor_array **x, larmor_array **maps);

/* Bytes of device memory of all that larmor_nlinv takes, and of so many more lines of unknowns. */
larmor_status lmr_nlinv_bytes(const larmor_device *dev, const larmor_problem *p, const larmor_nlinv_opts *opts,
                              int lines, int64_t *bytes);
