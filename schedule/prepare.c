/* Everything before the first image. SPDX-License-Identifier: Apache-2.0 */
#include "schedule/prepare.h"

#include "check/check.h"
#include "check/describe.h"
#include "core/core.h"
#include "physics/decide.h"
#include "physics/physics.h"
#include "pipeline/cache.h"
#include "pipeline/choose_maps.h"
#include "pipeline/hole.h"
#include "pipeline/maps.h"
#include "pipeline/method.h"
#include "pipeline/place_maps.h"
#include "pipeline/report.h"
#include "pipeline/subspace.h"
#include "scan/compress.h"
#include "scan/delays.h"
#include "scan/ghost.h"
#include "scan/grid.h"
#include "scan/sample_cache.h"
#include "scan/virtual_coils.h"
#include "schedule/devices.h"
#include "schedule/slab_plan.h"
#include "schedule/slabs.h"

/* The noise's bandwidth over the data's, as a factor of the deviation. */
static double noise_factor(const larmor_raw_info *info)
{
    const int known = info->dwell_us > 0 && info->noise_dwell_us > 0;
    return sqrt(known ? info->dwell_us / info->noise_dwell_us * info->noise_bandwidth : 1);
}

/* The matrix that whitens the coils, with the noise's bandwidth matched to the data's. */
static larmor_status make_whitening(larmor_recon *r)
{
    const larmor_raw_info *info = &r->facts.info;
    LMR_OWNED(larmor_array) *noise = NULL;
    if (!info->noise || r->settings.opts.no_whitening) return LARMOR_OK;
    LMR_TRY(lmr_enter(&r->events, "whitening"));
    LMR_TRY(lmr_source_noise(r->facts.source, r->facts.dev, &noise));
    if (!noise) return LARMOR_OK;
    char line[512];
    LMR_TRY(lmr_noise_scan_describe(noise, info->noise, line, sizeof line));
    if (*line) lmr_warn(&r->events, "%s", line);
    LMR_TRY(lmr_scale_samples(&r->job, noise));
    r->facts.noise_scale = r->job.found.scale;
    lmr_scale_begin(&r->job);
    LMR_TRY(larmor_noise_whitening(noise, noise_factor(info), &r->facts.whitening));
    double size;
    LMR_TRY(larmor_nrm2(r->facts.whitening, &size));
    r->facts.noise_unit = sqrt((double)info->coils) / size; /* as if all mixtures of coils had as much signal */
    lmr_report_whitening(r);
    return LARMOR_OK;
}

larmor_status lmr_prepare_colouring(larmor_recon *r)
{
    LMR_OWNED(larmor_array) *noise = NULL, *W = NULL;
    if (!r->facts.info.noise || r->facts.whitening || r->facts.colouring) return LARMOR_OK;
    larmor_status st = lmr_source_noise(r->facts.source, r->facts.dev, &noise);
    if (!st && noise) st = larmor_noise_whitening(noise, noise_factor(&r->facts.info), &W);
    if (!st && noise) st = larmor_noise_colouring(W, &r->facts.colouring);
    return st == LARMOR_ERR_NUMERIC ? LARMOR_OK : st;
}

static int all_zero(const larmor_array *x)
{
    double size = 0;
    return !larmor_nrm2(x, &size) && size == 0;
}

/* Maps of all channels become those of the coils that the scan keeps. */
static larmor_status keep_coils(larmor_recon *r, int64_t got[5])
{
    larmor_array *all = NULL, *kept = NULL;
    const larmor_shape shape = larmor_shape_of(5, got);
    larmor_status st = larmor_array_reshape(r->facts.given, shape, &all);
    if (!st) st = lmr_source_keep_coils(r->facts.source, all, 3, &kept);
    larmor_array_free(all);
    LMR_TRY(st);
    larmor_array_free(r->facts.given);
    r->facts.given = kept;
    got[3] = r->facts.info.coils;
    return LARMOR_OK;
}

