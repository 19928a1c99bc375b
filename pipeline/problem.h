/* The least squares problem of one frame or of a series: operator, data, noise, circulant. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "scan/job.h"

enum { LMR_NOISE_SEED = 20221 }; /* of the first frame */

/* A: of one frame its own operator, of several a block for each. toeplitz: 1 if its normal map is. */
larmor_status lmr_problem_operator(const lmr_job *job, const lmr_frame *frames, int count, larmor_op **A,
                                   int *toeplitz);

/* 1 if A is that of one image alone, of larmor_op_sense on one device, and what images have in common is kept. */
int lmr_problem_is_plain(const lmr_job *job, const lmr_frame *frames, int count);

/* b, in A's order: the samples of frame after frame. */
larmor_status lmr_problem_data(const lmr_job *job, const lmr_frame *frames, int count, larmor_op *A,
                               larmor_array **b);

/* The circulant of one frame; that of a series is of the mean of its frames; NULL if none is needed for a weight from
 * there. */
larmor_status lmr_problem_circulant(const lmr_job *job, const lmr_frame *frames, int count, larmor_lambda_from origin,
                                    larmor_circulant **C);

/* The circulant's inverse at a weight, for images of A's shape `in`, several of which are along their last
 * dimension. */
larmor_status lmr_problem_inverse(const larmor_circulant *C, double weight, int image_ndim, larmor_shape in,
                                  larmor_op **M);

/* The projection on what images are held to, of arrays of this shape, images or a series; NULL where they are not.
 * is_written: of an image as it is written, in its unit; else of the grid, in that of the solver. */
larmor_status lmr_problem_set(const lmr_job *job, const lmr_frame *frame, int is_written, larmor_dtype dtype,
                              larmor_shape shape, larmor_prox **set);

typedef enum lmr_content {
    LMR_NOISE,      /* white, of a deviation */
    LMR_SCAN_NOISE, /* of facts->colouring, where there is one */
    LMR_ONES,
    LMR_ALTERNATING, /* 1 of the first coil, -1 of the second, and so on */
} lmr_content;

/* Numbers like b's, with the root of weights, an array or NULL for each frame. deviation, seed: of noise. */
larmor_status lmr_like_data(const lmr_job *job, const lmr_frame *frames, larmor_array *const *weights, int count,
                            const larmor_array *b, lmr_content content, double deviation, uint64_t seed,
                            larmor_array **out);

/* White noise of this deviation like the frame's samples, in new memory; with facts->colouring that of the noise scan
 * times the deviation. */
larmor_status lmr_scan_noise(const lmr_job *job, const lmr_frame *frame, double deviation, uint64_t seed,
                             larmor_array **noise);

/* A sample of noise like b's, with the root of the frames' weights. seed: LMR_NOISE_SEED, or another for another
 * sample. */
larmor_status lmr_sample_noise(const lmr_job *job, const lmr_frame *frames, int count, const larmor_array *b,
                               double deviation, uint64_t seed, larmor_array **noise);

/* 1 if all places that are sampled lie on a lattice coarser than the grid: regular undersampling without calibration
 * lines. Places of the image alias upon each other all alike, and coil maps alone separate them; without some of the
 * samples they do not. */
int lmr_is_aliased(const lmr_job *job, const lmr_frame *frames, int count);

/* opts->tol <- that at which |r| / lambda, a bound of the error of x in any direction, is `most` or 1e-4 of the
 * image; what else would end the steps is taken from opts. largest: the largest eigenvalue of A^H A.
 * bound: |r| / lambda over the residual that the solver reports. */
larmor_status lmr_aliased_stop(larmor_op *A, const larmor_array *b, double most, double largest,
                               larmor_solve_opts *opts, double *bound);
