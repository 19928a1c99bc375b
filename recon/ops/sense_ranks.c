/* SENSE whose coils the ranks of several processes share: rank 0 sends to each its part of the maps, and
 * trajectory and weights to all; rows and sums are those of core/ranks/rank_rows.c. SPDX-License-Identifier:
 * Apache-2.0 */
#include "core/core.h"
#include "core/ranks/rank_rows.h"
#include "recon/ops/ops.h"

int lmr_sense_ranks(const larmor_device *dev, int64_t coils, int64_t sets, const larmor_sense_opts *opts)
{
    const int count = dev->ranks ? dev->ranks->count : 1;
    const int apart = opts && (opts->off_resonance || opts->displacement);
    return sets || apart || coils < count ? 1 : count;
}

int lmr_sense_is_served(const larmor_device *dev)
{
    return dev->ranks && dev->ranks->shared == dev;
}

/* What a row is made of; the numbers of the arrays follow by themselves. */
typedef struct recipe {
    lmr_row_order head;
    larmor_shape maps, traj, weights; /* maps: of all coils */
    larmor_dtype maps_type, traj_type, weights_type;
    int weighted;
    larmor_sense_opts opts; /* without its pointers */
} recipe;

/* The arrays of a row; maps are of its coils. */
typedef struct inputs {
    larmor_array *maps, *traj, *weights;
} inputs;

LMR_FREES(free_inputs, inputs, maps, traj, weights)

/* The coils of rank i: first .. first + count - 1. */
static int64_t coils_of(const larmor_ranks *ranks, int64_t coils, int i, int64_t *first)
{
    *first = i * coils / ranks->count;
    return (i + 1) * coils / ranks->count - *first;
}

/* Trajectory and weights to all, and from rank 0 maps to each of the others. */
static larmor_status spread(larmor_ranks *ranks, larmor_array *all_maps, const inputs *in)
{
    LMR_TRY(lmr_ranks_broadcast(ranks, in->traj));
    if (in->weights) LMR_TRY(lmr_ranks_broadcast(ranks, in->weights));
    if (ranks->number) return lmr_ranks_pass(ranks, 0, ranks->number, in->maps);
    for (int i = 1; i < ranks->count; i++) {
        int64_t first;
        const int64_t own = coils_of(ranks, all_maps->shape.dim[all_maps->shape.ndim - 1], i, &first);
        LMR_OWN(larmor_array, part, larmor_array_slice(all_maps, first, own, &part));
        LMR_TRY(lmr_ranks_pass(ranks, 0, i, part));
    }
    return LARMOR_OK;
}

/* All ranks, once each has its arrays: the row of each, and of rank 0 the operator. */
static larmor_status join(larmor_ranks *ranks, const recipe *r, larmor_array *all_maps, const inputs *in,
                          larmor_status own, larmor_op **A)
{
    LMR_OWNED(larmor_op) *row = NULL;
    larmor_sense_opts opts = r->opts;
    *A = NULL;
    LMR_TRY(lmr_ranks_agree(ranks, own, NULL, NULL));
    own = spread(ranks, all_maps, in);
    opts.traj = in->traj;
    opts.weights = in->weights;
    if (!own) own = lmr_sense_alone(in->maps, &opts, &row);
    return lmr_rows_join(ranks, r->head.id, own, row, A);
}

/* ---- rank 0 ---- */

static recipe recipe_of(larmor_ranks *ranks, const larmor_array *maps, const larmor_sense_opts *opts)
{
    recipe r;
    memset(&r, 0, sizeof r); /* all of it is sent */
    r.head.task = LMR_ROW_MAKE;
    r.head.id = lmr_rows_next(ranks);
    r.maps = maps->shape;
    r.maps_type = maps->dtype;
    r.traj = opts->traj->shape;
    r.traj_type = opts->traj->dtype;
    r.weighted = opts->weights != NULL;
    if (r.weighted) r.weights = opts->weights->shape;
    if (r.weighted) r.weights_type = opts->weights->dtype;
    r.opts.nufft_tol = opts->nufft_tol;
    r.opts.block = opts->block;
    r.opts.toeplitz = opts->toeplitz;
    r.opts.iters = opts->iters;
    r.opts.effort = opts->effort;
    return r;
}

larmor_status lmr_sense_on_ranks(larmor_array *maps, const larmor_sense_opts *opts, larmor_op **A)
{
    larmor_ranks *ranks = maps->dev->ranks;
    int64_t first;
    const int64_t own = coils_of(ranks, maps->shape.dim[maps->shape.ndim - 1], 0, &first);
    LMR_FREED_BY(free_inputs)
    inputs in = {.traj = larmor_array_ref(opts->traj), .weights = larmor_array_ref(opts->weights)};
    LMR_TRY(larmor_array_slice(maps, first, own, &in.maps));
    const recipe r = recipe_of(ranks, maps, opts);
    LMR_TRY(lmr_ranks_order(ranks, &r, sizeof r));
    return join(ranks, &r, maps, &in, LARMOR_OK, A);
}

/* ---- the others ---- */

static larmor_status make_inputs(larmor_device *dev, const larmor_ranks *ranks, const recipe *r, inputs *in)
{
    larmor_shape maps = r->maps;
    int64_t first;
    maps.dim[maps.ndim - 1] = coils_of(ranks, maps.dim[maps.ndim - 1], ranks->number, &first);
    LMR_TRY(larmor_array_create(dev, r->maps_type, maps, &in->maps));
    LMR_TRY(larmor_array_create(dev, r->traj_type, r->traj, &in->traj));
    return r->weighted ? larmor_array_create(dev, r->weights_type, r->weights, &in->weights) : LARMOR_OK;
}

/* What fails here is said by rank 0. */
static larmor_status make_row(larmor_device *dev, larmor_ranks *ranks, const recipe *r)
{
    LMR_FREED_BY(free_inputs) inputs in = {.maps = NULL};
    larmor_op *none;
    const larmor_status own = make_inputs(dev, ranks, r, &in);
    const larmor_status st = join(ranks, r, NULL, &in, own, &none);
    return st == LARMOR_STOPPED ? LARMOR_OK : st;
}

/* *end: 1 if rank 0 is done. */
static larmor_status serve_one(larmor_device *dev, larmor_ranks *ranks, int *end)
{
    recipe r;
    int64_t bytes;
    LMR_OWN_MEMORY(void, data, ranks->by->receive(ranks->link, 0, LMR_TAG_ORDER, NULL, NULL, &data, &bytes));
    *end = !bytes;
    const int fits = bytes == sizeof r || bytes == sizeof r.head;
    if (fits) memcpy(&r, data, (size_t)bytes);
    if (*end) return LARMOR_OK;
    LMR_REFUSE(!fits || (r.head.task == LMR_ROW_MAKE) != (bytes == sizeof r), LARMOR_ERR_FORMAT,
               "an order of rank 0 is not what was expected");
    return r.head.task == LMR_ROW_MAKE ? make_row(dev, ranks, &r) : lmr_rows_serve(ranks, &r.head);
}

larmor_status larmor_sense_share(larmor_device *dev, larmor_ranks *ranks)
{
    int end = 0;
    LMR_NEED(dev, ranks);
    LMR_REFUSE(larmor_device_members(dev), LARMOR_ERR_ARG, "sense: one device for each rank expected, got %s",
               larmor_device_spec(dev));
    if (ranks->number == 0) {
        lmr_ranks_take(ranks, dev);
        return LARMOR_OK;
    }
    while (!end) LMR_TRY(serve_one(dev, ranks, &end));
    return LARMOR_OK;
}
