/* Nuclear norms of a series of images (Liang 2007), of its blocks (Zhang, Pauly, Levesque 2015), of blocks of coil
 * images (CLEAR: Trzasko and Manduca, Asilomar Conf. Signals Syst. Comput. 45, 656 (2011)), and of series that add
 * up, with blocks of several sizes (Ong and Lustig, IEEE J. Sel. Top. Signal Process. 10, 672 (2016)).
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "recon/prox/parts.h"
#include "recon/prox/regulariser.h"

enum {
    SHIFTS = 2,
    SIDE = 8,
    SIDE_OF_COILS = 3, /* maps change over larger ones: docs/records/clear.md */
    WHOLE = INT32_MAX
};

/* Blocks of these sides, as many times as there are shifts, half a block apart: K^H K = shifts. */
static larmor_status blocks_at(larmor_device *dev, const int64_t side[3], int shifts, larmor_dtype dtype,
                               larmor_shape shape, larmor_op **K)
{
    larmor_op *C[SHIFTS] = {NULL, NULL};
    larmor_status st = LARMOR_OK;
    for (int i = 0; i < shifts && !st; i++) {
        larmor_casorati_opts opts = {{0}, {0}};
        for (int d = 0; d < 3; d++) {
            opts.block[d] = side[d];
            opts.shift[d] = i * opts.block[d] / SHIFTS;
        }
        st = larmor_op_casorati(dev, dtype, shape, &opts, &C[i]);
    }
    if (!st) st = larmor_op_stack(C, shifts, K);
    for (int i = 0; i < shifts; i++) larmor_op_free(C[i]);
    return st;
}

static larmor_status check_series(larmor_device *dev, const char *name, larmor_dtype dtype, larmor_shape shape)
{
    if (shape.ndim >= 2 && shape.dim[shape.ndim - 1] >= 2) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE, "%s: got %s, expected [image..., frames] with 2 frames or more", name,
                    lmr_describe_as(dev, dtype, shape).s);
}

/* Noise of deviation s in an m x n matrix has singular values up to s (sqrt(m) + sqrt(n)) (Bai and Yin, Ann.
 * Probab. 21, 1275 (1993)): in these units lambda means the same for blocks and series of every size. The largest of
 * many such matrices is above that by about s sqrt(2 log(matrices)), which counts among blocks of several sizes. */
static larmor_status make_blocks(larmor_device *dev, const int64_t side[3], int shifts, int among_others,
                                 larmor_dtype dtype, larmor_shape shape, larmor_penalty *made)
{
    LMR_TRY(blocks_at(dev, side, shifts, dtype, shape, &made->K));
    const larmor_shape blocks = larmor_op_out_shape(made->K);
    double unit = sqrt((double)blocks.dim[0]) + sqrt((double)blocks.dim[1]);
    if (among_others) unit += sqrt(2 * log((double)(blocks.dim[2] / shifts)));
    return larmor_prox_nuclear(dev, unit / shifts, dtype, blocks, &made->g);
}

static larmor_status make_local(larmor_device *dev, const larmor_regulariser_opts *o, larmor_dtype dtype,
                                larmor_shape shape, larmor_penalty *made)
{
    int64_t side[3];
    for (int d = 0; d < 3; d++) side[d] = o->block[d] ? o->block[d] : SIDE;
    LMR_TRY(check_series(dev, "llr", dtype, shape));
    return make_blocks(dev, side, SHIFTS, 0, dtype, shape, made);
}

/* Where maps hardly change over a block, its coil images are one image times one number for each coil: of rank 1. */
static larmor_status make_coils(larmor_device *dev, const larmor_regulariser_opts *o, larmor_dtype dtype,
                                larmor_shape shape, larmor_penalty *made)
{
    int64_t side[3];
    for (int d = 0; d < 3; d++) side[d] = o->block[d] ? o->block[d] : SIDE_OF_COILS;
    LMR_REFUSE(shape.ndim < 2 || shape.dim[shape.ndim - 1] < 2, LARMOR_ERR_SHAPE,
               "clear: got %s, expected [image..., coils] with 2 coils or more",
               lmr_describe_as(dev, dtype, shape).s);
    return make_blocks(dev, side, SHIFTS, 0, dtype, shape, made);
}

