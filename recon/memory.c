/* The device memory of the steps of a reconstruction. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "nufft/toeplitz.h"
#include "recon/calib/extent.h"
#include "recon/calib/walsh.h"
#include "recon/inputs.h"
#include "recon/ops/sense.h"
#include "recon/precond/precond.h"

/* Counted in doubles: sums of products of sizes that need not fit 64 bits; 2^60 bytes are as good as infinity. */
static larmor_status store(double total, int64_t *bytes)
{
    if (!(total >= 0 && total < 0x1p60)) return LMR_FAIL(LARMOR_ERR_SHAPE, "memory: the sizes are impossible");
    *bytes = (int64_t)total;
    return LARMOR_OK;
}

static larmor_status check(const larmor_device *dev, const larmor_problem *p)
{
    if (!dev || !p || p->image.ndim < 1 || p->image.ndim > 3 || larmor_shape_count(p->image) < 1 || p->samples < 0 ||
        p->coils < 1 || p->sets < 0)
        return LMR_FAIL(LARMOR_ERR_ARG,
                        "memory: a device, an image of 1 to 3 dimensions, samples and coils are needed");
    return LARMOR_OK;
}

/* Of a plan for `batch` images with `scale` times the voxels in each dimension. */
static larmor_status nufft_bytes(const larmor_device *dev, const larmor_problem *p, larmor_shape image, int64_t batch,
                                 double tol, larmor_plan_effort effort, double *total)
{
    larmor_nufft_opts opts = {
        .type = 2, .ndim = image.ndim, .batch = batch, .tol = tol, .dtype = p->dtype, .effort = effort};
    int64_t bytes;
    for (int d = 0; d < image.ndim; d++) opts.modes[d] = image.dim[d];
    LMR_TRY(larmor_nufft_memory(dev, &opts, p->samples, &bytes));
    *total += (double)bytes;
    return LARMOR_OK;
}

/* Of larmor_op_sense; toeplitz: how its normal map is done. */
static larmor_status sense_bytes(const larmor_device *dev, const larmor_problem *p, const larmor_sense_opts *opts,
                                 int toeplitz, double *bytes)
{
    const int64_t block = lmr_sense_block(p, opts), rest = p->coils % block;
    const double tol = opts ? opts->nufft_tol : 0, size = lmr_precision(p->dtype) == LMR_F64 ? 16 : 8;
    const double image = size * (double)larmor_shape_count(p->image), samples = size * (double)p->samples;
    const larmor_plan_effort effort = opts ? opts->effort : LARMOR_PLAN_ESTIMATE;
    double total = 0, making = 0, held = 0;
    LMR_TRY(nufft_bytes(dev, p, p->image, block, tol, effort, &total));
    if (rest) LMR_TRY(nufft_bytes(dev, p, p->image, rest, tol, effort, &total));
    /* the normal map holds coil images before and after, and samples between if it goes that way, be it to be timed;
     * with weights on both sides of them */
    const int between = toeplitz == LMR_TOEPLITZ_YES ? p->weighted : p->weighted ? 2 : 1;
    total += 2 * image * (double)block + between * samples * (double)block;
    if (p->weighted)
        total += (rest ? samples * (double)rest : 0) + samples / 2; /* the last block's product; their root */
    if (block < p->coils) total += image;
    if (p->sets > 1) total += image * (double)block;
    if (toeplitz) {
        const larmor_nufft_opts nufft = lmr_sense_nufft(p, opts, block);
        LMR_TRY(lmr_toeplitz_bytes(dev, &nufft, p->samples, &making, &held));
        making += 2 * samples;
    }
    *bytes = total + held > making ? total + held : making;
    return LARMOR_OK;
}

larmor_status larmor_sense_memory(const larmor_device *dev, const larmor_problem *p, const larmor_sense_opts *opts,
                                  int64_t *bytes)
{
    double total, toeplitz = 0;
    LMR_NEED(bytes);
    *bytes = 0;
    LMR_TRY(check(dev, p));
    const int wanted = lmr_sense_wants_toeplitz(p, opts, 1), sure = opts && opts->toeplitz > 0;
    LMR_TRY(sense_bytes(dev, p, opts, 0, &total));
    if (wanted) LMR_TRY(sense_bytes(dev, p, opts, wanted, &toeplitz));
    return store(toeplitz > total || sure ? toeplitz : total, bytes);
}

larmor_status larmor_density_memory(const larmor_device *dev, const larmor_problem *p, int64_t *bytes)
{
    LMR_NEED(bytes);
    *bytes = 0;
    LMR_TRY(check(dev, p));
    larmor_problem doubled = *p;
    doubled.dtype = LARMOR_C64;
    for (int d = 0; d < p->image.ndim; d++) doubled.image.dim[d] *= 2;
    double total = 0;
    LMR_TRY(nufft_bytes(dev, &doubled, doubled.image, 1, 1e-3, LARMOR_PLAN_ESTIMATE, &total));
    total += 16 * (double)larmor_shape_count(doubled.image); /* image and window */
    total += (8.0 * p->image.ndim + 8 + 8) * (double)p->samples;
    return store(total, bytes);
}

/* Maps that are resized to at most 64 voxels in one dimension after the other, or copied where they are as small: the
 * most numbers of one coil at a time. */
static double coarse_maps(larmor_shape image)
{
    const int64_t side = 64;
    double peak = 0, from = 0;
    for (int d = 0; d < image.ndim; d++) {
        if (image.dim[d] <= side) continue;
        image.dim[d] = side;
        const double to = (double)larmor_shape_count(image);
        peak = fmax(peak, from + to), from = to;
    }
    return fmax(peak, (double)larmor_shape_count(image));
}

