/* SENSE as a product of operators: root of the weights, NUFFT or FFT, coils (Pruessmann et al. 2001), for all
 * coils at once or for some at a time. The normal map has no root in it, and may be Toeplitz between the coils.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/conv_shape.h"
#include "core/core.h"
#include "nufft/toeplitz.h"
#include "recon/bytes.h"
#include "recon/field/off_resonance.h"
#include "recon/inputs.h"
#include "recon/ops/ops.h"

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
 * whether the partitions share their angles or not. GPUs take them as well, where it was not measured. */
#define PLANES_COST_OVER_VOLUME 0.5

/* 1 if the readouts are in partitions along z. A few of them are looked at before all are. */
static larmor_status find_stack(const larmor_array *traj, const larmor_problem *p, int *is_stack)
{
    enum { FEW = 9 };
    *is_stack = 0;
    if (p->image.ndim != 3 || traj->shape.ndim != 3 || traj->shape.dim[2] < 1) return LARMOR_OK;
    for (int i = 0; i < FEW; i++) {
        LMR_OWN(larmor_array, one, larmor_array_slice(traj, i * (traj->shape.dim[2] - 1) / (FEW - 1), 1, &one));
        LMR_TRY(larmor_traj_is_stack(one, p->image.dim[2], is_stack, NULL));
        if (!*is_stack) return LARMOR_OK;
    }
    return larmor_traj_is_stack(traj, p->image.dim[2], is_stack, NULL);
}

/* Coils that go through the Fourier transform at a time. */
static int64_t block_of(const larmor_problem *p, const larmor_sense_opts *opts)
{
    return opts && opts->block > 0 && opts->block < p->coils ? opts->block : p->coils;
}

/* That of so many coils. */
static larmor_nufft_opts nufft_of(const larmor_problem *p, const larmor_sense_opts *opts, int64_t coils)
{
    larmor_nufft_opts nufft = {
        .type = 2, .ndim = p->image.ndim, .batch = coils, .tol = opts ? opts->nufft_tol : 0, .dtype = p->dtype};
    for (int d = 0; d < p->image.ndim; d++) nufft.modes[d] = p->image.dim[d];
    if (opts) nufft.effort = opts->effort;
    return nufft;
}

/* What the Fourier transform is done by. */
typedef enum way { BY_NUFFTS, BY_PLANES, BY_FFTS, BY_DISPLACED_VOXELS } way;

static larmor_status find_way(const larmor_problem *p, const larmor_sense_opts *opts, way *by)
{
    const larmor_nufft_opts nufft = nufft_of(p, opts, p->coils);
    int is;
    *by = opts->displacement ? BY_DISPLACED_VOXELS : BY_NUFFTS;
    if (opts->displacement) return LARMOR_OK;
    LMR_TRY(lmr_is_cartesian(&nufft, opts->traj, &is));
    if (is && !opts->off_resonance) { /* with phases its normal map is none of FFTs alone */
        *by = BY_FFTS;
        return LARMOR_OK;
    }
    LMR_TRY(find_stack(opts->traj, p, &is));
    if (is) *by = BY_PLANES;
    return LARMOR_OK;
}

/* sqrt(W) F of `coils` coils; root may be NULL. */
static larmor_status op_samples(larmor_array *maps, const larmor_problem *p, const larmor_sense_opts *opts,
                                larmor_array *root, way by, int64_t coils, larmor_op **PF)
{
    *PF = NULL;
    const larmor_nufft_opts nufft = nufft_of(p, opts, coils);
    LMR_OWNED(larmor_op) *F = NULL, *P = NULL;
    larmor_op *B;
    if (by == BY_FFTS)
        LMR_TRY(larmor_op_cartesian(maps->dev, &nufft, opts->traj, &F));
    else if (by == BY_PLANES)
        LMR_TRY(larmor_op_stack_of_stars(maps->dev, &nufft, opts->traj, &F));
    else if (by == BY_DISPLACED_VOXELS)
        LMR_TRY(larmor_op_nufft_displaced(maps->dev, &nufft, opts->traj, opts->displacement, &F));
    else
        LMR_TRY(larmor_op_nufft(maps->dev, &nufft, opts->traj, &F));
    if (opts->off_resonance) {
        LMR_TRY(larmor_op_segments(F, opts->off_resonance, &B));
        larmor_op_free(F);
        F = B;
    }
    if (root) {
        LMR_TRY(lmr_op_weigh("weights", root, maps->dtype, coils, &P));
        LMR_TRY(larmor_op_chain(P, F, PF));
    } else {
        *PF = larmor_op_ref(F);
    }
    return LARMOR_OK;
}

