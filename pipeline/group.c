/* Groups of readouts become images: samples and trajectory, density, coil maps, solution, crop.
 * SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/group.h"

#include "check/sample_faults.h"
#include "core/core.h"
#include "physics/motion.h"
#include "physics/physics.h"
#include "pipeline/cache.h"
#include "pipeline/choose_maps.h"
#include "pipeline/density.h"
#include "pipeline/hole.h"
#include "pipeline/maps.h"
#include "pipeline/problem.h"
#include "pipeline/solve.h"
#include "pipeline/subspace.h"
#include "scan/cartesian.h"
#include "scan/sample_cache.h"
#include "scan/series.h"

static void close_frame(lmr_frame *frame)
{
    larmor_samples_free(&frame->samples);
    LMR_FREE(frame->weights, frame->phase);
    larmor_segments_free(frame->segments);
    larmor_array_free(frame->displacement);
    lmr_cached_free(frame->cached);
    lmr_frame_motion_free(frame->motion);
}

/* Places of a grid have no density to be found: each counts once. */
static larmor_status find_weights(lmr_job *job, int index, lmr_frame *frame)
{
    if (frame->cartesian.on_grid && job->settings->opts.density == LARMOR_DENSITY_AUTO)
        return lmr_cartesian_density(&frame->samples, &frame->grid, &frame->weights);
    return lmr_make_density(job, index, &frame->samples, &frame->weights);
}

/* Those of an earlier image with the same trajectory, or new ones. */
static larmor_status weights_of(lmr_job *job, int index, lmr_frame *frame)
{
    const int decided = job->settings->opts.density != LARMOR_DENSITY_AUTO || frame->cartesian.on_grid ||
                        job->found.decided.density != LARMOR_DENSITY_AUTO;
    const double before[2] = {lmr_density_key(job, frame), 0};
    if (decided)
        LMR_TRY(lmr_cached_take(frame->cached, LMR_CACHED_WEIGHTS, before, job->facts->dev, &frame->weights));
    if (frame->weights) return LARMOR_OK;
    LMR_TRY(find_weights(job, index, frame));
    const double by[2] = {lmr_density_key(job, frame), 0};
    if (frame->weights) lmr_cached_put(frame->cached, LMR_CACHED_WEIGHTS, by, frame->weights);
    return LARMOR_OK;
}

static larmor_status look_for_samples(int may_be_empty, lmr_frame *frame)
{
    LMR_TRY(larmor_nrm2(frame->samples.kspace, &frame->size));
    frame->is_empty = may_be_empty && frame->size == 0;
    return LARMOR_OK;
}

/* Echoes that a field displaces need no warning of gradients. */
static larmor_status look_at_field(const lmr_job *job, lmr_frame *frame)
{
    const larmor_raw_info *info = &job->facts->info;
    const int echo = frame->group.contrast;
    larmor_group lead;
    if (!job->facts->lead_is_seen || !(frame->cartesian.faults.echo_distance > 0)) return LARMOR_OK;
    LMR_TRY(lmr_source_group(job->facts->source, job->facts->lead, &lead));
    if (echo < info->echoes && lead.contrast < info->echoes)
        lmr_echo_is_of_field(info->echo_ms[lead.contrast], job->facts->lead_echo, info->echo_ms[echo],
                             &frame->cartesian.faults);
    return LARMOR_OK;
}

static larmor_status make_maps(lmr_job *job, int index, const lmr_frame *frame)
{
    const lmr_maps_method *method;
    if (lmr_maps_are_of(job, &frame->group)) return LARMOR_OK;
    LMR_TRY(lmr_maps_method_for(job, index, &frame->samples, &method));
    return lmr_make_maps(job, index, &frame->group, &frame->grid, &frame->samples, method, frame->cached);
}

/* All that is known of a group before the images are made; the maps become the job's. may_be_empty: samples that are
 * all 0 need no maps. */
static larmor_status open_frame(lmr_job *job, int index, int may_be_empty, lmr_frame *frame,
                                larmor_recon_report *result)
{
    *frame = (lmr_frame){0};
    larmor_samples *samples = &frame->samples;
    const int weights_needed = job->found.method.kind == LMR_METHOD_GRID || job->settings->opts.weighted;
    int made;
    larmor_status st;
    LMR_TRY(lmr_enter(job->events, "samples"));
    LMR_TRY(lmr_source_group(job->facts->source, index, &frame->group));
    LMR_TRY(lmr_source_encoding(job->facts->source, frame->group.encoding, &frame->encoding));
    frame->grid = job->facts->grid[index];
    LMR_TRY(lmr_group_samples(job, index, samples, &made, &frame->cartesian));
    LMR_OR(fail, lmr_trajectory_cache_find(job, frame, &frame->cached));
    LMR_OR(fail, look_for_samples(may_be_empty, frame));
    if (frame->is_empty) return LARMOR_OK;
    result->outside += samples->outside;
    if (job->facts->whitening) frame->cartesian.faults.noisy = 0; /* the noise scan weighs them */
    LMR_OR(fail, look_at_field(job, frame));
    lmr_sample_faults_join(&frame->cartesian.faults, &result->faults);
    result->made_traj |= made;
    result->ffts = frame->cartesian.on_grid;
    if (!job->settings->opts.no_maps) LMR_OR(fail, make_maps(job, index, frame));
    lmr_sample_cache_clear(job->caches);
    result->maps = job->found.maps.report;
    LMR_OR(fail, lmr_motion_lay_out(job, frame));
    if (!job->facts->basis) LMR_OR(fail, lmr_find_segments(job, &index, 1, samples->traj, &frame->segments));
    LMR_OR(fail, lmr_find_displacement(job, index, &frame->displacement));
    LMR_OR(fail, lmr_motion_correct(job, index, frame, result));
    if (!result->grid[0]) LMR_OR(fail, larmor_traj_coverage(samples->traj, &result->coverage));
    memcpy(result->grid, frame->grid.matrix, sizeof result->grid);
    if (weights_needed) LMR_OR(fail, lmr_enter(job->events, "density"));
    if (weights_needed) LMR_OR(fail, weights_of(job, index, frame));
    return LARMOR_OK;
fail:
    close_frame(frame);
    return st;
}

