/* Images that change in time as a few functions do: bases, and SENSE of their coefficients. SPDX-License-Identifier:
 * Apache-2.0 */
#ifndef LARMOR_SUBSPACE_H
#define LARMOR_SUBSPACE_H

#include "larmor/recon.h"

LARMOR_C_BEGIN

/* Frame t of a series is sum_k basis(t, k) x_k, x_k coefficient images. All samples of all frames measure all of
 * them. */

/* The orthonormal basis that holds most of the energy of signal curves: their first left singular vectors.
 *
 * curves  [frames, curves], real or complex.
 * rank    coefficients, at most frames and curves; 0: the least that hold `energy`.
 * energy  part of the energy of all curves, between 0 and 1; 0: 0.9999. Ignored with a rank.
 * basis   [frames, coefficients] on the device of curves, in double precision, real if they are.
 * kept    the part of the energy that the basis holds; may be NULL.
 * Errors  LARMOR_ERR_ARG for a rank or an energy out of range; LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for curves
 *         that are not finite or all zero; LARMOR_ERR_MEMORY.
 * Source  Petzschner et al., Magn. Reson. Med. 66, 706 (2011); McGivney et al., IEEE Trans. Med. Imaging 33, 2311
 *         (2014). */
LARMOR_API larmor_status larmor_basis_of_curves(larmor_array *curves, int64_t rank, double energy,
                                                larmor_array **basis, double *kept);

/* The basis at every sample, for larmor_op_subspace_sense.
 *
 * basis    [frames, coefficients], real or complex.
 * frame    [readouts] the frame of each readout, from 0.
 * dev      where the factors are made, of the precision of dtype.
 * factors  [samples, readouts, coefficients], real if no number of the basis has an imaginary part.
 * Errors   LARMOR_ERR_ARG for a frame that the basis has not; LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for a basis
 *          that is not finite; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_basis_factors(larmor_array *basis, const int *frame, int64_t readouts,
                                              int64_t samples, larmor_device *dev, larmor_dtype dtype,
                                              larmor_array **factors);

/* SENSE of coefficient images: y_c(j) = sum_k factors(j, k) (A_0 x_k)_c(j), A_0 the operator of larmor_op_sense
 * with these maps and options. By default its normal map is a convolution with a matrix of point spread functions,
 * larmor_op_toeplitz_mixed, whatever the number of frames and samples; with off-resonance a sum of those between
 * phases, as in larmor_op_segments_toeplitz.
 *
 * maps     [image..., coils], complex.
 * factors  [samples..., coefficients], real or complex, 32 coefficients at most: the basis at each sample.
 * opts     as for larmor_op_sense.
 * A        [image..., coefficients] to [samples..., coils].
 * Errors   those of larmor_op_sense, larmor_op_toeplitz_mixed and larmor_op_segments_toeplitz.
 * Source   Tamir et al., Magn. Reson. Med. 77, 180 (2017); Mani et al., Magn. Reson. Med. 73, 1835 (2015). */
LARMOR_API larmor_status larmor_op_subspace_sense(larmor_array *maps, const larmor_array *factors,
                                                  const larmor_sense_opts *opts, larmor_op **A);

/* 1 if A is an operator of larmor_op_subspace_sense whose normal map is Toeplitz, else 0. */
LARMOR_API int larmor_subspace_uses_toeplitz(const larmor_op *A);

/* Bytes of device memory that larmor_op_subspace_sense and its maps take at most, beyond maps, factors and
 * trajectory; factors are real or complex. Errors: as larmor_sense_memory. */
LARMOR_API larmor_status larmor_subspace_sense_memory(const larmor_device *dev, const larmor_problem *problem,
                                                      const larmor_sense_opts *opts, int64_t coefficients,
                                                      int is_complex, int64_t *bytes);

/* Series whose images have no basis: the operator that larmor_op_frames makes of larmor_op_sense of every frame, by
 * one NUFFT plan and one block of coil images, where `frames` operators have both each. The points of a frame are set
 * anew when its turn comes, which takes time beside the transforms.
 *
 * maps    [image..., coils], those of every frame.
 * opts    [frames]; traj, weights, nufft_tol and block are looked at, the last two of the frame with the most
 *         samples. The block is the largest part of the coils that is no larger. Trajectories are not copied.
 * A       as larmor_op_frames has it; its normal map is the adjoint after the forward map.
 * Errors  those of larmor_op_sense; LARMOR_ERR_ARG for fewer than one frame; LARMOR_ERR_UNSUPPORTED for segments, a
 *         displacement, and several sets of maps. */
LARMOR_API larmor_status larmor_op_sense_turns(larmor_array *maps, const larmor_sense_opts *opts, int frames,
                                               larmor_op **A);

/* Bytes of device memory that it takes at most beside maps, trajectories and weights.
 *
 * p        the frame with the most samples.
 * samples  of one coil, of all frames.
 * Errors   those of larmor_sense_memory. */
LARMOR_API larmor_status larmor_sense_turns_memory(const larmor_device *dev, const larmor_problem *p,
                                                   const larmor_sense_opts *opts, int64_t samples, int64_t *bytes);

LARMOR_C_END
#endif
