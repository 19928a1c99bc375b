/* SENSE as a product of operators: root of the weights, NUFFT, coils (Pruessmann et al. 2001), for all coils at once
 * or for some at a time, and with one set of maps or several. The normal map has no root in it, and may be Toeplitz
 * between the coils.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "core/device.h"
#include "larmor/operators.h"
#include "nufft/toeplitz.h"
#include "recon/bytes.h"
#include "recon/inputs.h"
#include "recon/ops/weights.h"

/* sqrt(weights), real, [samples...]. */
static larmor_status root_of(const larmor_array *weights, larmor_device *dev, larmor_dtype dtype,
                             larmor_shape samples, larmor_array **root)
{
    *root = NULL;
    LMR_TRY(lmr_expect("sense", "weight array", weights, dev, weights->dtype, samples));
    return lmr_weights_copy("sense", "weights", weights, dtype, 1, root);
}

/* ---- planes in the place of a volume ---- */

/* What the forward and adjoint of a stack of planes take of those of the NUFFT in 3D: on processors from 0.3 to 0.7,
 * whether the partitions share their angles or not. It was not measured on GPUs, which keep the NUFFT. */
#define OF_VOLUME 0.5

/* 1 if the readouts are in partitions along z. A few of them are looked at before all are. */
static larmor_status find_stack(const larmor_array *traj, const larmor_problem *p, int *is_stack)
{
    enum { FEW = 9 };
    *is_stack = 0;
    if (p->image.ndim != 3 || traj->shape.ndim != 3 || traj->shape.dim[2] < 1 || !lmr_device_threads(traj->dev))
        return LARMOR_OK;
    for (int i = 0; i < FEW; i++) {
        larmor_array *one;
        LMR_TRY(larmor_array_slice(traj, i * (traj->shape.dim[2] - 1) / (FEW - 1), 1, &one));
        const larmor_status st = larmor_traj_is_stack(one, p->image.dim[2], is_stack, NULL);
        larmor_array_free(one);
        if (st || !*is_stack) return st;
    }
    return larmor_traj_is_stack(traj, p->image.dim[2], is_stack, NULL);
}

/* Coils that go through the NUFFT at a time. */
static int64_t block_of(const larmor_problem *p, const larmor_sense_opts *opts)
{
    return opts && opts->block > 0 && opts->block < p->coils ? opts->block : p->coils;
}

/* The NUFFT of so many coils. */
static larmor_nufft_opts nufft_of(const larmor_problem *p, const larmor_sense_opts *opts, int64_t coils)
{
    larmor_nufft_opts nufft = {
        .type = 2, .ndim = p->image.ndim, .batch = coils, .tol = opts ? opts->nufft_tol : 0, .dtype = p->dtype};
    for (int d = 0; d < p->image.ndim; d++) nufft.modes[d] = p->image.dim[d];
    if (opts) nufft.effort = opts->effort;
    return nufft;
}

/* sqrt(W) F of `coils` coils; root may be NULL. */
static larmor_status op_samples(larmor_array *maps, const larmor_problem *p, const larmor_sense_opts *opts,
                                larmor_array *root, int is_stack, int64_t coils, larmor_op **PF)
{
    *PF = NULL;
    const larmor_nufft_opts nufft = nufft_of(p, opts, coils);
    larmor_op *F = NULL, *P = NULL;
    larmor_status st;
    if (is_stack)
        LMR_OR(done, larmor_op_stack_of_stars(maps->dev, &nufft, opts->traj, &F));
    else
        LMR_OR(done, larmor_op_nufft(maps->dev, &nufft, opts->traj, &F));
    if (root) {
        LMR_OR(done, lmr_op_weigh("weights", root, maps->dtype, coils, &P));
        LMR_OR(done, larmor_op_chain(P, F, PF));
    } else {
        *PF = larmor_op_ref(F);
    }
done:
    larmor_op_free(P);
    larmor_op_free(F);
    return st;
}