/* [x, y, z, coils, sets] of maps that may be without z in 2D, and without sets. */
static void map_sizes(larmor_shape shape, int ndim, int64_t got[5])
{
    const int flat = ndim == 2 && shape.ndim > 2 && shape.ndim < 5 && shape.dim[2] != 1; /* [x, y, coils(, sets)] */
    for (int d = 0; d < 5; d++) got[d] = 1;
    for (int d = 0; d < shape.ndim; d++) {
        const int to = d + (flat && d > 1);
        got[to < 4 ? to : 4] *= shape.dim[d];
    }
}

/* The maps are looked at in pieces, as the first one tells where there is a phase. */
static larmor_status find_phase(const larmor_array *maps, int *has_phase)
{
    const int64_t piece = INT64_C(1) << 16, count = larmor_array_count(maps);
    LMR_OWN(larmor_array, line, larmor_array_reshape(maps, LARMOR_SHAPE(count), &line));
    for (int64_t first = 0; first < count && !*has_phase; first += piece) {
        const int64_t now = count - first < piece ? count - first : piece;
        LMR_HEAP double *value = NULL; /* re, im */
        LMR_OWN(larmor_array, part, larmor_array_slice(line, first, now, &part));
        LMR_TRY(larmor_array_download(part, LARMOR_C128, &value));
        for (int64_t i = 0; i < now && !*has_phase; i++) *has_phase = value[2 * i + 1] != 0 || value[2 * i] < 0;
    }
    return LARMOR_OK;
}

/* Coils differ in phase, so that maps of several ones without it are magnitudes, which are no maps. */
static larmor_status check_phase(const larmor_recon *r)
{
    int has_phase = 0;
    if (r->facts.info.coils < 2) return LARMOR_OK;
    if (lmr_is_complex(larmor_array_dtype(r->settings.opts.maps)))
        LMR_TRY(find_phase(r->settings.opts.maps, &has_phase));
    if (has_phase) return LARMOR_OK;
    return LMR_FAIL(
        LARMOR_ERR_FORMAT,
        "%s: maps without phase, as a magnitude .nii or a real .npy has them; %d coils need complex maps: "
        "use .cfl, .npy or .h5.",
        r->settings.maps_name, r->facts.info.coils);
}

/* The given maps against the grid of the first group. */
/* Products of smaller maps and images are lost in single precision. */
#define MIN_MAPS_RMS 1e-15

static larmor_status check_size(const larmor_recon *r)
{
    double norm;
    if (!lmr_is_complex(larmor_array_dtype(r->facts.given))) return LARMOR_OK;
    LMR_TRY(larmor_nrm2(r->facts.given, &norm));
    const double size = norm / sqrt((double)larmor_array_count(r->facts.given));
    if (size >= MIN_MAPS_RMS) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_NUMERIC, "%s: maps have a root mean square of %.1e, expected about 1; scale them.",
                    r->settings.maps_name, size);
}

/* Says how much of the maps is so weak that preconditioned iterations leave the image 0 there (recon/precond). */
static larmor_status report_empty(larmor_recon *r, const int64_t got[5])
{
    const double weak = 1e-4; /* of the largest energy */
    const larmor_shape image = larmor_shape_of(3, got);
    const int64_t voxels = larmor_shape_count(image);
    double largest = 0;
    int64_t empty = 0;
    const int64_t maps = got[3] * got[4];
    LMR_HEAP LMR_NEW_ZEROS(double, energy, voxels);
    LMR_OWN(larmor_array, all, larmor_array_reshape(r->facts.given, larmor_shape_append(image, maps), &all));
    for (int64_t c = 0; c < maps; c++) {
        LMR_OWN(larmor_array, one, larmor_array_part(all, c, 1, image, &one));
        LMR_OWN_MEMORY(float, value, larmor_array_download(one, LARMOR_C64, &value));
        for (int64_t i = 0; i < voxels; i++)
            energy[i] += pow((double)value[2 * i], 2) + pow((double)value[2 * i + 1], 2);
    }
    for (int64_t i = 0; i < voxels; i++) largest = fmax(largest, energy[i]);
    for (int64_t i = 0; i < voxels; i++) empty += energy[i] < weak * largest;
    if (empty)
        lmr_log(
            &r->events,
            "coil maps: %s: %.2g %% of its voxels have less than a hundredth of the largest value, where iterations "
            "with a preconditioner leave images 0",
            r->settings.maps_name, 100 * (double)empty / (double)voxels);
    return LARMOR_OK;
}

