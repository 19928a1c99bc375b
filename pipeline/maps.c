/* The coil maps of a slice. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/maps.h"

#include <complex.h>

#include "check/map_trust.h"
#include "core/core.h"
#include "physics/motion.h"
#include "pipeline/cache.h"
#include "pipeline/slice_maps.h"
#include "scan/cartesian.h"
#include "scan/compress.h"
#include "scan/sample_cache.h"
#include "scan/trajectory.h"

/* ---- methods ---- */

static larmor_coils_opts walsh_opts(const lmr_maps_task *t)
{
    larmor_coils_opts opts = {
        .calibration = t->job->settings->opts.calibration, .first = t->first, .planes = t->planes};
    memcpy(opts.encoded, t->encoded, sizeof opts.encoded);
    return opts;
}

/* The centre's density of an earlier image with the same trajectory, or a new one; NULL where nothing is kept. */
static larmor_status centre_density(const lmr_maps_task *t, const larmor_coils_opts *opts, larmor_array **density)
{
    const double by[2] = {(double)opts->calibration, 0};
    LMR_TRY(lmr_cached_take(t->cached, LMR_CACHED_CENTRE, by, t->job->facts->dev, density));
    if (*density || !t->cached) return LARMOR_OK;
    LMR_TRY(larmor_coils_density(t->samples->traj, t->image, opts, density));
    lmr_cached_put(t->cached, LMR_CACHED_CENTRE, by, *density);
    return LARMOR_OK;
}

static larmor_status make_walsh(const lmr_maps_task *t, larmor_array **maps, larmor_coils_report *report)
{
    larmor_coils_opts opts = walsh_opts(t);
    LMR_OWN(larmor_array, density, centre_density(t, &opts, &density));
    opts.density = density;
    return larmor_coils_estimate(t->samples->kspace, t->samples->traj, NULL, t->image, &opts, maps, report);
}

static larmor_status walsh_bytes(const lmr_job *job, const larmor_problem *p, int64_t planes, int64_t *bytes)
{
    const larmor_coils_opts opts = {.calibration = job->settings->opts.calibration, .planes = planes};
    return larmor_coils_memory(job->facts->dev, p, &opts, bytes);
}

static larmor_region_opts region_opts(const lmr_job *job, const double *encoded)
{
    larmor_region_opts opts = {{0}, {0}};
    for (int d = 0; d < 3; d++) {
        opts.side[d] = job->settings->opts.calibration;
        if (encoded) opts.encoded[d] = encoded[d];
    }
    return opts;
}

static larmor_espirit_opts espirit_opts(const lmr_job *job)
{
    return (larmor_espirit_opts){.sets = job->facts->sets ? job->facts->sets : 1, .crop = job->settings->opts.crop};
}

static void report_espirit(lmr_job *job, const larmor_region_report *region, int ndim, const larmor_espirit_report *r)
{
    char side[64] = "";
    for (int d = 0; d < ndim; d++) lmr_append_item(side, sizeof side, "x", "%lld", (long long)region->side[d]);
    lmr_log(job->events,
            "coil maps: ESPIRiT, calibration region %s %s; windows of %lld, %lld of %lld eigenvectors; "
            "signal in %.0f %% of the image, two sets in %.1f %% of that",
            side, region->cartesian ? "as sampled" : "solved for", (long long)r->kernel[0], (long long)r->signal,
            (long long)r->rows, 100 * r->object, 100 * r->folded);
}

/* There is a warning of maps from a region that is smaller along an axis; where those of volumes are chosen, they
 * are Walsh's then, and where there are fewer than ESPIRiT takes. Of samples on the grid fewer are enough than of
 * those that are solved for: docs/records/maps.md, "Volumes of lines". */
enum { LEAST_SOLVED = 10, LEAST_SAMPLED = 6, FEWEST = 3, USUAL_SIDE = 24 };

