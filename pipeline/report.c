/* The lines that a reconstruction writes to the log. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/report.h"

#include "check/check.h"
#include "core/core.h"
#include "pipeline/maps.h"
#include "pipeline/method.h"
#include "pipeline/partial.h"
#include "scan/compress.h"
#include "schedule/slabs.h"

typedef long long ll;

#define MAX_CHANGE_OVER_NOISE 10  /* times an image's noise: what it is said to change by, where there is noise */
#define MAX_NONORTHOGONALITY 1e-2 /* of products of a basis' functions, relative to their lengths; not measured */

/* What is printed behind the word for so many things. */
static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- before the first image ---- */

/* What readers of files warn of, and recon corrects: it is said where that is not done. */
enum { OF_GHOSTS, OF_HOLES, CORRECTED };
static const char *const corrected[CORRECTED] = {"echoes of lines in reverse are", "a hole in its centre: no sample"};

/* The number of the words of `corrected` that the line of this length has; CORRECTED: none. */
static int find_corrected(const char *line, size_t length)
{
    for (int i = 0; i < CORRECTED; i++) {
        const char *found = strstr(line, corrected[i]);
        if (found && found < line + length) return i;
    }
    return CORRECTED;
}

#define UNFELT_LAMBDA 1e-6 /* given, of the largest eigenvalue: less than the noise of any scan asks for */