larmor_status larmor_sense_weigh(const larmor_array *weights, larmor_array *kspace)
{
    if (!weights) return LARMOR_OK;
    if (!kspace || !lmr_is_complex(kspace->dtype) || kspace->shape.ndim < 2)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "sense: k-space is %s, expected complex [samples, readouts, coils]",
                        kspace ? lmr_describe(kspace).s : "missing");
    const int last = kspace->shape.ndim - 1;
    larmor_array *root, *factor = NULL;
    LMR_TRY(root_of(weights, kspace->dev, kspace->dtype, larmor_shape_of(last, kspace->shape.dim), &root));
    larmor_status st = larmor_array_convert(root, kspace->dtype, &factor);
    if (!st) st = larmor_mul(factor, 0, kspace);
    larmor_array_free(factor);
    larmor_array_free(root);
    return st;
}

/* ---- all coils, or some at a time ---- */

typedef struct blocks {
    larmor_array *maps, *image; /* image: what one block adds to the sum over coils; NULL where one block is all */
    larmor_array *coils;        /* coil images [image..., block] */
    larmor_array *more;         /* the same of another set of maps, to be added; NULL where there is one set */
    larmor_array *filtered;     /* the same after the Toeplitz operator */
    larmor_op *PF[2];           /* of a full block, and of the last one where that is smaller */
    larmor_op *toeplitz;        /* F^H W F of a full block, or NULL */
    int64_t voxels, channels, sets, block;
} blocks;

static void blocks_destroy(void *self)
{
    blocks *b = self;
    larmor_op_free(b->PF[0]);
    larmor_op_free(b->PF[1]);
    larmor_op_free(b->toeplitz);
    larmor_array_free(b->filtered);
    larmor_array_free(b->more);
    larmor_array_free(b->maps);
    larmor_array_free(b->image);
    larmor_array_free(b->coils);
    free(b);
}

/* Of so many channels of one set. */
static size_t set_bytes(const blocks *b, int64_t channels)
{
    return (size_t)(b->voxels * channels) * larmor_dtype_size(b->maps->dtype);
}

/* What to do with a block of coils, whose maps of the first set begin at `maps`. part: of y, where there is one. */
typedef larmor_status (*block_step)(blocks *b, larmor_op *PF, const void *maps, larmor_array *coils,
                                    const larmor_array *x, larmor_array *part, larmor_array *sum);

static larmor_status for_blocks(blocks *b, block_step step, const larmor_array *x, const larmor_array *y,
                                larmor_array *sum)
{
    if (sum && b->image) LMR_TRY(larmor_zero(sum));
    for (int64_t first = 0; first < b->channels; first += b->block) {
        const int64_t rest = b->channels - first, count = rest < b->block ? rest : b->block;
        const void *maps = (const char *)b->maps->data + set_bytes(b, first);
        larmor_array *coils = NULL, *part = NULL;
        larmor_status st = larmor_array_slice(b->coils, 0, count, &coils);
        /* the view is written only where the caller owns y, or else only read */
        if (!st && y) st = larmor_array_slice(y, first, count, &part);
        if (!st) st = step(b, b->PF[count < b->block], maps, coils, x, part, sum);
        larmor_array_free(part);
        larmor_array_free(coils);
        if (st) return st;
    }
    return LARMOR_OK;
}

/* coils <- the sum over the sets of their maps times their images */
static larmor_status spread_coils(const blocks *b, const void *maps, const larmor_array *x, larmor_array *coils)
{
    const int64_t count = coils->shape.dim[coils->shape.ndim - 1];
    const lmr_vec *vec = lmr_vec_of(x);
    LMR_TRY(vec->expand(x->dev->ctx, b->voxels, count, maps, x->data, coils->data));
    for (int64_t m = 1; m < b->sets; m++) {
        const char *image = (const char *)x->data + (size_t)m * set_bytes(b, 1);
        maps = (const char *)maps + set_bytes(b, b->channels);
        LMR_TRY(vec->expand(x->dev->ctx, b->voxels, count, maps, image, b->more->data));
        LMR_TRY(vec->axpby(x->dev->ctx, b->voxels * count, 1, b->more->data, 1, coils->data));
    }
    return LARMOR_OK;
}

static larmor_status add_coils(const blocks *b, const void *maps, const larmor_array *coils, larmor_array *sum)
{
    const int64_t count = coils->shape.dim[coils->shape.ndim - 1];
    const lmr_vec *vec = lmr_vec_of(sum);
    char *image = sum->data;
    for (int64_t m = 0; m < b->sets; m++) {
        void *part = b->image ? b->image->data : image;
        LMR_TRY(vec->combine(sum->dev->ctx, b->voxels, count, maps, coils->data, part));
        if (b->image) LMR_TRY(vec->axpby(sum->dev->ctx, b->voxels, 1, part, 1, image));
        maps = (const char *)maps + set_bytes(b, b->channels);
        image += set_bytes(b, 1);
    }
    return LARMOR_OK;
}

