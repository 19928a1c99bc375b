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

/* Block diagonal: an operator of its own for each frame, y_t = A_t x_t.
 *
 * ops     of one device, type and input shape [image...]; the same operator may stand for several frames.
 * A       [image..., count] to [kspace..., count]. If the operators' outputs differ in shape: to one vector of all
 *         samples, frame after frame. Its normal map is each operator's own, so that a Toeplitz normal survives.
 * Errors  LARMOR_ERR_ARG without operators; LARMOR_ERR_SHAPE if they disagree. */
LARMOR_API larmor_status larmor_op_frames(larmor_op *const *ops, int count, larmor_op **A);

/* Frames that lie in the span of a few functions of time: y_t = sum_k basis(t, k) x_k.
 *
 * basis   complex [frames, coefficients]; it is taken to dev and to dtype, which may be wider than its own.
 * B       [image..., coefficients] to [image..., frames]. Its normal map is the Gram matrix of the basis, the
 * identity if that is orthonormal. Errors  LARMOR_ERR_ARG; LARMOR_ERR_SHAPE. Source  Petzschner et al., Magn. Reson.
 * Med. 66, 706 (2011); Tamir et al., Magn. Reson. Med. 77, 180 (2017). */
LARMOR_API larmor_status larmor_op_subspace(larmor_device *dev, larmor_dtype dtype, larmor_shape image,
                                            larmor_array *basis, larmor_op **B);

typedef struct larmor_casorati_opts { /* zero means default */
    int64_t block[3];                 /* voxels; default 8, and never more than the image */
    int64_t shift[3];                 /* voxels by which the tiling is moved, around the image's edges; default 0 */
} larmor_casorati_opts;

/* A series of images cut into blocks, each a matrix of voxels and frames (Casorati matrix) for penalties of low rank.
 *
 * shape   [nx, ny, frames] or [nx, ny, nz, frames] (or [nx, frames]).
 * C       shape to [block voxels, frames, blocks], x and the first block fastest. Where the size is no multiple of
 * the block, the last blocks hold fewer voxels and rows of zeros. C is an isometry, C^H C = 1; C^H drops what stands
 * in the rows of zeros. opts    may be NULL. A block of the image's size gives one matrix: global low rank. Errors
 * LARMOR_ERR_ARG; LARMOR_ERR_SHAPE. Source  Trzasko and Manduca, Proc. ISMRM 19, 4371 (2011); Zhang, Pauly and
 * Levesque, Magn. Reson. Med. 73, 655 (2015). */
LARMOR_API larmor_status larmor_op_casorati(larmor_device *dev, larmor_dtype dtype, larmor_shape shape,
                                            const larmor_casorati_opts *opts, larmor_op **C);

/* Move the tiling of a larmor_op_casorati from now on; costs nothing. Shifting at random from one iteration to the
 * next keeps the blocks' edges out of the image (Figueiredo and Nowak, IEEE Trans. Image Process. 12, 906 (2003)). */
LARMOR_API larmor_status larmor_op_casorati_shift(larmor_op *C, const int64_t shift[3]);

/* ---- off-resonance ---- */

#ifdef __cplusplus
}
#endif
#endif
