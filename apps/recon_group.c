/* One group of readouts becomes one image. SPDX-License-Identifier: Apache-2.0 */
#include "recon_group.h"

#include <stdlib.h>
#include <string.h>

#define TRY(call)                                                                                                    \
    do {                                                                                                             \
        const larmor_status st_ = (call);                                                                            \
        if (st_) return st_;                                                                                         \
    } while (0)
#define NO_MEMORY() larmor_fail(LARMOR_ERR_MEMORY, "out of host memory")
#define OR(label, call)                                                                                              \
    do {                                                                                                             \
        st = (call);                                                                                                 \
        if (st) goto label;                                                                                          \
    } while (0)

static larmor_shape image_shape(const larmor_grid *grid)
{
    return larmor_shape_of(grid->ndim, grid->matrix);
}

/* ---- trajectory ---- */

/* Spoke `step` of all that the counters number, for files of a radial type that store no trajectory. `all` is on the
 * host, so that what goes to the device does so once. */
static larmor_status pick_spokes(const recon_job *job, const larmor_array *all, const int *step,
                                 const larmor_encoding *enc, const larmor_grid *grid, int64_t samples,
                                 int64_t readouts, larmor_array **traj)
{
    double *from = malloc(larmor_array_bytes(all) + 1),
           *to = malloc(sizeof *to * (size_t)(2 * samples * readouts) + 1);
    larmor_status st;
    if (!from || !to) OR(done, NO_MEMORY());
    OR(done, larmor_array_read(all, from, larmor_array_bytes(all)));
    for (int64_t r = 0; r < readouts; r++)
        for (int64_t i = 0; i < 2 * samples; i++)
            to[2 * samples * r + i] = from[2 * samples * step[r] + i] * grid->fov_mm[i % 2] / enc->fov_mm[i % 2];
    OR(done, larmor_array_create(job->dev, LARMOR_F64, LARMOR_SHAPE(2, samples, readouts), traj));
    st = larmor_array_write(*traj, to, larmor_array_bytes(*traj));
done:
    free(to), free(from);
    return st;
}

static larmor_status make_trajectory(const recon_job *job, const larmor_group *group, const larmor_encoding *enc,
                                     const larmor_grid *grid, const larmor_samples *samples, larmor_array **traj)
{
    const int golden = !strcmp(enc->trajectory, "goldenangle"), uniform = !strcmp(enc->trajectory, "radial");
    *traj = NULL;
    if ((!golden && !uniform) || grid->ndim != 2 || !group->regular)
        return larmor_fail(
            LARMOR_ERR_FORMAT,
            "the file stores no trajectory, and counters alone do not define a %dD %s one. Store it in the "
            "acquisitions.",
            grid->ndim, enc->trajectory);
    const larmor_shape shape = larmor_array_shape(samples->kspace);
    int64_t spokes = 0;
    for (int64_t r = 0; r < shape.dim[1]; r++)
        if (samples->step1[r] >= spokes) spokes = samples->step1[r] + 1;
    const larmor_traj_opts opts = {
        .matrix = {enc->matrix[0], enc->matrix[1], 1}, .readouts = spokes, .samples = shape.dim[0]};
    larmor_device *host = NULL;
    larmor_array *all = NULL;
    larmor_status st;
    OR(done, larmor_device_open("cpu", &host));
    OR(done, larmor_traj_create(host, golden ? "golden" : "radial", &opts, &all));
    OR(done, pick_spokes(job, all, samples->step1, enc, grid, shape.dim[0], shape.dim[1], traj));
done:
    larmor_array_free(all), larmor_device_free(host);
    return st;
}

/* ---- density compensation and coil maps ---- */

static larmor_status density(const recon_job *job, const larmor_samples *samples, larmor_shape image,
                             larmor_array **w)
{
    *w = NULL;
    switch (job->density) {
    case DENSITY_NONE:
        return LARMOR_OK;
    case DENSITY_RAMP:
        return larmor_density_ramp(samples->traj, image, w);
    case DENSITY_PIPE:
        return larmor_density_pipe(samples->traj, image, 0, w);
    case DENSITY_FILE:
        *w = larmor_array_ref(samples->density);
        return *w ? LARMOR_OK
                  : larmor_fail(LARMOR_ERR_FORMAT,
                                "--dcf file: the file stores no density weights. Use ramp or pipe.");
    case DENSITY_AUTO:
        break;
    }
    const larmor_status st = larmor_density_ramp(samples->traj, image, w);
    return st == LARMOR_ERR_ARG ? larmor_density_pipe(samples->traj, image, 0, w) : st;
}

