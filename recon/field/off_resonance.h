/* What SENSE needs of off-resonance: the normal map between segments, and memory. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "larmor/operators.h"
#include "larmor/recon.h"

/* larmor_op_segments_toeplitz, or, with factors [samples..., coefficients], the same normal map between images
 * that these mix: T_k is the matrix of larmor_op_toeplitz_mixed with the weights a_k(times) W. */
larmor_status lmr_op_segments_toeplitz(const larmor_nufft_opts *opts, const larmor_array *traj,
                                       const larmor_array *weights, const larmor_array *factors,
                                       larmor_segments *segments, larmor_op **N);

/* Segments of the forward map and terms of the normal map of opts->off_resonance; 1 and 1 without. Where no number
 * of terms is enough there are 0. */
larmor_status lmr_segments_count(const larmor_sense_opts *opts, int *segments, int *terms);

/* recon/field/model_normal.c: the same of a model's products, which number up to LMR_CONV_MOST_MIXED. */
larmor_status lmr_op_model_toeplitz(const larmor_nufft_opts *opts, const larmor_array *traj,
                                    const larmor_array *weights, larmor_segments *segments, larmor_op **N);

/* Of a model of terms; 0: segments are of a field alone, or NULL. */
int lmr_model_products(const larmor_segments *segments);

/* lmr_toeplitz_ratio of it and of the NUFFTs of all products. */
double lmr_model_toeplitz_ratio(const larmor_nufft_opts *opts, int64_t points, int64_t iters, int products);

/* Of the arrays of the operator larmor_op_segments, beyond F and the segments. */
double lmr_segments_op_bytes(const larmor_segments *segments, larmor_dtype dtype, larmor_shape in, larmor_shape out);

/* Of the segments themselves, and the terms of the normal map if they were found. */
double lmr_segments_bytes(const larmor_segments *segments);