larmor_status larmor_sense_weigh(const larmor_array *weights, larmor_array *kspace)
{
    if (!weights) return LARMOR_OK;
    LMR_REFUSE(!kspace || !lmr_is_complex(kspace->dtype) || kspace->shape.ndim < 2, LARMOR_ERR_SHAPE,
               "sense: k-space is %s, expected complex [samples, readouts, coils]",
               kspace ? lmr_describe(kspace).s : "missing");
    const int last = kspace->shape.ndim - 1;
    LMR_OWNED(larmor_array) *root = NULL, *factor = NULL;
    LMR_TRY(root_of(weights, kspace->dev, kspace->dtype, larmor_shape_of(last, kspace->shape.dim), &root));
    LMR_TRY(larmor_array_convert(root, kspace->dtype, &factor));
    return larmor_mul(factor, 0, kspace);
}

/* ---- the coils ---- */

/* S of `count` coils from `first` on: with several sets of maps the sum over the sets, each of its own image. */
static larmor_status op_block(larmor_array *maps, const larmor_problem *p, int64_t first, int64_t count,
                              larmor_array *more, larmor_op **S)
{
    const int sets = p->sets ? (int)p->sets : 1;
    LMR_HEAP larmor_op **of_set = calloc((size_t)sets, sizeof *of_set);
    LMR_OWNED(larmor_array) *set = NULL, *block = NULL;
    larmor_status st;
    *S = NULL;
    if (!of_set) LMR_OR(done, LMR_NO_MEMORY());
    for (int m = 0; m < sets; m++) {
        LMR_FREE(block, set);
        block = set = NULL;
        if (p->sets)
            LMR_OR(done, larmor_array_part(maps, m, 1, larmor_shape_append(p->image, p->coils), &set));
        else
            set = larmor_array_ref(maps);
        LMR_OR(done, larmor_array_slice(set, first, count, &block));
        LMR_OR(done, larmor_op_coils(block, &of_set[m]));
    }
    if (p->sets)
        LMR_OR(done, lmr_op_columns(of_set, sets, more, S));
    else
        *S = larmor_op_ref(of_set[0]);
    st = LARMOR_OK;
done:
    for (int m = 0; of_set && m < sets; m++) larmor_op_free(of_set[m]);
    return st;
}

/* ---- Toeplitz or not ---- */

static const char plain[] = "sense", quick[] = "sense-toeplitz", by_ffts[] = "sense-cartesian";

const char lmr_sense_states_toeplitz[] = "sense-states-toeplitz";

int larmor_sense_uses_toeplitz(const larmor_op *A)
{
    return A && (larmor_op_name(A) == quick || larmor_op_name(A) == lmr_sense_states_toeplitz);
}

/* 1 if one device of one process has all of A. */
static int is_whole(const larmor_op *A)
{
    const char *name = A ? larmor_op_name(A) : NULL;
    return (name == plain || name == quick || name == by_ffts) && lmr_op_blocks_count(A);
}

static larmor_status expect_whole(const larmor_op *A)
{
    if (is_whole(A)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_UNSUPPORTED,
                    "sense: the operator is %s, expected one of larmor_op_sense whose coils are on one device",
                    A ? larmor_op_name(A) : "missing");
}

/* Whether the normal map is to be Toeplitz, whatever the memory; MAYBE: to be timed against forward map and adjoint.
 * of_nufft: what these take of the time of the NUFFT's. */
enum { TOEPLITZ_NO, TOEPLITZ_YES, TOEPLITZ_MAYBE };
static int wants_toeplitz(const larmor_problem *p, const larmor_sense_opts *opts, double of_nufft)
{
    const int products = lmr_model_products(opts ? opts->off_resonance : NULL);
    int segments = 1, terms = 1;
    if (opts && opts->displacement) return TOEPLITZ_NO; /* its normal map is no convolution */
    if (products > LMR_CONV_MOST_MIXED) return TOEPLITZ_NO;
    if (!products && (lmr_segments_count(opts, &segments, &terms) || !terms)) return TOEPLITZ_NO;
    of_nufft *= (double)segments / terms;
    const double promising = 3; /* the model is rough, and making what loses costs as much as several normal maps */
    if (opts && opts->toeplitz) return opts->toeplitz > 0 ? TOEPLITZ_YES : TOEPLITZ_NO;
    const larmor_nufft_opts all = nufft_of(p, opts, p->coils);
    const int64_t iters = opts && opts->iters > 0 ? opts->iters : 10;
    const double of_all = products ? lmr_model_toeplitz_ratio(&all, p->samples, iters, products)
                                   : lmr_toeplitz_ratio(&all, p->samples, iters);
    const double ratio = of_all / of_nufft;
    if (all.effort == LARMOR_PLAN_EXHAUSTIVE && isfinite(ratio)) return TOEPLITZ_MAYBE;
    if (all.effort && ratio < promising) return TOEPLITZ_MAYBE;
    return ratio < 1 ? TOEPLITZ_YES : TOEPLITZ_NO;
}

