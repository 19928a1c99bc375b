/* Which maps are found, and how many sets of them. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/choose_maps.h"

#include <math.h>
#include <string.h>

#include "core/status.h"
#include "pipeline/group.h"
#include "pipeline/hole.h"
#include "pipeline/maps.h"
#include "pipeline/method.h"

/* The object folds where so much of it has two eigenvalues near 1; noise and edges alone make less
 * (docs/records/maps.md, "What auto chooses"). */
static const double min_folded_part = 0.2;

/* Calibration regions below this side give no better maps by ESPIRiT. */
static const int64_t least_side = 8;

/* Several sets of maps are for the methods whose parts know what to do with them. */
static int takes_sets(const lmr_job *job)
{
    const unsigned images = LARMOR_TAKES_SERIES | LARMOR_TAKES_IMAGES;
    return !job->settings->joint &&
           (job->found.method.kind != LMR_METHOD_REGULARISED || job->found.method.takes & images);
}

larmor_status lmr_take_sets(larmor_recon *r, const char *what, int64_t sets)
{
    lmr_job *job = &r->job;
    if (sets == 1) return LARMOR_OK;
    if (!takes_sets(job))
        return LMR_FAIL(
            LARMOR_ERR_ARG,
            "%s: several sets of maps are for opts.method cg, grid, tv, tgv and wavelet, without opts.joint; got %s.",
            what, lmr_method_name(job));
    if (job->facts->precondition > 0)
        return LMR_FAIL(LARMOR_ERR_ARG,
                        "opts.precondition circulant: is not for several sets of maps, and %s has %lld.", what,
                        (long long)sets);
    r->facts.sets = (int)sets;
    r->facts.precondition = -1;
    return LARMOR_OK;
}

/* Fails where a method would not fit into memory beside the samples. */
static larmor_status expect_room(const larmor_recon *r, const larmor_group *group, const larmor_grid *grid,
                                 const char *method)
{
    const larmor_raw_info *info = &r->facts.info;
    const int64_t together = info->calibration ? 0 : info->averaged; /* of frames */
    const larmor_problem p = {.image = lmr_grid_shape(grid),
                              .samples = together > group->total ? together : group->total,
                              .coils = r->facts.coils,
                              .dtype = LARMOR_C64};
    const double samples = 8 * (double)p.samples * ((double)p.coils + grid->ndim);
    int64_t bytes, available, total;
    LMR_TRY(lmr_maps_method_of(method)->bytes(&r->job, &p, &bytes));
    LMR_TRY(larmor_device_memory(r->facts.dev, &available, &total));
    const int64_t limit = r->settings.opts.memory ? r->settings.opts.memory : available;
    if (!limit || (double)bytes + samples <= (double)limit) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_MEMORY, "%.0f MB needed, %lld MB %s", ceil(((double)bytes + samples) / 1e6),
                    (long long)(limit / 1000000), r->settings.opts.memory ? "allowed" : "free");
}

static larmor_status look_at_lead(larmor_recon *r, int at_region, lmr_calibration_survey *survey)
{
    lmr_job *job = &r->job;
    const int index = lmr_lead_group(&r->list);
    larmor_group group;
    larmor_samples samples;
    lmr_cartesian cartesian;
    int made;
    LMR_TRY(lmr_enter(&r->events, "coil maps"));
    LMR_TRY(lmr_source_group(job->facts->source, index, &group));
    LMR_TRY(expect_room(r, &group, &job->facts->grid[index], "espirit"));
    LMR_TRY(lmr_group_average(job, index, &samples, &made, &cartesian));
    const larmor_status st = lmr_maps_look(job, index, &group, &job->facts->grid[index], &samples, at_region, survey);
    lmr_samples_release(job, index, &samples, made, &cartesian);
    return st;
}

/* What is wrong with the data is said where their image is made. */
static larmor_status look(larmor_recon *r, int at_region, lmr_calibration_survey *survey)
{
    const larmor_status st = look_at_lead(r, at_region, survey);
    if (!st || st == LARMOR_STOPPED) return st;
    lmr_log(&r->events, "coil maps: not looked at before: %s", larmor_last_error());
    *survey = (lmr_calibration_survey){.side = 0};
    return LARMOR_OK;
}

static int folds(const lmr_calibration_survey *survey)
{
    return survey->folded > min_folded_part;
}

/* As many as the image that decides asks for. Grids of samples that are on none are enlarged instead, so that nothing
 * folds. */
static larmor_status take_folded(larmor_recon *r, const lmr_calibration_survey *survey)
{
    if (!folds(survey)) return LARMOR_OK;
    lmr_log(&r->events, "coil maps: the object folds in %.0f %% of its extent; two sets of maps are found",
            100 * survey->folded);
    return lmr_take_sets(r, "the object, which folds within the field of view,", 2);
}

static int can_take_two(const larmor_recon *r)
{
    return takes_sets(&r->job) && r->facts.precondition <= 0 && r->settings.opts.map_sets != 1 && !r->facts.given;
}

/* 1 if the header says that readouts are spokes. */
static larmor_status has_spokes(const larmor_recon *r, int *spokes)
{
    larmor_group group;
    larmor_encoding encoding;
    LMR_TRY(lmr_source_group(r->facts.source, lmr_lead_group(&r->list), &group));
    LMR_TRY(lmr_source_encoding(r->facts.source, group.encoding, &encoding));
    *spokes = !strcmp(encoding.trajectory, "radial") || !strcmp(encoding.trajectory, "goldenangle");
    return LARMOR_OK;
}