static void report_warnings(lmr_events *e, const char *warnings, int which)
{
    for (const char *line = warnings; *line;) {
        const size_t length = strcspn(line, "\n");
        if (find_corrected(line, length) == which) lmr_warn(e, "%.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

void lmr_report_source(larmor_recon *r)
{
    const larmor_raw_info *info = &r->facts.info;
    lmr_events *e = &r->events;
    larmor_group first;
    larmor_encoding enc;
    if (lmr_source_group(r->facts.source, 0, &first) || lmr_source_encoding(r->facts.source, first.encoding, &enc))
        return;
    lmr_log(e, "%s: %lld %s readout%s x %lld, %d coil%s, %d image%s", lmr_source_name(r->facts.source),
            (ll)first.readouts, enc.trajectory, plural(first.readouts), (ll)first.samples, info->coils,
            plural(info->coils), info->groups, plural(info->groups));
    if (info->bands_report[0]) lmr_log(e, "multiband: %s", info->bands_report);
    if (info->frames_report[0]) lmr_log(e, "frames: %s", info->frames_report);
    if (info->noise || info->calibration || info->dropped || info->nonfinite)
        lmr_log(e, "readouts: %lld image, %lld noise, %lld calibration, %lld left out by flags, %lld non-finite",
                (ll)info->imaging, (ll)info->noise, (ll)info->calibration, (ll)info->dropped, (ll)info->nonfinite);
    if (info->dropped_report[0]) lmr_log(e, "left out: %s", info->dropped_report);
    if (info->completing)
        lmr_log(e, "calibration: %lld of its readouts complete images that lack them", (ll)info->completing);
    if (info->calibration_report[0]) lmr_log(e, "calibration: %s", info->calibration_report);
    if (info->traj_given[0]) lmr_log(e, "trajectory: %s", info->traj_given);
    if (info->traj_report[0]) lmr_log(e, "trajectory: %s", info->traj_report);
    if (info->phase_report[0]) lmr_log(e, "phases: %s", info->phase_report);
    report_warnings(e, r->settings.idle, CORRECTED);
    report_warnings(e, info->warnings, CORRECTED);
    const char *reason = larmor_device_reason(r->facts.dev);
    if (!strncmp(reason, "auto:", 5)) lmr_log(e, "device %s", reason);
}

void lmr_report_ghosts(larmor_recon *r)
{
    report_warnings(&r->events, r->facts.info.warnings, OF_GHOSTS);
}

void lmr_report_holes(larmor_recon *r)
{
    report_warnings(&r->events, r->facts.info.warnings, OF_HOLES);
}

void lmr_report_left(larmor_recon *r, const char *gpu, const char *why)
{
    lmr_warn(&r->events, "%s failed before anything was computed, the processor takes over: %s", gpu, why);
}

/* That of Siemens' receivers, which Gadgetron takes as well where a header states none. */
static const double usual_bandwidth = 0.793;

void lmr_report_whitening(larmor_recon *r)
{
    const larmor_raw_info *info = &r->facts.info;
    const char *assumed =
        info->noise_bandwidth == usual_bandwidth ? "; that ratio is also taken where the header states none" : "";
    lmr_log(&r->events,
            "whitening: %lld noise sample%s, dwell %.3g/%.3g us, bandwidth ratio %.3g; noise %.3g a sample, in "
            "whose unit samples are; images keep the unit that they have without whitening%s",
            (ll)info->noise_samples, plural(info->noise_samples), info->noise_dwell_us, info->dwell_us,
            info->noise_bandwidth, r->facts.noise_unit / r->facts.noise_scale, assumed);
}

void lmr_report_compression(larmor_recon *r)
{
    const lmr_job *job = &r->job;
    const char *why = r->settings.opts.compress > 0 ? "" : "; opts.compress off leaves them as they are";
    const char *along = lmr_compression_is_geometric(job) ? ", at each place along the readouts by itself" : "";
    if (job->facts->compression)
        lmr_log(&r->events, "coils: %d compressed to %d virtual one%s with %.8g %% of the signal's energy%s%s",
                job->facts->info.coils, job->facts->coils, plural(job->facts->coils),
                100 * job->facts->compressed.energy, along, why);
    else
        lmr_log(&r->events, "coils: not compressed, all %d are needed for that part of the signal's energy",
                job->facts->info.coils);
}

/* ---- delays ---- */

/* "x 1.3, y -0.7, xy 0.4" */
typedef struct delay_text {
    char s[160];
} delay_text;

static delay_text delays_text(const double delay[6], int ndim)
{
    static const char *const names[] = {"x", "y", "z", "xy", "xz", "yz"};
    delay_text text = {""};
    for (int e = 0; e < 6; e++)
        if (ndim == 3 || (e != 2 && e <= 3))
            lmr_append_item(text.s, sizeof text.s, ", ", "%s %.3g", names[e], delay[e]);
    return text;
}

static int dimensions(const larmor_recon *r, int encoding)
{
    larmor_encoding e;
    return lmr_source_encoding(r->facts.source, encoding, &e) ? 3 : e.ndim;
}

void lmr_report_given_delays(larmor_recon *r)
{
    lmr_log(&r->events, "delays: %s samples, as given", delays_text(r->settings.opts.delay, dimensions(r, 0)).s);
}

void lmr_report_delays(larmor_recon *r, int encoding, const larmor_delays *found, larmor_status status)
{
    lmr_events *e = &r->events;
    if (status == LARMOR_ERR_UNSUPPORTED) return; /* no spokes */
    if (status) {
        lmr_log(e, "delays: not looked for: %s", larmor_last_error());
        return;
    }
    const delay_text text = delays_text(found->delay, dimensions(r, encoding));
    if (found->significant)
        lmr_log(e, "delays: the gradients are late by %s samples; the trajectory is corrected (opts.delays off: not)",
                text.s);
    else
        lmr_log(e, "delays: none that the data show clearly");
}

/* ---- what will be done ---- */

/* Voxels far smaller than what samples resolve by the header are interpolated, at the cost of each step. */
static void report_grid(larmor_recon *r)
{
    const larmor_grid *g = &r->facts.grid[0];
    larmor_encoding e = {.ndim = 0};
    larmor_group first;
    double voxel[3], finer = 1;
    for (int d = 0; d < 3; d++) voxel[d] = g->fov_mm[d] / (double)g->matrix[d];
    lmr_log(&r->events, "image: %lldx%lldx%lld, %.3gx%.3gx%.3g mm; grid %lldx%lldx%lld", (ll)g->crop[0],
            (ll)g->crop[1], (ll)g->crop[2], voxel[0], voxel[1], voxel[2], (ll)g->matrix[0], (ll)g->matrix[1],
            (ll)g->matrix[2]);
    if (lmr_source_group(r->facts.source, 0, &first) || lmr_source_encoding(r->facts.source, first.encoding, &e))
        return;
    for (int d = 0; d < e.ndim; d++) finer *= e.fov_mm[d] / (double)e.matrix[d] / voxel[d];
    if (finer >= 16)
        lmr_log(&r->events,
                "image: %.0f voxels for each that the samples resolve by the header, and each step takes "
                "as many times longer; larmor_resize makes an image of the header's matrix as fine",
                finer);
}

void lmr_report_method(larmor_recon *r)
{
    static const char *const densities[] = {"auto", "ramp", "pipe", "file", "none", "voronoi", "spiral"};
    const lmr_job *job = &r->job;
    const char *spec = lmr_spec(r);
    const char *maps = job->facts->coils == 1 ? "one coil, no maps" : "maps";
    if (job->facts->maps_method && job->facts->coils > 1) maps = job->facts->maps_method->said;
    if (job->facts->given) maps = r->settings.maps_name;
    if (job->settings->opts.no_maps) maps = "root sum of squares";
    if (lmr_solves_coils(job)) maps = "coil images without maps, combined by maps of their own centre of k-space";
    char sets[32] = "", lambda[48] = "from the data";
    if (job->facts->sets) snprintf(sets, sizeof sets, ", %d sets", job->facts->sets);
    if (job->settings->opts.lambda_mode != LARMOR_LAMBDA_AUTO)
        snprintf(lambda, sizeof lambda, "%s%g",
                 job->settings->opts.lambda_mode == LARMOR_LAMBDA_NOISE ? "noise:" : "", job->settings->opts.lambda);
    const char *name = job->facts->automatic ? "method from the data" : lmr_method_name(job);
    if (job->found.method.kind == LMR_METHOD_CG && !job->facts->automatic) name = "cg-sense";
    report_grid(r);
    double side[3];
    const int differences = job->facts->automatic || !strcmp(name, "tv") || !strcmp(name, "tgv");
    if (differences && !lmr_voxel_sides(&job->facts->grid[0], side))
        lmr_warn(&r->events, "the sides of voxels differ by more than 8 times, as if the field of view were wrong; "
                             "differences along all axes are weighed alike");
    if (job->settings->opts.motion_fields)
        lmr_log(&r->events, "motion: one image of %lld frames, each with its displacement",
                (ll)larmor_array_shape(job->facts->basis).dim[0]);
    if (job->facts->basis && !job->settings->opts.motion_fields) {
        const larmor_shape basis = larmor_array_shape(job->facts->basis);
        lmr_log(&r->events, "basis: %lld coefficient%s of %lld frames%s", (ll)basis.dim[1], plural(basis.dim[1]),
                (ll)basis.dim[0], job->settings->opts.basis_frames ? ", which become frames again" : "");
        if (job->facts->basis_skew > MAX_NONORTHOGONALITY)
            lmr_warn(
                &r->events,
                "basis: its functions are not orthonormal, off by %.2g; a penalty weighs the coefficients unevenly",
                job->facts->basis_skew);
    }
    if (job->found.method.kind == LMR_METHOD_GRID)
        lmr_log(&r->events, "gridding on %s: density %s; %s%s", spec, densities[job->settings->opts.density], maps,
                sets);
    else if (job->found.method.kind == LMR_METHOD_NLINV)
        lmr_log(&r->events, "nlinv on %s: image and coil maps of each frame, held to the one before", spec);
    else
        lmr_log(&r->events, "%s on %s: lambda %s; %s%s", name, spec, lambda, maps, sets);
    if (job->found.method.kind == LMR_METHOD_CG && job->settings->opts.lambda_mode == LARMOR_LAMBDA_RELATIVE &&
        job->settings->opts.lambda < UNFELT_LAMBDA && !job->settings->opts.iters)
        lmr_log(&r->events,
                "lambda %g holds nothing: what samples do not determine, as spokes do not the corners of k-space, "
                "becomes noise; opts.iters stops before",
                job->settings->opts.lambda);
    if (!lmr_job_resolves_lambda(job))
        lmr_log(&r->events, "double precision: rounding in single would be %.1g of an image by lambda %g",
                2e-8 / job->settings->opts.lambda, job->settings->opts.lambda);
    const int has_penalty = job->found.method.kind == LMR_METHOD_REGULARISED && job->facts->basis;
    if (job->facts->method_from == LARMOR_METHOD_FROM_OPTIONS)
        lmr_log(&r->events, "method: %s, %s", lmr_method_name(job),
                has_penalty ? "which leaves coefficients of a basis less noise; opts.method cg is without a penalty"
                            : "as an option is given that is of one method");
    if (job->facts->method_from == LARMOR_METHOD_FROM_BINS)
        lmr_log(&r->events,
                "method: %s, as bins lack other parts of k-space each; opts.method cg makes each bin by itself",
                lmr_method_name(job));
}

/* ---- memory ---- */

/* "96 MB", "3.1 GB" */
typedef struct byte_text {
    char s[32];
} byte_text;

static byte_text bytes_text(int64_t bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    double value = (double)bytes;
    int unit = 0;
    while (unit < 4 && value >= 999.5) {
        value /= 1000;
        unit++;
    }
    byte_text text;
    snprintf(text.s, sizeof text.s, "%.*f %s", unit > 0 && value < 9.95 ? 1 : 0, value, units[unit]);
    return text;
}

static const char *whose(const larmor_recon *r)
{
    return r->settings.opts.memory && !r->memory_found ? "allowed" : "free";
}

larmor_status lmr_report_too_large(const larmor_recon *r)
{
    const lmr_plan *plan = &r->plan;
    const int shared = larmor_ranks_count(r->settings.opts.ranks) > 1 || larmor_device_members(r->facts.dev);
    const int threads = r->group || larmor_device_members(r->facts.dev);
    const char *unfit = shared ? lmr_slabs_unfit(r) : NULL;
    /* before the coils are looked at the plan is that of one of them */
    const char *least = r->facts.coils < r->facts.info.coils && !r->facts.compression ? "at least " : "";
    LMR_REFUSE(r->facts.slabs, LARMOR_ERR_MEMORY,
               "%s: %s of memory needed for a slab of the volume on each of %d %s, %s %s on %s: %s "
               "missing. Raise opts.memory, or %s.",
               lmr_source_name(r->facts.source), bytes_text(plan->planned).s, larmor_ranks_count(r->facts.slabs),
               threads ? "devices" : "processes", bytes_text(plan->limit).s, whose(r), lmr_spec(r),
               bytes_text(plan->planned - plan->limit).s, threads ? "name more devices" : "start more processes");
    LMR_REFUSE(unfit, LARMOR_ERR_MEMORY,
               "%s: %s%s of memory needed with one coil at a time, %s %s on %s: %s missing. Raise opts.memory; the "
               "%s cannot share the volume in slabs, as %s.",
               lmr_source_name(r->facts.source), least, bytes_text(plan->planned).s, bytes_text(plan->limit).s,
               whose(r), lmr_spec(r), bytes_text(plan->planned - plan->limit).s, threads ? "devices" : "processes",
               unfit);
    return LMR_FAIL(
        LARMOR_ERR_MEMORY, "%s: %s%s of memory needed with one coil at a time, %s %s on %s: %s missing. %s",
        lmr_source_name(r->facts.source), least, bytes_text(plan->planned).s, bytes_text(plan->limit).s, whose(r),
        lmr_spec(r), bytes_text(plan->planned - plan->limit).s,
        r->settings.opts.memory && !r->memory_found ? "Raise opts.memory." : "Free some, or use another device.");
}

void lmr_report_shrunk(larmor_recon *r)
{
    lmr_warn(&r->events,
             "memory: %s planned of %s %s on %s; the field of view is not enlarged, what is outside folds in",
             bytes_text(r->plan.planned).s, bytes_text(r->plan.limit).s, whose(r), lmr_spec(r));
}

static void report_given_up(larmor_recon *r)
{
    if (r->plan.compare < 0 && r->facts.automatic)
        lmr_log(&r->events, "memory: to compare methods does not fit; the method is cg");
    if (r->plan.choose < 0 && lmr_chooses(&r->job))
        lmr_log(&r->events,
                "memory: to choose lambda from the data does not fit; it is taken from the level of the noise");
    if (r->plan.precondition < 0 && !r->facts.precondition)
        lmr_log(&r->events, "memory: the preconditioner does not fit; without it more iterations are needed");
}

void lmr_report_plan(larmor_recon *r)
{
    const lmr_plan *plan = &r->plan;
    const char *spec = lmr_spec(r);
    lmr_events *e = &r->events;
    char blocks[64] = "", beside[64] = "", threads[32] = "";
    const char *turns = plan->in_turn ? "; frames in turn on one grid" : "";
    report_given_up(r);
    if (plan->block < plan->coils)
        snprintf(blocks, sizeof blocks, "; %lld of %lld coils at a time", (ll)plan->block, (ll)plan->coils);
    if (r->threads_each > 0)
        snprintf(threads, sizeof threads, ", %d thread%s each", r->threads_each, plural(r->threads_each));
    if (r->at_once > 1)
        snprintf(beside, sizeof beside, "; %d %s at the same time%s%s", r->at_once,
                 r->list.series == r->list.groups ? "images" : "series",
                 larmor_device_members(r->facts.dev) ? " on each" : "", threads);
    if (plan->limit)
        lmr_log(e, "memory: %s planned of %s %s on %s%s%s%s", bytes_text(plan->planned).s, bytes_text(plan->limit).s,
                whose(r), spec, blocks, turns, beside);
    else
        lmr_log(e, "memory: %s planned on %s%s", bytes_text(plan->planned).s, spec, blocks);
}

void lmr_report_slabs(larmor_recon *r)
{
    const lmr_plan *plan = &r->plan;
    const int count = larmor_ranks_count(r->facts.slabs);
    const char *one = r->group ? "device" : "process";
    lmr_log(&r->events, "slabs: the volume does not fit into one %s; each of %d has %lld of its %lld planes at most",
            one, count, (ll)((r->facts.grid[r->list.group[0]].matrix[2] + count - 1) / count),
            (ll)r->facts.grid[r->list.group[0]].matrix[2]);
    if (r->facts.method_from == LARMOR_METHOD_FROM_MEMORY)
        lmr_log(&r->events, "slabs: the method is %s, as volumes in slabs have no other", lmr_method_name(&r->job));
    report_given_up(r);
    if (!r->searched && !(r->settings.opts.oversample[0] > 0))
        lmr_log(&r->events, "slabs: objects beyond the field of view are not looked for; opts.oversample makes room");
    if (plan->limit)
        lmr_log(&r->events, "memory: %s planned of %s %s for each %s on %s, one coil at a time",
                bytes_text(plan->planned).s, bytes_text(plan->limit).s, whose(r), one, lmr_spec(r));
    else
        lmr_log(&r->events, "memory: %s planned for each %s on %s, one coil at a time", bytes_text(plan->planned).s,
                one, lmr_spec(r));
}

/* ---- a series ---- */

#define RAISED_FACTOR 1.5 /* times the weight that was chosen: more is no rounding */

/* What the weight was chosen from. */
static void report_noise(larmor_recon *r, const char *name, const larmor_recon_report *now,
                         const larmor_recon_report *before)
{
    lmr_events *e = &r->events;
    if (now->lambda_from == LARMOR_LAMBDA_FROM_SCAN) {
        if (!before || before->lambda_from != LARMOR_LAMBDA_FROM_SCAN)
            lmr_log(e, "%s: lambda %.2e, as chosen before: the images of a scan share it", name, now->lambda);
        return;
    }
    if (r->facts.whitening)
        lmr_log(e, "%s: noise as in the noise scan", name);
    else if (now->misfit.noise_excess > 0)
        lmr_log(e,
                "%s: noise %.3g a sample: samples beside each other have signal in their differences, which say %.3g",
                name, now->noise, now->noise * now->misfit.noise_excess);
    else
        lmr_log(e, "%s: noise %.3g a sample, measured from the samples", name, now->noise);
    if (now->choice.time_weight > 0)
        lmr_log(e, "%s: a difference in time weighs %g times one in space, chosen from the samples", name,
                now->choice.time_weight);
    if (now->choice.ratios[0] > 0)
        lmr_log(e, "%s: the penalties weigh %s, chosen from the samples", name, now->method.name);
    if (now->lambda_from == LARMOR_LAMBDA_FROM_DATA)
        lmr_log(e, "%s: lambda %.2e, chosen from the samples, in %d step%s, %.2f s", name, now->lambda,
                now->choice.tried, plural(now->choice.tried), now->choice.seconds);
    else if (now->lambda_from == LARMOR_LAMBDA_FROM_NOISE && lmr_chooses(&r->job))
        lmr_log(e, "%s: lambda %.2e, expected from the noise: samples of one coil on a grid do not determine it",
                name, now->lambda);
    else if (now->lambda_from == LARMOR_LAMBDA_FROM_NOISE && !now->interrupted)
        lmr_log(e, "%s: lambda %.2e, expected from the noise; no memory to choose it from the data", name,
                now->lambda);
    else if (now->lambda_from == LARMOR_LAMBDA_OF_ONE_COIL)
        lmr_log(e, "%s: lambda %.2e, from the noise: samples of one coil on the grid predict no others", name,
                now->lambda);
    else if (now->lambda_from == LARMOR_LAMBDA_UNPREDICTED)
        lmr_log(e, "%s: lambda %.2e, expected from the noise", name, now->lambda);
    else if (now->lambda_from == LARMOR_LAMBDA_NONE)
        lmr_log(e, "%s: no lambda: one coil does not tell what was not sampled", name);
    if (now->lambda_from == LARMOR_LAMBDA_FROM_DATA && now->weight > RAISED_FACTOR * now->choice.weight)
        lmr_log(e, "%s: lambda is %.0f times the one chosen, at which the image does not settle", name,
                now->weight / now->choice.weight);
}

/* What the image has of the object, where that is less than an image may lose. */
static void report_intensity(larmor_recon *r, const char *name, const larmor_recon_report *now)
{
    const double part = now->choice.intensity;
    if (now->lambda_from != LARMOR_LAMBDA_FROM_DATA || !(part > 0) || part > 1 - LARMOR_MAX_INTENSITY_LOSS) return;
    lmr_log(&r->events,
            "%s: the image has about %.0f %% of the object's intensity, as the samples held out have it: the rest is "
            "lost to the weight, or to what no image explains",
            name, 100 * part);
}

/* Each warning once, with the image that it came up with. */
static void report_image_warnings(larmor_recon *r, const char *name, const larmor_recon_report *now,
                                  const larmor_recon_report *before)
{
    char line[512], known[512];
    int kind, other;
    for (int i = 0; (kind = larmor_recon_warning(now, i, line, sizeof line)) != 0; i++) {
        int said = 0;
        for (int j = 0; before && (other = larmor_recon_warning(before, j, known, sizeof known)) != 0; j++)
            said |= kind == other;
        if (!said) lmr_warn(&r->events, "%s: %s", name, line);
    }
    if (now->faults.echo_hz > 0 && !(before && before->faults.echo_hz > 0))
        lmr_log(&r->events,
                "%s: the signal peaks away from the centre of k-space in proportion to the echo time: the frequency "
                "differs by some %.2g Hz from one edge of the field of view to the other, and gradients are not late",
                name, now->faults.echo_hz);
}

static const char *way_of(const larmor_recon_report *report)
{
    if (report->ffts) return "FFTs";
    return report->toeplitz ? "Toeplitz" : "NUFFTs";
}

/* What more iterations would do to the image. */
static void report_stop(lmr_events *e, const char *name, const larmor_recon_report *now)
{
    const larmor_report *s = &now->solver;
    const double left = now->image_noise > 0 ? s->left / now->image_noise : 0;
    if (!(s->left > 0) || now->interrupted) return;
    if (left > 0 && left < MAX_CHANGE_OVER_NOISE)
        lmr_log(e, "%s: stopped after %d iteration%s: further ones would change the image by some %.2g of its noise",
                name, s->iters, plural(s->iters), left);
    else if (s->end == LARMOR_END_TOLERANCE && !strcmp(now->method.name, "cg"))
        lmr_log(e,
                "%s: stopped after %d iteration%s: further ones would change the image by less than 1e-4 of itself",
                name, s->iters, plural(s->iters));
}

static void report_solver(larmor_recon *r, const char *name, const larmor_recon_report *now)
{
    const larmor_report *s = &now->solver;
    lmr_events *e = &r->events;
    char terms[64] = "";
    if (now->terms)
        snprintf(terms, sizeof terms, ", %d Toeplitz term%s of the normal map", now->terms, plural(now->terms));
    if (s->end == LARMOR_END_ITERATIONS)
        lmr_log(e, "%s: the limit of iterations was reached first; opts.iters allows for more", name);
    if (s->end == LARMOR_END_ITERATIONS && *now->method.name && !lmr_method_acts_in_images(now->method.name))
        lmr_log(e, "%s: no penalty acts within the images, as tv:xy does: what no frame has sampled stays open",
                name);
    report_stop(e, name, now);
    if (s->end == LARMOR_END_PRECISION)
        lmr_warn(e, "%s: ended at the rounding of its numbers; opts.eps 1e-7 takes double precision", name);
    if (now->segments)
        lmr_log(e, "%s: off-resonance by %d segment%s%s", name, now->segments, plural(now->segments), terms);
    if (!strcmp(now->method.name, "cg"))
        lmr_log(e, "%s: %d iteration%s by %s, residual %.2e, %.2f s", name, s->iters, plural(s->iters), way_of(now),
                s->residual, s->seconds);
    else
        lmr_log(e, "%s: %d iteration%s, change %.2e, objective %.4e, lambda %.3e absolute, %.2f s", name, s->iters,
                plural(s->iters), s->residual, s->objective, now->weight, s->seconds);
}

/* The method of an image where it was not asked for. */
static void report_choice(larmor_recon *r, const char *name, const larmor_recon_report *now,
                          const larmor_recon_report *before)
{
    static const char *const reasons[] = {
        [LARMOR_METHOD_FROM_LINEARITY] = "k-space is fully sampled with little noise",
        [LARMOR_METHOD_FROM_FEW_SAMPLES] = "too few samples predict one another to compare methods",
        [LARMOR_METHOD_FROM_FAILURE] = "no image predicts the samples held out better than zeros do",
        [LARMOR_METHOD_FROM_OPTIONS] = "partial Fourier is by projections",
        [LARMOR_METHOD_FROM_ONE_COIL] = "samples of one coil on the grid predict no others",
        [LARMOR_METHOD_FROM_HOLE] = "the centre of its k-space has a hole",
        [LARMOR_METHOD_FROM_BINS] = "each bin lacks other readouts",
        [LARMOR_METHOD_FROM_MODEL] = "by a penalty it has more where k-space is not sampled than objects have"};
    const larmor_method_choice *m = &now->method;
    char sums[160] = "";
    if (!r->facts.automatic) return;
    if (m->from == LARMOR_METHOD_FROM_SCAN) {
        if (!before || before->method.from != LARMOR_METHOD_FROM_SCAN)
            lmr_log(&r->events, "%s: method %s, as chosen before: the images of a scan share it", name, m->name);
        return;
    }
    if (m->from != LARMOR_METHOD_FROM_DATA) {
        const char *why = m->from < sizeof reasons / sizeof *reasons ? reasons[m->from] : NULL;
        lmr_log(&r->events, "%s: method %s, as %s", name, m->name, why ? why : "asked for");
        return;
    }
    for (int i = 0; i < m->compared; i++)
        lmr_append(sums, sizeof sums, "%s%s %.4f", i ? ", " : "", m->trial[i].name, m->trial[i].misfit);
    if (m->compared == 1)
        lmr_log(&r->events, "%s: method %s: its image leaves %.4f of what is held out", name, m->name,
                m->trial[0].misfit);
    else
        lmr_log(&r->events, "%s: method %s: of what is held out the images leave %s", name, m->name, sums);
}

void lmr_report_series(larmor_recon *r, const char *name, const larmor_recon_report *now,
                       const larmor_recon_report *before)
{
    if (now->status) {
        lmr_warn(&r->events, "%s: %s; %s", name, now->message,
                 now->is_suspect ? "the best of its iterates is taken" : "it is left out");
        if (!now->is_suspect) return;
    }
    if (!now->method.name[0]) {
        lmr_log(&r->events, "%s: all samples are 0, and so is the image", name);
        return;
    }
    report_image_warnings(r, name, now, before);
    if (now->made_traj && !before)
        lmr_warn(&r->events, "no trajectory is stored; it was made from the counters, without any gradient delay");
    if (now->outside)
        lmr_log(&r->events, "%s: %lld sample%s beyond the resolution of reconSpace left out", name, (ll)now->outside,
                plural(now->outside));
    const int inverts = r->job.found.method.kind == LMR_METHOD_NLINV;
    if (inverts)
        lmr_log(&r->events, "%s: %d Newton steps, which leave %.3g of the last frame's samples", name,
                now->solver.iters, now->solver.residual);
    if (!inverts && r->job.found.method.kind != LMR_METHOD_GRID) {
        report_choice(r, name, now, before);
        lmr_partial_report(&r->job, name, now);
        if (now->direct) {
            lmr_log(&r->events, "%s: k-space is fully sampled: one FFT of each coil and their combination, lambda 0",
                    name);
        } else {
            report_noise(r, name, now, before);
            report_intensity(r, name, now);
            report_solver(r, name, now);
        }
    }
    lmr_misfit_report(&r->job, name, now);
}