static larmor_status check_maps(larmor_recon *r)
{
    const larmor_grid *grid = &r->facts.grid[r->list.group[0]];
    const larmor_raw_info *info = &r->facts.info;
    const int64_t need[4] = {grid->matrix[0], grid->matrix[1], grid->ndim > 2 ? grid->matrix[2] : 1, info->coils};
    int64_t got[5];
    map_sizes(larmor_array_shape(r->facts.given), grid->ndim, got);
    if (got[3] == info->channels && got[3] != need[3]) LMR_TRY(keep_coils(r, got));
    if (got[3] == need[3]) LMR_TRY(lmr_place_maps(r, got));
    LMR_REFUSE(!lmr_grids_fit_maps(r, got), LARMOR_ERR_SHAPE,
               "%s: %lldx%lldx%lldx%lld, data needs %lldx%lldx%lldx%lld.", r->settings.maps_name, (long long)got[0],
               (long long)got[1], (long long)got[2], (long long)(got[3] * got[4]), (long long)need[0],
               (long long)need[1], (long long)need[2], (long long)need[3]);
    r->facts.given_image = lmr_grid_shape(grid);
    LMR_REFUSE(all_zero(r->facts.given), LARMOR_ERR_NUMERIC, "%s: maps are zero at all pixels.",
               r->settings.maps_name);
    LMR_TRY(check_size(r));
    LMR_TRY(check_phase(r));
    LMR_TRY(report_empty(r, got));
    return lmr_take_sets(r, r->settings.maps_name, got[4]);
}

/* The caller's maps, on the device. */
static larmor_status take_maps(larmor_recon *r)
{
    LMR_OWN(larmor_array, moved, larmor_array_to(r->settings.opts.maps, r->facts.dev, &moved));
    const larmor_status st = larmor_array_convert(moved, LARMOR_C64, &r->facts.given);
    return st ? st : check_maps(r);
}

/* ---- the basis ---- */

/* The first coefficients of the caller's basis, on the device. */
static larmor_status take_basis(larmor_recon *r)
{
    lmr_job *job = &r->job;
    const larmor_shape shape = larmor_array_shape(r->settings.opts.basis);
    const int64_t most = shape.ndim == 2 ? shape.dim[1] : 0;
    const int64_t rank = r->settings.opts.coefficients ? r->settings.opts.coefficients : most;
    LMR_REFUSE(most < 1 || rank > most || rank > shape.dim[0] || rank > LMR_CONV_MOST_MIXED,
               r->settings.opts.coefficients > most ? LARMOR_ERR_ARG : LARMOR_ERR_SHAPE,
               "opts.basis: is %s for %lld coefficients, expected [frames, coefficients] with as many of them, at "
               "most %d and no more than frames.",
               lmr_describe(r->settings.opts.basis).s, (long long)rank, LMR_CONV_MOST_MIXED);
    LMR_OWN(larmor_array, moved, larmor_array_to(r->settings.opts.basis, job->facts->dev, &moved));
    LMR_OWN(larmor_array, complex, larmor_array_convert(moved, LARMOR_C128, &complex));
    LMR_TRY(larmor_array_slice(complex, 0, rank, &r->facts.basis));
    return lmr_basis_measure(&r->facts);
}

static int is_too_large(const lmr_plan *plan)
{
    return plan->limit && plan->planned > plan->limit;
}

/* A volume that does not fit is divided into slabs: of the ranks, or of a group's devices; for the latter this error
 * restarts the reconstruction. */
static larmor_status cut(larmor_recon *r, lmr_slab_step step)
{
    if (lmr_slabs_unfit(r)) return lmr_report_too_large(r);
    if (larmor_device_members(r->facts.dev)) {
        r->slabs_from = step;
        return lmr_report_too_large(r);
    }
    lmr_slabs_take(r);
    return LARMOR_OK;
}

