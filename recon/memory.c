/* What the steps of a reconstruction take of a device's memory. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "nufft/toeplitz.h"
#include "recon/bytes.h"
#include "recon/calib/extent.h"
#include "recon/calib/walsh.h"
#include "recon/inputs.h"
#include "recon/precond/precond.h"

/* Of a plan for `batch` images with `scale` times the voxels in each dimension. */
static larmor_status nufft_bytes(const larmor_device *dev, const larmor_problem *p, larmor_shape image, int64_t batch,
                                 double tol, larmor_plan_effort effort, double *total)
{
    larmor_nufft_opts opts = {
        .type = 2, .ndim = image.ndim, .batch = batch, .tol = tol, .dtype = p->dtype, .effort = effort};
    for (int d = 0; d < image.ndim; d++) opts.modes[d] = image.dim[d];
    return lmr_bytes_add_nufft(dev, &opts, p->samples, total);
}

larmor_status larmor_density_memory(const larmor_device *dev, const larmor_problem *p, int64_t *bytes)
{
    LMR_NEED(bytes);
    LMR_TRY(lmr_bytes_begin(dev, p, bytes));
    larmor_problem doubled = *p;
    doubled.dtype = LARMOR_C64;
    for (int d = 0; d < p->image.ndim; d++) doubled.image.dim[d] *= 2;
    double total = 0;
    LMR_TRY(nufft_bytes(dev, &doubled, doubled.image, 1, 1e-3, LARMOR_PLAN_ESTIMATE, &total));
    total += 16 * (double)larmor_shape_count(doubled.image); /* image and window */
    total += (8.0 * p->image.ndim + 8 + 8) * (double)p->samples;
    return lmr_bytes_store(total, bytes);
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
    LMR_TRY(lmr_bytes_begin(dev, p, bytes));
    larmor_problem doubled = *p;
    for (int d = 0; d < p->image.ndim; d++) doubled.image.dim[d] *= 2;
    const double size = lmr_precision(p->dtype) == LMR_F64 ? 16 : 8;
    const double grid = size * (double)larmor_shape_count(doubled.image);
    double total = 0;
    LMR_TRY(nufft_bytes(dev, &doubled, doubled.image, 1, LMR_PRECOND_TOL, LARMOR_PLAN_ESTIMATE, &total));
    total += (16.0 * p->image.ndim + size + 16) * (double)p->samples; /* points twice, values, weights */
    const double correlation = 3 * grid + (double)p->coils * size * coarse_maps(p->image);
    const double least = grid + (8.0 * p->image.ndim) * (double)p->samples;
    return lmr_bytes_store(fmax(total + grid, least + correlation), bytes);
}

larmor_status larmor_coils_memory(const larmor_device *dev, const larmor_problem *p, const larmor_coils_opts *opts,
                                  int64_t *bytes)
{
    LMR_NEED(bytes);
    LMR_TRY(lmr_bytes_begin(dev, p, bytes));
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
    const double together = (double)lmr_pairs_together(p->coils, (int64_t)fine);
    double walsh = 16 * (fine * coils + (2 * fine + pixels) * together + (coils * coils + coils) * (pixels + 1));
    if (!dev->be->threads(dev->ctx)) walsh += 16 * coils * coils * (pixels + 1); /* a GPU's eigenvalue solver */
    const double voxels = (double)larmor_shape_count(p->image);
    const double interpolation = 16 * pixels * coils + 32 * voxels + size * voxels + 16 * fine * coils;
    double most = (double)weights;
    if (gridding > most) most = gridding;
    if (walsh + 16 * pixels * coils > most) most = walsh + 16 * pixels * coils;
    if (interpolation > most) most = interpolation;
    return lmr_bytes_store(chosen + most, bytes);
}

larmor_status larmor_extent_memory(const larmor_device *dev, const larmor_problem *p, const larmor_extent_opts *opts,
                                   int64_t *bytes)
{
    LMR_NEED(bytes);
    LMR_TRY(lmr_bytes_begin(dev, p, bytes));
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
    return lmr_bytes_store(chosen + fmax((double)weights + 32 * coils * samples, gridding + fmax(image, fitting)), bytes);
}