static larmor_status forward_step(blocks *b, larmor_op *PF, const void *maps, larmor_array *coils,
                                  const larmor_array *x, larmor_array *part, larmor_array *sum)
{
    (void)sum;
    LMR_TRY(spread_coils(b, maps, x, coils));
    return larmor_op_forward(PF, coils, part);
}

static larmor_status adjoint_step(blocks *b, larmor_op *PF, const void *maps, larmor_array *coils,
                                  const larmor_array *x, larmor_array *part, larmor_array *sum)
{
    (void)x;
    LMR_TRY(larmor_op_adjoint(PF, part, coils));
    return add_coils(b, maps, coils, sum);
}

/* The Toeplitz operator takes a full block always: a smaller last one leaves behind it what was there. */
static larmor_status toeplitz_step(blocks *b, larmor_op *PF, const void *maps, larmor_array *coils,
                                   const larmor_array *x, larmor_array *part, larmor_array *sum)
{
    (void)PF;
    (void)part;
    larmor_array *filtered;
    LMR_TRY(spread_coils(b, maps, x, coils));
    LMR_TRY(larmor_op_forward(b->toeplitz, b->coils, b->filtered));
    LMR_TRY(larmor_array_slice(b->filtered, 0, coils->shape.dim[coils->shape.ndim - 1], &filtered));
    const larmor_status st = add_coils(b, maps, filtered, sum);
    larmor_array_free(filtered);
    return st;
}

static larmor_status normal_step(blocks *b, larmor_op *PF, const void *maps, larmor_array *coils,
                                 const larmor_array *x, larmor_array *part, larmor_array *sum)
{
    (void)part;
    larmor_array *inner;
    LMR_TRY(larmor_array_create(coils->dev, coils->dtype, coils->shape, &inner));
    larmor_status st;
    LMR_OR(done, spread_coils(b, maps, x, coils));
    LMR_OR(done, larmor_op_normal(PF, coils, inner));
    LMR_OR(done, add_coils(b, maps, inner, sum));
done:
    larmor_array_free(inner);
    return st;
}

static larmor_status blocks_forward(void *self, const larmor_array *x, larmor_array *y)
{
    return for_blocks(self, forward_step, x, y, NULL);
}

static larmor_status blocks_adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    return for_blocks(self, adjoint_step, NULL, y, x);
}

static larmor_status blocks_normal(void *self, const larmor_array *x, larmor_array *z)
{
    blocks *b = self;
    return for_blocks(b, b->toeplitz ? toeplitz_step : normal_step, x, NULL, z);
}

/* ---- Toeplitz or not ---- */

static const larmor_op_impl plain = {"sense", blocks_forward, blocks_adjoint, blocks_normal, blocks_destroy},
                            quick = {"sense-toeplitz", blocks_forward, blocks_adjoint, blocks_normal, blocks_destroy};

int larmor_sense_uses_toeplitz(const larmor_op *A)
{
    return A && larmor_op_name(A) == quick.name;
}

/* Whether the normal map is to be Toeplitz, whatever the memory; MAYBE: to be timed against forward map and adjoint.
 * of_nufft: what these take of the time of the NUFFT's. */
enum { TOEPLITZ_NO, TOEPLITZ_YES, TOEPLITZ_MAYBE };
static int wants_toeplitz(const larmor_problem *p, const larmor_sense_opts *opts, double of_nufft)
{
    const double promising = 3; /* the model is rough, and making what loses costs as much as several normal maps */
    if (opts && opts->toeplitz) return opts->toeplitz > 0 ? TOEPLITZ_YES : TOEPLITZ_NO;
    const larmor_nufft_opts all = nufft_of(p, opts, p->coils);
    const double ratio = lmr_toeplitz_ratio(&all, p->samples, opts && opts->iters > 0 ? opts->iters : 10) / of_nufft;
    if (all.effort == LARMOR_PLAN_EXHAUSTIVE && isfinite(ratio)) return TOEPLITZ_MAYBE;
    if (all.effort && ratio < promising) return TOEPLITZ_MAYBE;
    return ratio < 1 ? TOEPLITZ_YES : TOEPLITZ_NO;
}