/* The maps of this slice: from the file, or all one for a single coil, or from the data's own centre. */
static larmor_status slice_maps(recon_job *job, int index, const larmor_group *group, const larmor_grid *grid,
                                const larmor_samples *samples)
{
    if (job->maps && job->maps_encoding == group->encoding && job->maps_slice == group->slice) return LARMOR_OK;
    larmor_array_free(job->maps), job->maps = NULL;
    const larmor_shape shape = image_shape(grid);
    const int64_t coils = larmor_array_shape(samples->kspace).dim[2];
    const larmor_coils_opts opts = {.calibration = job->calibration};
    if (job->given) {
        TRY(larmor_array_create(job->dev, LARMOR_C64, larmor_shape_append(shape, coils), &job->maps));
        larmor_array *view;
        TRY(larmor_array_reshape(job->given, larmor_shape_append(shape, coils), &view));
        const larmor_status st = larmor_copy(view, job->maps);
        larmor_array_free(view);
        TRY(st);
        if (job->whitening) TRY(larmor_whiten(job->whitening, job->maps));
    } else if (coils == 1) {
        TRY(larmor_array_create(job->dev, LARMOR_C64, larmor_shape_append(shape, 1), &job->maps));
        TRY(larmor_fill(job->maps, 1));
    } else {
        larmor_samples calibration;
        TRY(larmor_raw_samples(job->raw, index, grid, 1, job->dev, &calibration));
        const int own = !calibration.kspace || !calibration.traj;
        larmor_status st = LARMOR_OK;
        if (!own && job->whitening) st = larmor_whiten(job->whitening, calibration.kspace);
        const larmor_samples *from = own ? samples : &calibration;
        if (!st) st = larmor_coils_estimate(from->kspace, from->traj, NULL, shape, &opts, &job->maps);
        larmor_samples_free(&calibration);
        TRY(st);
    }
    job->maps_encoding = group->encoding, job->maps_slice = group->slice;
    return LARMOR_OK;
}

/* ---- the two methods; both give x in y = A x ---- */

static larmor_status weigh(const larmor_array *w, larmor_array *kspace)
{
    if (!w) return LARMOR_OK;
    larmor_array *complex;
    TRY(larmor_array_convert((larmor_array *)(uintptr_t)w, larmor_array_dtype(kspace), &complex));
    const larmor_status st = larmor_mul(complex, 0, kspace);
    larmor_array_free(complex);
    return st;
}

/* x <- x / voxels: y = A x sums over voxels */
static larmor_status divide_by_voxels(larmor_array *x)
{
    return larmor_axpby(1 / (double)larmor_array_count(x), x, 0, x);
}

static larmor_status grid_with_maps(recon_job *job, const larmor_samples *samples, larmor_array *x)
{
    larmor_op *A = NULL;
    larmor_status st;
    const larmor_sense_opts sense = {
        .traj = samples->traj, .nufft_tol = job->eps, .block = job->block, .toeplitz = -1};
    OR(done, larmor_op_sense(job->maps, &sense, &A));
    OR(done, larmor_op_adjoint(A, samples->kspace, x));
    OR(done, larmor_divide_by_energy(job->maps, x));
    OR(done, divide_by_voxels(x));
done:
    larmor_op_free(A);
    return st;
}

/* images [image..., count] <- the adjoint NUFFT of coils first .. first+count-1. */
static larmor_status grid_coils(recon_job *job, const larmor_grid *grid, const larmor_samples *samples, int64_t first,
                                int64_t count, larmor_array *images)
{
    larmor_nufft_opts opts = {.ndim = grid->ndim, .batch = count, .tol = job->eps, .dtype = LARMOR_C64};
    memcpy(opts.modes, grid->matrix, sizeof opts.modes);
    larmor_op *F = NULL;
    larmor_array *kspace = NULL, *part = NULL;
    larmor_status st;
    OR(done, larmor_op_nufft(job->dev, &opts, samples->traj, &F));
    OR(done, larmor_array_slice(samples->kspace, first, count, &kspace));
    OR(done, larmor_array_slice(images, 0, count, &part));
    OR(done, larmor_op_adjoint(F, kspace, part));
done:
    larmor_array_free(part), larmor_array_free(kspace), larmor_op_free(F);
    return st;
}

/* The root sum of squares of one block is one more image of the next. */
static larmor_status grid_without_maps(recon_job *job, const larmor_grid *grid, const larmor_samples *samples,
                                       larmor_array *x)
{
    const int64_t coils = larmor_array_shape(samples->kspace).dim[2], block = job->block ? job->block : coils;
    larmor_array *images = NULL, *sum = NULL, *before = NULL;
    larmor_status st;
    OR(done, larmor_array_create(job->dev, LARMOR_C64, larmor_shape_append(image_shape(grid), block + 1), &images));
    OR(done, larmor_array_slice(images, block, 1, &before));
    OR(done, larmor_array_reshape(before, larmor_array_shape(x), &sum));
    for (int64_t first = 0; first < coils; first += block) {
        const int64_t count = coils - first < block ? coils - first : block;
        if (count < block) OR(done, larmor_zero(images));
        OR(done, larmor_copy(x, sum));
        OR(done, grid_coils(job, grid, samples, first, count, images));
        OR(done, larmor_root_sum_of_squares(images, x));
    }
    OR(done, divide_by_voxels(x));
done:
    larmor_array_free(sum), larmor_array_free(before), larmor_array_free(images);
    return st;
}