/* Values too large for the arithmetic become infinite on the way, too small ones vanish; neither is an image. */
larmor_status lmr_check_image(const larmor_array *x, const larmor_group *g)
{
    double size;
    LMR_TRY(larmor_nrm2(x, &size));
    if (isfinite(size) && size > 0) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_NUMERIC, "the image of slice %d, contrast %d, phase %d, repetition %d, set %d is %s",
                    g->slice, g->contrast, g->phase, g->repetition, g->set,
                    size == 0 ? "zero everywhere; its samples or its maps are zero, or lambda is too large"
                              : "not finite; its samples are too large or no signal, see larmor info");
}

/* The images of several sets of maps as one. */
static larmor_status join_sets(larmor_array *maps, larmor_array *x, larmor_array **joined)
{
    const larmor_shape shape = larmor_array_shape(x), image = larmor_shape_of(shape.ndim - 1, shape.dim);
    const larmor_dtype dtype = larmor_array_dtype(x);
    LMR_OWN(larmor_array, of_type, larmor_array_convert(maps, dtype, &of_type));
    LMR_OWN(larmor_array, out, larmor_array_create(larmor_array_device(x), dtype, image, &out));
    LMR_TRY(larmor_sets_join(of_type, x, out));
    return LMR_HAND_ON(*joined, out);
}

/* Cropping has rounded what the solver held to. */
static larmor_status hold(const lmr_job *job, const lmr_frame *frame, larmor_array *image)
{
    larmor_prox *set;
    LMR_TRY(lmr_problem_set(job, frame, 1, larmor_array_dtype(image), larmor_array_shape(image), &set));
    const larmor_status st = set ? larmor_prox_apply(set, 1, image, image) : LARMOR_OK;
    larmor_prox_free(set);
    return st;
}

/* Image i of `count` of the solution x, in reconSpace and in units of the density. */
static larmor_status finish(const lmr_job *job, const lmr_frame *frame, larmor_array *x, int i, int count,
                            larmor_array **image)
{
    const larmor_grid *grid = &frame->grid;
    LMR_OWNED(larmor_array) *one = NULL, *single = NULL;
    larmor_array *joined;
    if (count > 1 || job->facts->basis)
        LMR_TRY(lmr_one_of(x, i, &one));
    else
        one = larmor_array_ref(x);
    LMR_TRY(larmor_array_convert(one, LARMOR_C64, &single));
    if (!job->settings->opts.no_maps) LMR_TRY(lmr_each_set(job, single, larmor_clear_unseen));
    if (job->facts->sets) {
        LMR_TRY(join_sets(job->found.maps.array, single, &joined));
        larmor_array_free(single);
        single = joined;
    }
    LMR_TRY(larmor_crop(single, larmor_shape_of(grid->ndim, grid->crop),
                        lmr_image_factor(job, &frame->encoding, grid), image));
    LMR_TRY(hold(job, frame, *image));
    return lmr_check_image(*image, &frame->group);
}

/* The caller may write into what it gets. */
static larmor_status keep_weights(lmr_job *job, int index, const lmr_frame *frame)
{
    LMR_CLEAR(job->found.density.weights);
    job->found.density.from = index;
    if (!frame->weights || !frame->cached) {
        job->found.density.weights = larmor_array_ref(frame->weights);
        return LARMOR_OK;
    }
    LMR_TRY(larmor_array_create(job->facts->dev, larmor_array_dtype(frame->weights),
                                larmor_array_shape(frame->weights), &job->found.density.weights));
    return larmor_copy(frame->weights, job->found.density.weights);
}

larmor_status lmr_group_restore(lmr_job *job, int maps_from, int weights_from)
{
    const int group[] = {maps_from, job->settings->opts.keep_density ? weights_from : -1};
    lmr_scale_begin(job);
    for (int i = 0; i < 2; i++) {
        larmor_recon_report unused = {0};
        lmr_frame frame;
        if (group[i] < 0) continue;
        LMR_TRY(open_frame(job, group[i], 0, &frame, &unused));
        const larmor_status st = i ? keep_weights(job, group[i], &frame) : LARMOR_OK;
        close_frame(&frame);
        LMR_TRY(st);
    }
    return LARMOR_OK;
}