enum { WALSH_SIDE = 32 }; /* as larmor_coils_opts has it by default */

/* The shortest of the region's sides; one that is all of the image's k-space along its axis is as good as a usual
 * one. */
static int64_t least_side(const larmor_region_report *region, const lmr_maps_task *t)
{
    int64_t least = INT64_MAX;
    for (int d = 0; d < t->image.ndim; d++) {
        int64_t side = region->side[d];
        if ((double)side >= (double)t->image.dim[d] * t->encoded[d] - 1.5 && side < USUAL_SIDE) side = USUAL_SIDE;
        if (side < least) least = side;
    }
    return least;
}

static int is_small(const larmor_region_report *region, const lmr_maps_task *t)
{
    return least_side(region, t) < (region->cartesian ? LEAST_SAMPLED : LEAST_SOLVED);
}

static void judge_region(const larmor_region_report *region, const lmr_maps_task *t, larmor_coils_report *report)
{
    report->sampled = fmin(1, (double)least_side(region, t) / USUAL_SIDE);
    report->dominance = 1;
    report->warning = is_small(region, t) ? LARMOR_MAPS_UNDERSAMPLED : LARMOR_MAPS_TRUSTED;
}

/* Of the image's voxels, those whose eigenvalues are those of signal: of three scans of noise alone two have less and
 * one has .05, an object of .3 of the field of view and spirals of R = 3 have .09 to .13, others more. */
#define LEAST_OBJECT 0.01

/* Noise alone, as in a slice of air, has no space of signal: then there are no maps, or next to no voxel has any. */
static larmor_status espirit_of_signal(lmr_job *job, const larmor_array *region, larmor_shape image,
                                       const larmor_espirit_opts *opts, larmor_array **maps, larmor_espirit_report *r)
{
    const int keeps = job->settings->opts.keep_eigenvalues && !job->facts->slabs;
    larmor_array **eigenvalues = keeps ? &job->found.maps.eigenvalues : NULL;
    double size;
    const larmor_status st = larmor_espirit(region, image, opts, maps, eigenvalues, r);
    if (st == LARMOR_ERR_NUMERIC && r->rows > 0) return LARMOR_OK;
    LMR_TRY(st);
    LMR_TRY(larmor_nrm2(*maps, &size));
    if ((size > 0 || opts->planes) && r->object >= LEAST_OBJECT) return LARMOR_OK; /* a slab may lie beside it */
    LMR_CLEAR(*maps);
    return LARMOR_OK;
}

/* With further sets that are zero where the scan has several. */
static larmor_status walsh_in_sets(const lmr_maps_task *t, larmor_array **maps, larmor_coils_report *report)
{
    const larmor_shape shape = larmor_shape_append(t->image, t->job->facts->coils);
    LMR_OWN(larmor_array, one, make_walsh(t, &one, report));
    if (!t->job->facts->sets) {
        *maps = larmor_array_ref(one);
        return LARMOR_OK;
    }
    LMR_TRY(
        larmor_array_create(t->job->facts->dev, LARMOR_C64, larmor_shape_append(shape, t->job->facts->sets), maps));
    LMR_OWN(larmor_array, first, lmr_one_of(*maps, 0, &first));
    return larmor_copy(one, first);
}

/* *region, or NULL with `why` where the maps of a volume, which are chosen before its samples are read, had more
 * error than Walsh's in simulated scans (docs/records/maps.md, "Volumes"). */