/* The most samples at one place of the grid, where nobody has counted them. */
static int64_t repeats_of(const larmor_problem *p)
{
    return p->repeats > 0 ? p->repeats : p->samples / larmor_shape_count(p->image) + 2;
}

/* A type 3 whose points and targets have such widths; k reaches no further than the grid's, if it is not there. */
static larmor_status add_displaced_bytes(const larmor_device *dev, const larmor_problem *p,
                                         const larmor_sense_opts *opts, const larmor_nufft_opts *nufft, double *total)
{
    larmor_nufft_opts o = *nufft;
    LMR_HEAP double *d = NULL, *k = NULL;
    const int64_t voxels = larmor_shape_count(p->image), nd = p->image.ndim;
    LMR_TRY(larmor_array_download(opts->displacement, LARMOR_F64, &d));
    if (opts->traj) LMR_TRY(larmor_array_download(opts->traj, LARMOR_F64, &k));
    o.type = 3;
    for (int64_t a = 0; a < nd; a++) {
        const double n = (double)p->image.dim[a];
        double far = 0;
        double reach = k ? 0.5 : n / 2;
        for (int64_t i = 0; i < voxels; i++) far = fmax(far, fabs(d[i + voxels * a]));
        for (int64_t j = 0; k && j < p->samples; j++) reach = fmax(reach, fabs(k[a + nd * j]));
        o.modes[a] = (int64_t)fmin(ceil((n + 2 * far) / n * 2 * reach) + 1, 0x1p30);
    }
    return lmr_bytes_add_nufft(dev, &o, p->samples + voxels, total);
}

/* Of F for so many coils. */
static larmor_status add_fourier_bytes(const larmor_device *dev, const larmor_problem *p,
                                       const larmor_sense_opts *opts, way by, int64_t coils, double *total)
{
    const larmor_nufft_opts nufft = nufft_of(p, opts, coils);
    int64_t bytes;
    double of_grid;
    switch (by) {
    case BY_NUFFTS:
        return lmr_bytes_add_nufft(dev, &nufft, p->samples, total);
    case BY_DISPLACED_VOXELS:
        return add_displaced_bytes(dev, p, opts, &nufft, total);
    case BY_PLANES:
        LMR_TRY(larmor_stack_of_stars_memory(dev, &nufft, opts->traj, &bytes));
        *total += (double)bytes;
        break;
    case BY_FFTS:
        LMR_TRY(lmr_cartesian_bytes(dev, &nufft, p->samples, repeats_of(p), &of_grid));
        *total += of_grid;
        break;
    }
    return LARMOR_OK;
}

/* Of F^H W F of a block, apart from the forward map. */
static larmor_status normal_bytes(const larmor_device *dev, const larmor_problem *p, const larmor_sense_opts *opts,
                                  way by, double *making, double *held)
{
    const larmor_nufft_opts full = nufft_of(p, opts, block_of(p, opts));
    if (by == BY_FFTS) return lmr_cartesian_normal_bytes(dev, &full, making, held);
    const int products = lmr_model_products(opts ? opts->off_resonance : NULL);
    int segments, terms;
    if (products) {
        LMR_TRY(lmr_toeplitz_mixed_bytes(dev, &full, p->samples, 1, products, 1, making, held));
        *making += lmr_bytes_of(LARMOR_C64, LARMOR_SHAPE(p->samples, products + 1));
        *held += lmr_bytes_of(p->dtype, p->image) * products * (1 + 2 * (double)full.batch);
        return LARMOR_OK;
    }
    LMR_TRY(lmr_segments_count(opts, &segments, &terms));
    LMR_TRY(lmr_toeplitz_bytes(dev, &full, p->samples, terms, making, held));
    *making += 2 * lmr_bytes_of(p->dtype, LARMOR_SHAPE(p->samples));
    return LARMOR_OK;
}

