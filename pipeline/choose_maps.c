/* Which maps are found, and how many sets of them. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/choose_maps.h"

#include "check/map_trust.h"
#include "core/core.h"
#include "pipeline/hole.h"
#include "pipeline/maps.h"
#include "pipeline/method.h"
#include "scan/cartesian.h"
#include "scan/sample_cache.h"
#include "scan/trajectory.h"

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

/* The option that is for one set of maps. */
static const char *name_of_single(const larmor_recon_opts *o)
{
    if (o->motion) return "motion";
    return o->constraint ? "constraint" : "motion_states";
}

larmor_status lmr_take_sets(larmor_recon *r, const char *what, int64_t sets)
{
    lmr_job *job = &r->job;
    if (sets == 1) return LARMOR_OK;
    LMR_REFUSE(
        !takes_sets(job), LARMOR_ERR_ARG,
        "%s: several sets of maps are for opts.method cg, grid, tv, tgv and wavelet, without opts.joint; got %s.",
        what, lmr_method_name(job));
    const larmor_recon_opts *o = &job->settings->opts;
    LMR_REFUSE(o->motion || o->motion_states || o->constraint, LARMOR_ERR_ARG,
               "opts.%s: is not for several sets of maps, and %s has %lld.", name_of_single(o), what,
               (long long)sets);
    LMR_REFUSE(job->facts->precondition > 0, LARMOR_ERR_ARG,
               "opts.precondition circulant: is not for several sets of maps, and %s has %lld.", what,
               (long long)sets);
    r->facts.sets = (int)sets;
    r->facts.precondition = -1;
    return LARMOR_OK;
}

/* Fails where a method would not fit into memory beside the samples. */
static larmor_status expect_room(const lmr_job *job, const larmor_group *group, const larmor_grid *grid,
                                 const char *method)
{
    const larmor_raw_info *info = &job->facts->info;
    const int64_t together = info->calibration ? 0 : info->averaged; /* of frames */
    const int64_t allowed = job->settings->opts.memory;
    const larmor_problem p = {.image = lmr_grid_shape(grid),
                              .samples = together > group->total ? together : group->total,
                              .coils = job->facts->coils,
                              .dtype = LARMOR_C64};
    const double samples = 8 * (double)p.samples * ((double)p.coils + grid->ndim);
    int64_t bytes, available, total;
    LMR_TRY(lmr_maps_bytes(job, lmr_maps_method_of(method), grid, &p, &bytes));
    LMR_TRY(larmor_device_memory(job->facts->dev, &available, &total));
    const int64_t limit = allowed ? allowed : available;
    if (!limit || (double)bytes + samples <= (double)limit) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_MEMORY, "%.0f MB needed, %lld MB %s", ceil(((double)bytes + samples) / 1e6),
                    (long long)(limit / 1000000), allowed ? "allowed" : "free");
}

/* The group by whose data maps are chosen. */
typedef struct chooser {
    lmr_job *job;
    int index;
    const larmor_samples *samples; /* NULL: not read yet */
    larmor_group group;
    const larmor_grid *grid;
} chooser;

static larmor_status chooser_of(lmr_job *job, int index, const larmor_samples *samples, chooser *c)
{
    *c = (chooser){.job = job, .index = index, .samples = samples, .grid = &job->facts->grid[index]};
    return lmr_source_group(job->facts->source, index, &c->group);
}

static const double on_line = 1e-3; /* 1/FOV across a line that is along x */

/* Between lines of the same place along the other axis, so that they follow each other where all are sorted. */
static const double from_row_to_row = 1e4;

/* 1 if each readout is on a line of the grid. */
static int on_lines(const double *k, int64_t nd, int64_t n, int64_t lines, const double encoded[3])
{
    for (int64_t i = 0; i < lines; i++)
        for (int64_t d = 1; d < nd; d++) {
            const double *from = k + d + nd * n * i;
            const double at = from[nd * (n / 2)] * encoded[d];
            if (fabs(from[0] * encoded[d] - at) > on_line || fabs(at - nearbyint(at)) > on_line) return 0;
        }
    return 1;
}

/* gaps: 1 if lines are missing between others: readouts along x whose distance along another axis is more than one
 * step; complete: 1 if none is, of readouts on lines of the grid. */
static larmor_status find_gaps(const larmor_array *traj, const double encoded[3], lmr_calibration_survey *survey)
{
    const larmor_shape shape = larmor_array_shape(traj);
    const int64_t nd = shape.dim[0], n = shape.dim[1], lines = larmor_array_count(traj) / (nd * n);
    LMR_HEAP LMR_NEW(double, at, lines);
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    for (int64_t d = 1; d < nd; d++) {
        for (int64_t i = 0; i < lines; i++) {
            const double *middle = k + nd * (n / 2 + n * i);
            at[i] = middle[d] * encoded[d];
            if (nd > 2) at[i] += from_row_to_row * nearbyint(middle[3 - d] * encoded[3 - d]);
        }
        lmr_sort_f64(at, lines);
        for (int64_t i = 1; i < lines; i++)
            survey->gaps |= at[i] - at[i - 1] > 1.5 && at[i] - at[i - 1] < from_row_to_row / 2;
    }
    survey->complete = !survey->gaps && on_lines(k, nd, n, lines, encoded);
    return LARMOR_OK;
}

