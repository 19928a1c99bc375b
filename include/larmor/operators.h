/* The linear operators of MR reconstruction, to be composed by larmor_op_chain and its kin.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_OPERATORS_H
#define LARMOR_OPERATORS_H

#include "larmor/nufft.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- coils ---- */

/* Multiplication by coil sensitivity maps: [image...] to [image..., coils], y_c = s_c .* x. */
LARMOR_API larmor_status larmor_op_coils(larmor_array *maps, larmor_op **S);

/* ---- Fourier transform, masks, weights ---- */

/* ---- sparsity: gradients and wavelets ---- */

/* ---- many images: frames, subspaces, blocks, stacks ---- */

/* ---- off-resonance ---- */

#ifdef __cplusplus
}
#endif
#endif