/* Single precision carries the NUFFT down to 1e-6; below that everything is done in double. */
static larmor_dtype precision(const recon_job *job)
{
    return job->eps > 0 && job->eps < 1e-6 ? LARMOR_C128 : LARMOR_C64;
}

static larmor_status conjugate_gradients(recon_job *job, const larmor_samples *samples, const larmor_array *weights,
                                         larmor_array **x, recon_result *result)
{
    larmor_op *A = NULL;
    larmor_array *maps = NULL, *kspace = NULL;
    larmor_status st;
    OR(done, larmor_array_convert(job->maps, precision(job), &maps));
    OR(done, larmor_array_convert(samples->kspace, precision(job), &kspace));
    const larmor_sense_opts sense = {.traj = samples->traj,
                                     .weights = weights,
                                     .nufft_tol = job->eps,
                                     .block = job->block,
                                     .toeplitz = job->toeplitz,
                                     .iters = job->iters};
    OR(done, larmor_op_sense(maps, &sense, &A));
    result->toeplitz = larmor_sense_uses_toeplitz(A);
    OR(done, larmor_array_create(job->dev, larmor_op_dtype(A), larmor_op_in_shape(A), x));
    if (job->lambda > 0) OR(done, larmor_opnorm(A, 0, &result->largest));
    const larmor_solve_opts solve = {.max_iter = job->iters,
                                     .tol = job->tol,
                                     .lambda = job->lambda * result->largest,
                                     .monitor = job->monitor,
                                     .user = job->user};
    st = larmor_cg(A, kspace, *x, &solve, &result->report);
    if (st == LARMOR_STOPPED) result->interrupted = 1, st = LARMOR_OK;
done:
    larmor_array_free(kspace), larmor_array_free(maps), larmor_op_free(A);
    return st;
}

/* ---- from the grid to reconSpace ---- */

/* y = A x counts voxels; the density in the unit of the encoded field of view does not depend on the matrix. */
static double density_scale(const larmor_encoding *enc, const larmor_grid *grid)
{
    double scale = 1;
    for (int d = 0; d < grid->ndim; d++) scale *= enc->fov_mm[d] * (double)grid->matrix[d] / grid->fov_mm[d];
    return scale;
}

static larmor_status solve(recon_job *job, int index, const larmor_group *group, const larmor_grid *grid,
                           larmor_samples *samples, larmor_array **x, recon_result *result)
{
    const larmor_shape shape = image_shape(grid);
    const int weights_needed = job->method == RECON_GRID || job->weighted;
    larmor_array *weights = NULL;
    larmor_status st;
    if (job->whitening) TRY(larmor_whiten(job->whitening, samples->kspace));
    if (!job->no_maps) TRY(slice_maps(job, index, group, grid, samples));
    if (weights_needed) OR(done, density(job, samples, shape, &weights));
    if (job->method == RECON_CG) {
        OR(done, conjugate_gradients(job, samples, weights, x, result));
    } else {
        OR(done, larmor_array_create(job->dev, LARMOR_C64, shape, x));
        OR(done, weigh(weights, samples->kspace));
        OR(done, job->no_maps ? grid_without_maps(job, grid, samples, *x) : grid_with_maps(job, samples, *x));
    }
    st = LARMOR_OK;
done:
    larmor_array_free(weights);
    return st;
}

larmor_status recon_group(recon_job *job, int index, recon_result *result)
{
    larmor_group group;
    larmor_encoding enc;
    larmor_grid grid;
    larmor_samples samples = {0};
    larmor_array *x = NULL, *single = NULL;
    larmor_status st;
    *result = (recon_result){0};
    TRY(larmor_raw_group(job->raw, index, &group));
    TRY(larmor_raw_encoding(job->raw, group.encoding, &enc));
    TRY(larmor_raw_grid(job->raw, group.encoding, &grid));
    OR(done, larmor_raw_samples(job->raw, index, &grid, 0, job->dev, &samples));
    result->outside = samples.outside;
    if (!samples.traj) {
        OR(done, make_trajectory(job, &group, &enc, &grid, &samples, &samples.traj));
        result->made_traj = 1;
    }
    OR(done, solve(job, index, &group, &grid, &samples, &x, result));
    OR(done, larmor_array_convert(x, LARMOR_C64, &single));
    OR(done, larmor_crop(single, larmor_shape_of(grid.ndim, grid.crop), density_scale(&enc, &grid), &result->image));
done:
    larmor_array_free(single), larmor_array_free(x);
    larmor_samples_free(&samples);
    return st;
}

void recon_job_clear(recon_job *job)
{
    larmor_array_free(job->maps);
    job->maps = NULL;
}