/* 1 if images of the centre of k-space alias, so that maps from it would: radial aliasing is
 * spread out and has little effect on the maps. */
static int centre_aliases(const larmor_recon *r, const lmr_calibration_survey *survey)
{
    const int ndim = r->facts.grid[lmr_lead_group(&r->list)].ndim;
    if (survey->straight || (survey->cartesian && survey->side >= least_side)) return 0;
    return lmr_maps_alias(ndim, survey->aliasing);
}

/* 1 if so few lines follow each other around the centre, for want of those between, that maps from them err. */
static int lacks_lines(const lmr_calibration_survey *survey)
{
    return survey->cartesian && survey->gaps && survey->side > 0 && survey->side < least_side;
}

/* Maps from all of the data, if there is memory for that. survey: NULL where a hole in the centre asks for them. */
static larmor_status take_inversion(larmor_recon *r, const lmr_calibration_survey *survey)
{
    lmr_job *job = &r->job;
    const int index = lmr_lead_group(&r->list);
    larmor_group group;
    LMR_TRY(lmr_source_group(job->facts->source, index, &group));
    if (expect_room(r, &group, &job->facts->grid[index], "nlinv")) {
        lmr_log(&r->events, "coil maps: not by nonlinear inversion: %s", larmor_last_error());
        return LARMOR_OK;
    }
    r->facts.maps_method = lmr_maps_method_of("nlinv");
    if (survey && lacks_lines(survey))
        lmr_log(&r->events, "coil maps: by nonlinear inversion, as lines beside the centre of k-space are missing");
    else if (survey)
        lmr_log(&r->events,
                "coil maps: by nonlinear inversion, as the centre of k-space is undersampled: beside the peak of its "
                "point "
                "spread function is %.2g times the peak's energy",
                survey->aliasing);
    else
        lmr_log(
            &r->events,
            "coil maps: by nonlinear inversion, which needs no samples in the centre of k-space: there is a hole");
    return LARMOR_OK;
}

/* By what was measured over simulated scans (docs/records/maps.md): nonlinear inversion where images of the centre
 * alias; ESPIRiT in 2D off the grid, and where lines are missing, between others or beyond a short block of them, or
 * the object folds; else Walsh's method, which is as good and quicker. It is that of volumes, too, which in slabs are
 * to be as they are as a whole. */
static larmor_status choose_by_data(larmor_recon *r)
{
    lmr_job *job = &r->job;
    lmr_calibration_survey survey;
    int spokes;
    r->facts.maps_method = lmr_maps_method_of("walsh");
    if (!r->list.groups || job->facts->grid[lmr_lead_group(&r->list)].apart[2]) return LARMOR_OK;
    if (lmr_hole_in_maps(r)) return take_inversion(r, NULL);
    LMR_TRY(has_spokes(r, &spokes));
    const int solid = job->facts->grid[lmr_lead_group(&r->list)].ndim > 2;
    if (solid && spokes) return LARMOR_OK;
    LMR_TRY(look(r, !solid, &survey));
    if (centre_aliases(r, &survey) || lacks_lines(&survey)) return take_inversion(r, &survey);
    if (survey.side < least_side) return LARMOR_OK;
    const int two = folds(&survey) && can_take_two(r);
    if (survey.cartesian && !two && !survey.gaps && !survey.block) return LARMOR_OK;
    r->facts.maps_method = lmr_maps_method_of("espirit");
    if (two) return take_folded(r, &survey);
    lmr_log(&r->events, "coil maps: by ESPIRiT, as %s",
            survey.cartesian ? "lines are missing" : "readouts are off the grid");
    return LARMOR_OK;
}

static larmor_status choose_sets(larmor_recon *r)
{
    const larmor_recon_opts *o = &r->settings.opts;
    lmr_calibration_survey survey;
    if (o->map_sets > r->facts.maps_method->sets)
        return LMR_FAIL(LARMOR_ERR_ARG, "opts.map_sets %d: maps by %s come in one set; espirit and nlinv find two.",
                        o->map_sets, r->facts.maps_method->name);
    if (o->map_sets) return lmr_take_sets(r, "opts.map_sets", o->map_sets);
    if (r->facts.maps_method->sets < 2 || !can_take_two(r) || !r->list.groups) return LARMOR_OK;
    LMR_TRY(look(r, 1, &survey));
    return take_folded(r, &survey);
}

larmor_status lmr_choose_maps(larmor_recon *r)
{
    const char *name = r->settings.opts.maps_method;
    lmr_job *job = &r->job;
    if (job->facts->given || job->settings->opts.no_maps || job->facts->coils == 1) return LARMOR_OK;
    if (!strcmp(name, "auto") && r->settings.opts.map_sets < 2) return choose_by_data(r);
    r->facts.maps_method =
        lmr_maps_method_of(strcmp(name, "auto") != 0 ? name : "espirit"); /* which alone has two sets */
    return choose_sets(r);
}

larmor_status lmr_choose_maps_beyond(larmor_recon *r)
{
    return r->facts.coils == 1 ? LARMOR_OK : choose_by_data(r);
}