static larmor_status survey_samples(const chooser *c, const larmor_samples *samples, int at_region,
                                    lmr_calibration_survey *survey)
{
    larmor_encoding encoding;
    double encoded[3];
    LMR_TRY(lmr_maps_look(c->job, c->index, &c->group, c->grid, samples, at_region, survey));
    LMR_TRY(lmr_source_encoding(c->job->facts->source, c->group.encoding, &encoding));
    lmr_maps_encoded(&encoding, c->grid, encoded);
    return find_gaps(samples->traj, encoded, survey);
}

static larmor_status look_at_group(const chooser *c, int at_region, lmr_calibration_survey *survey)
{
    larmor_samples samples;
    lmr_cartesian cartesian;
    int made;
    LMR_TRY(lmr_enter(c->job->events, "coil maps"));
    LMR_TRY(expect_room(c->job, &c->group, c->grid, "espirit"));
    if (c->samples) return survey_samples(c, c->samples, at_region, survey);
    LMR_TRY(lmr_group_average(c->job, c->index, &samples, &made, &cartesian));
    const larmor_status st = survey_samples(c, &samples, at_region, survey);
    lmr_samples_release(c->job, c->index, &samples, made, &cartesian);
    return st;
}

/* What is wrong with the data is said where their image is made. */
static larmor_status look(const chooser *c, int at_region, lmr_calibration_survey *survey)
{
    const larmor_status st = look_at_group(c, at_region, survey);
    if (!st || st == LARMOR_STOPPED) return st;
    lmr_log(c->job->events, "coil maps: not looked at before: %s", larmor_last_error());
    *survey = (lmr_calibration_survey){.side = 0};
    return LARMOR_OK;
}

static int folds(const lmr_calibration_survey *survey)
{
    return survey->folded > min_folded_part;
}

/* As many as the image that decides asks for. Grids of samples that are on none are enlarged instead, so that nothing
 * folds. */
static larmor_status take_folded(larmor_recon *r, double folded)
{
    lmr_log(&r->events, "coil maps: the object folds in %.0f %% of its extent; two sets of maps are found",
            100 * folded);
    return lmr_take_sets(r, "the object, which folds within the field of view,", 2);
}

static int can_take_two(const lmr_job *job)
{
    return takes_sets(job) && job->facts->precondition <= 0 && job->settings->opts.map_sets != 1 &&
           !job->facts->given;
}

/* 1 if the header says that readouts are spokes. */
static larmor_status has_spokes(const chooser *c, int *spokes)
{
    larmor_encoding encoding;
    LMR_TRY(lmr_source_encoding(c->job->facts->source, c->group.encoding, &encoding));
    *spokes = !strcmp(encoding.trajectory, "radial") || !strcmp(encoding.trajectory, "goldenangle");
    return LARMOR_OK;
}

/* Between the samples of readouts, in 1/FOV: with more the object comes again within the field of view of maps from
 * the centre. Nonlinear inversion gives the field of view that readouts are sampled for (docs/records/maps.md). */
static const double most_spacing = 1.05;

static int samples_are_apart(const lmr_calibration_survey *survey)
{
    return !survey->cartesian && survey->spacing > most_spacing;
}

/* 1 if images of the centre of k-space alias, so that maps from it would: the aliasing of few spokes is
 * spread out and has little effect on the maps. */
static int centre_aliases(const chooser *c, const lmr_calibration_survey *survey)
{
    if (samples_are_apart(survey)) return 1;
    if (survey->straight || (survey->cartesian && survey->side >= least_side)) return 0;
    return lmr_maps_alias(c->grid->apart[2] ? 2 : c->grid->ndim, survey->aliasing);
}

/* 1 if so few lines follow each other around the centre, for want of those between, that maps from them err. */
static int lacks_lines(const lmr_calibration_survey *survey)
{
    return survey->cartesian && survey->gaps && survey->side > 0 && survey->side < least_side;
}

enum { LEAST_VOXELS = 3 }; /* along an axis, for a calibration region of ESPIRiT's windows */

/* In the plane: few partitions have maps by Walsh's method. */
static int is_narrow(const larmor_grid *grid)
{
    int narrow = 0;
    for (int d = 0; d < grid->ndim && d < 2; d++)
        narrow |= !grid->apart[d] && grid->matrix[d] > 1 && grid->matrix[d] < LEAST_VOXELS;
    return narrow;
}