static larmor_status region_of_volume(const lmr_maps_task *t, const larmor_region_opts *opts, larmor_array **region,
                                      larmor_region_report *found, const char **why)
{
    double aliasing;
    LMR_TRY(larmor_calibration_aliasing(t->samples->traj, t->image, t->encoded, &aliasing));
    *why = "the centre of k-space is undersampled";
    *region = NULL;
    if (lmr_maps_alias(t->image.ndim, aliasing)) return LARMOR_OK;
    *why = "the calibration region is small";
    const larmor_status st =
        larmor_calibration_region(t->samples->kspace, t->samples->traj, t->image, opts, region, found);
    if (st) return st == LARMOR_ERR_NUMERIC ? LARMOR_OK : st;
    int enough = !is_small(found, t);
    for (int d = 0; d < t->image.ndim; d++) enough &= t->image.dim[d] == 1 || found->side[d] >= FEWEST;
    if (enough) return LARMOR_OK;
    LMR_CLEAR(*region);
    return LARMOR_OK;
}

enum { WHITENED_NOISE = 2 }; /* mean of |noise|^2 of a sample */

/* Eigenvalues of windows as sampled that are signal where they are above the noise, too: Gram matrices of single
 * precision have roundings of 1e-7. An object that one coil alone sees had an error of 0.3 to 0.5 by 1e-3, and has
 * 0.12 (docs/records/maps.md, "Dim tissue"). */
static const double least_signal = 1e-6;

static larmor_status make_espirit(const lmr_maps_task *t, larmor_array **maps, larmor_coils_report *report)
{
    lmr_job *job = t->job;
    const char *why = NULL;
    const larmor_region_opts region_of = region_opts(job, t->encoded);
    larmor_espirit_opts opts = espirit_opts(job);
    larmor_region_report found;
    larmor_espirit_report r;
    LMR_OWNED(larmor_array) *region = NULL;
    if (t->image.ndim > 2 && !job->facts->sets && !strcmp(job->settings->maps_method, "auto"))
        LMR_TRY(region_of_volume(t, &region_of, &region, &found, &why));
    else {
        const larmor_status st =
            larmor_calibration_region(t->samples->kspace, t->samples->traj, t->image, &region_of, &region, &found);
        why = "the calibration region cannot be solved for";
        if (st && !(st == LARMOR_ERR_NUMERIC && lmr_maps_give_way(job))) return st;
    }
    if (!region) {
        lmr_log(job->events, "coil maps: by Walsh's method, as %s", why);
        return walsh_in_sets(t, maps, report);
    }
    memcpy(opts.fov, found.fov, sizeof opts.fov);
    opts.first = t->first;
    opts.planes = t->planes;
    /* eigenvalues of a region that was solved for are below 1 within the object, too, where data are missing */
    if (!opts.crop) opts.crop = found.cartesian ? LARMOR_CROP_NOISE : LARMOR_CROP_NONE;
    if (found.cartesian && opts.crop == LARMOR_CROP_NOISE && opts.sets == 1) opts.threshold = least_signal;
    if (found.cartesian && job->facts->whitening) opts.noise = WHITENED_NOISE;
    LMR_TRY(espirit_of_signal(job, region, t->image, &opts, maps, &r));
    if (!*maps) {
        lmr_log(job->events, "coil maps: by Walsh's method, as the calibration region has no signal above its noise");
        return walsh_in_sets(t, maps, report);
    }
    report_espirit(job, &found, t->image.ndim, &r);
    judge_region(&found, t, report);
    return LARMOR_OK;
}

/* Its own, or what Walsh's method takes in its place. */
static larmor_status espirit_bytes(const lmr_job *job, const larmor_problem *p, int64_t planes, int64_t *bytes)
{
    const larmor_region_opts region_of = region_opts(job, NULL);
    larmor_espirit_opts opts = espirit_opts(job);
    int64_t walsh;
    opts.planes = planes;
    LMR_TRY(walsh_bytes(job, p, planes, &walsh));
    LMR_TRY(larmor_espirit_memory(job->facts->dev, p, &region_of, &opts, bytes));
    if (p->image.ndim > 2 && walsh > *bytes) *bytes = walsh;
    return LARMOR_OK;
}

/* Maps are smooth: more voxels along an axis give no better ones and take longer. */
enum { NLINV_SIDE = 64, NLINV_SIDE_3D = 32 };