/* Of fill_blocks and the three maps; toeplitz: how the normal map is done. */
static larmor_status blocks_bytes(const larmor_device *dev, const larmor_problem *p, const larmor_sense_opts *opts,
                                  int toeplitz, double *bytes)
{
    const int64_t block = block_of(p, opts), rest = p->coils % block;
    const larmor_nufft_opts full = nufft_of(p, opts, block), last = nufft_of(p, opts, rest);
    const double image = lmr_bytes_of(p->dtype, p->image);
    const double samples = lmr_bytes_of(p->dtype, LARMOR_SHAPE(p->samples));
    double total = 0, making = 0, held = 0;
    LMR_TRY(lmr_bytes_add_nufft(dev, &full, p->samples, &total));
    if (rest) LMR_TRY(lmr_bytes_add_nufft(dev, &last, p->samples, &total));
    /* the normal map holds coil images before and after, and samples between if it goes that way, be it to be timed;
     * with weights on both sides of them */
    const int weights = p->weighted ? 1 : 0, between = toeplitz == TOEPLITZ_YES ? weights : weights + 1;
    total += 2 * image * (double)block + between * samples * (double)block;
    if (p->weighted) total += samples * (double)rest + samples / 2; /* the last block's product; their root */
    if (block < p->coils) total += image;
    if (p->sets > 1) total += image * (double)block;
    if (toeplitz) {
        LMR_TRY(lmr_toeplitz_bytes(dev, &full, p->samples, &making, &held));
        making += 2 * samples;
    }
    *bytes = fmax(total + held, making);
    return LARMOR_OK;
}

larmor_status larmor_sense_memory(const larmor_device *dev, const larmor_problem *p, const larmor_sense_opts *opts,
                                  int64_t *bytes)
{
    double total, toeplitz = 0;
    LMR_NEED(bytes);
    LMR_TRY(lmr_bytes_begin(dev, p, bytes));
    const int wanted = wants_toeplitz(p, opts, 1), sure = opts && opts->toeplitz > 0;
    LMR_TRY(blocks_bytes(dev, p, opts, TOEPLITZ_NO, &total));
    if (wanted) LMR_TRY(blocks_bytes(dev, p, opts, wanted, &toeplitz));
    return lmr_bytes_store(sure ? toeplitz : fmax(total, toeplitz), bytes);
}

/* What is wanted, unless it is only a wish and the memory for it is not free. */
static larmor_status choose_toeplitz(larmor_device *dev, const larmor_problem *p, const larmor_sense_opts *opts,
                                     int is_stack, int *use)
{
    int64_t available, total, needed;
    *use = wants_toeplitz(p, opts, is_stack ? OF_VOLUME : 1);
    if (!*use || opts->toeplitz) return LARMOR_OK;
    LMR_TRY(larmor_device_memory(dev, &available, &total));
    LMR_TRY(larmor_sense_memory(dev, p, opts, &needed));
    if (available > 0 && needed > available) *use = TOEPLITZ_NO;
    return LARMOR_OK;
}

/* The Toeplitz operator only stays if it is quicker than the NUFFTs of a full block. */
static larmor_status race(blocks *b)
{
    int quicker;
    const larmor_array *x = b->coils;
    LMR_TRY(lmr_vec_of(x)->random(x->dev->ctx, larmor_array_count(x), 1, x->data));
    LMR_TRY(lmr_toeplitz_race(b->toeplitz, b->PF[0], x, b->filtered, &quicker));
    if (quicker) return LARMOR_OK;
    larmor_op_free(b->toeplitz);
    larmor_array_free(b->filtered);
    b->toeplitz = NULL;
    b->filtered = NULL;
    return LARMOR_OK;
}