/* With Walsh's maps where those by ESPIRiT, which nobody asked for, would leave no room for the image. */
static larmor_status make_plan(larmor_recon *r)
{
    const int64_t memory = r->settings.opts.memory;
    const lmr_maps_method *method = r->facts.maps_method;
    LMR_TRY(lmr_plan_make(&r->job, memory, &r->list, &r->plan));
    if (!is_too_large(&r->plan) || !lmr_maps_give_way(&r->job)) return LARMOR_OK;
    lmr_plan_free(&r->plan);
    r->facts.maps_method = lmr_maps_method_of("walsh");
    LMR_TRY(lmr_plan_make(&r->job, memory, &r->list, &r->plan));
    if (is_too_large(&r->plan))
        r->facts.maps_method = method;
    else
        lmr_log(&r->events, "coil maps: by Walsh's method, as those by ESPIRiT do not fit into memory");
    return LARMOR_OK;
}

/* What does not fit is refused before anything is computed: no step makes the plan smaller, unless the volume is
 * in slabs. */
static larmor_status expect_room(larmor_recon *r, lmr_slab_step step)
{
    if (r->slabs_from == step) lmr_slabs_take(r);
    if (r->facts.slabs || r->slabs_from) return LARMOR_OK;
    LMR_TRY(make_plan(r));
    if (is_too_large(&r->plan)) LMR_TRY(cut(r, step));
    lmr_plan_free(&r->plan);
    return LARMOR_OK;
}

static larmor_status plan_memory(larmor_recon *r)
{
    lmr_plan *plan = &r->plan;
    lmr_job *job = &r->job;
    if (r->slabs_from == LMR_SLABS_PLANNED) lmr_slabs_take(r);
    if (job->facts->slabs) return lmr_slabs_plan(r);
    LMR_TRY(make_plan(r));
    int more = 0;
    if (!is_too_large(plan)) LMR_TRY(lmr_slabs_keep_more(r, &more));
    if (more || (is_too_large(plan) && !lmr_slabs_unfit(r))) {
        LMR_TRY(cut(r, LMR_SLABS_PLANNED));
        return lmr_slabs_plan(r);
    }
    if (is_too_large(plan) && lmr_grids_shrink(r)) {
        lmr_report_shrunk(r);
        lmr_plan_free(plan);
        return plan_memory(r);
    }
    if (is_too_large(plan)) return lmr_report_too_large(r);
    lmr_devices_divide(r);
    lmr_report_plan(r);
    if (plan->compare < 0) lmr_method_settle(&r->job, &r->facts, "cg", LARMOR_METHOD_FROM_MEMORY);
    if (job->facts->info.hole > 0) lmr_method_settle(&r->job, &r->facts, "tv", LARMOR_METHOD_FROM_HOLE);
    r->facts.has_room_for_tgv = plan->compare > 0;
    r->facts.no_choice = plan->choose < 0 && lmr_chooses(job);
    r->facts.block = plan->block;
    r->facts.in_turn = plan->in_turn;
    r->facts.toeplitz = plan->toeplitz;
    r->facts.precondition = plan->precondition;
    return plan->share && !larmor_device_members(job->facts->dev) ? lmr_caches_open(plan->share, &r->caches)
                                                                  : LARMOR_OK;
}

/* Before virtual coils are made of them. What keeps it from looking is no fault of the scan. */
static larmor_status check_noise_scan(larmor_recon *r)
{
    lmr_job *job = &r->job;
    larmor_samples samples;
    lmr_cartesian cartesian;
    char line[512];
    int made;
    if (!job->facts->whitening || job->facts->slabs) return LARMOR_OK;
    LMR_TRY(lmr_group_average(job, r->facts.lead, &samples, &made, &cartesian));
    const larmor_status st = lmr_noise_scan_at_rim(&samples, job->facts->whitening, line, sizeof line);
    lmr_samples_release(job, r->facts.lead, &samples, made, &cartesian);
    if (st == LARMOR_STOPPED) return st;
    if (st)
        lmr_log(&r->events, "noise scan: not compared with the rim of k-space: %s", larmor_last_error());
    else if (*line)
        lmr_warn(&r->events, "%s", line);
    return LARMOR_OK;
}

/* Reading takes what no plan makes smaller, so that is refused before it. */
static larmor_status compress(larmor_recon *r)
{
    const int coils = r->facts.coils;
    r->facts.coils = 1;
    const larmor_status st = expect_room(r, LMR_SLABS_OF_ONE_COIL);
    r->facts.coils = coils;
    LMR_TRY(st);
    LMR_TRY(check_noise_scan(r));
    LMR_TRY(lmr_find_compression(r));
    if (r->facts.slabs) lmr_slabs_take(r); /* of all coils */
    return LARMOR_OK;
}