/* Newton steps, at most: next to a hole in the centre of k-space maps without noise settle later. Error of the
 * image at 2/FOV and 4 coils (docs/records/validation.md): .026 after 26, .019 after 35, .013 after 45; noise ends
 * them earlier. */
enum { NLINV_STEPS_OF_HOLE = 45 };

/* Its iterate is no image, so that its steps do not count as progress. */
static larmor_nlinv_opts nlinv_opts(const lmr_job *job, int ndim)
{
    return (larmor_nlinv_opts){.sets = job->facts->sets,
                               .steps = job->facts->info.hole > 0 ? NLINV_STEPS_OF_HOLE : 0,
                               .side = ndim > 2 ? NLINV_SIDE_3D : NLINV_SIDE,
                               .monitor = lmr_monitor,
                               .user = job->events};
}

static larmor_status make_nlinv(const lmr_maps_task *t, larmor_array **maps, larmor_coils_report *report)
{
    lmr_job *job = t->job;
    const larmor_nlinv_opts opts = nlinv_opts(job, t->image.ndim);
    const int trial = job->events->trial;
    larmor_nlinv_report r;
    job->events->trial = 1;
    const larmor_status st = larmor_nlinv(t->samples->kspace, t->samples->traj, t->image, &opts, NULL, maps, &r);
    job->events->trial = trial;
    LMR_TRY(st);
    if (job->facts->sets) LMR_TRY(larmor_sets_normalise(*maps));
    lmr_log(job->events,
            "coil maps: nonlinear inversion, %d Newton steps of %d iterations in all, residual %.3g, %.2f s", r.steps,
            r.inner, r.residual, r.seconds);
    const double explained = (1 - pow(r.residual, 2)) * (double)(t->shared ? t->shared : 1);
    const larmor_status judged =
        lmr_maps_judge_inversion(t->samples->traj, t->image, t->encoded, sqrt(fmax(0, 1 - explained)), report);
    if (!judged) return LARMOR_OK;
    LMR_CLEAR(*maps);
    return judged;
}

static larmor_status nlinv_bytes(const lmr_job *job, const larmor_problem *p, int64_t planes, int64_t *bytes)
{
    (void)planes;
    const larmor_nlinv_opts opts = nlinv_opts(job, p->image.ndim);
    return larmor_nlinv_memory(job->facts->dev, p, &opts, bytes);
}

/* Each is an lmr_maps_<name>. */
#define METHODS(X)                                                                                                   \
    X(walsh)                                                                                                         \
    X(espirit)                                                                                                       \
    X(nlinv)

#define DECLARE(name) extern const lmr_maps_method lmr_maps_##name;
METHODS(DECLARE)

const lmr_maps_method lmr_maps_walsh = {
    .name = "walsh",
    .help = "dominant eigenvectors of local coil covariances, from the centre of k-space with a window",
    .said = "maps from the data's centre (Walsh)",
    .sets = 1,
    .make = make_walsh,
    .bytes = walsh_bytes,
};

const lmr_maps_method lmr_maps_espirit = {
    .name = "espirit",
    .help = "eigenvectors of the space that windows of a fully sampled centre of k-space span",
    .said = "maps from the data's centre (ESPIRiT)",
    .sets = 2,
    .make = make_espirit,
    .bytes = espirit_bytes,
};

const lmr_maps_method lmr_maps_nlinv = {
    .name = "nlinv",
    .help = "image and maps at once from all samples, by regularised nonlinear inversion",
    .said = "maps from all of the data (nonlinear inversion)",
    .sets = 2,
    .make = make_nlinv,
    .bytes = nlinv_bytes,
};

#define ADDRESS(name) &lmr_maps_##name,
static const lmr_maps_method *const methods[] = {METHODS(ADDRESS)};

enum { COUNT = sizeof methods / sizeof *methods };

