/* Frames by nonlinear inversion: a series that begins at an image of the first few together (Uecker et al. 2010).
 * SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/nlinv_frames.h"

#include "check/map_trust.h"
#include "core/core.h"
#include "pipeline/maps.h"
#include "pipeline/subspace.h"

/* Frames whose readouts together give the image that the first one is held to. */
enum { FIRST_TOGETHER = 5 };

static larmor_nlinv_series_opts opts_of(const lmr_job *job)
{
    const larmor_recon_opts *o = &job->settings->opts;
    return (larmor_nlinv_series_opts){.all = {.nufft_tol = o->eps, .monitor = lmr_monitor, .user = job->events},
                                      .steps = o->iters,
                                      .damping = o->damping,
                                      .median = o->median};
}

/* to[first, ...] <- from, coil after coil */
static larmor_status append(larmor_array *from, int64_t first, larmor_array *to)
{
    const int64_t coils = larmor_array_shape(from).dim[2];
    const int64_t own = larmor_array_count(from) / coils, points = larmor_array_count(to) / coils;
    LMR_OWN(larmor_array, line, larmor_array_reshape(from, LARMOR_SHAPE(own * coils), &line));
    LMR_OWN(larmor_array, all, larmor_array_reshape(to, LARMOR_SHAPE(points * coils), &all));
    for (int64_t c = 0; c < coils; c++) {
        LMR_OWN(larmor_array, coil, larmor_array_slice(line, c * own, own, &coil));
        LMR_OWN(larmor_array, part, larmor_array_slice(all, c * points + first, own, &part));
        LMR_TRY(larmor_copy(coil, part));
    }
    return LARMOR_OK;
}

static larmor_status begin(const lmr_job *job, const lmr_frame *frames, int count, larmor_nlinv_series *series)
{
    const larmor_shape all = lmr_frames_shape(frames, count);
    int64_t first = 0;
    LMR_OWN(larmor_array, traj, lmr_frames_points(job, frames, count, &traj));
    LMR_OWN(larmor_array, kspace,
            larmor_array_create(job->facts->dev, lmr_job_precision(job),
                                LARMOR_SHAPE(all.dim[0], all.dim[1], job->facts->coils), &kspace));
    for (int i = 0; i < count; i++) {
        LMR_OWN(larmor_array, one, larmor_array_convert(frames[i].samples.kspace, lmr_job_precision(job), &one));
        LMR_TRY(append(one, first, kspace));
        first += larmor_array_count(one) / job->facts->coils;
    }
    return larmor_nlinv_series_add(series, kspace, traj, NULL, NULL, NULL);
}

static larmor_status add(const lmr_job *job, const lmr_frame *frame, larmor_nlinv_series *series, larmor_array *to,
                         larmor_recon_report *result)
{
    larmor_nlinv_report report;
    LMR_OWN(larmor_array, kspace, larmor_array_convert(frame->samples.kspace, lmr_job_precision(job), &kspace));
    LMR_OWN(larmor_array, x, larmor_nlinv_series_add(series, kspace, frame->samples.traj, &x, NULL, &report));
    result->solver.iters += report.steps;
    result->solver.residual = report.residual;
    return larmor_copy(x, to);
}

static larmor_status run(const lmr_job *job, const lmr_frame *frames, int count, larmor_nlinv_series *series,
                         larmor_array **x, larmor_recon_report *result)
{
    const larmor_shape image = lmr_grid_shape(&frames->grid);
    LMR_TRY(larmor_array_create(job->facts->dev, lmr_job_precision(job),
                                count > 1 ? larmor_shape_append(image, count) : image, x));
    for (int i = 0; i < count; i++) {
        LMR_OWNED(larmor_array) *one = NULL;
        if (count > 1) LMR_TRY(lmr_one_of(*x, i, &one));
        LMR_TRY(add(job, &frames[i], series, one ? one : *x, result));
    }
    return LARMOR_OK;
}

/* Of the centre: 5 spokes have 0.45 and errors of 0.34 and 0.37 (8 and 4 coils), 7 have 0.56, 13 have 0.76 and
 * 0.12. */
#define MIN_SAMPLED 0.53

/* An image that no other one is held to is judged by its own samples, as maps by inversion are, and what aliases in
 * it is not only in maps. */
static larmor_status judge(const lmr_frame *frame, larmor_recon_report *result)
{
    double encoded[3];
    lmr_maps_encoded(&frame->encoding, &frame->grid, encoded);
    LMR_TRY(lmr_maps_judge_inversion(frame->samples.traj, lmr_grid_shape(&frame->grid), encoded,
                                     result->solver.residual, &result->maps));
    if (result->maps.sampled < MIN_SAMPLED) result->maps.warning = LARMOR_MAPS_UNDERSAMPLED;
    return LARMOR_OK;
}

static void warn_of_single(const lmr_job *job)
{
    const larmor_recon_opts *o = &job->settings->opts;
    if (job->events->series > 1 || (!o->iters && o->damping == 0 && !o->median)) return;
    lmr_warn(job->events, "opts.method nlinv: opts.iters, opts.damping and opts.median have no effect on a single "
                          "image: they are of frames that follow the first.");
}

larmor_status lmr_nlinv_frames(lmr_job *job, const lmr_frame *frames, int count, larmor_array **x,
                               larmor_recon_report *result)
{
    const larmor_nlinv_series_opts opts = opts_of(job);
    larmor_nlinv_series *series = job->found.follow.series;
    larmor_status st = LARMOR_OK;
    result->lambda_from = LARMOR_LAMBDA_NONE;
    if (!series) LMR_TRY(larmor_nlinv_series_create(lmr_grid_shape(&frames->grid), &opts, &series));
    if (job->found.follow.on) job->found.follow.series = series;
    if (count == 1 && !job->found.follow.on) warn_of_single(job);
    if (count > 1) st = begin(job, frames, count < FIRST_TOGETHER ? count : FIRST_TOGETHER, series);
    if (!st) st = run(job, frames, count, series, x, result);
    if (!job->found.follow.on) larmor_nlinv_series_free(series);
    if (!st && count == 1 && !job->found.follow.on && job->facts->coils > 1) st = judge(frames, result);
    if (st) LMR_CLEAR(*x);
    return st;
}

larmor_status lmr_nlinv_frames_bytes(const lmr_job *job, const larmor_problem *p, int count, double *bytes)
{
    const larmor_nlinv_series_opts opts = opts_of(job);
    const int together = count < FIRST_TOGETHER ? count : FIRST_TOGETHER;
    larmor_problem begun = *p;
    int64_t inversion;
    begun.dtype = lmr_job_precision(job);
    begun.samples *= together;
    begun.repeats = 0;
    LMR_TRY(larmor_nlinv_series_memory(job->facts->dev, &begun, &opts, &inversion));
    const double number = (double)larmor_dtype_size(begun.dtype), samples = (double)begun.samples;
    *bytes = (double)inversion + samples * (number * (double)p->coils + 8.0 * p->image.ndim) +
             number * (double)larmor_shape_count(p->image) * (count + 1);
    return LARMOR_OK;
}