/* Of op_blocks and the three maps; apart: how the normal map is done. */
static larmor_status blocks_bytes(const larmor_device *dev, const larmor_problem *p, const larmor_sense_opts *opts,
                                  way by, int apart, double *bytes)
{
    const int64_t block = block_of(p, opts), rest = p->coils % block;
    const double image = lmr_bytes_of(p->dtype, p->image);
    const double samples = lmr_bytes_of(p->dtype, LARMOR_SHAPE(p->samples));
    double total = 0, making = 0, held = 0;
    LMR_TRY(add_fourier_bytes(dev, p, opts, by, block, &total));
    if (rest) LMR_TRY(add_fourier_bytes(dev, p, opts, by, rest, &total));
    /* the normal map holds coil images before and after, and samples between if it goes that way, be it to be timed;
     * with weights on both sides of them */
    const int weights = p->weighted ? 1 : 0;
    const int between = apart == TOEPLITZ_YES ? weights : weights + 1;
    total += 2 * image * (double)block + between * samples * (double)block;
    if (p->weighted) total += samples * (double)rest + samples / 2;         /* the last block's product; their root */
    if (block < p->coils) total += image * (p->sets ? (double)p->sets : 1); /* of one block */
    if (p->sets > 1) total += image * (double)block;
    if (apart) LMR_TRY(normal_bytes(dev, p, opts, by, &making, &held));
    if (opts && opts->off_resonance) {
        const larmor_shape coils = larmor_shape_append(p->image, block), rows = LARMOR_SHAPE(p->samples, block);
        total += lmr_segments_bytes(opts->off_resonance);
        total += (rest ? 2 : 1) * lmr_segments_op_bytes(opts->off_resonance, p->dtype, coils, rows);
        if (apart) held += 2 * image * (double)block;
    }
    *bytes = fmax(total + held, making);
    return LARMOR_OK;
}

static larmor_status sense_bytes(const larmor_device *dev, const larmor_problem *p, const larmor_sense_opts *opts,
                                 way by, int64_t *bytes)
{
    double total, toeplitz = 0;
    if (by == BY_FFTS) {
        LMR_TRY(blocks_bytes(dev, p, opts, by, TOEPLITZ_YES, &total));
        return lmr_bytes_store(total, bytes);
    }
    const int wanted = wants_toeplitz(p, opts, by == BY_PLANES ? PLANES_COST_OVER_VOLUME : 1);
    const int sure = opts && opts->toeplitz > 0;
    LMR_TRY(blocks_bytes(dev, p, opts, by, TOEPLITZ_NO, &total));
    if (wanted) LMR_TRY(blocks_bytes(dev, p, opts, by, wanted, &toeplitz));
    return lmr_bytes_store(sure ? toeplitz : fmax(total, toeplitz), bytes);
}

larmor_status lmr_sense_alone_memory(const larmor_device *dev, const larmor_problem *p, const larmor_sense_opts *opts,
                                     int64_t *bytes)
{
    way by = p->repeats > 0 && !(opts && opts->off_resonance) ? BY_FFTS : BY_NUFFTS;
    if (opts && (opts->traj || opts->displacement)) LMR_TRY(find_way(p, opts, &by));
    return sense_bytes(dev, p, opts, by, bytes);
}

/* What is wanted, unless it is only a wish and the memory for it is not free. Of FFTs the normal map is no larger
 * than the image, and always wanted. */
static larmor_status choose_toeplitz(larmor_device *dev, const larmor_problem *p, const larmor_sense_opts *opts,
                                     way by, int *use)
{
    int64_t available, total, needed;
    *use = TOEPLITZ_YES;
    if (by == BY_FFTS) return LARMOR_OK;
    *use = wants_toeplitz(p, opts, by == BY_PLANES ? PLANES_COST_OVER_VOLUME : 1);
    if (!*use || opts->toeplitz) return LARMOR_OK;
    LMR_TRY(larmor_device_memory(dev, &available, &total));
    LMR_TRY(sense_bytes(dev, p, opts, by, &needed));
    if (available > 0 && needed > available) *use = TOEPLITZ_NO;
    return LARMOR_OK;
}