const lmr_maps_method *lmr_maps_method_of(const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (!strcmp(name, methods[i]->name)) return methods[i];
    return NULL;
}

larmor_status lmr_maps_bytes(const lmr_job *job, const lmr_maps_method *method, const larmor_grid *grid,
                             const larmor_problem *p, int64_t *bytes)
{
    if (grid->apart[2]) return lmr_slice_maps_bytes(job, method, p, bytes);
    return method->bytes(job, p, 0, bytes);
}

int lmr_maps_give_way(const lmr_job *job)
{
    return job->facts->maps_method == lmr_maps_method_of("espirit") && !job->facts->sets &&
           !strcmp(job->settings->maps_method, "auto");
}

larmor_maps_method_info larmor_maps_method_entry(int i)
{
    if (i < 0 || i >= COUNT) return (larmor_maps_method_info){NULL, NULL};
    return (larmor_maps_method_info){methods[i]->name, methods[i]->help};
}

/* ---- the data ---- */

void lmr_maps_encoded(const larmor_encoding *encoding, const larmor_grid *grid, double encoded[3])
{
    for (int d = 0; d < grid->ndim; d++) encoded[d] = fmin(1, encoding->fov_mm[d] / grid->fov_mm[d]);
}

void lmr_maps_radius(const lmr_job *job, larmor_shape image, const double encoded[3], double radius[3])
{
    const larmor_region_opts region = region_opts(job, encoded);
    const int64_t walsh = job->settings->opts.calibration > 0 ? job->settings->opts.calibration : WALSH_SIDE;
    for (int d = 0; d < 3; d++) radius[d] = fmin((double)walsh, (double)image.dim[d]) / 2;
    if (strcmp(job->facts->maps_method->name, "espirit") != 0) return;
    double corners[3];
    larmor_calibration_radius(&region, image, corners);
    for (int d = 0; d < 3; d++) radius[d] = fmax(radius[d], corners[d]);
}

/* The task of a group: own are its readouts for calibration, to be freed, if it has any. is_whole: samples are those
 * of the whole image that the group is a frame of. */
static larmor_status begin_task(lmr_job *job, int index, const larmor_group *group, const larmor_grid *grid,
                                const larmor_samples *samples, int is_whole, lmr_maps_task *task, larmor_samples *own)
{
    larmor_encoding encoding;
    lmr_cartesian unused;
    int taken, known;
    *own = (larmor_samples){0};
    *task = (lmr_maps_task){.job = job, .samples = samples, .image = lmr_grid_shape(grid), .apart = grid->apart[2]};
    LMR_TRY(lmr_source_encoding(job->facts->source, group->encoding, &encoding));
    lmr_maps_encoded(&encoding, grid, task->encoded);
    if (is_whole) return LARMOR_OK;
    if (lmr_averages(job)) LMR_TRY(lmr_sample_cache_take(job, index, 1, own, &known, &unused, &taken));
    if (own->kspace) {
        task->samples = own;
        return LARMOR_OK;
    }
    LMR_TRY(lmr_cartesian_samples(job, index, 1, own, &unused));
    const int made = own->kspace && !own->traj && job->facts->info.averaged; /* the image's own readouts */
    if (made)
        LMR_TRY(lmr_make_trajectory(job->facts->dev, group, &encoding, grid, own, &job->found.decided.spokes,
                                    &own->traj));
    if (!own->kspace || !own->traj) return LARMOR_OK;
    task->samples = own;
    if (made) LMR_TRY(lmr_correct_trajectory(job, index, group->encoding, grid, own));
    LMR_TRY(lmr_scale_samples(job, own->kspace));
    if (job->facts->whitening) LMR_TRY(larmor_whiten(job->facts->whitening, own->kspace));
    return lmr_compress(job, own);
}

/* Voxels along an axis, mixtures of coils and sides of windows that tell quickly whether the object folds. */
enum { FOLDED_SIDE = 32, FOLDED_COILS = 8, FOLDED_KERNEL = 5, FOLDED_KERNEL_3D = 4 };

