/* The samples of the first image against other descriptions of them, before any image is made.
 * SPDX-License-Identifier: Apache-2.0 */
#include "check/describe.h"

#include "check/check.h"
#include "core/core.h"
#include "physics/physics.h"
#include "pipeline/maps.h"
#include "scan/sample_cache.h"

typedef larmor_status comparison(const larmor_array *kspace, const larmor_array *traj, larmor_description *found);

static larmor_status compare_by(comparison *compare, const larmor_samples *samples, larmor_description *found)
{
    LMR_OWNED(larmor_array) *kspace = NULL, *traj = NULL;
    LMR_TRY(larmor_samples_align(samples, &kspace, &traj));
    return compare(kspace, traj, found);
}

/* Of the samples in the centre: real scans with good images leave up to 0.25. */
#define MAX_UNEXPLAINED 0.30

/* 1 if the model's phases, which are in no description, may be why none fits. */
static int is_of_phases(const larmor_recon *r, const larmor_description *found)
{
    return lmr_physics_has_camera(&r->job) && (found->is_clear || found->unexplained > MAX_UNEXPLAINED);
}

/* 1 if a field map, which is in no description, has the frequency. */
static int is_of_map(const larmor_recon *r, const larmor_description *found)
{
    return r->settings.opts.b0 && found->frequency != 0;
}

/* 1 if images are frames, which resolve what changes in the course of the scan. */
static int is_in_frames(const larmor_recon *r, const larmor_description *found)
{
    if (!r->facts.info.averaged) return 0;
    return !found->is_clear || found->leaves_out || !strncmp(found->name, "a move ", 7) ||
           !strncmp(found->name, "an object that ", 15);
}

/* What to do about a description that explains the samples better. */
static void advise(const larmor_recon *r, const larmor_description *found, char *line, size_t size)
{
    const double dwell = r->facts.info.dwell_us * 1e-6;
    char hertz[48] = "";
    if (dwell > 0) snprintf(hertz, sizeof hertz, ", %+.0f Hz", found->frequency / dwell);
    if (found->frequency != 0)
        snprintf(line, size,
                 "Multiply sample j of each readout by exp(-2 pi i f j) with that f%s, or give a field map (opts.b0) "
                 "of that frequency.",
                 hertz);
    else
        snprintf(line, size, "Check the trajectory, the order of readouts and whether the object moved.");
}

/* *explained <- 1 if images without the model are no images of the object. */
static larmor_status compare_off_grid(larmor_recon *r, const larmor_samples *samples, int *explained)
{
    larmor_description found;
    char advice[256];
    LMR_TRY(compare_by(larmor_compare_descriptions, samples, &found));
    advise(r, &found, advice, sizeof advice);
    if (found.reach == 0) {
        lmr_log(&r->events,
                "description: not compared with others, as the centre of k-space is sampled too sparsely");
    } else if (is_of_phases(r, &found)) {
        *explained = 1;
        lmr_log(&r->events,
                "description: not compared with others, as one image of each coil without the model's phases leaves "
                "a misfit of %.2g within %.2g/FOV",
                found.misfit, found.reach);
    } else if (found.is_clear && !is_in_frames(r, &found) && !is_of_map(r, &found)) {
        r->events.is_contradicted = 1;
        lmr_warn(&r->events,
                 "the samples fit better with %s: misfit %.2g instead of %.2g in the centre of k-space. %s",
                 found.name, found.better, found.misfit, advice);
    } else if (found.unexplained > MAX_UNEXPLAINED && !is_in_frames(r, &found) && !is_of_map(r, &found)) {
        r->events.is_contradicted = 1;
        lmr_warn(
            &r->events,
            "no image explains the samples in the centre of k-space: %.0f %% of them within %.2g/FOV beyond noise "
            "is left over by one image of each coil. The object moved, its contrast changed, or readouts are not "
            "where the trajectory has them.",
            100 * found.unexplained, found.reach);
    } else {
        char other[192] = "";
        if (found.name[0]) snprintf(other, sizeof other, "; best of the others, %.2g: %s", found.better, found.name);
        lmr_log(&r->events,
                "description: one image of each coil explains the samples %swithin %.2g/FOV to a misfit of %.2g%s",
                r->facts.info.averaged ? "of all frames " : "", found.reach, found.misfit, other);
    }
    return LARMOR_OK;
}

