/* An image whose object moves between its readouts: samples in the object's frame, and maps of each state.
 * SPDX-License-Identifier: Apache-2.0 */
#include "physics/motion.h"

#include "core/core.h"
#include "physics/physics.h"
#include "pipeline/cache.h"

/* Of a voxel: readouts whose poses are that near share their coil maps. k-space is turned by each readout's own pose.
 * Other distances were not measured. */
#define MAPS_TOLERANCE_VOXELS 0.25

enum { MOST_STATES = 48 };

int lmr_moves(const lmr_job *job)
{
    return job->settings->opts.motion || job->settings->opts.motion_states;
}

/* What readouts see of their own beside their trajectory. */
static int has_states(const lmr_job *job)
{
    return lmr_moves(job) && (job->facts->coils > 1 || lmr_physics_stays(job));
}

void lmr_frame_motion_free(struct lmr_frame_motion *motion)
{
    if (!motion) return;
    for (int m = 0; motion->maps && m < motion->states; m++) larmor_array_free(motion->maps[m]);
    for (int m = 0; motion->segments && m < motion->states; m++) larmor_segments_free(motion->segments[m]);
    LMR_FREE(motion->maps, motion->segments, motion->state, motion);
}

/* ---- poses of an image ---- */

/* Readouts of all images before this one, and of all of them. */
static larmor_status count_readouts(const lmr_job *job, int index, int64_t *before, int64_t *all)
{
    larmor_group group;
    *before = *all = 0;
    for (int i = 0; i < job->facts->info.groups; i++) {
        LMR_TRY(lmr_source_group(job->facts->source, i, &group));
        if (i < index) *before += group.readouts;
        *all += group.readouts;
    }
    return LARMOR_OK;
}

/* Rows first .. first + count - 1. */
static larmor_status take_rows(const larmor_array *rows, int64_t first, int64_t count, larmor_array **taken)
{
    const int64_t all = larmor_array_shape(rows).dim[0];
    LMR_HEAP double *from = NULL, *to = lmr_new(count * LARMOR_POSE, sizeof *to);
    if (!to) return LMR_NO_MEMORY();
    LMR_TRY(larmor_array_download(rows, LARMOR_F64, &from));
    for (int64_t j = 0; j < count; j++)
        for (int p = 0; p < LARMOR_POSE; p++) to[j + count * p] = from[first + j + all * p];
    return larmor_array_upload(larmor_array_device(rows), LARMOR_F64, LARMOR_SHAPE(count, LARMOR_POSE), LARMOR_F64,
                               to, taken);
}

/* f64 [readouts, 6]: the rows are those of each image, or of all images one after the other. */
static larmor_status poses_of(const lmr_job *job, int index, int64_t readouts, larmor_array **motion)
{
    const larmor_array *rows = job->settings->opts.motion;
    const larmor_shape shape = larmor_array_shape(rows);
    int64_t before, all;
    LMR_TRY(count_readouts(job, index, &before, &all));
    if (all > readouts && shape.ndim == 2 && shape.dim[0] == all && shape.dim[1] == LARMOR_POSE)
        return take_rows(rows, before, readouts, motion);
    return larmor_motion_rows(rows, readouts, motion);
}

static double least_side(const larmor_grid *grid)
{
    double least = INFINITY;
    for (int d = 0; d < grid->ndim; d++) least = fmin(least, grid->fov_mm[d] / (double)grid->matrix[d]);
    return least;
}

static larmor_status find_states(const larmor_array *motion, const larmor_grid *grid, larmor_motion_states *states)
{
    return larmor_motion_states_find(motion, grid->ndim, grid->fov_mm, MAPS_TOLERANCE_VOXELS * least_side(grid),
                                     MOST_STATES, states);
}

larmor_status lmr_motion_count(const lmr_job *job, int index, int64_t readouts, int *count)
{
    LMR_OWNED(larmor_array) *motion = NULL;
    LMR_FREED_BY(larmor_motion_states_free) larmor_motion_states states = {0};
    *count = 1;
    if (!has_states(job)) return LARMOR_OK;
    if (!job->settings->opts.motion) {
        *count = job->settings->opts.motion_states;
        return LARMOR_OK;
    }
    LMR_TRY(poses_of(job, index, readouts, &motion));
    LMR_TRY(find_states(motion, &job->facts->grid[index], &states));
    *count = states.count;
    return LARMOR_OK;
}