/* The Toeplitz operator only stays if it is quicker than the NUFFTs of a full block. */
static larmor_status race(const larmor_problem *p, larmor_op *Q, larmor_op **T)
{
    int quicker;
    LMR_OWN(larmor_array, x, larmor_array_create(larmor_op_device(Q), p->dtype, larmor_op_in_shape(Q), &x));
    LMR_OWN(larmor_array, y, larmor_array_create(larmor_op_device(Q), p->dtype, larmor_op_in_shape(Q), &y));
    LMR_TRY(lmr_vec_of(x)->random(x->dev->ctx, larmor_array_count(x), 1, x->data));
    LMR_TRY(lmr_toeplitz_race(*T, Q, x, y, &quicker));
    if (!quicker) LMR_CLEAR(*T);
    return LARMOR_OK;
}

/* Q = sqrt(W) F of a full block and, where that is smaller, of the last one; T = F^H W F of a full block, or NULL. */
static larmor_status samples_and_normal(larmor_array *maps, const larmor_problem *p, const larmor_sense_opts *opts,
                                        larmor_array *root, way by, larmor_op *Q[2], larmor_op **T)
{
    const int64_t block = block_of(p, opts), rest = p->coils % block;
    const larmor_nufft_opts nufft = nufft_of(p, opts, block);
    int toeplitz;
    LMR_TRY(choose_toeplitz(maps->dev, p, opts, by, &toeplitz));
    if (by == BY_FFTS) /* first, as making it takes memory that is free again after */
        LMR_TRY(larmor_op_cartesian_normal(maps->dev, &nufft, opts->traj, opts->weights, T));
    else if (toeplitz && opts->off_resonance)
        LMR_TRY(larmor_op_segments_toeplitz(&nufft, opts->traj, opts->weights, opts->off_resonance, T));
    else if (toeplitz)
        LMR_TRY(larmor_op_toeplitz(maps->dev, &nufft, opts->traj, opts->weights, T));
    LMR_TRY(op_samples(maps, p, opts, root, by, block, &Q[0]));
    if (rest) LMR_TRY(op_samples(maps, p, opts, root, by, rest, &Q[1]));
    return toeplitz == TOEPLITZ_MAYBE ? race(p, Q[0], T) : LARMOR_OK;
}

/* A block's S^H N S, coil by coil. */
static larmor_status normal_of_coils(larmor_op *N, larmor_op *S, const larmor_array *x, larmor_array *between,
                                     larmor_array *z, int *done)
{
    const larmor_array *maps = lmr_coils_maps(S);
    *done = 0;
    return maps ? lmr_toeplitz_coils(N, maps, x, between, z, done) : LARMOR_OK;
}

/* A = [Q S_0 x, Q S_1 x, ...], S_b of the coils of block b. */
static larmor_status op_blocks(larmor_array *maps, const larmor_problem *p, const larmor_sense_opts *opts,
                               larmor_array *root, larmor_op **A)
{
    const int64_t block = block_of(p, opts), count = (p->coils + block - 1) / block;
    larmor_op *Q[2] = {NULL, NULL}, *T = NULL, **left = calloc((size_t)count, sizeof *left);
    larmor_op **S = calloc((size_t)count, sizeof *S);
    LMR_OWNED(larmor_array) *more = NULL;
    larmor_status st;
    way by;
    if (!left || !S) LMR_OR(done, LMR_NO_MEMORY());
    LMR_OR(done, find_way(p, opts, &by));
    LMR_OR(done, samples_and_normal(maps, p, opts, root, by, Q, &T));
    if (p->sets > 1)
        LMR_OR(done, larmor_array_create(maps->dev, maps->dtype, larmor_shape_append(p->image, block), &more));
    for (int64_t b = 0; b < count; b++) {
        const int64_t rest = p->coils - b * block;
        const int64_t own = rest < block ? rest : block;
        left[b] = Q[own < block];
        LMR_OR(done, op_block(maps, p, b * block, own, more, &S[b]));
    }
    const char *name = by == BY_FFTS ? by_ffts : plain;
    if (T && by != BY_FFTS) name = quick;
    LMR_OR(done, lmr_op_blocks(name, left, S, (int)count, T, A));
    lmr_op_blocks_fuse(*A, normal_of_coils);
done:
    for (int64_t b = 0; S && b < count; b++) larmor_op_free(S[b]);
    LMR_FREE(Q[0], Q[1], T, S, left);
    return st;
}