/* Frames show what changes from one to the next, coefficients of a basis the contrast. */
static larmor_status compare_shares(larmor_recon *r, const larmor_samples *samples)
{
    lmr_coil_change found;
    char line[512];
    LMR_OWNED(larmor_array) *kspace = NULL, *traj = NULL;
    LMR_TRY(larmor_samples_align(samples, &kspace, &traj));
    LMR_TRY(lmr_coil_change_find(kspace, traj, &found));
    lmr_describe_coil_change(&found, line, sizeof line);
    r->events.is_contradicted |= found.change > 0;
    if (found.change > 0) lmr_warn(&r->events, "%s", line);
    if (!(found.drift > 0) || r->facts.basis || lmr_physics_has_camera(&r->job)) return LARMOR_OK;
    lmr_describe_drift(&found, line, sizeof line);
    lmr_warn(&r->events, "%s", line);
    return LARMOR_OK;
}

/* An object seems to fold where lines are not what they are described as, too: a second set of maps, which nobody
 * asked for, is not made where that explains the samples. */
static void keep_one_set(larmor_recon *r)
{
    lmr_job *job = &r->job;
    if (!job->facts->sets || job->facts->given || r->settings.opts.map_sets) return;
    r->facts.sets = 0;
    r->facts.precondition = r->settings.opts.precondition;
    lmr_log(&r->events,
            "coil maps: one set after all, as another description explains the samples better than an object that "
            "folds");
}

/* Of the energy of echoes in the centre: right Cartesian scans have 0, spokes of a phantom 0.98. */
#define MAX_FAR_ECHO 0.3

/* Readouts along x, wherever they are; others have none. */
static void look_at_echoes(larmor_recon *r, const larmor_description *found)
{
    if (found->far_echo > MAX_FAR_ECHO)
        lmr_warn(&r->events,
                 "lines far from the centre of k-space have an echo with %.2g of the energy of those through it, as "
                 "spokes and arms have: check whether the header's trajectory, \"cartesian\", is that of the scan.",
                 found->far_echo);
}

/* Samples as the coils themselves have them. */
static larmor_status uncolour(const lmr_job *job, larmor_array *samples)
{
    if (!job->facts->whitening) return LARMOR_OK;
    LMR_OWN(larmor_array, colouring, larmor_noise_colouring(job->facts->whitening, &colouring));
    return larmor_whiten(colouring, samples);
}

/* *found is not clear of virtual coils, which all change with one. */
static larmor_status compare_coil_steps(larmor_recon *r, const larmor_samples *samples,
                                        const larmor_description *lines, larmor_description *found)
{
    LMR_OWNED(larmor_array) *kspace = NULL, *traj = NULL, *raw = NULL;
    found->is_clear = 0;
    if (r->facts.compression || r->facts.info.averaged) return LARMOR_OK;
    LMR_TRY(larmor_samples_align(samples, &kspace, &traj));
    if (r->facts.whitening) {
        LMR_TRY(larmor_array_create(r->facts.dev, larmor_array_dtype(kspace), larmor_array_shape(kspace), &raw));
        LMR_TRY(larmor_copy(kspace, raw));
        LMR_TRY(uncolour(&r->job, raw));
    }
    return lmr_coil_step_find(raw ? raw : kspace, traj, lines, found);
}

/* Frames show what changes from one repeat to the next. */
static larmor_status compare_repeats(larmor_recon *r, const larmor_samples *samples)
{
    larmor_description found;
    char line[512];
    if (r->facts.info.averaged || r->facts.basis) return LARMOR_OK;
    LMR_TRY(compare_by(larmor_compare_repeats, samples, &found));
    lmr_describe_repeats(&found, line, sizeof line);
    if (found.is_clear) lmr_warn(&r->events, "%s", line);
    r->events.is_contradicted |= found.is_clear;
    return LARMOR_OK;
}