/* Of rows that say from which readout on they hold. */
static larmor_status warn_of_late_poses(const lmr_job *job)
{
    const larmor_array *rows = job->settings->opts.motion;
    const larmor_shape shape = larmor_array_shape(rows);
    larmor_group group;
    int64_t most = 0, late = 0;
    if (shape.ndim != 2 || shape.dim[1] != LARMOR_POSE + 1) return LARMOR_OK;
    for (int i = 0; i < job->facts->info.groups; i++) {
        LMR_TRY(lmr_source_group(job->facts->source, i, &group));
        if (group.readouts > most) most = group.readouts;
    }
    LMR_OWN_MEMORY(double, row, larmor_array_download(rows, LARMOR_F64, &row));
    for (int64_t i = 0; i < shape.dim[0]; i++) late += row[i] >= (double)most;
    if (late)
        lmr_warn(
            job->events,
            "motion: %lld of %lld poses are left out, as they begin at readout %.0f or later, and images have %lld "
            "readouts at most, which count from 0",
            (long long)late, (long long)shape.dim[0], row[shape.dim[0] - late], (long long)most);
    return LARMOR_OK;
}

/* ---- maps ---- */

larmor_status lmr_maps_to_places(lmr_job *job, int index)
{
    LMR_OWNED(larmor_array) *d = NULL, *shown = NULL;
    LMR_TRY(lmr_find_displacement(job, index, &d));
    if (!d) return LARMOR_OK;
    shown = job->found.maps.array;
    job->found.maps.array = NULL;
    return larmor_warp(shown, d, &(larmor_warp_opts){.by = LARMOR_WARP_CUBIC}, &job->found.maps.array);
}

larmor_status lmr_motion_extend_maps(lmr_job *job, const larmor_grid *grid)
{
    const double rest[LARMOR_POSE] = {0};
    larmor_array *extended;
    if (!lmr_moves(job) || job->facts->coils < 2) return LARMOR_OK;
    LMR_TRY(larmor_maps_move(job->found.maps.array, rest, grid->fov_mm, &extended));
    larmor_array_free(job->found.maps.array);
    job->found.maps.array = extended;
    return LARMOR_OK;
}

static larmor_status fill_states(const lmr_job *job, int index, const lmr_frame *frame,
                                 const larmor_motion_states *states, struct lmr_frame_motion *m)
{
    for (int i = 0; i < m->states; i++)
        LMR_TRY(
            larmor_maps_move(job->found.maps.array, states->pose + LARMOR_POSE * i, frame->grid.fov_mm, &m->maps[i]));
    if (!frame->segments) return LARMOR_OK;
    m->segments = calloc((size_t)m->states, sizeof(larmor_segments *));
    if (!m->segments) return LMR_NO_MEMORY();
    return lmr_find_state_segments(job, index, frame->samples.traj, frame->segments, states, m->segments);
}

/* The trajectory is still the scanner's. */
static larmor_status make_states(const lmr_job *job, int index, lmr_frame *frame, larmor_motion_states *states)
{
    LMR_NEW_ZEROS(struct lmr_frame_motion, m, 1);
    frame->motion = m;
    m->states = states->count;
    m->maps = calloc((size_t)states->count, sizeof(larmor_array *));
    if (!m->maps) return LMR_NO_MEMORY();
    LMR_TRY(fill_states(job, index, frame, states, m));
    m->state = states->state;
    states->state = NULL;
    return LARMOR_OK;
}

/* ---- poses from the samples ---- */

static void report_found(lmr_job *job, const larmor_motion_found *f, const double *pose, int64_t readouts)
{
    if (!f->helps) {
        lmr_log(
            job->events,
            "motion: none in %d groups of readouts: poses leave %.3g of readouts that were held out, an object at "
            "rest %.3g",
            f->states, f->misfit, f->misfit_still);
        return;
    }
    lmr_log(
        job->events,
        "motion: found in %d groups of readouts, up to %.0f/FOV, in %d steps: poses leave %.3g of readouts that were "
        "held out, an object at rest %.3g (%.1f standard errors)",
        f->states, f->reach, f->steps, f->misfit, f->misfit_still, f->significance);
    for (int64_t j = 1; j < readouts; j++) {
        if (j * f->states / readouts == (j - 1) * f->states / readouts) continue;
        lmr_log(job->events, "motion: from readout %lld on %.4g, %.4g, %.4g mm, %.4g, %.4g, %.4g degrees",
                (long long)j, pose[j], pose[j + readouts], pose[j + 2 * readouts], pose[j + 3 * readouts],
                pose[j + 4 * readouts], pose[j + 5 * readouts]);
    }
}

