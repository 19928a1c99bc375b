/* The problem of a series whose frames are sums of a few coefficient images. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/subspace.h"

#include <complex.h>

#include "core/core.h"
#include "physics/physics.h"

larmor_status lmr_basis_measure(lmr_scan_facts *facts)
{
    const larmor_shape shape = larmor_array_shape(facts->basis);
    const int64_t frames = shape.dim[0], rank = shape.dim[1];
    double norm, worst = 0;
    LMR_TRY(larmor_nrm2(facts->basis, &norm));
    LMR_REFUSE(!(norm > 0) || !isfinite(norm), LARMOR_ERR_NUMERIC, "opts.basis: is zero, or not finite.");
    LMR_OWN_MEMORY(double _Complex, b, larmor_array_download(facts->basis, LARMOR_C128, &b));
    facts->basis_scale = norm * norm / (double)rank;
    facts->basis_is_complex = 0;
    for (int64_t i = 0; i < frames * rank; i++) facts->basis_is_complex |= cimag(b[i]) != 0;
    for (int64_t k = 0; k < rank; k++)
        for (int64_t l = 0; l <= k; l++) {
            double _Complex sum = 0;
            for (int64_t t = 0; t < frames; t++) sum += conj(b[t + frames * k]) * b[t + frames * l];
            worst = fmax(worst, cabs(sum - (k == l ? facts->basis_scale : 0)));
        }
    facts->basis_skew = worst / facts->basis_scale;
    return LARMOR_OK;
}

/* ---- all frames as one ---- */

larmor_shape lmr_frames_shape(const lmr_frame *frames, int count)
{
    const int64_t samples = larmor_array_shape(frames[0].samples.kspace).dim[0];
    int64_t readouts = 0, total = 0;
    int regular = 1;
    for (int i = 0; i < count; i++) {
        const larmor_shape shape = larmor_array_shape(frames[i].samples.kspace);
        regular &= shape.dim[0] == samples;
        readouts += shape.dim[1];
        total += shape.dim[0] * shape.dim[1];
    }
    return regular ? LARMOR_SHAPE(samples, readouts) : LARMOR_SHAPE(total, 1);
}

/* line[first, ...] <- from, as f64 */
static larmor_status append(larmor_array *from, larmor_array *line, int64_t *first)
{
    const int64_t count = larmor_array_count(from);
    LMR_OWN(larmor_array, real, larmor_array_convert(from, LARMOR_F64, &real));
    LMR_OWN(larmor_array, flat, larmor_array_reshape(real, LARMOR_SHAPE(count), &flat));
    LMR_OWN(larmor_array, part, larmor_array_slice(line, *first, count, &part));
    LMR_TRY(larmor_copy(flat, part));
    *first += count;
    return LARMOR_OK;
}

larmor_status lmr_frames_points(const lmr_job *job, const lmr_frame *frames, int count, larmor_array **traj)
{
    const int64_t nd = frames[0].grid.ndim;
    const larmor_shape all = lmr_frames_shape(frames, count);
    LMR_OWNED(larmor_array) *line = NULL;
    int64_t first = 0;
    *traj = NULL;
    LMR_TRY(larmor_array_create(job->facts->dev, LARMOR_F64, LARMOR_SHAPE(nd * larmor_shape_count(all)), &line));
    for (int i = 0; i < count; i++) LMR_TRY(append(frames[i].samples.traj, line, &first));
    return larmor_array_reshape(line, LARMOR_SHAPE(nd, all.dim[0], all.dim[1]), traj);
}

static larmor_status all_weights(const lmr_job *job, const lmr_frame *frames, int count, larmor_array **weights)
{
    const larmor_shape all = lmr_frames_shape(frames, count);
    LMR_OWNED(larmor_array) *line = NULL;
    int64_t first = 0;
    *weights = NULL;
    if (!frames[0].weights) return LARMOR_OK;
    LMR_TRY(larmor_array_create(job->facts->dev, LARMOR_F64, LARMOR_SHAPE(larmor_shape_count(all)), &line));
    for (int i = 0; i < count; i++) LMR_TRY(append(frames[i].weights, line, &first));
    return larmor_array_reshape(line, all, weights);
}

/* ---- the operator ---- */

larmor_status lmr_subspace_segments(const lmr_job *job, const int *index, int count, lmr_frame *frames)
{
    if (!job->facts->physics) return LARMOR_OK;
    LMR_OWN(larmor_array, traj, lmr_frames_points(job, frames, count, &traj));
    return lmr_find_segments(job, index, count, traj, &frames[0].segments);
}

static larmor_status factors_of(const lmr_job *job, const lmr_frame *frames, int count, larmor_array **factors)
{
    const larmor_shape all = lmr_frames_shape(frames, count);
    const int regular = all.dim[1] > 1 || count == 1;
    const int64_t entries = regular ? all.dim[1] : all.dim[0];
    LMR_HEAP int *frame = calloc((size_t)entries + 1, sizeof *frame);
    int64_t at = 0;
    if (!frame) return LMR_NO_MEMORY();
    for (int i = 0; i < count; i++) {
        const larmor_shape own = larmor_array_shape(frames[i].samples.kspace);
        const int64_t many = regular ? own.dim[1] : own.dim[0] * own.dim[1];
        for (int64_t j = 0; j < many; j++) frame[at++] = i;
    }
    LMR_OWN(larmor_array, flat,
            larmor_basis_factors(job->facts->basis, frame, entries, regular ? all.dim[0] : 1, job->facts->dev,
                                 lmr_job_precision(job), &flat));
    return larmor_array_reshape(flat, larmor_shape_append(all, larmor_array_shape(job->facts->basis).dim[1]),
                                factors);
}