static larmor_status compare_lines(larmor_recon *r, const larmor_samples *samples, int on_grid)
{
    larmor_description found, coils;
    char line[512];
    LMR_TRY(compare_by(larmor_compare_lines, samples, &found));
    look_at_echoes(r, &found);
    LMR_TRY(compare_coil_steps(r, samples, &found, &coils));
    if (coils.is_clear) {
        lmr_describe_coil_step(&coils, line, sizeof line);
        lmr_warn(&r->events, "%s", line);
        r->events.is_contradicted = 1;
        keep_one_set(r);
        return LARMOR_OK;
    }
    if (!found.is_clear || (!on_grid && r->facts.info.traj_stored)) return LARMOR_OK;
    if (!r->events.is_contradicted) /* images of lines in reverse have not said so before */
        lmr_warn(&r->events,
                 "the samples fit better with %s: windows of k-space are more alike by a factor of %.2g. Check which "
                 "lines are flagged as reversed, whether the object moved, the centre of readouts and the phase "
                 "correction.",
                 found.name, exp(found.misfit - found.better));
    if (!found.leaves_out) keep_one_set(r);
    return LARMOR_OK;
}

/* ---- lines of one coil ---- */

#define MAX_ENLARGED 1.01 /* of the encoded field of view, for a grid whose places are its own; not measured */

static larmor_status look_at_steps(larmor_recon *r, int index, const larmor_samples *samples)
{
    const larmor_grid *grid = &r->job.facts->grid[index];
    larmor_group group;
    larmor_encoding encoding;
    int64_t step[3] = {1, 1, 1};
    if (r->job.facts->coils > 1) return LARMOR_OK;
    LMR_TRY(lmr_source_group(r->job.facts->source, index, &group));
    LMR_TRY(lmr_source_encoding(r->job.facts->source, group.encoding, &encoding));
    LMR_TRY(lmr_fold_steps(samples->traj, step));
    for (int d = 0; d < grid->ndim; d++)
        if (step[d] > 1 && grid->fov_mm[d] < MAX_ENLARGED * encoding.fov_mm[d])
            lmr_warn(&r->events,
                     "lines are %lld/FOV apart along %c, which one coil cannot make up for: each place of the image "
                     "has those 1/%lld of the field of view away folded in. Scan all lines, or with more coils.",
                     (long long)step[d], "xyz"[d], (long long)step[d]);
    return LARMOR_OK;
}

/* ---- given maps ---- */

static void report_maps(larmor_recon *r, const larmor_description *found)
{
    if (found->reach == 0)
        lmr_log(&r->events, "description: the given maps are not compared with the samples, of which the centre of "
                            "k-space has too few lines");
    else if (found->is_clear)
        lmr_warn(&r->events,
                 "the given maps do not fit: they leave %.2g of the coils' images in low resolution unexplained, %s "
                 "%.2g. Check their orientation, the order of coils and which scan they are of.",
                 found->misfit, found->name, found->better);
    else
        lmr_log(&r->events, "description: the given maps fit the coils' images to a misfit of %.2g", found->misfit);
}

static larmor_status compare_given(larmor_recon *r, int index, const larmor_array *region, const double fov[3])
{
    lmr_job *job = &r->job;
    const larmor_shape shape = larmor_shape_append(lmr_grid_shape(&job->facts->grid[index]), job->facts->info.coils);
    larmor_description found;
    LMR_OWN(larmor_array, view, larmor_array_reshape(job->facts->given, shape, &view));
    LMR_TRY(larmor_compare_maps(region, fov, view, &found));
    report_maps(r, &found);
    return LARMOR_OK;
}

static larmor_status compare_coils(larmor_recon *r, const larmor_array *region)
{
    larmor_description found;
    LMR_TRY(larmor_compare_coils(region, &found));
    if (found.is_clear)
        lmr_warn(&r->events,
                 "the coils fit each other better with %s: windows of k-space are more alike by a factor of %.2g. "
                 "Check the signs of its samples' real and imaginary parts.",
                 found.name, exp(found.misfit - found.better));
    return LARMOR_OK;
}

