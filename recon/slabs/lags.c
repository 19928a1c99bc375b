/* Point spread functions of points that several ranks have: a slab's lags are modes around another centre, which
 * is a phase at each point. SPDX-License-Identifier: Apache-2.0 */
#include "recon/slabs/lags.h"

#include "core/core.h"

LMR_OWNS(larmor_nufft, larmor_nufft_free)

void lmr_lags_end(lmr_lag_points *p)
{
    lmr_seen_free(&p->box);
    LMR_CLEAR(p->values);
}

larmor_status lmr_lags_begin(larmor_device *dev, const larmor_array *traj, const larmor_array *weights,
                             larmor_dtype dtype, lmr_lag_points *p)
{
    *p = (lmr_lag_points){.weights = weights};
    LMR_TRY(lmr_seen_create(dev, traj, dtype, &p->box));
    return larmor_array_create(dev, dtype, LARMOR_SHAPE(p->box.count), &p->values);
}

larmor_status lmr_lags_edges(larmor_device *dev, const int64_t lags[3], larmor_array **edges)
{
    int64_t longest = lags[0] > lags[1] ? lags[0] : lags[1];
    if (lags[2] > longest) longest = lags[2];
    LMR_TRY(larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(longest), edges));
    LMR_TRY(larmor_fill(*edges, 1));
    LMR_OWN(larmor_array, first, larmor_array_slice(*edges, 0, 1, &first));
    return larmor_fill(first, 0);
}

int lmr_lags_next(int ranks, int64_t lags, lmr_lag_piece *piece)
{
    for (; piece->rank < ranks; piece->rank++, piece->number = 0) {
        int64_t start;
        const int64_t share = lmr_slab_share(lags, ranks, piece->rank, &start);
        if (!share || piece->number == lmr_slab_pieces(share)) continue;
        piece->count = lmr_slab_share(share, lmr_slab_pieces(share), piece->number++, &piece->from);
        piece->first = start + piece->from;
        return 1;
    }
    return 0;
}

/* Of this rank's points. */
static larmor_status lags_of(const lmr_lag_points *p, const larmor_nufft_opts *psf, const int64_t modes[3],
                             const lmr_lag_piece *piece, larmor_array *lags)
{
    const larmor_device *dev = lags->dev;
    const int64_t count = piece->count, centre = piece->first - modes[2] + count / 2;
    const double stretch[3] = {2, 2, (double)count / (double)modes[2]};
    larmor_nufft_opts opts = *psf;
    if (!p->box.count) return larmor_zero(lags);
    opts.modes[2] = count;
    LMR_TRY(lmr_seen_move(&p->box, stretch, psf->sign * (double)centre / (double)modes[2]));
    if (p->weights)
        LMR_TRY(dev->be->convert(dev->ctx, p->box.count, p->weights->dtype, p->weights->data, p->values->dtype,
                                 p->values->data));
    else
        LMR_TRY(larmor_fill(p->values, 1));
    LMR_TRY(larmor_mul(p->box.phases, 0, p->values));
    LMR_OWN(larmor_nufft, plan, larmor_nufft_create(p->box.points->dev, &opts, &plan));
    LMR_TRY(larmor_nufft_set_points(plan, p->box.points, NULL));
    return larmor_nufft_execute(plan, p->values, lags);
}

larmor_status lmr_lags_sum(larmor_ranks *ranks, const lmr_lag_points *p, const larmor_nufft_opts *psf,
                           const int64_t modes[3], const lmr_lag_piece *piece, larmor_status own, larmor_array *lags)
{
    const larmor_shape shape = LARMOR_SHAPE(psf->modes[0], psf->modes[1], piece->count);
    LMR_OWNED(larmor_array) *part = NULL;
    if (!own && lags) part = larmor_array_ref(lags);
    if (!own && !lags) own = larmor_array_create(p->values->dev, p->values->dtype, shape, &part);
    if (!own) own = lags_of(p, psf, modes, piece, part);
    own = lmr_ranks_agree(ranks, own, NULL, NULL);
    if (!own) own = lmr_ranks_sum(ranks, piece->rank, part);
    return own;
}