/* Low resolution, few mixtures of coils and small windows tell it quickly. */
static larmor_status folded_of(const lmr_maps_task *t, const larmor_array *region, const larmor_region_report *found,
                               double *folded)
{
    larmor_espirit_opts opts = {.sets = 1, .coils = FOLDED_COILS};
    larmor_espirit_report r;
    LMR_OWNED(larmor_array) *maps = NULL;
    larmor_shape small = t->image;
    memcpy(opts.fov, found->fov, sizeof opts.fov);
    for (int d = 0; d < small.ndim; d++) {
        if (small.dim[d] > FOLDED_SIDE) small.dim[d] = FOLDED_SIDE;
        opts.kernel[d] = small.ndim > 2 ? FOLDED_KERNEL_3D : FOLDED_KERNEL;
    }
    const larmor_status st = larmor_espirit(region, small, &opts, &maps, NULL, &r);
    if (st) return st == LARMOR_ERR_NUMERIC ? LARMOR_OK : st;
    *folded = r.folded;
    return LARMOR_OK;
}

/* The region's coils over the deviation of their noise, where that is known. */
static larmor_status scale_by_noise(const lmr_maps_task *t, larmor_array *region)
{
    const larmor_shape shape = larmor_array_shape(region);
    const int64_t coils = shape.dim[shape.ndim - 1];
    double level;
    LMR_HEAP LMR_NEW(double, of_coil, coils);
    LMR_TRY(larmor_noise_of_lines(t->samples->kspace, t->samples->traj, &level, of_coil));
    for (int64_t c = 0; c < coils && level > 0; c++) {
        LMR_OWN(larmor_array, one, lmr_one_of(region, c, &one));
        if (of_coil[c] > 0) LMR_TRY(larmor_axpby(level / of_coil[c], one, 0, one));
    }
    return LARMOR_OK;
}

/* One coil's noise, where it is far above that of others, is a set of maps of its own: what is not whitened folds
 * where it does with coils of like noise, too. */
static larmor_status find_folded(const lmr_maps_task *t, larmor_array *region, const larmor_region_report *found,
                                 double *folded)
{
    LMR_TRY(folded_of(t, region, found, folded));
    if (t->job->facts->whitening || *folded == 0) return LARMOR_OK;
    LMR_TRY(scale_by_noise(t, region));
    return folded_of(t, region, found, folded);
}

/* Above these nonlinear inversion was better than maps from the centre of k-space. */
static const double min_aliasing = 0.03, min_aliasing_3d = 0.3;

int lmr_maps_alias(int ndim, double aliasing)
{
    return aliasing > (ndim > 2 ? min_aliasing_3d : min_aliasing);
}

static larmor_status look_at_task(const lmr_maps_task *t, int at_region, lmr_calibration_survey *survey)
{
    larmor_region_report found;
    LMR_OWNED(larmor_array) *region = NULL, *ramp = NULL;
    survey->straight = !larmor_density_ramp(t->samples->traj, t->image, &ramp);
    LMR_CLEAR(ramp);
    larmor_status st = lmr_maps_spacing(t->samples->traj, t->encoded, &survey->spacing);
    if (!st && !survey->straight)
        st = larmor_calibration_aliasing(t->samples->traj, t->image, t->encoded, &survey->aliasing);
    const larmor_region_opts region_of = region_opts(t->job, t->encoded);
    if (!st && at_region)
        st = larmor_calibration_region(t->samples->kspace, t->samples->traj, t->image, &region_of, NULL, &found);
    if (st == LARMOR_ERR_NUMERIC) return LARMOR_OK;
    if (st || !at_region) return st;
    survey->side = least_side(&found, t);
    survey->cartesian = found.cartesian;
    survey->block = found.cartesian && !t->job->settings->opts.calibration && survey->side < USUAL_SIDE;
    if (!found.cartesian) return LARMOR_OK;
    LMR_TRY(larmor_calibration_region(t->samples->kspace, t->samples->traj, t->image, &region_of, &region, &found));
    return find_folded(t, region, &found, &survey->folded);
}