larmor_status lmr_sense_check(larmor_array *maps, const larmor_sense_opts *opts, larmor_problem *p)
{
    LMR_REFUSE(!opts || !opts->traj, LARMOR_ERR_ARG, "sense: no trajectory given, expected opts.traj");
    LMR_REFUSE(opts->block < 0, LARMOR_ERR_ARG, "sense: block is %lld coils, expected at least 0",
               (long long)opts->block);
    LMR_REFUSE(opts->iters < 0, LARMOR_ERR_ARG, "sense: iters is %lld, expected at least 0", (long long)opts->iters);
    LMR_OWN(larmor_op, S, larmor_op_coils(maps, &S)); /* which checks them */
    const int64_t points = opts->traj->shape.ndim > 0 ? opts->traj->shape.dim[0] : 0;
    const int has_sets = maps->shape.ndim == points + 2, ndim = maps->shape.ndim - 1 - has_sets;
    LMR_REFUSE(ndim > 3 || larmor_array_count(maps) < 1 || (points >= 1 && points <= 3 && ndim != points),
               LARMOR_ERR_SHAPE,
               "sense: maps are %s, expected 1 to 3 dimensions, as many as the trajectory has, coils, and "
               "sets if any; the trajectory is %s",
               lmr_describe(maps).s, lmr_describe(opts->traj).s);
    *p = (larmor_problem){.image = larmor_shape_of(ndim, maps->shape.dim),
                          .samples = points > 0 ? larmor_array_count(opts->traj) / points : 0,
                          .coils = maps->shape.dim[ndim],
                          .dtype = maps->dtype,
                          .weighted = opts->weights != NULL,
                          .sets = has_sets ? maps->shape.dim[ndim + 1] : 0};
    return LARMOR_OK;
}

larmor_status lmr_sense_alone(larmor_array *maps, const larmor_sense_opts *opts, larmor_op **A)
{
    larmor_problem p;
    LMR_OWNED(larmor_array) *root = NULL;
    *A = NULL;
    LMR_TRY(lmr_sense_check(maps, opts, &p));
    if (opts->weights) LMR_TRY(root_of(opts->weights, maps->dev, maps->dtype, lmr_weights_shape(opts->traj), &root));
    return op_blocks(maps, &p, opts, root, A);
}

/* ---- other maps, and the adjoint in two steps ---- */

larmor_status larmor_sense_set_maps(larmor_op *A, larmor_array *maps)
{
    LMR_TRY(expect_whole(A));
    LMR_NEED(maps);
    const int count = lmr_op_blocks_count(A);
    const larmor_shape one = lmr_op_blocks_between(A, 0);
    const int ndim = one.ndim - 1, has_sets = larmor_op_in_shape(A).ndim > ndim;
    larmor_problem p = {.image = larmor_shape_of(ndim, one.dim), .dtype = larmor_op_dtype(A)};
    for (int b = 0; b < count; b++) p.coils += lmr_op_blocks_between(A, b).dim[ndim];
    if (has_sets) p.sets = larmor_op_in_shape(A).dim[ndim];
    larmor_shape shape = larmor_shape_append(p.image, p.coils);
    if (has_sets) shape = larmor_shape_append(shape, p.sets);
    LMR_TRY(lmr_expect("sense", "maps", maps, larmor_op_device(A), p.dtype, shape));
    larmor_array *more = NULL;
    larmor_op **S = calloc((size_t)count, sizeof *S);
    larmor_status st = S ? LARMOR_OK : LMR_NO_MEMORY();
    if (!st && p.sets > 1) st = larmor_array_create(maps->dev, maps->dtype, one, &more);
    int64_t first = 0;
    for (int b = 0; b < count && !st; b++) {
        const int64_t own = lmr_op_blocks_between(A, b).dim[ndim];
        st = op_block(maps, &p, first, own, more, &S[b]);
        first += own;
    }
    if (!st) st = lmr_op_blocks_replace(A, S);
    for (int b = 0; S && b < count; b++) larmor_op_free(S[b]);
    LMR_FREE(more, S);
    return st;
}

larmor_status larmor_sense_coil_images(larmor_op *A, const larmor_array *y, larmor_array *images)
{
    LMR_TRY(expect_whole(A));
    return lmr_op_blocks_left(A, y, images);
}

larmor_status larmor_sense_combine(larmor_op *A, const larmor_array *images, larmor_array *x)
{
    LMR_TRY(expect_whole(A));
    return lmr_op_blocks_right(A, images, x);
}
