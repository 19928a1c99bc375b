/* The normal map of a volume in slabs of few ranks. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/nufft.h"
#include "larmor/op.h"
#include "larmor/ranks.h"

/* Up to so many ranks each convolves with the frequencies of one residue: it gets all planes of the others, where by
 * transposes it gets four times as many numbers over their count. */
enum { LMR_MOST_RESIDUES = 4 };

/* As larmor_op_toeplitz_slabs, of arguments that were looked at; psf: tolerance and upsampling of the point spread
 * function, of type 1, onto twice the modes. Called by all. */
larmor_status lmr_toeplitz_residues(larmor_device *dev, larmor_ranks *ranks, const larmor_nufft_opts *opts,
                                    const larmor_nufft_opts *psf, const larmor_array *traj,
                                    const larmor_array *weights, larmor_op **N);

/* Bytes while it is made, `during`, and after. psf: with its modes. samples: of a rank. */
larmor_status lmr_toeplitz_residues_bytes(const larmor_device *dev, int ranks, const int64_t modes[3],
                                          larmor_dtype dtype, const larmor_nufft_opts *psf, int64_t samples,
                                          double *during, double *held);
