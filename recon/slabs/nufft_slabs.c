/* The NUFFT of a volume that no rank holds by itself. A slab's voxels are modes around another centre, which is a
 * phase at each point, so that each rank applies NUFFTs of its own points to the box of one slab after the other:
 * points are sorted to no slab, no halos are exchanged, and no grid is larger than a slab's.
 * SPDX-License-Identifier: Apache-2.0 */
#include "recon/slabs/nufft_slabs.h"
#include "core/core.h"
#include "recon/inputs.h"
#include "recon/ops/ops.h"
#include "recon/slabs/slabs.h"
#include "recon/sparse.h"

struct lmr_slab_nufft {
    larmor_device *dev;
    larmor_ranks *ranks;
    larmor_nufft_opts opts; /* of the whole volume, without a batch */
    larmor_array *traj, *root;
    const lmr_sparse_kernels *kernels; /* for the root */
};
typedef struct lmr_slab_nufft volume;

LMR_DESTROYS(release, volume, root, traj, dev)

void lmr_slab_nufft_free(lmr_slab_nufft *v)
{
    if (v) release(v);
}

/* What is made for a slab. */
typedef struct view {
    lmr_seen_points box;
    larmor_op *F;         /* of the box; NULL: there are no points, or no planes */
    larmor_array *slab;   /* [n0, n1, planes], of one of the batch */
    larmor_array *values; /* [points] */
    int64_t planes;
} view;

static void free_view(view *w)
{
    lmr_seen_free(&w->box);
    LMR_FREE(w->F, w->slab, w->values);
}

static larmor_shape slab_shape(const volume *v, int64_t planes)
{
    return LARMOR_SHAPE(v->opts.modes[0], v->opts.modes[1], planes);
}

/* Of the slab of rank i. sign: of the phases, +1 for those of the adjoint. */
static larmor_status look(const volume *v, int i, int sign, view *w)
{
    const int64_t all = v->opts.modes[2];
    larmor_nufft_opts opts = v->opts;
    int64_t first;
    w->planes = lmr_slab_share(all, v->ranks->count, i, &first);
    LMR_TRY(larmor_array_create(v->dev, v->opts.dtype, slab_shape(v, w->planes), &w->slab));
    const int64_t points = larmor_array_count(v->traj) / 3;
    if (!points || !w->planes) return LARMOR_OK;
    const double stretch[3] = {1, 1, (double)w->planes / (double)all};
    const int64_t centre = first - all / 2 + w->planes / 2;
    LMR_TRY(larmor_array_create(v->dev, v->opts.dtype, LARMOR_SHAPE(points), &w->values));
    LMR_TRY(lmr_seen_create(v->dev, v->traj, v->opts.dtype, &w->box));
    LMR_TRY(lmr_seen_move(&w->box, stretch, sign * opts.sign * (double)centre / (double)all));
    opts.modes[2] = w->planes;
    opts.batch = 0;
    return larmor_op_nufft(v->dev, &opts, w->box.points, &w->F);
}

/* Image b's samples, [points] of y, a view. */
static larmor_status samples_of(const volume *v, const larmor_array *y, int64_t b, larmor_array **one)
{
    return larmor_array_part(y, b, 1, LARMOR_SHAPE(larmor_array_count(v->traj) / 3), one);
}

static larmor_status weigh(const volume *v, const larmor_array *values)
{
    if (!v->root) return LARMOR_OK;
    return v->kernels->weigh(v->dev->ctx, larmor_array_count(values), 1, v->root->data, values->data, values->data);
}

/* y[b] <- y[b] + the samples of the view's slab. */
static larmor_status add_samples(const volume *v, const view *w, int64_t b, const larmor_array *y)
{
    if (!w->F) return LARMOR_OK;
    LMR_TRY(larmor_op_forward(w->F, w->slab, w->values));
    LMR_TRY(larmor_mul(w->box.phases, 0, w->values));
    LMR_TRY(weigh(v, w->values));
    LMR_OWN(larmor_array, one, samples_of(v, y, b, &one));
    return larmor_axpby(1, w->values, 1, one);
}

/* The view's slab <- what this rank's samples y[b] give it. */
static larmor_status fold_samples(const volume *v, const view *w, int64_t b, const larmor_array *y)
{
    if (!w->F) return larmor_zero(w->slab);
    LMR_OWN(larmor_array, one, samples_of(v, y, b, &one));
    LMR_TRY(larmor_copy(one, w->values));
    LMR_TRY(weigh(v, w->values));
    LMR_TRY(larmor_mul(w->box.phases, 0, w->values));
    return larmor_op_adjoint(w->F, w->values, w->slab);
}

/* The slab of rank i, of all images: one view serves them. */
static larmor_status forward_slab(const volume *v, int i, const lmr_slab_images *x, larmor_array *y)
{
    larmor_ranks *r = v->ranks;
    LMR_FREED_BY(free_view) view w = {.F = NULL};
    larmor_status own = i ? LARMOR_OK : larmor_zero(y);
    larmor_status st = LARMOR_OK;
    if (!own) own = look(v, i, 1, &w);
    for (int64_t b = 0; b < x->count && !st; b++) {
        if (!own && r->number == i) own = x->give(x->user, b, w.slab);
        st = lmr_ranks_agree(r, own, NULL, NULL);
        if (!st && w.planes) own = lmr_ranks_spread(r, i, w.slab);
        if (!st && !own) own = add_samples(v, &w, b, y);
    }
    return st ? st : own;
}