/* Maps from all of the data, if there is memory for that. survey: NULL where a hole in the centre or a narrow matrix
 * asks for them. */
static void take_inversion(const chooser *c, const lmr_calibration_survey *survey, const lmr_maps_method **method)
{
    lmr_events *e = c->job->events;
    if (expect_room(c->job, &c->group, c->grid, "nlinv")) {
        lmr_log(e, "coil maps: not by nonlinear inversion: %s", larmor_last_error());
        return;
    }
    *method = lmr_maps_method_of("nlinv");
    if (survey && lacks_lines(survey))
        lmr_log(e, "coil maps: by nonlinear inversion, as lines beside the centre of k-space are missing");
    else if (survey && samples_are_apart(survey))
        lmr_log(e, "coil maps: by nonlinear inversion, as samples of a readout are %.2f/FOV apart", survey->spacing);
    else if (survey)
        lmr_log(e,
                "coil maps: by nonlinear inversion, as the centre of k-space is undersampled: beside the peak of its "
                "point spread function is %.2g times the peak's energy",
                survey->aliasing);
    else if (is_narrow(c->grid))
        lmr_log(e,
                "coil maps: by nonlinear inversion, as fewer than %d voxels along an axis have no calibration region",
                LEAST_VOXELS);
    else
        lmr_log(
            e, "coil maps: by nonlinear inversion, which needs no samples in the centre of k-space: there is a hole");
}

enum { FEW = 16 }; /* spokes of a volume whose samples are looked at */

static larmor_status look_at_few(const chooser *c, double *spacing)
{
    const larmor_source *source = c->job->facts->source;
    const int64_t last = c->group.readouts - 1;
    int64_t readout[FEW];
    larmor_encoding encoding;
    double encoded[3];
    LMR_FREED_BY(larmor_samples_free) larmor_samples few = {0};
    for (int64_t i = 0; i < FEW; i++) readout[i] = last * i / (FEW - 1);
    LMR_TRY(lmr_source_encoding(source, c->group.encoding, &encoding));
    lmr_maps_encoded(&encoding, c->grid, encoded);
    LMR_TRY(lmr_source_readouts(source, c->index, readout, FEW, c->grid, c->job->facts->dev, &few));
    return few.traj ? lmr_maps_spacing(few.traj, encoded, spacing) : LARMOR_OK;
}

/* The samples of spokes: of a few alone, where the source gives single ones and maps come from the image's own. */
static larmor_status look_at_spokes(const chooser *c, lmr_calibration_survey *survey)
{
    if (!lmr_source_has_readouts(c->job->facts->source) || c->job->facts->info.calibration) return look(c, 0, survey);
    const larmor_status st = look_at_few(c, &survey->spacing);
    if (!st || st == LARMOR_STOPPED) return st;
    lmr_log(c->job->events, "coil maps: samples of spokes are not looked at before: %s", larmor_last_error());
    return LARMOR_OK;
}

/* By ESPIRiT off the grid and where lines are missing, without a look at how many spokes there are: where their
 * centre is undersampled the method itself takes Walsh's maps, in slabs of the volume as in the whole. */
static larmor_status choose_for_volume(const chooser *c, int spokes, const lmr_maps_method **method)
{
    lmr_calibration_survey survey = {.side = 0};
    int64_t repeats, left;
    LMR_TRY(spokes ? look_at_spokes(c, &survey) : look(c, 0, &survey));
    if (centre_aliases(c, &survey)) {
        take_inversion(c, &survey, method);
        return LARMOR_OK;
    }
    LMR_TRY(lmr_cartesian_expect(c->job, c->index, &repeats, &left));
    if (repeats ? !survey.gaps : survey.complete) return LARMOR_OK;
    if (expect_room(c->job, &c->group, c->grid, "espirit"))
        lmr_log(c->job->events, "coil maps: not by ESPIRiT: %s", larmor_last_error());
    else
        *method = lmr_maps_method_of("espirit");
    return LARMOR_OK;
}

/* By what was measured over simulated scans (docs/records/maps.md): nonlinear inversion where images of the centre
 * alias; ESPIRiT off the grid and where lines are missing between others, and in 2D beyond a short block of them and
 * where the object folds; else Walsh's method, which is as good and quicker. Slices that were excited together
 * are by nonlinear inversion or Walsh's method: where one has air and another tissue, maps by ESPIRiT made up to 1.8
 * times the error (docs/records/multiband.md). folded: the part of the object for which
 * two sets of maps are wanted, or 0. */
