/* What the Toeplitz normal map costs. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/nufft.h"

/* Convolutions with several point spread functions of one trajectory, which share points and work arrays. */
typedef struct lmr_toeplitz lmr_toeplitz;

/* values <- the weights of kernel k, c128: base [points] times real factors of its own. */
typedef larmor_status (*lmr_toeplitz_weigh)(void *user, int k, const larmor_array *base, larmor_array *values);

typedef struct lmr_toeplitz_weights {
    int count;
    lmr_toeplitz_weigh weigh;
    void *user;
} lmr_toeplitz_weights;

/* several: NULL for one kernel with these weights. factors: NULL, or as for larmor_op_toeplitz_mixed, and each
 * kernel is a matrix of them. weights, Errors: as larmor_op_toeplitz, or as larmor_op_toeplitz_mixed with factors. */
larmor_status lmr_toeplitz_create(larmor_device *dev, const larmor_nufft_opts *opts, const larmor_array *traj,
                                  const larmor_array *weights, const lmr_toeplitz_weights *several,
                                  const larmor_array *factors, lmr_toeplitz **out);
void lmr_toeplitz_free(lmr_toeplitz *t); /* NULL is fine */

/* y <- kernel k of x, both of its shape and dtype. */
larmor_status lmr_toeplitz_apply(lmr_toeplitz *t, int k, const larmor_array *x, larmor_array *y);

/* z <- sum_c conj(s_c) .* N (s_c .* x) in one, where N is of larmor_op_toeplitz for at least as many arrays as
 * there are maps [image..., coils], on a device that can; *done is 0 and nothing is done elsewhere. room: like the
 * maps, overwritten. All are of N's type and on its device. */
larmor_status lmr_toeplitz_coils(larmor_op *N, const larmor_array *maps, const larmor_array *x, larmor_array *room,
                                 larmor_array *z, int *done);

larmor_dtype lmr_toeplitz_dtype(const lmr_toeplitz *t);
larmor_shape lmr_toeplitz_shape(const lmr_toeplitz *t);

/* The tolerance and the grid of the NUFFT that makes the point spread function of modes psf->modes, for maps of
 * this tolerance. Errors: LARMOR_ERR_NUMERIC where it is out of reach. */
larmor_status lmr_toeplitz_choose_psf(double tol, larmor_nufft_opts *psf);

/* Bytes at most of so many kernels while the point spread function is made, and after; with factors of so many images
 * each is a matrix. */
larmor_status lmr_toeplitz_bytes(const larmor_device *dev, const larmor_nufft_opts *opts, int64_t points, int count,
                                 double *making, double *held);
larmor_status lmr_toeplitz_mixed_bytes(const larmor_device *dev, const larmor_nufft_opts *opts, int64_t points,
                                       int count, int mixed, int is_complex, double *making, double *held);

/* What N is expected to take when it is applied `iters` times to opts->batch images, making it included, over what
 * adjoint of forward takes; INFINITY where the options are wrong. The model: nanoseconds of one thread for each
 * point, which pays for the window, and for each cell of an FFT, which pays for its logarithm; measured on x86-64,
 * and only ratios matter. */
double lmr_toeplitz_ratio(const larmor_nufft_opts *opts, int64_t points, int64_t iters);

/* nufft/tune/toeplitz_race.c: time one application of each to x. *quicker is 1 if N takes less than A's normal map.
 * y, of x's shape, is overwritten. */
larmor_status lmr_toeplitz_race(larmor_op *N, larmor_op *A, const larmor_array *x, larmor_array *y, int *quicker);
