/* Gridding: the adjoint NUFFT of weighted samples, without iterations. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/gridding.h"

#include "core/core.h"
#include "pipeline/cache.h"

static larmor_status weigh(const larmor_array *w, larmor_array *kspace)
{
    if (!w) return LARMOR_OK;
    LMR_OWN(larmor_array, complex, larmor_array_convert(w, larmor_array_dtype(kspace), &complex));
    return larmor_mul(complex, 0, kspace);
}

/* x <- x / voxels of an image: y = A x sums over voxels */
static larmor_status divide_by_voxels(const larmor_grid *grid, larmor_array *x)
{
    return larmor_axpby(1 / (double)larmor_shape_count(lmr_grid_shape(grid)), x, 0, x);
}

/* Voxels that are displaced towards one another share what was spread over more: x <- x times the Jacobian. */
static larmor_status spread_out(const lmr_frame *frame, larmor_array *x)
{
    if (!frame->displacement) return LARMOR_OK;
    LMR_OWN(larmor_array, jacobian, larmor_displacement_jacobian(frame->displacement, &jacobian));
    LMR_OWN(larmor_array, complex, larmor_array_convert(jacobian, larmor_array_dtype(x), &complex));
    return larmor_mul(complex, 0, x);
}

/* Of the energy's maximum. Maps from the data have the energy 1 but where they are cropped, and where they fade out,
 * as by a soft crop, there is noise alone; given ones may fall off within the object. */
#define LEAST_ENERGY 1e-2
#define LEAST_ENERGY_GIVEN 1e-6

static larmor_status divide_by_energy(const lmr_job *job, larmor_array *x)
{
    const double least = job->facts->given ? LEAST_ENERGY_GIVEN : LEAST_ENERGY;
    return larmor_divide_by_energy_above(job->found.maps.array, job->facts->sets, least, x);
}

static larmor_status grid_with_maps(lmr_job *job, const lmr_frame *frame, larmor_array *x)
{
    const larmor_grid *grid = &frame->grid;
    const larmor_samples *samples = &frame->samples;
    LMR_OWNED(larmor_op) *A = NULL;
    const larmor_sense_opts sense = {.traj = samples->traj,
                                     .nufft_tol = job->settings->eps,
                                     .off_resonance = frame->segments,
                                     .displacement = frame->displacement,
                                     .block = job->facts->block,
                                     .toeplitz = -1,
                                     .effort = job->settings->opts.effort};
    const int suits = lmr_operator_cache_suits(job, frame);
    if (suits) LMR_TRY(lmr_operator_cache_take(job, frame, job->found.maps.array, &A));
    if (!A) {
        LMR_TRY(larmor_op_sense(job->found.maps.array, &sense, &A));
        if (suits) lmr_operator_cache_keep(job, frame, A);
    }
    LMR_TRY(larmor_op_adjoint(A, samples->kspace, x));
    LMR_TRY(divide_by_energy(job, x));
    LMR_TRY(spread_out(frame, x));
    return divide_by_voxels(grid, x);
}

/* images [image..., count] <- the adjoint NUFFT of coils first .. first+count-1. */
static larmor_status grid_coils(lmr_job *job, const larmor_grid *grid, const larmor_samples *samples, int64_t first,
                                int64_t count, larmor_array *images)
{
    larmor_nufft_opts opts = {.ndim = grid->ndim, .batch = count, .tol = job->settings->eps, .dtype = LARMOR_C64};
    memcpy(opts.modes, grid->matrix, sizeof opts.modes);
    LMR_OWNED(larmor_op) *F = NULL;
    int is_grid;
    LMR_TRY(larmor_traj_is_cartesian(samples->traj, 0, &is_grid));
    if (is_grid)
        LMR_TRY(larmor_op_cartesian(job->facts->dev, &opts, samples->traj, &F));
    else
        LMR_TRY(larmor_op_nufft(job->facts->dev, &opts, samples->traj, &F));
    LMR_OWN(larmor_array, kspace, larmor_array_slice(samples->kspace, first, count, &kspace));
    LMR_OWN(larmor_array, part, larmor_array_slice(images, 0, count, &part));
    return larmor_op_adjoint(F, kspace, part);
}

/* The root sum of squares of one block is one more image of the next. */
static larmor_status grid_without_maps(lmr_job *job, const larmor_grid *grid, const larmor_samples *samples,
                                       larmor_array *x)
{
    const int64_t coils = larmor_array_shape(samples->kspace).dim[2];
    const int64_t block = job->facts->block ? job->facts->block : coils;
    LMR_OWN(larmor_array, images,
            larmor_array_create(job->facts->dev, LARMOR_C64, larmor_shape_append(lmr_grid_shape(grid), block + 1),
                                &images));
    LMR_OWN(larmor_array, sum, larmor_array_part(images, block, 1, larmor_array_shape(x), &sum));
    for (int64_t first = 0; first < coils; first += block) {
        const int64_t count = coils - first < block ? coils - first : block;
        if (count < block) LMR_TRY(larmor_zero(images));
        LMR_TRY(larmor_copy(x, sum));
        LMR_TRY(grid_coils(job, grid, samples, first, count, images));
        LMR_TRY(larmor_root_sum_of_squares(images, x));
    }
    return divide_by_voxels(grid, x);
}

larmor_status lmr_grid_frame(lmr_job *job, lmr_frame *frame, larmor_array **x)
{
    const larmor_shape image = lmr_grid_shape(&frame->grid);
    LMR_TRY(larmor_array_create(job->facts->dev, LARMOR_C64,
                                job->facts->sets ? larmor_shape_append(image, job->facts->sets) : image, x));
    LMR_TRY(weigh(frame->weights, frame->samples.kspace));
    return job->settings->opts.no_maps ? grid_without_maps(job, &frame->grid, &frame->samples, *x)
                                       : grid_with_maps(job, frame, *x);
}
