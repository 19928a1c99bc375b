/* Nuclear norms of the blocks of a series of images (Zhang, Pauly, Levesque 2015). SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include <stdlib.h>

#include "recon/frames.h"
#include "recon/prox/prox.h"
#include "recon/prox/table.h"

typedef struct low_rank {
    double weight;
    uint64_t applied;
    larmor_op *C;
    larmor_array *blocks, *shrunk;
} low_rank;

/* C is an isometry whose blocks are the rows of X, with rows of zeros that shrinkage leaves zero: C^H shrink C is the
 * proximal map. */
static larmor_status apply(void *self, double t, const larmor_array *x, larmor_array *z)
{
    low_rank *s = self;
    const larmor_shape shape = larmor_array_shape(x);
    int64_t shift[3];
    lmr_prox_shift(s->applied++, shape.ndim - 1, shape.dim, shift);
    LMR_TRY(larmor_op_casorati_shift(s->C, shift));
    LMR_TRY(larmor_op_forward(s->C, x, s->blocks));
    LMR_TRY(lmr_shrink_singular(t * s->weight, s->blocks, s->shrunk, NULL));
    return larmor_op_adjoint(s->C, s->shrunk, z);
}

static larmor_status value(void *self, const larmor_array *x, double *g)
{
    low_rank *s = self;
    LMR_TRY(larmor_op_forward(s->C, x, s->blocks));
    LMR_TRY(lmr_shrink_singular(0, s->blocks, NULL, g));
    *g *= s->weight;
    return LARMOR_OK;
}

static void destroy(void *self)
{
    low_rank *s = self;
    larmor_op_free(s->C);
    larmor_array_free(s->blocks), larmor_array_free(s->shrunk);
    free(s);
}

larmor_status larmor_prox_low_rank(larmor_device *dev, double weight, larmor_dtype dtype, larmor_shape shape,
                                   const int64_t block[3], larmor_prox **p)
{
    static const larmor_prox_impl impl = {"low rank", apply, value, destroy};
    LMR_TRY(lmr_prox_begin("low rank", dev, weight, dtype, p));
    larmor_casorati_opts opts = {{0}, {0}};
    for (int d = 0; d < 3 && block; d++) opts.block[d] = block[d];
    low_rank *s = calloc(1, sizeof *s);
    if (!s) return LMR_NO_MEMORY();
    s->weight = weight;
    larmor_status st;
    LMR_OR(fail, larmor_op_casorati(dev, dtype, shape, &opts, &s->C));
    LMR_OR(fail, larmor_array_create(dev, dtype, larmor_op_out_shape(s->C), &s->blocks));
    LMR_OR(fail, larmor_array_create(dev, dtype, larmor_op_out_shape(s->C), &s->shrunk));
    LMR_OR(fail, larmor_prox_create(dev, &impl, s, dtype, shape, p));
    return LARMOR_OK;
fail:
    destroy(s);
    return st;
}

/* ---- matrices as they are ---- */

typedef struct nuclear {
    double weight;
    larmor_array *shrunk;
} nuclear;

static larmor_status nuclear_apply(void *self, double t, const larmor_array *x, larmor_array *z)
{
    const nuclear *s = self;
    LMR_TRY(lmr_shrink_singular(t * s->weight, x, s->shrunk, NULL));
    return larmor_copy(s->shrunk, z); /* z may be x, and shrinkage is not in place */
}

static larmor_status nuclear_value(void *self, const larmor_array *x, double *g)
{
    const nuclear *s = self;
    LMR_TRY(lmr_shrink_singular(0, x, NULL, g));
    *g *= s->weight;
    return LARMOR_OK;
}

static void nuclear_destroy(void *self)
{
    nuclear *s = self;
    larmor_array_free(s->shrunk);
    free(s);
}