larmor_status lmr_maps_look(lmr_job *job, int index, const larmor_group *group, const larmor_grid *grid,
                            const larmor_samples *samples, int at_region, lmr_calibration_survey *survey)
{
    LMR_FREED_BY(larmor_samples_free) larmor_samples own = {0}, of_slice = {0};
    lmr_maps_task task, slice;
    *survey = (lmr_calibration_survey){.side = 0};
    LMR_TRY(begin_task(job, index, group, grid, samples, lmr_averages(job), &task, &own));
    if (!task.apart) return look_at_task(&task, at_region, survey);
    LMR_TRY(lmr_slice_task(&task, task.image.dim[2] / 2, &of_slice, &slice));
    survey->is_shared = slice.shared > 0;
    if (!survey->is_shared) return look_at_task(&slice, at_region, survey);
    return larmor_calibration_aliasing(task.samples->traj, task.image, task.encoded, &survey->aliasing);
}

larmor_status lmr_maps_region(lmr_job *job, int index, const larmor_group *group, const larmor_grid *grid,
                              const larmor_samples *samples, larmor_array **region, larmor_region_report *found)
{
    double aliasing = 0;
    LMR_FREED_BY(larmor_samples_free) larmor_samples own = {0};
    lmr_maps_task task;
    *region = NULL;
    larmor_status st = begin_task(job, index, group, grid, samples, lmr_averages(job), &task, &own);
    const larmor_region_opts opts = region_opts(job, task.encoded);
    if (!st)
        st = larmor_calibration_region(task.samples->kspace, task.samples->traj, task.image, &opts, region, found);
    if (!st && !found->cartesian)
        st = larmor_calibration_aliasing(task.samples->traj, task.image, task.encoded, &aliasing);
    if (st || !(aliasing <= min_aliasing_3d)) LMR_CLEAR(*region);
    if (st == LARMOR_ERR_NUMERIC) st = LARMOR_OK;
    return st;
}

/* ---- the maps ---- */

/* Each set of maps is mixed as the coils of the samples are. */
static larmor_status whiten_maps(lmr_job *job)
{
    if (!job->facts->sets) return larmor_whiten(job->facts->whitening, job->found.maps.array);
    for (int m = 0; m < job->facts->sets; m++) {
        LMR_OWN(larmor_array, set, lmr_one_of(job->found.maps.array, m, &set));
        LMR_TRY(larmor_whiten(job->facts->whitening, set));
    }
    return LARMOR_OK;
}

static larmor_status take_given(lmr_job *job, larmor_shape shape)
{
    larmor_shape whole = larmor_shape_append(shape, job->facts->info.coils);
    if (job->facts->sets) whole = larmor_shape_append(whole, job->facts->sets);
    LMR_TRY(larmor_array_create(job->facts->dev, LARMOR_C64, whole, &job->found.maps.array));
    LMR_OWN(larmor_array, view, larmor_array_reshape(job->facts->given, whole, &view));
    LMR_TRY(larmor_copy(view, job->found.maps.array));
    if (job->facts->whitening) LMR_TRY(whiten_maps(job));
    return lmr_compress_maps(job, &job->found.maps.array);
}