/* The weight of differences along bins of heart or breath, over that in space: finer bins are more alike, and have
 * fewer readouts. 3 to 20 bins were tried (docs/records/gating.md). */
static double ratio_of_bins(char letter, int bins)
{
    enum { OF_RATIO_1 = 3, MOST = 24 };
    if (letter == 't' || bins <= OF_RATIO_1) return 1;
    return (double)(bins < MOST ? bins : MOST) / OF_RATIO_1;
}

/* Differences in space and along so many dimensions of the bins. */
static void name_of_bins(const larmor_recon *r, int dims, char name[32])
{
    const larmor_raw_info *info = &r->facts.info;
    snprintf(name, 32, "tv:%s", r->facts.grid[0].ndim > 2 ? "xyz" : "xy");
    for (int d = 0; d < dims; d++)
        if (info->bins[d] > 1)
            lmr_append(name, 32, "+tv:%c=%.3g", info->bins_letter[d],
                       ratio_of_bins(info->bins_letter[d], info->bins[d]));
}

/* Virtual coils are found later: those that are asked for, or as many as are left as they are. */
static int expected_coils(const larmor_recon *r)
{
    enum { USUAL = 12 };
    const int coils = r->facts.coils;
    const double asked = r->settings.opts.compress;
    if (asked < 0) return coils;
    return (int)fmin(coils, asked >= 1 ? asked : USUAL);
}

/* Whether each series fits by the job's method. */
static larmor_status series_fit(larmor_recon *r, int *fit)
{
    LMR_FREED_BY(lmr_series_free) lmr_series list = {.group = NULL};
    LMR_FREED_BY(lmr_plan_free) lmr_plan plan = {.bytes = NULL};
    const int coils = r->facts.coils;
    r->facts.coils = expected_coils(r);
    larmor_status st = lmr_series_gather(&r->job, &r->settings.only, &list);
    if (!st) st = lmr_plan_make(&r->job, r->settings.opts.memory, &list, &plan);
    r->facts.coils = coils;
    *fit = !st && !is_too_large(&plan) && plan.choose >= 0;
    return st;
}

/* 1 if several sets of maps are asked for, or given: a series has one. */
static int wants_sets(const larmor_recon *r)
{
    const larmor_recon_opts *o = &r->settings.opts;
    int64_t got[5] = {1, 1, 1, 1, 1};
    if (o->maps) map_sizes(larmor_array_shape(o->maps), r->facts.grid[0].ndim, got);
    return o->map_sets > 1 || got[4] > 1;
}

/* Penalties along so many dimensions of the bins, where a series of those fits into memory; else it is as before. */
static larmor_status join_along(larmor_recon *r, int dims, int *fit)
{
    char name[32];
    name_of_bins(r, dims, name);
    lmr_method_settle(&r->job, &r->facts, name, LARMOR_METHOD_FROM_BINS);
    r->settings.joint = 1;
    r->settings.is_split = dims < 2;
    LMR_TRY(series_fit(r, fit));
    if (*fit) return LARMOR_OK;
    r->settings.joint = r->settings.is_split = 0;
    r->facts.automatic = 1;
    r->facts.method_from = LARMOR_METHOD_FROM_CALLER;
    lmr_method_take(&r->job, "cg");
    return LARMOR_OK;
}

static const char *name_of_dimension(char letter)
{
    if (letter == 'h') return "the heart";
    return letter == 'b' ? "the breath" : "time";
}

/* Bins whose method is open are one series: where the readouts of one leave a gap, others have none. */
static larmor_status join_bins(larmor_recon *r)
{
    const larmor_recon_opts *o = &r->settings.opts;
    const larmor_raw_info *info = &r->facts.info;
    const int may = r->facts.automatic && !o->ranks && !(info->hole > 0) && !wants_sets(r);
    int fit;
    if (!may || !lmr_series_are_bins(&r->job, &r->settings.only)) return LARMOR_OK;
    LMR_TRY(join_along(r, 2, &fit));
    if (fit) return LARMOR_OK;
    if (info->bins[0] > 1 && info->bins[1] > 1) LMR_TRY(join_along(r, 1, &fit));
    if (fit)
        lmr_log(&r->events, "bins: a series for each of %d of %s, as all do not fit into memory as one",
                info->bins[1], name_of_dimension(info->bins_letter[1]));
    else
        lmr_log(&r->events, "bins: each by itself, as they do not fit into memory as one series");
    return LARMOR_OK;
}