/* ---- one image in several states ---- */

larmor_sense_opts lmr_frame_sense(const lmr_job *job, const lmr_frame *frame, int toeplitz)
{
    return (larmor_sense_opts){.traj = frame->samples.traj,
                               .weights = frame->weights,
                               .nufft_tol = job->settings->eps,
                               .off_resonance = frame->segments,
                               .displacement = frame->displacement,
                               .effort = job->settings->opts.effort,
                               .block = job->facts->block,
                               .toeplitz = toeplitz,
                               .iters = lmr_normals(job)};
}

/* Coils stay where they are: the maps of a frame's voxels are those of where they are then. */
static larmor_status state_of(const lmr_job *job, const lmr_frame *frame, larmor_array *maps, larmor_op **A)
{
    LMR_OWNED(larmor_array) *there = NULL;
    const larmor_sense_opts sense = lmr_frame_sense(job, frame, -1);
    if (frame->displacement)
        LMR_TRY(larmor_warp(maps, frame->displacement, &(larmor_warp_opts){.by = LARMOR_WARP_CUBIC}, &there));
    return larmor_op_sense(there ? there : maps, &sense, A);
}

/* One image of [image..., 1] as [image...]. */
static larmor_status take_one(void *self LMR_UNUSED, const larmor_array *x, larmor_array *y)
{
    LMR_OWN(larmor_array, same, larmor_array_reshape(x, larmor_array_shape(y), &same));
    return larmor_copy(same, y);
}

/* A of [image..., 1], as those of bases are. */
static larmor_status take_of_one(larmor_op *A, larmor_op **B)
{
    static const larmor_op_impl impl = {"one image", take_one, take_one, NULL, NULL};
    const larmor_shape image = larmor_op_in_shape(A);
    LMR_OWN(larmor_op, one,
            larmor_op_create(larmor_op_device(A), &impl, NULL, larmor_op_dtype(A), larmor_shape_append(image, 1),
                             image, &one));
    return larmor_op_chain(A, one, B);
}

static larmor_status states_operator(const lmr_job *job, const lmr_frame *frames, int count, larmor_array *maps,
                                     larmor_op **A)
{
    LMR_OWNED(larmor_op) *all = NULL;
    LMR_HEAP larmor_op **ops = calloc((size_t)count, sizeof *ops);
    larmor_status st = ops ? LARMOR_OK : LMR_NO_MEMORY();
    for (int i = 0; i < count && !st; i++) st = state_of(job, &frames[i], maps, &ops[i]);
    if (!st) st = larmor_op_states(ops, count, &all);
    for (int i = 0; ops && i < count; i++) larmor_op_free(ops[i]);
    return st ? st : take_of_one(all, A);
}

larmor_status lmr_subspace_operator(const lmr_job *job, const lmr_frame *frames, int count, larmor_array *maps,
                                    larmor_op **A, int *toeplitz)
{
    *toeplitz = 0;
    if (job->settings->opts.motion_fields) return states_operator(job, frames, count, maps, A);
    LMR_OWN(larmor_array, traj, lmr_frames_points(job, frames, count, &traj));
    LMR_OWN(larmor_array, weights, all_weights(job, frames, count, &weights));
    LMR_OWN(larmor_array, factors, factors_of(job, frames, count, &factors));
    const larmor_sense_opts sense = {.traj = traj,
                                     .weights = weights,
                                     .nufft_tol = job->settings->eps,
                                     .off_resonance = frames[0].segments,
                                     .effort = job->settings->opts.effort,
                                     .block = job->facts->block,
                                     .toeplitz = job->facts->toeplitz,
                                     .iters = lmr_normals(job)};
    LMR_TRY(larmor_op_subspace_sense(maps, factors, &sense, A));
    *toeplitz = larmor_subspace_uses_toeplitz(*A);
    return LARMOR_OK;
}

larmor_status lmr_subspace_frames(const lmr_job *job, const larmor_array *x, larmor_array **frames)
{
    const larmor_shape shape = larmor_array_shape(x);
    *frames = NULL;
    LMR_OWN(larmor_array, basis, larmor_array_convert(job->facts->basis, larmor_array_dtype(x), &basis));
    LMR_OWN(larmor_op, B,
            larmor_op_subspace(job->facts->dev, larmor_array_dtype(x), larmor_shape_of(shape.ndim - 1, shape.dim),
                               basis, &B));
    LMR_TRY(larmor_array_create(job->facts->dev, larmor_array_dtype(x), larmor_op_out_shape(B), frames));
    return larmor_op_forward(B, x, *frames);
}