static larmor_status fill_blocks(blocks *b, larmor_array *maps, const larmor_problem *p,
                                 const larmor_sense_opts *opts, larmor_array *root)
{
    const larmor_shape coils = larmor_shape_append(p->image, b->block);
    const int64_t rest = b->channels % b->block;
    int toeplitz, is_stack;
    LMR_TRY(find_stack(opts->traj, p, &is_stack));
    LMR_TRY(choose_toeplitz(maps->dev, p, opts, is_stack, &toeplitz));
    if (toeplitz) { /* first, as making it takes memory that is free again after */
        const larmor_nufft_opts nufft = nufft_of(p, opts, b->block);
        LMR_TRY(larmor_op_toeplitz(maps->dev, &nufft, opts->traj, opts->weights, &b->toeplitz));
        LMR_TRY(larmor_array_create(maps->dev, maps->dtype, coils, &b->filtered));
    }
    LMR_TRY(op_samples(maps, p, opts, root, is_stack, b->block, &b->PF[0]));
    if (rest) LMR_TRY(op_samples(maps, p, opts, root, is_stack, rest, &b->PF[1]));
    if (b->block < b->channels) LMR_TRY(larmor_array_create(maps->dev, maps->dtype, p->image, &b->image));
    LMR_TRY(larmor_array_create(maps->dev, maps->dtype, coils, &b->coils));
    if (b->sets > 1) LMR_TRY(larmor_array_create(maps->dev, maps->dtype, coils, &b->more));
    return toeplitz == TOEPLITZ_MAYBE ? race(b) : LARMOR_OK;
}

static larmor_status op_blocks(larmor_array *maps, const larmor_problem *p, const larmor_sense_opts *opts,
                               larmor_array *root, larmor_op **A)
{
    blocks *b = calloc(1, sizeof *b);
    if (!b) return LMR_NO_MEMORY();
    *b = (blocks){.maps = larmor_array_ref(maps),
                  .voxels = larmor_shape_count(p->image),
                  .channels = p->coils,
                  .sets = p->sets ? p->sets : 1,
                  .block = block_of(p, opts)};
    larmor_status st;
    LMR_OR(fail, fill_blocks(b, maps, p, opts, root));
    larmor_shape kspace = larmor_op_out_shape(b->PF[0]);
    kspace.dim[kspace.ndim - 1] = b->channels;
    const larmor_shape image = p->sets ? larmor_shape_append(p->image, p->sets) : p->image;
    LMR_OR(fail, larmor_op_create(maps->dev, b->toeplitz ? &quick : &plain, b, maps->dtype, image, kspace, A));
    return LARMOR_OK;
fail:
    blocks_destroy(b);
    return st;
}

larmor_status larmor_op_sense(larmor_array *maps, const larmor_sense_opts *opts, larmor_op **A)
{
    if (!A) return LMR_FAIL(LARMOR_ERR_ARG, "larmor_op_sense: A is NULL");
    *A = NULL;
    if (!opts || !opts->traj) return LMR_FAIL(LARMOR_ERR_ARG, "sense: no trajectory given, expected opts.traj");
    if (opts->block < 0)
        return LMR_FAIL(LARMOR_ERR_ARG, "sense: block is %lld coils, expected at least 0", (long long)opts->block);
    if (opts->iters < 0)
        return LMR_FAIL(LARMOR_ERR_ARG, "sense: iters is %lld, expected at least 0", (long long)opts->iters);
    larmor_op *S = NULL;
    larmor_array *root = NULL;
    larmor_status st;
    LMR_OR(done, larmor_op_coils(maps, &S)); /* which checks them */
    const int64_t points = opts->traj->shape.ndim > 0 ? opts->traj->shape.dim[0] : 0;
    const int has_sets = maps->shape.ndim == points + 2, ndim = maps->shape.ndim - 1 - has_sets;
    if (ndim > 3 || (points >= 1 && points <= 3 && ndim != points)) {
        st =
            LMR_FAIL(LARMOR_ERR_SHAPE,
                     "sense: maps are %s, expected 1 to 3 dimensions, as many as the trajectory has, coils, and sets "
                     "if any; the trajectory is %s",
                     lmr_describe(maps).s, lmr_describe(opts->traj).s);
        goto done;
    }
    const larmor_problem p = {.image = larmor_shape_of(ndim, maps->shape.dim),
                              .samples = points > 0 ? larmor_array_count(opts->traj) / points : 0,
                              .coils = maps->shape.dim[ndim],
                              .dtype = maps->dtype,
                              .weighted = opts->weights != NULL,
                              .sets = has_sets ? maps->shape.dim[ndim + 1] : 0};
    if (opts->weights)
        LMR_OR(done, root_of(opts->weights, maps->dev, maps->dtype, lmr_weights_shape(opts->traj), &root));
    LMR_OR(done, op_blocks(maps, &p, opts, root, A));
done:
    larmor_array_free(root);
    larmor_op_free(S);
    return st;
}