static larmor_status find_maps(lmr_job *job, int index, const larmor_group *group, const larmor_grid *grid,
                               const larmor_samples *samples, const lmr_maps_method *method, lmr_cached *cached)
{
    lmr_maps_task task;
    LMR_FREED_BY(larmor_samples_free) larmor_samples own = {0};
    LMR_TRY(lmr_enter(job->events, "coil maps"));
    LMR_TRY(begin_task(job, index, group, grid, samples, 0, &task, &own));
    if (task.samples == samples) task.cached = cached;
    if (task.apart)
        LMR_TRY(lmr_slice_maps(&task, method, &job->found.maps.array, &job->found.maps.report));
    else
        LMR_TRY(method->make(&task, &job->found.maps.array, &job->found.maps.report));
    if (job->settings->opts.normalise)
        LMR_TRY(larmor_maps_normalise(job->found.maps.array, job->facts->sets ? job->facts->sets : 1,
                                      job->settings->opts.normalise));
    return LARMOR_OK;
}

/* From the data, or all one for a single coil. */
static larmor_status make_own(lmr_job *job, int index, const larmor_group *group, const larmor_grid *grid,
                              const larmor_samples *samples, const lmr_maps_method *method, lmr_cached *cached)
{
    if (job->facts->coils > 1) {
        LMR_TRY(find_maps(job, index, group, grid, samples, method, cached));
        return lmr_maps_to_places(job, index);
    }
    LMR_TRY(larmor_array_create(job->facts->dev, LARMOR_C64, larmor_shape_append(lmr_grid_shape(grid), 1),
                                &job->found.maps.array));
    return larmor_fill(job->found.maps.array, 1);
}

/* The given maps, on the field of view; on a larger grid they go on with maps from the data. */
static larmor_status take_given_and_beyond(lmr_job *job, int index, const larmor_group *group,
                                           const larmor_grid *grid, const larmor_samples *samples,
                                           const lmr_maps_method *method, lmr_cached *cached)
{
    const larmor_shape large = lmr_grid_shape(grid);
    LMR_OWNED(larmor_array) *own = NULL;
    if (!job->facts->maps_method && job->facts->coils > 1) return take_given(job, large);
    if (larmor_shape_equal(large, job->facts->given_image)) return take_given(job, large);
    LMR_TRY(make_own(job, index, group, grid, samples, method, cached));
    job->found.maps.report = (larmor_coils_report){0};
    own = job->found.maps.array;
    job->found.maps.array = NULL;
    LMR_TRY(take_given(job, job->facts->given_image));
    LMR_OWN_MEMORY(float complex, inner, larmor_array_download(job->found.maps.array, LARMOR_C64, &inner));
    LMR_OWN_MEMORY(float complex, outer, larmor_array_download(own, LARMOR_C64, &outer));
    lmr_put_maps_inside(inner, job->facts->given_image, large, job->facts->coils, outer);
    LMR_TRY(larmor_array_write(own, outer, larmor_array_bytes(own)));
    larmor_array_free(job->found.maps.array);
    return LMR_HAND_ON(job->found.maps.array, own);
}

int lmr_maps_are_of(const lmr_job *job, const larmor_group *group)
{
    const lmr_found_maps *maps = &job->found.maps;
    return maps->array && maps->encoding == group->encoding && maps->slice == group->slice;
}

/* The maps of this slice: given ones, or from the data. */
larmor_status lmr_make_maps(lmr_job *job, int index, const larmor_group *group, const larmor_grid *grid,
                            const larmor_samples *samples, const lmr_maps_method *method, lmr_cached *cached)
{
    LMR_FREE(job->found.maps.array, job->found.maps.eigenvalues);
    job->found.maps.array = job->found.maps.eigenvalues = NULL;
    job->found.maps.report = (larmor_coils_report){0};
    if (job->facts->given)
        LMR_TRY(take_given_and_beyond(job, index, group, grid, samples, method, cached));
    else
        LMR_TRY(make_own(job, index, group, grid, samples, method, cached));
    LMR_TRY(lmr_motion_extend_maps(job, grid));
    job->found.maps.elsewhere = 0;
    job->found.maps.encoding = group->encoding;
    job->found.maps.slice = group->slice;
    job->found.maps.from = index;
    return LARMOR_OK;
}