/* Groups of readouts, as a tracking file has them; one row where the object rests. */
static void list_poses(const larmor_motion_found *f, const double *pose, int64_t readouts,
                       larmor_recon_report *result)
{
    result->motion_rows = 0;
    for (int64_t j = 0; j < readouts; j++) {
        if (j && (!f->helps || j * f->states / readouts == (j - 1) * f->states / readouts)) continue;
        double *row = result->motion_row[result->motion_rows++];
        row[0] = (double)j;
        for (int p = 0; p < LARMOR_POSE; p++) row[p + 1] = pose[j + readouts * p];
    }
}

/* Of one coil its map is one. */
static larmor_status find_motion(lmr_job *job, const lmr_frame *frame, larmor_array **motion,
                                 larmor_recon_report *result)
{
    larmor_motion_found found;
    if (frame->segments)
        lmr_log(job->events, "motion: poses are found without what samples see beside the Fourier transform");
    LMR_TRY(larmor_motion_find(frame->samples.kspace, frame->samples.traj, job->found.maps.array, frame->grid.fov_mm,
                               job->settings->opts.motion_states, motion, &found));
    LMR_OWN_MEMORY(double, pose, larmor_array_download(*motion, LARMOR_F64, &pose));
    result->motion_misfit = found.misfit;
    result->motion_misfit_still = found.misfit_still;
    report_found(job, &found, pose, frame->group.readouts);
    list_poses(&found, pose, frame->group.readouts, result);
    return LARMOR_OK;
}

/* ---- the frame ---- */

/* Of 2D images what poses say of the third dimension is not used. */
static double beyond_plane(const double *pose, int64_t readouts)
{
    double most = 0;
    for (int64_t j = 0; j < readouts; j++)
        for (int p = 2; p < 5; p++) most = fmax(most, fabs(pose[j + readouts * p]));
    return most;
}

static larmor_status check_readouts(const lmr_job *job, const lmr_frame *frame)
{
    const larmor_shape shape = larmor_array_shape(frame->samples.traj);
    LMR_REFUSE(frame->samples.first && !job->settings->opts.motion, LARMOR_ERR_UNSUPPORTED,
               "opts.motion_states: %lld readouts differ in length, or leave the grid; poses are found from "
               "readouts of one length, give opts.motion.",
               (long long)frame->group.readouts);
    if (frame->samples.first || (shape.ndim == 3 && shape.dim[2] == frame->group.readouts)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "opts.motion: got %lld readouts as a trajectory %s",
                    (long long)frame->group.readouts, lmr_describe(frame->samples.traj).s);
}

/* ---- readouts that differ in length ---- */

static larmor_status reshape(larmor_array **x, larmor_shape shape)
{
    larmor_array *made;
    if (!*x) return LARMOR_OK;
    LMR_TRY(larmor_array_reshape(*x, shape, &made));
    larmor_array_free(*x);
    *x = made;
    return LARMOR_OK;
}

larmor_status lmr_motion_lay_out(const lmr_job *job, lmr_frame *frame)
{
    larmor_samples *s = &frame->samples;
    if (!job->settings->opts.motion || !s->first) return LARMOR_OK;
    const larmor_shape k = larmor_array_shape(s->kspace);
    const int64_t total = k.dim[0], coils = larmor_array_count(s->kspace) / total;
    double level = 0; /* readouts of one sample each tell nothing of it */
    if (!job->facts->whitening) LMR_TRY(larmor_noise_level(s->kspace, s->traj, &level));
    if (level > 0) frame->cartesian.level = level / job->found.scale;
    LMR_TRY(reshape(&s->kspace, LARMOR_SHAPE(1, total, coils)));
    LMR_TRY(reshape(&s->traj, LARMOR_SHAPE(frame->grid.ndim, 1, total)));
    return reshape(&s->density, LARMOR_SHAPE(1, total));
}

/* What readouts have becomes that of each of their samples. */
static larmor_status spread(larmor_samples *s, larmor_array **motion, larmor_motion_states *states)
{
    const int64_t total = s->first[s->readouts], readouts = s->readouts;
    LMR_HEAP double *from = NULL, *to = lmr_new(total * LARMOR_POSE, sizeof *to);
    LMR_HEAP int *state = lmr_new(total, sizeof *state);
    if (!to || !state) return LMR_NO_MEMORY();
    LMR_TRY(larmor_array_download(*motion, LARMOR_F64, &from));
    for (int64_t j = 0; j < readouts; j++)
        for (int64_t i = s->first[j]; i < s->first[j + 1]; i++) {
            state[i] = states->state[j];
            for (int p = 0; p < LARMOR_POSE; p++) to[i + total * p] = from[j + readouts * p];
        }
    larmor_device *dev = larmor_array_device(*motion);
    LMR_CLEAR(*motion);
    free(states->state);
    states->state = state;
    states->readouts = total;
    state = NULL;
    LMR_CLEAR(s->first);
    s->readouts = 0;
    return larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(total, LARMOR_POSE), LARMOR_F64, to, motion);
}