static larmor_status adjoint_slab(const volume *v, int i, const larmor_array *y, const lmr_slab_images *x)
{
    larmor_ranks *r = v->ranks;
    LMR_FREED_BY(free_view) view w = {.F = NULL};
    larmor_status own = look(v, i, -1, &w), st = LARMOR_OK;
    for (int64_t b = 0; b < x->count && !st; b++) {
        if (!own) own = lmr_go_on();
        if (!own) own = fold_samples(v, &w, b, y);
        st = lmr_ranks_agree(r, own, NULL, NULL);
        if (!st && w.planes) own = lmr_ranks_sum(r, i, w.slab);
        if (!st && !own && r->number == i) own = x->take(x->user, b, w.slab);
    }
    return st ? st : own;
}

larmor_status lmr_slab_nufft_forward(const lmr_slab_nufft *v, const lmr_slab_images *x, larmor_array *y)
{
    for (int i = 0; i < v->ranks->count; i++) LMR_TRY(forward_slab(v, i, x, y));
    return LARMOR_OK;
}

larmor_status lmr_slab_nufft_adjoint(const lmr_slab_nufft *v, const larmor_array *y, const lmr_slab_images *x)
{
    for (int i = 0; i < v->ranks->count; i++) LMR_TRY(adjoint_slab(v, i, y, x));
    return LARMOR_OK;
}

larmor_status lmr_slab_nufft_create(larmor_device *dev, larmor_ranks *ranks, const larmor_nufft_opts *opts,
                                    const larmor_array *traj, const larmor_array *weights, lmr_slab_nufft **out)
{
    *out = NULL;
    LMR_TRY(lmr_slabs_expect("nufft", dev, ranks, opts, traj));
    LMR_MAKE(volume, v, release);
    v->dev = lmr_device_ref(dev);
    v->ranks = ranks;
    v->opts = *opts;
    v->opts.type = 2;
    v->opts.batch = 0;
    v->opts.dtype = lmr_precision(opts->dtype) == LMR_F64 ? LARMOR_C128 : LARMOR_C64;
    v->opts.sign = opts->sign > 0 ? 1 : -1;
    v->traj = larmor_array_ref(traj);
    LMR_TRY(lmr_sparse_kernels_of(dev, v->opts.dtype, &v->kernels));
    if (weights) {
        const larmor_shape expected = lmr_weights_shape(traj);
        LMR_TRY(lmr_expect("sense", "weight array", weights, dev, weights->dtype, expected));
        LMR_TRY(lmr_weights_copy("sense", "weights", weights, v->opts.dtype, 1, &v->root));
    }
    *out = v;
    return lmr_hand_on(&v_made, LARMOR_OK);
}

/* ---- the operator ---- */

typedef struct nufft_op {
    lmr_slab_nufft *nufft;
    larmor_shape images, samples; /* [n0, n1, own planes, batch] and [points, batch] */
} nufft_op;

static void destroy(void *self)
{
    nufft_op *n = self;
    lmr_slab_nufft_free(n->nufft);
    free(n);
}

static larmor_status image_of(const larmor_array *all, int64_t b, larmor_array **one)
{
    return larmor_array_part(all, b, 1, larmor_shape_of(3, all->shape.dim), one);
}

static larmor_status give(void *user, int64_t b, larmor_array *slab)
{
    LMR_OWN(larmor_array, one, image_of(user, b, &one));
    return larmor_copy(one, slab);
}

static larmor_status take(void *user, int64_t b, larmor_array *slab)
{
    LMR_OWN(larmor_array, one, image_of(user, b, &one));
    return larmor_copy(slab, one);
}

static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    const nufft_op *n = self;
    LMR_OWN(larmor_array, images, larmor_array_reshape(x, n->images, &images));
    LMR_OWN(larmor_array, samples, larmor_array_reshape(y, n->samples, &samples));
    return lmr_slab_nufft_forward(n->nufft, &(lmr_slab_images){n->samples.dim[1], images, give, take}, samples);
}

static larmor_status adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    const nufft_op *n = self;
    LMR_OWN(larmor_array, images, larmor_array_reshape(x, n->images, &images));
    LMR_OWN(larmor_array, samples, larmor_array_reshape(y, n->samples, &samples));
    return lmr_slab_nufft_adjoint(n->nufft, samples, &(lmr_slab_images){n->samples.dim[1], images, give, take});
}

static larmor_status make(larmor_device *dev, larmor_ranks *ranks, const larmor_nufft_opts *opts,
                          const larmor_array *traj, larmor_op **F)
{
    static const larmor_op_impl impl = {"nufft-slabs", forward, adjoint, NULL, destroy};
    LMR_MAKE(nufft_op, n, destroy);
    LMR_TRY(lmr_slab_nufft_create(dev, ranks, opts, traj, NULL, &n->nufft));
    const int64_t batch = opts->batch ? opts->batch : 1;
    larmor_shape image = slab_shape(n->nufft, lmr_slab_share(opts->modes[2], ranks->count, ranks->number, NULL));
    larmor_shape samples = lmr_weights_shape(traj);
    n->images = larmor_shape_append(image, batch);
    n->samples = LARMOR_SHAPE(larmor_array_count(traj) / 3, batch);
    if (opts->batch) image = larmor_shape_append(image, opts->batch);
    if (opts->batch) samples = larmor_shape_append(samples, opts->batch);
    const larmor_dtype dtype = n->nufft->opts.dtype;
    return lmr_hand_on(&n_made, larmor_op_create(dev, &impl, n, dtype, image, samples, F));
}

larmor_status larmor_op_nufft_slabs(larmor_device *dev, larmor_ranks *ranks, const larmor_nufft_opts *opts,
                                    const larmor_array *traj, larmor_op **F)
{
    LMR_NEED_OUT(F, ranks);
    const larmor_status st = lmr_ranks_agree(ranks, make(dev, ranks, opts, traj, F), NULL, NULL);
    if (st) LMR_CLEAR(*F);
    return st;
}