/* Coils against each other, and given maps against them. */
static larmor_status compare_region(larmor_recon *r, int index, const larmor_samples *samples, int given)
{
    lmr_job *job = &r->job;
    LMR_OWNED(larmor_array) *region = NULL;
    larmor_region_report report;
    larmor_group group;
    LMR_TRY(lmr_source_group(job->facts->source, index, &group));
    LMR_TRY(lmr_maps_region(job, index, &group, &job->facts->grid[index], samples, &region, &report));
    if (!region) return LARMOR_OK;
    LMR_TRY(uncolour(job, region));
    LMR_TRY(compare_coils(r, region));
    if (given) LMR_TRY(compare_given(r, index, region, report.fov));
    return LARMOR_OK;
}

/* 1 if maps are given that are those of the samples' coils, of one set on the image's grid. */
static int has_given(const lmr_job *job, int index)
{
    return job->facts->given && job->facts->coils > 1 && !job->facts->compression && !job->facts->sets &&
           !job->facts->grid[index].apart[2] &&
           larmor_shape_equal(lmr_grid_shape(&job->facts->grid[index]), job->facts->given_image);
}

/* Of the samples, beyond the resolution along one axis; and of the edge along another, where they end. Trajectories
 * whose axes are in another order than a matrix of 16 x 14 x 12 voxels, or one less like a cube, have .03 and .75. */
#define MIN_OUTSIDE 0.01
#define MAX_SHORT 0.8

/* A matrix smaller than that of the samples leaves some out, but then the others reach its edge. */
static larmor_status look_at_axes(larmor_recon *r, int index, const larmor_samples *samples)
{
    const larmor_grid *grid = &r->facts.grid[index];
    const double points = (double)larmor_array_count(samples->traj) / grid->ndim;
    const double outside = (double)samples->outside / ((double)samples->outside + points);
    larmor_coverage c;
    double least = 1;
    int axis = 0;
    if (outside < MIN_OUTSIDE) return LARMOR_OK;
    LMR_TRY(larmor_traj_coverage(samples->traj, &c));
    for (int d = 0; d < grid->ndim; d++) {
        const double reach = 2 * fmax(-c.low[d], c.high[d]) / (double)grid->matrix[d];
        if (grid->apart[d] || reach >= least) continue;
        least = reach;
        axis = d;
    }
    if (least > MAX_SHORT) return LARMOR_OK;
    lmr_warn(
        &r->events,
        "%.2g %% of the samples are beyond the resolution of the matrix and left out, and along %c they end at %.2g "
        "of it: check whether the trajectory's axes are in the order of the matrix's.",
        100 * outside, "xyz"[axis], least);
    return LARMOR_OK;
}

static larmor_status compare_lead(larmor_recon *r)
{
    lmr_job *job = &r->job;
    const int index = lmr_lead_group(&r->list);
    larmor_samples samples;
    lmr_cartesian cartesian;
    int made;
    LMR_TRY(lmr_enter(&r->events, "description"));
    LMR_TRY(lmr_group_average(job, index, &samples, &made, &cartesian));
    r->facts.lead_is_seen = 1;
    r->facts.lead_echo = cartesian.faults.echo_distance;
    larmor_status st = compare_repeats(r, &samples);
    if (!st) st = compare_lines(r, &samples, cartesian.on_grid);
    int explained = 0;
    if (!st && !cartesian.on_grid) st = look_at_axes(r, index, &samples);
    if (!st && cartesian.on_grid) st = look_at_steps(r, index, &samples);
    if (!st && !cartesian.on_grid && !r->facts.info.averaged) st = compare_shares(r, &samples);
    if (!st && !cartesian.on_grid) st = compare_off_grid(r, &samples, &explained);
    const int given = has_given(job, index) && !explained;
    const int has_coils =
        job->facts->grid[index].ndim == 2 && job->facts->coils > 1 && !job->facts->compression; /* not virtual ones */
    if (!st && (given || has_coils)) st = compare_region(r, index, &samples, given);
    lmr_samples_release(job, index, &samples, made, &cartesian);
    return st;
}

larmor_status lmr_describe_compare(larmor_recon *r)
{
    const larmor_recon_opts *o = &r->settings.opts;
    if (!r->list.groups || r->facts.slabs || o->memory || o->motion || o->motion_states) return LARMOR_OK;
    const larmor_status st = compare_lead(r);
    if (!st || st == LARMOR_STOPPED) return st;
    lmr_log(&r->events, "description: not compared with others: %s", larmor_last_error());
    return LARMOR_OK;
}