static larmor_status make_global(larmor_device *dev, const larmor_regulariser_opts *o, larmor_dtype dtype,
                                 larmor_shape shape, larmor_penalty *made)
{
    const int64_t side[3] = {WHOLE, WHOLE, WHOLE};
    (void)o;
    LMR_TRY(check_series(dev, "lowrank", dtype, shape));
    return make_blocks(dev, side, 1, 0, dtype, shape, made);
}

/* ---- blocks of several sizes ---- */

/* Of the noise's largest singular value: what single voxels and the whole series have to exceed beside blocks. Chosen
 * on two series of golden-angle frames (docs/records/regularisers.md). */
#define RATIO_OF_VOXELS 1.3
#define RATIO_OF_WHOLE 1.5

/* Sides of 1, 8, 64, ... voxels up to half of the image, and the image. */
static int find_sides(larmor_shape shape, int64_t sides[LMR_MAX_PARTS])
{
    int64_t longest = 1;
    int count = 0;
    for (int d = 0; d < shape.ndim - 1; d++) longest = shape.dim[d] > longest ? shape.dim[d] : longest;
    for (int64_t side = 1; 2 * side <= longest && count < LMR_MAX_PARTS - 1; side *= SIDE) sides[count++] = side;
    sides[count++] = WHOLE;
    return count;
}

static larmor_status make_scales(larmor_device *dev, const int64_t *sides, int count, larmor_dtype dtype,
                                 larmor_shape shape, lmr_summand *parts)
{
    for (int i = 0; i < count; i++) {
        const int64_t side[3] = {sides[i], sides[i], sides[i]};
        const int is_voxel = sides[i] == 1, is_whole = sides[i] == WHOLE;
        const int shifts = is_voxel || is_whole ? 1 : SHIFTS;
        parts[i].ratio = is_voxel ? RATIO_OF_VOXELS : 1;
        if (is_whole) parts[i].ratio = RATIO_OF_WHOLE;
        parts[i].scale = sqrt(1. / shifts); /* each has K^H K = 1 then */
        LMR_TRY(make_blocks(dev, side, shifts, 1, dtype, shape, &parts[i].penalty));
    }
    return LARMOR_OK;
}

static larmor_status make_multiscale(larmor_device *dev, const larmor_regulariser_opts *o, larmor_dtype dtype,
                                     larmor_shape shape, larmor_penalty *made)
{
    lmr_summand parts[LMR_MAX_PARTS] = {{.ratio = 0}};
    int64_t sides[LMR_MAX_PARTS];
    (void)o;
    LMR_TRY(check_series(dev, "lowrank-multiscale", dtype, shape));
    const int count = find_sides(shape, sides);
    larmor_status st = make_scales(dev, sides, count, dtype, shape, parts);
    if (!st) st = lmr_penalty_parts(dev, dtype, shape, parts, count, made);
    lmr_summands_free(parts, count);
    return st;
}

const lmr_regulariser_kind lmr_regulariser_llr = {
    .name = "llr",
    .help = "locally low rank: series of images, nuclear norms of blocks",
    .takes = LARMOR_TAKES_SERIES | LARMOR_NEEDS_SERIES | LARMOR_TAKES_BLOCK,
    .strength = 1,
    .curvature = SHIFTS,
    .make = make_local,
};

const lmr_regulariser_kind lmr_regulariser_clear = {
    .name = "clear",
    .help = "CLEAR: coil images without maps, nuclear norms of blocks of voxels by coils",
    .takes = LARMOR_TAKES_SERIES | LARMOR_NEEDS_SERIES | LARMOR_TAKES_BLOCK | LARMOR_OF_COILS,
    .strength = 1,
    .curvature = SHIFTS,
    .make = make_coils,
};

const lmr_regulariser_kind lmr_regulariser_lowrank = {
    .name = "lowrank",
    .help = "low rank: series of images, the nuclear norm of all voxels by frames",
    .takes = LARMOR_TAKES_SERIES | LARMOR_NEEDS_SERIES,
    .strength = 1,
    .curvature = 1,
    .make = make_global,
};

const lmr_regulariser_kind lmr_regulariser_lowrank_multiscale = {
    .name = "lowrank-multiscale",
    .help =
        "multi-scale low rank: series, a sum of parts of low rank in blocks of 1, 8, 64 voxels a side and as a whole",
    .takes = LARMOR_TAKES_SERIES | LARMOR_NEEDS_SERIES,
    .strength = 1,
    .curvature = 1,
    .beside = 1,
    .make = make_multiscale,
};