/* 1 if nothing but the basis speaks for conjugate gradients. */
static int is_open_but_for_basis(const larmor_recon *r)
{
    const larmor_recon_opts *o = &r->settings.opts;
    if (strcmp(r->settings.method, LMR_METHOD_AUTO) != 0 || o->prior || o->joint) return 0;
    if (o->lambda_mode != LARMOR_LAMBDA_AUTO || o->tol != 0 || o->precondition || o->constraint || o->ranks) return 0;
    return o->partial_fourier != LARMOR_PARTIAL_POCS && !(r->facts.info.hole > 0) && !wants_sets(r);
}

/* Coefficients of a basis, as other images, have less error by tv than by conjugate gradients, and so have fits of T1
 * and T2 (docs/records/fit.md). */
static larmor_status choose_for_basis(larmor_recon *r)
{
    int fit;
    if (!is_open_but_for_basis(r)) return LARMOR_OK;
    lmr_method_take(&r->job, "tv");
    LMR_TRY(series_fit(r, &fit));
    if (fit) return LARMOR_OK;
    lmr_log(&r->events, "coefficients: by cg, as tv does not fit into memory");
    lmr_method_take(&r->job, "cg");
    return LARMOR_OK;
}

larmor_status lmr_prepare(larmor_recon *r)
{
    const char *name = lmr_source_name(r->facts.source);
    LMR_TRY(lmr_physics_open(&r->settings.opts, &r->facts));
    lmr_report_source(r);
    larmor_status st = make_whitening(r);
    if (!st) st = lmr_grids_choose(r);
    if (!st) st = lmr_physics_decide(&r->job, &r->facts);
    if (!st) st = lmr_concomitant_expect(&r->job, &r->facts);
    if (st) return lmr_fail_in(st, name);
    if (r->settings.opts.basis) LMR_TRY(take_basis(r));
    LMR_TRY(join_bins(r));
    if (r->facts.basis) LMR_TRY(choose_for_basis(r));
    LMR_TRY(lmr_series_gather(&r->job, &r->settings.only, &r->list));
    LMR_TRY(lmr_series_part_silent(&r->job, &r->list));
    LMR_TRY(lmr_series_lead(&r->job, &r->list));
    r->facts.lead = lmr_lead_group(&r->list);
    LMR_TRY(lmr_ghosts_find(r));
    if (!lmr_source_is_corrected(r->facts.source)) lmr_report_ghosts(r);
    r->caches.keep_samples = !r->settings.opts.memory;
    LMR_TRY(compress(r));
    LMR_TRY(lmr_delays_find(r));
    if (lmr_compression_is_geometric(&r->job) &&
        lmr_delays_couple(&r->job)) { /* its lines are none of the grid then */
        lmr_sample_cache_clear(&r->caches);
        LMR_CLEAR(r->facts.compression);
        r->facts.coils = r->facts.info.coils;
        LMR_TRY(lmr_find_compression(r));
    }
    if (r->settings.opts.maps) LMR_TRY(take_maps(r));
    if (!r->facts.slabs) LMR_TRY(lmr_choose_maps(r));
    LMR_TRY(lmr_model_compare(&r->job, &r->facts, &r->list));
    if (!r->facts.slabs) lmr_devices_plan(r);
    LMR_TRY(expect_room(r, LMR_SLABS_EXPECTED));
    LMR_TRY(lmr_describe_compare(r));
    LMR_TRY(lmr_enter(&r->events, "field of view"));
    if (!r->facts.slabs) {
        LMR_TRY(lmr_grids_enlarge(r));
        r->searched = 1;
    }
    lmr_report_method(r);
    LMR_TRY(plan_memory(r));
    lmr_hole_judge(r);
    return LARMOR_OK;
}