static void report(lmr_job *job, const lmr_frame *frame, const larmor_motion_states *states, const double *pose)
{
    const double side = least_side(&frame->grid), beyond = beyond_plane(pose, states->readouts);
    if (frame->grid.ndim == 2 && beyond > 0)
        lmr_warn(
            job->events,
            "motion: shifts along z and rotations about x and y, of up to %.3g mm or degrees, are left out, as the "
            "images are 2D",
            beyond);
    if (frame->segments) lmr_log(job->events, "motion: %s", lmr_physics_moves_by(job));
    if (!has_states(job)) {
        lmr_log(job->events, "motion: up to %.3g mm and %.3g degrees", states->largest_mm, states->largest_deg);
        return;
    }
    lmr_log(job->events,
            "motion: up to %.3g mm and %.3g degrees; coil maps of %d state%s, within %.2g voxels of those of their "
            "readouts",
            states->largest_mm, states->largest_deg, states->count, states->count == 1 ? "" : "s",
            states->within_mm / side);
}

/* Samples leave the grid where they turn. */
static larmor_status turn_samples(lmr_frame *frame, const larmor_array *motion, int turns)
{
    larmor_array *moved;
    LMR_TRY(larmor_motion_apply(frame->samples.kspace, frame->samples.traj, motion, frame->grid.fov_mm, &moved));
    larmor_array_free(frame->samples.traj);
    frame->samples.traj = moved;
    lmr_cached_free(frame->cached);
    frame->cached = NULL; /* it is of the trajectory before */
    if (turns) frame->cartesian.on_grid = frame->cartesian.box = 0;
    return LARMOR_OK;
}

larmor_status lmr_motion_correct(lmr_job *job, int index, lmr_frame *frame, larmor_recon_report *result)
{
    LMR_OWNED(larmor_array) *motion = NULL;
    LMR_FREED_BY(larmor_motion_states_free) larmor_motion_states states = {.count = 0};
    if (!lmr_moves(job)) return LARMOR_OK;
    LMR_TRY(check_readouts(job, frame));
    LMR_TRY(lmr_enter(job->events, "motion"));
    if (job->settings->opts.motion && !index) LMR_TRY(warn_of_late_poses(job));
    if (job->settings->opts.motion)
        LMR_TRY(poses_of(job, index, frame->group.readouts, &motion));
    else
        LMR_TRY(find_motion(job, frame, &motion, result));
    LMR_TRY(find_states(motion, &frame->grid, &states));
    result->motion_states = states.count;
    result->motion_mm = fmax(result->motion_mm, states.largest_mm);
    result->motion_deg = fmax(result->motion_deg, states.largest_deg);
    LMR_OWN_MEMORY(double, pose, larmor_array_download(motion, LARMOR_F64, &pose));
    if (job->settings->opts.motion || states.count > 1) report(job, frame, &states, pose);
    if (frame->samples.first) LMR_TRY(spread(&frame->samples, &motion, &states));
    if (states.largest_mm == 0 && states.largest_deg == 0) return LARMOR_OK;
    if (has_states(job)) LMR_TRY(make_states(job, index, frame, &states));
    return turn_samples(frame, motion, states.largest_deg > 0);
}

larmor_status lmr_motion_operator(const lmr_frame *frame, const larmor_array *maps, const larmor_sense_opts *opts,
                                  larmor_op **A)
{
    const struct lmr_frame_motion *m = frame->motion;
    LMR_HEAP larmor_array **own = calloc((size_t)m->states, sizeof(larmor_array *));
    larmor_status st = own ? LARMOR_OK : LMR_NO_MEMORY();
    for (int i = 0; i < m->states && !st; i++)
        st = larmor_array_convert(m->maps[i], larmor_array_dtype(maps), &own[i]);
    if (!st) st = larmor_op_sense_states_of(own, m->segments, m->states, m->state, opts, A);
    for (int i = 0; own && i < m->states; i++) larmor_array_free(own[i]);
    return st;
}