static larmor_status choose_by_data(const chooser *c, const lmr_maps_method **method, double *folded)
{
    const int is_volume = c->grid->ndim > 2 && !c->grid->apart[2];
    lmr_calibration_survey survey;
    int spokes;
    *method = lmr_maps_method_of("walsh");
    *folded = 0;
    if (!c->grid->apart[2] && (lmr_hole_in_maps(c->job->facts, &c->group) || is_narrow(c->grid))) {
        take_inversion(c, NULL, method);
        return LARMOR_OK;
    }
    LMR_TRY(has_spokes(c, &spokes));
    if (is_volume) return choose_for_volume(c, spokes, method);
    LMR_TRY(look(c, 1, &survey));
    if (centre_aliases(c, &survey) || lacks_lines(&survey)) {
        take_inversion(c, &survey, method);
        return LARMOR_OK;
    }
    if (survey.side < least_side || c->grid->apart[2]) return LARMOR_OK;
    const int two = folds(&survey) && can_take_two(c->job);
    if (survey.cartesian && !two && !survey.gaps && !survey.block) return LARMOR_OK;
    *method = lmr_maps_method_of("espirit");
    if (two)
        *folded = survey.folded;
    else
        lmr_log(c->job->events, "coil maps: by ESPIRiT, as %s",
                survey.cartesian ? "lines are missing" : "readouts are off the grid");
    return LARMOR_OK;
}

static larmor_status choose_for_all(larmor_recon *r)
{
    chooser c;
    double folded;
    r->facts.maps_method = lmr_maps_method_of("walsh");
    if (!r->list.groups) return LARMOR_OK;
    LMR_TRY(chooser_of(&r->job, lmr_lead_group(&r->list), NULL, &c));
    LMR_TRY(choose_by_data(&c, &r->facts.maps_method, &folded));
    return folded > 0 ? take_folded(r, folded) : LARMOR_OK;
}

/* 1 if the group lacks what the one had by which maps were chosen for all: samples, or those of the centre. */
static larmor_status lacks_samples(const lmr_job *job, const larmor_group *group, int *lacks)
{
    larmor_group lead;
    LMR_TRY(lmr_source_group(job->facts->source, job->facts->lead, &lead));
    *lacks = group->total < lead.total || (group->hole > 0 && !(lead.hole > 0));
    return LARMOR_OK;
}

larmor_status lmr_maps_method_for(lmr_job *job, int index, const larmor_samples *samples,
                                  const lmr_maps_method **method)
{
    chooser c;
    double folded;
    int lacks;
    *method = job->facts->maps_method;
    if (!*method || strcmp(job->settings->maps_method, "auto") != 0 || job->settings->opts.map_sets > 1)
        return LARMOR_OK;
    if (job->facts->given || job->facts->slabs || job->facts->info.averaged || job->facts->coils == 1)
        return LARMOR_OK;
    LMR_TRY(chooser_of(job, index, samples, &c));
    LMR_TRY(lacks_samples(job, &c.group, &lacks));
    if (!lacks) return LARMOR_OK;
    LMR_TRY(choose_by_data(&c, method, &folded));
    const int lacks_memory =
        c.grid->ndim > 2 && !c.grid->apart[2] && !strcmp((*method)->name, "espirit"); /* it was known for the lead */
    if (job->facts->sets > (*method)->sets || lacks_memory) *method = job->facts->maps_method;
    return LARMOR_OK;
}

static larmor_status choose_sets(larmor_recon *r)
{
    const larmor_recon_opts *o = &r->settings.opts;
    lmr_calibration_survey survey;
    chooser c;
    LMR_REFUSE(o->map_sets > r->facts.maps_method->sets, LARMOR_ERR_ARG,
               "opts.map_sets %d: maps by %s come in one set; espirit and nlinv find two.", o->map_sets,
               r->facts.maps_method->name);
    if (o->map_sets) return lmr_take_sets(r, "opts.map_sets", o->map_sets);
    if (r->facts.maps_method->sets < 2 || !can_take_two(&r->job) || !r->list.groups) return LARMOR_OK;
    LMR_TRY(chooser_of(&r->job, lmr_lead_group(&r->list), NULL, &c));
    LMR_TRY(look(&c, 1, &survey));
    return folds(&survey) ? take_folded(r, survey.folded) : LARMOR_OK;
}

larmor_status lmr_choose_maps(larmor_recon *r)
{
    const char *name = r->settings.opts.maps_method;
    lmr_job *job = &r->job;
    if (job->facts->given || job->settings->opts.no_maps || job->facts->coils == 1) return LARMOR_OK;
    if (!strcmp(name, "auto") && r->settings.opts.map_sets < 2) return choose_for_all(r);
    r->facts.maps_method =
        lmr_maps_method_of(strcmp(name, "auto") != 0 ? name : "espirit"); /* which alone has two sets */
    return choose_sets(r);
}

larmor_status lmr_choose_maps_beyond(larmor_recon *r)
{
    return r->facts.coils == 1 ? LARMOR_OK : choose_for_all(r);
}