larmor_status lmr_group_maps(lmr_job *job, int index, larmor_coils_report *report)
{
    larmor_recon_report opened = {0};
    lmr_frame frame;
    lmr_scale_begin(job);
    LMR_TRY(open_frame(job, index, 0, &frame, &opened));
    close_frame(&frame);
    *report = opened.maps;
    return LARMOR_OK;
}

/* What a frame of a moving object has of its own. */
static larmor_status open_state(lmr_job *job, int index, int number, lmr_frame *frame)
{
    LMR_TRY(lmr_find_motion(job, index, number, &frame->displacement));
    return lmr_find_segments(job, &index, 1, frame->samples.traj, &frame->segments);
}

static larmor_status open_frames(lmr_job *job, const int *index, int count, int may_be_empty, lmr_frame **frame,
                                 larmor_recon_report *result)
{
    larmor_status st = LARMOR_OK;
    int lead;
    *result = (larmor_recon_report){0};
    LMR_TRY(lmr_series_image(job, index, count, &lead));
    lmr_scale_begin(job);
    LMR_ALLOCATE_ZEROS(*frame, count);
    for (int n = 0; n < count && !st; n++) {
        const int i = n ? n - (n <= lead) : lead;
        lmr_frame *one = &(*frame)[i];
        st = open_frame(job, index[i], may_be_empty, one, result);
        if (st) *one = (lmr_frame){0};
        if (!st && job->settings->opts.motion_fields && !one->is_empty) st = open_state(job, index[i], i, one);
    }
    if (!st && job->facts->basis && !job->settings->opts.motion_fields && !frame[0]->is_empty)
        st = lmr_subspace_segments(job, index, count, *frame);
    if (!st) return LARMOR_OK;
    lmr_frames_close(*frame, count);
    *frame = NULL;
    return st;
}

larmor_status lmr_frames_open(lmr_job *job, const int *index, int count, lmr_frame **frame,
                              larmor_recon_report *result)
{
    return open_frames(job, index, count, 0, frame, result);
}

void lmr_frames_close(lmr_frame *frame, int count)
{
    for (int i = 0; i < count && frame; i++) close_frame(&frame[i]);
    free(frame);
}

larmor_status lmr_frames_images(const lmr_job *job, const lmr_frame *frame, int count, larmor_array *x,
                                larmor_array **image)
{
    LMR_OWNED(larmor_array) *frames = NULL; /* what the images are made of where that is not x */
    const int outputs = lmr_outputs(job, count);
    larmor_status st = LARMOR_OK;
    for (int i = 0; i < outputs; i++) image[i] = NULL;
    if (job->settings->opts.basis_frames) LMR_TRY(lmr_subspace_frames(job, x, &frames));
    if (lmr_solves_coils(job)) LMR_TRY(larmor_coils_combine(x, &frames));
    for (int i = 0; i < outputs && !st; i++) st = finish(job, &frame[i], frames ? frames : x, i, outputs, &image[i]);
    for (int i = 0; i < outputs && st; i++) LMR_CLEAR(image[i]);
    return st;
}

static larmor_status image_of_zeros(const lmr_job *job, const lmr_frame *frame, larmor_array **image)
{
    const larmor_shape shape = larmor_shape_of(frame->grid.ndim, frame->grid.crop);
    return larmor_array_create(job->facts->dev, LARMOR_C64, shape, image);
}

static larmor_status solve_groups(lmr_job *job, const int *index, int count, larmor_array **image,
                                  larmor_recon_report *result)
{
    LMR_OWNED(larmor_array) *x = NULL;
    lmr_frame *frame;
    larmor_status st = LARMOR_OK;
    for (int i = 0; i < count; i++) image[i] = NULL;
    LMR_TRY(open_frames(job, index, count, count == 1, &frame, result));
    if (frame[0].is_empty) {
        st = image_of_zeros(job, &frame[0], &image[0]);
        goto done;
    }
    LMR_OR(done, lmr_enter(job->events, job->found.method.kind == LMR_METHOD_GRID ? "gridding" : "operator"));
    if (job->settings->opts.keep_density) LMR_OR(done, keep_weights(job, index[0], &frame[0]));
    LMR_OR(done, lmr_solve_frames(job, frame, count, &x, result));
    lmr_unscale_report(job, result);
    result->noise /= frame[0].cartesian.deviation;
    st = lmr_frames_images(job, frame, count, x, image);
done:
    lmr_frames_close(frame, count);
    return st;
}

larmor_status lmr_solve_groups(lmr_job *job, const int *index, int count, larmor_array **image,
                               larmor_recon_report *result)
{
    lmr_scan_facts own;
    lmr_shared shared;
    lmr_hole_begin(job, index, count, &own, &shared);
    const larmor_status st = solve_groups(job, index, count, image, result);
    lmr_hole_end(job, &shared);
    return st;
}
