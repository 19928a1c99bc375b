/* Slabs of a volume: which rank has which planes, and points seen from a slab. SPDX-License-Identifier: Apache-2.0 */
#include "recon/slabs/slabs.h"

#include "core/core.h"
#include "nufft/kernels.h"

int64_t lmr_slab_share(int64_t all, int ranks, int i, int64_t *first)
{
    const int64_t start = i * all / ranks;
    if (first) *first = start;
    return (i + 1) * all / ranks - start;
}

int lmr_slab_pieces(int64_t planes)
{
    enum {
        LEAST = 16,
        MOST = 8
    }; /* planes, beside which a window is narrow; pieces, each of which spreads all points */
    const int64_t pieces = planes / LEAST;
    if (pieces < 1) return 1;
    return pieces < MOST ? (int)pieces : MOST;
}

int64_t lmr_slab_lines(const larmor_device *dev)
{
    return lmr_device_is_processor(dev) ? LMR_SLAB_LINES : 4 * LMR_SLAB_LINES;
}

larmor_status larmor_ranks_part(const larmor_ranks *ranks, int64_t all, int64_t *first, int64_t *count)
{
    LMR_NEED(first, count);
    LMR_REFUSE(all < 0 || all > INT64_C(1) << 40, LARMOR_ERR_ARG, "ranks: a part of %lld, expected 0 to 2^40",
               (long long)all);
    *count = lmr_slab_share(all, larmor_ranks_count(ranks), larmor_ranks_number(ranks), first);
    return LARMOR_OK;
}

/* ---- points seen from a slab ---- */

void lmr_seen_free(lmr_seen_points *box)
{
    LMR_FREE(box->points, box->phases);
    *box = (lmr_seen_points){.traj = NULL};
}

larmor_status lmr_seen_create(larmor_device *dev, const larmor_array *traj, larmor_dtype dtype, lmr_seen_points *box)
{
    *box = (lmr_seen_points){.traj = traj, .count = larmor_array_count(traj) / 3};
    LMR_TRY(larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(3, box->count), &box->points));
    return larmor_array_create(dev, dtype, LARMOR_SHAPE(box->count), &box->phases);
}

larmor_status lmr_seen_move(const lmr_seen_points *box, const double stretch[3], double by)
{
    const larmor_device *dev = box->points->dev;
    const lmr_nufft_kernels *kernels =
        LMR_KERNELS(dev, nufft, LMR_NUFFT_ABI, box->phases->dtype == LARMOR_C128 ? LMR_F64 : LMR_F32);
    const int is_double = box->traj->dtype == LARMOR_F64;
    const double none[3] = {0, 0, 0};
    const lmr_nufft_phases moved = {.ndim = 3, .by = {0, 0, by}};
    LMR_REFUSE(!kernels, LARMOR_ERR_UNSUPPORTED, "slabs: %s has no kernels of the NUFFT", larmor_device_spec(dev));
    if (!box->count) return LARMOR_OK;
    LMR_TRY(kernels->rescale(dev->ctx, 3, box->count, is_double, box->traj->data, none, stretch, box->points->data));
    return kernels->phases(dev->ctx, &moved, box->count, is_double, box->traj->data, box->phases->data);
}

/* ---- options ---- */

larmor_status lmr_slabs_expect(const char *what, const larmor_device *dev, const larmor_ranks *ranks,
                               const larmor_nufft_opts *opts, const larmor_array *traj)
{
    LMR_REFUSE(!dev || !ranks || !opts || !traj, LARMOR_ERR_ARG,
               "%s: slabs: a device, ranks, options and traj are needed", what);
    LMR_REFUSE(opts->ndim != 3 || opts->batch < 0, LARMOR_ERR_ARG,
               "%s: slabs: got ndim %d, batch %lld, expected 3, and at least 0", what, opts->ndim,
               (long long)opts->batch);
    for (int d = 0; d < 3; d++)
        LMR_REFUSE(opts->modes[d] < 1 || opts->modes[d] > 1 << 16, LARMOR_ERR_ARG,
                   "%s: modes[%d]: got %lld, expected 1 .. 65536", what, d, (long long)opts->modes[d]);
    LMR_REFUSE(!(opts->tol >= 0 && opts->tol < 1), LARMOR_ERR_ARG, "%s: tol: got %g, expected 0 < tol < 1", what,
               opts->tol);
    LMR_REFUSE(traj->dev != dev || !lmr_is_real(traj->dtype) || traj->shape.ndim < 2 || traj->shape.dim[0] != 3,
               LARMOR_ERR_SHAPE, "%s: traj is %s, expected real [3, samples, readouts] or [3, points]", what,
               lmr_describe(traj).s);
    return LARMOR_OK;
}