larmor_status larmor_circulant_memory(const larmor_device *dev, const larmor_problem *p, int64_t *bytes)
{
    LMR_NEED(bytes);
    *bytes = 0;
    LMR_TRY(check(dev, p));
    larmor_problem doubled = *p;
    for (int d = 0; d < p->image.ndim; d++) doubled.image.dim[d] *= 2;
    const double size = lmr_precision(p->dtype) == LMR_F64 ? 16 : 8;
    const double grid = size * (double)larmor_shape_count(doubled.image);
    double total = 0;
    LMR_TRY(nufft_bytes(dev, &doubled, doubled.image, 1, LMR_PRECOND_TOL, LARMOR_PLAN_ESTIMATE, &total));
    total += (16.0 * p->image.ndim + size + 16) * (double)p->samples; /* points twice, values, weights */
    const double correlation = 3 * grid + (double)p->coils * size * coarse_maps(p->image);
    const double least = grid + (8.0 * p->image.ndim) * (double)p->samples;
    return store(fmax(total + grid, least + correlation), bytes);
}

larmor_status larmor_coils_memory(const larmor_device *dev, const larmor_problem *p, const larmor_coils_opts *opts,
                                  int64_t *bytes)
{
    LMR_NEED(bytes);
    *bytes = 0;
    LMR_TRY(check(dev, p));
    int64_t n[3] = {1, 1, 1}, weights;
    const int64_t side = opts && opts->calibration > 0 ? opts->calibration : LMR_CALIBRATION;
    const double coils = (double)p->coils, size = lmr_precision(p->dtype) == LMR_F64 ? 16 : 8;
    double pixels = 1, fine = 1;
    larmor_problem low = *p;
    larmor_shape grid = p->image;
    for (int d = 0; d < p->image.ndim; d++) {
        n[d] = low.image.dim[d] = side < p->image.dim[d] ? side : p->image.dim[d];
        grid.dim[d] = lmr_fine_size(n[d]);
        pixels *= (double)n[d], fine *= (double)grid.dim[d];
    }
    const double samples = (double)p->samples, chosen = (8 + 8.0 * p->image.ndim + 8) * samples;
    LMR_TRY(larmor_density_memory(dev, &low, &weights));
    double gridding = size * samples * coils + size * fine * coils + 16 * fine * coils;
    LMR_TRY(nufft_bytes(dev, p, grid, p->coils, 0, LARMOR_PLAN_ESTIMATE, &gridding));
    const double at_once = (double)lmr_pairs_at_once(p->coils, (int64_t)fine);
    double walsh = 16 * (fine * coils + (2 * fine + pixels) * at_once + (coils * coils + coils) * (pixels + 1));
    if (!dev->be->threads(dev->ctx)) walsh += 16 * coils * coils * (pixels + 1); /* a GPU's eigenvalue solver */
    const double voxels = (double)larmor_shape_count(p->image);
    const double interpolation = 16 * pixels * coils + 32 * voxels + size * voxels + 16 * fine * coils;
    double most = (double)weights;
    if (gridding > most) most = gridding;
    if (walsh + 16 * pixels * coils > most) most = walsh + 16 * pixels * coils;
    if (interpolation > most) most = interpolation;
    return store(chosen + most, bytes);
}

larmor_status larmor_extent_memory(const larmor_device *dev, const larmor_problem *p, const larmor_extent_opts *opts,
                                   int64_t *bytes)
{
    LMR_NEED(bytes);
    *bytes = 0;
    LMR_TRY(check(dev, p));
    const double most = opts && opts->most > 0 ? opts->most : LMR_EXTENT_MOST;
    const double samples = (double)p->samples, nd = p->image.ndim, coils = (double)p->coils;
    const int64_t channels = (p->coils < LMR_EXTENT_COILS ? p->coils : LMR_EXTENT_COILS) + LMR_EXTENT_NOISES;
    larmor_problem low = *p;
    larmor_shape larger = p->image;
    larmor_nufft_opts fit = {.ndim = p->image.ndim, .batch = channels, .tol = LMR_EXTENT_TOL, .dtype = LARMOR_C64};
    low.dtype = LARMOR_C64;
    double making, normal;
    int64_t weights;
    for (int d = 0; d < p->image.ndim; d++) {
        const double radius = lmr_extent_radius(p->image, d);
        low.image.dim[d] = (int64_t)ceil(2 * radius);
        larger.dim[d] = lmr_extent_side(radius, most + LMR_EXTENT_MARGIN);
        fit.modes[d] = lmr_extent_side(radius, most);
    }
    LMR_TRY(larmor_density_memory(dev, &low, &weights));
    const larmor_shape side = larmor_shape_of(p->image.ndim, fit.modes);
    const double image = 8 * (double)channels * (double)larmor_shape_count(larger), values = 8 * (double)channels;
    double gridding = image, fitting = 5 * 8 * (double)channels * (double)larmor_shape_count(side);
    LMR_TRY(nufft_bytes(dev, &low, larger, channels, LMR_EXTENT_TOL, LARMOR_PLAN_ESTIMATE, &gridding));
    LMR_TRY(nufft_bytes(dev, &low, side, channels, LMR_EXTENT_TOL, LARMOR_PLAN_ESTIMATE, &fitting));
    LMR_TRY(lmr_toeplitz_bytes(dev, &fit, p->samples, &making, &normal));
    fitting += fmax(making, normal) + (values + 8 * nd) * samples;
    /* indices, points, weights and their roots; data and what a fit leaves; while they are made, all coils twice */
    const double chosen = (8 + 24 * nd + 32 + 2 * values) * samples;
    return store(chosen + fmax((double)weights + 32 * coils * samples, gridding + fmax(image, fitting)), bytes);
}