larmor_status larmor_prox_nuclear(larmor_device *dev, double weight, larmor_dtype dtype, larmor_shape shape,
                                  larmor_prox **p)
{
    static const larmor_prox_impl impl = {"nuclear", nuclear_apply, nuclear_value, nuclear_destroy};
    LMR_TRY(lmr_prox_begin("nuclear", dev, weight, dtype, p));
    if (shape.ndim != 3)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "nuclear: got %s, expected matrices [m, n, count]",
                        lmr_describe_as(dev, dtype, shape).s);
    nuclear *s = calloc(1, sizeof *s);
    if (!s) return LMR_NO_MEMORY();
    s->weight = weight;
    larmor_status st;
    LMR_OR(fail, larmor_array_create(dev, dtype, shape, &s->shrunk));
    LMR_OR(fail, larmor_prox_create(dev, &impl, s, dtype, shape, p));
    return LARMOR_OK;
fail:
    nuclear_destroy(s);
    return st;
}

/* ---- the regulariser ---- */

enum { SHIFTS = 2 };

/* The blocks at two shifts, half a block apart: K^H K = SHIFTS. */
static larmor_status both_shifts(larmor_device *dev, const larmor_regulariser_opts *o, larmor_dtype dtype,
                                 larmor_shape shape, larmor_op **K)
{
    larmor_op *C[SHIFTS] = {NULL, NULL};
    larmor_status st = LARMOR_OK;
    for (int i = 0; i < SHIFTS && !st; i++) {
        larmor_casorati_opts opts = {{0}, {0}};
        for (int d = 0; d < 3; d++) {
            opts.block[d] = o->block[d];
            opts.shift[d] = i * (o->block[d] ? o->block[d] : 8) / SHIFTS;
        }
        st = larmor_op_casorati(dev, dtype, shape, &opts, &C[i]);
    }
    if (!st) st = larmor_op_stack(C, SHIFTS, K);
    for (int i = 0; i < SHIFTS; i++) larmor_op_free(C[i]);
    return st;
}

/* Noise of deviation s in an m x n matrix has singular values up to s (sqrt(m) + sqrt(n)) (Bai and Yin, Ann. Probab. 21,
 * 1275 (1993)): in these units lambda means the same for blocks and series of every size. */
static larmor_status make(larmor_device *dev, const larmor_regulariser_opts *o, larmor_dtype dtype,
                          larmor_shape shape, larmor_penalty *made)
{
    if (shape.ndim < 2 || shape.dim[shape.ndim - 1] < 2)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "llr: got %s, expected [image..., frames] with 2 frames or more",
                        lmr_describe_as(dev, dtype, shape).s);
    LMR_TRY(both_shifts(dev, o, dtype, shape, &made->K));
    const larmor_shape blocks = larmor_op_out_shape(made->K);
    const double unit = sqrt((double)blocks.dim[0]) + sqrt((double)blocks.dim[1]);
    return larmor_prox_nuclear(dev, unit / SHIFTS, dtype, blocks, &made->g);
}

/* Of every block a Gram matrix in double, and its projection; the blocks after shrinkage. The last blocks of an axis are
 * filled up. */
static void sizes(const larmor_regulariser_opts *o, larmor_shape shape, double *z, double *Kz, double *kept)
{
    const double frames = (double)shape.dim[shape.ndim - 1];
    double voxels = 1, block = 1, blocks = 1;
    for (int d = 0; d < shape.ndim - 1 && d < 3; d++) {
        const double n = (double)shape.dim[d], side = fmin(n, o->block[d] ? (double)o->block[d] : 8);
        voxels *= n, block *= side, blocks *= ceil(n / side);
    }
    const double smaller = fmin(block, frames), padded = blocks * block / voxels;
    *z = 1, *Kz = SHIFTS * padded, *kept = SHIFTS * (padded + 4 * blocks * smaller * smaller / (voxels * frames));
}

const lmr_regulariser_kind lmr_regulariser_llr = {
    .name = "llr",
    .help = "locally low rank: series of images, nuclear norms of blocks",
    .lambda = 2e-3,
    .tol = 5e-3,
    .max_iter = 100,
    .penalty = 5e-3,
    .strength = 1,
    .curvature = SHIFTS,
    .make = make,
    .sizes = sizes,
};
