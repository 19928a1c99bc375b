/* Nuclear norms of a series of images (Liang 2007), and of its blocks (Zhang, Pauly, Levesque 2015).
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "recon/prox/regulariser.h"

enum { SHIFTS = 2, SIDE = 8 };

/* The side of a block, at most that of the image. */
static int64_t side_of(const larmor_regulariser_opts *o, int whole, int d)
{
    if (whole) return INT32_MAX;
    return o->block[d] ? o->block[d] : SIDE;
}

/* The blocks at so many shifts, half a block apart: K^H K = shifts. */
static larmor_status blocks_at(larmor_device *dev, const larmor_regulariser_opts *o, int shifts, larmor_dtype dtype,
                               larmor_shape shape, larmor_op **K)
{
    larmor_op *C[SHIFTS] = {NULL, NULL};
    larmor_status st = LARMOR_OK;
    for (int i = 0; i < shifts && !st; i++) {
        larmor_casorati_opts opts = {{0}, {0}};
        for (int d = 0; d < 3; d++) {
            opts.block[d] = side_of(o, shifts == 1, d);
            opts.shift[d] = i * opts.block[d] / SHIFTS;
        }
        st = larmor_op_casorati(dev, dtype, shape, &opts, &C[i]);
    }
    if (!st) st = larmor_op_stack(C, shifts, K);
    for (int i = 0; i < shifts; i++) larmor_op_free(C[i]);
    return st;
}

/* Noise of deviation s in an m x n matrix has singular values up to s (sqrt(m) + sqrt(n)) (Bai and Yin, Ann.
 * Probab. 21, 1275 (1993)): in these units lambda means the same for blocks and series of every size. */
static larmor_status make(larmor_device *dev, const char *name, const larmor_regulariser_opts *o, int shifts,
                          larmor_dtype dtype, larmor_shape shape, larmor_penalty *made)
{
    if (shape.ndim < 2 || shape.dim[shape.ndim - 1] < 2)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "%s: got %s, expected [image..., frames] with 2 frames or more", name,
                        lmr_describe_as(dev, dtype, shape).s);
    LMR_TRY(blocks_at(dev, o, shifts, dtype, shape, &made->K));
    const larmor_shape blocks = larmor_op_out_shape(made->K);
    const double unit = sqrt((double)blocks.dim[0]) + sqrt((double)blocks.dim[1]);
    return larmor_prox_nuclear(dev, unit / shifts, dtype, blocks, &made->g);
}

static larmor_status make_local(larmor_device *dev, const larmor_regulariser_opts *o, larmor_dtype dtype,
                                larmor_shape shape, larmor_penalty *made)
{
    return make(dev, "llr", o, SHIFTS, dtype, shape, made);
}

static larmor_status make_global(larmor_device *dev, const larmor_regulariser_opts *o, larmor_dtype dtype,
                                 larmor_shape shape, larmor_penalty *made)
{
    return make(dev, "lowrank", o, 1, dtype, shape, made);
}

const lmr_regulariser_kind lmr_regulariser_llr = {
    .name = "llr",
    .help = "locally low rank: series of images, nuclear norms of blocks",
    .takes = LARMOR_TAKES_SERIES | LARMOR_NEEDS_SERIES | LARMOR_TAKES_BLOCK,
    .lambda = 2e-3,
    .tol = 5e-3,
    .max_iter = 100,
    .penalty = 5e-3,
    .strength = 1,
    .curvature = SHIFTS,
    .make = make_local,
};

const lmr_regulariser_kind lmr_regulariser_lowrank = {
    .name = "lowrank",
    .help = "low rank: series of images, the nuclear norm of all voxels by frames",
    .takes = LARMOR_TAKES_SERIES | LARMOR_NEEDS_SERIES,
    .lambda = 2e-3,
    .tol = 5e-3,
    .max_iter = 100,
    .penalty = 5e-3,
    .strength = 1,
    .curvature = 1,
    .make = make_global,
};
