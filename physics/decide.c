/* Terms of the model that the samples decide on: an image is solved for with and without them. With a Gaussian prior
 * of the weight and white noise the logarithm of the samples' probability is minus the least of |A x - b|^2 +
 * weight |x|^2 over the noise's power, but for determinants, which terms that turn phases change little.
 * SPDX-License-Identifier: Apache-2.0 */
#include "physics/decide.h"

#include "core/core.h"
#include "physics/motion.h"
#include "physics/physics.h"
#include "physics/terms.h"
#include "pipeline/group.h"
#include "pipeline/method.h"
#include "pipeline/problem.h"

#define LOW_FIELD_TESLA 1.0 /* below, the fields are in the model where the samples do not tell */
#define LEAST_PHASE_RAD 0.1 /* of terms that are worth a model: docs/reference/physics.md */
#define MOST_PHASE_RAD 1e3  /* beyond, places or field strengths are wrong: 60 ms at 0.064 T have 200 */

/* Logarithm of the odds beyond which samples decide for them, and below 1 T against them, where all magnets have
 * them: of 40 noisy scans 2 were decided wrongly (docs/records/physics.md). Small ones from 1 T on, which take longer
 * than they are worth, need CLEAR_LOG_ODDS. */
#define LEAST_LOG_ODDS 1.
#define LEAST_LOG_ODDS_AGAINST 2.
/* The same for a warning of what was given. */
#define LEAST_LOG_ODDS_OF_GIVEN 10.
/* Of the better model's misfit over the other's: nearer ones differ by how well a flat prior suits the object, up to
 * .9998 where the map is right (docs/records/physics.md). */
#define MAX_CLEAR_RATIO 0.998
#define MOST_DWELL_US 1e3         /* that is worth a warning: bandwidths of images are above 1 kHz */
#define WEIGHT_OVER_FLAT_PRIOR 5. /* of larmor_weight_of_noise */
#define LEAST_WEIGHT 1e-4         /* of the largest eigenvalue, where there is next to no noise */

#define CLEAR_LOG_ODDS 20.      /* with less, a prior that knows where the object is is worth its time */
#define LEAST_POWER_NEARBY 0.02 /* of that prior, over the mean */
enum { RADIUS = 2 };            /* voxels, of what is near */
/* Voxels times coils of an image whose trials would take longer than the image: 192^3 by 8 coils took 26 s on an
 * H200. Their concomitant fields are asked for from this phase on: below, a wrong model has up to 1.05 times the
 * error. */
#define MOST_VALUES (INT64_C(1) << 21)
#define LARGE_LEAST_RAD 0.5
/* Of what a given map leaves: objects that decay fit a smaller one a little better, .88 in 20 ms with a T2* of
 * 30 ms. */
#define MAX_RATIO_OF_SIZE 0.8
#define MAX_RATIO_OF_SIGN 0.985
/* Energy by which fields change samples, over that of their noise: images without them had 1.03 times the error at
 * .012, 1.07 at .035 and 1.2 at .12 (docs/records/physics.md). From 1 T on, images with less are not compared. */
#define LEAST_CHANGE 0.004
enum { TRIED_IMAGES = 64, TRIED_OF_PLACE = 2, PLACES = 1024 }; /* slices lie elsewhere, repetitions do not */
/* Of the last steps, over the image: with 1e-3 log odds of scenes in 2D and 3D differ by less than 1 %. */
#define MIN_REL_CHANGE 1e-2
enum { FIRST_STEPS = 15, MOST_STEPS = 50, POWER_STEPS = 4 };

/* ---- what is expected ---- */

static double field_of(const lmr_job *job)
{
    const double given = job->settings->opts.field_tesla;
    return given > 0 ? given : job->facts->info.field_tesla;
}

/* Where the field strength is from, if not stated. */
static const char *field_from(const lmr_job *job)
{
    const int stated = job->settings->opts.field_tesla > 0 || !job->facts->info.field_by_h1;
    return stated ? "" : " (by H1resonanceFrequency_Hz)";
}

/* The largest phase of the wanted images, or -1, and its image. */
static larmor_status find_most(const lmr_job *job, double *most, int *image)
{
    const int groups = job->facts->info.groups;
    const int tried = groups < TRIED_IMAGES ? groups : TRIED_IMAGES;
    unsigned char of_place[PLACES] = {0};
    *most = -1;
    for (int i = 0; i < tried; i++) {
        const int index = (int)((int64_t)i * groups / tried);
        larmor_group group;
        double own;
        LMR_TRY(lmr_source_group(job->facts->source, index, &group));
        if (!lmr_is_wanted(&job->settings->only, &group)) continue;
        if (of_place[(group.slice + 31 * group.encoding) % PLACES]++ >= TRIED_OF_PLACE) continue;
        LMR_TRY(lmr_concomitant_most(job, index, field_of(job), &own));
        if (own > *most) *image = index;
        *most = fmax(*most, own);
    }
    return LARMOR_OK;
}

/* Why they are not known, where all magnets have them. */
static larmor_status say_unknown(const lmr_job *job)
{
    larmor_image_meta image;
    larmor_group group;
    const char *why = NULL;
    if (field_of(job) >= LOW_FIELD_TESLA) return LARMOR_OK;
    LMR_TRY(lmr_source_meta(job->facts->source, 0, &image));
    LMR_TRY(lmr_source_group(job->facts->source, 0, &group));
    if (!group.regular) why = "readouts differ in length";
    if (image.place_unknown) why = "the scan does not say where the image lies, on which they depend";
    if (job->facts->slabs) why = "the volume is divided into slabs";
    if (why) lmr_log(job->events, "concomitant fields: not in the model, as %s", why);
    return LARMOR_OK;
}

larmor_status lmr_concomitant_expect(lmr_job *job, lmr_scan_facts *facts)
{
    const larmor_recon_opts *o = &job->settings->opts;
    double most;
    if (o->concomitant != LARMOR_CONCOMITANT_AUTO || !(field_of(job) > 0) || !facts->info.traj_stored)
        return LARMOR_OK;
    if (facts->slabs) return say_unknown(job);
    LMR_TRY(find_most(job, &most, &facts->concomitant_image));
    if (most < 0) return say_unknown(job);
    if (most <= LEAST_PHASE_RAD) return LARMOR_OK;
    if (!(most <= MOST_PHASE_RAD)) {
        lmr_warn(
            job->events,
            "concomitant fields: %.2g rad at %.3g T%s, by the trajectory and the image's place, which no scan has: "
            "they are not in the model. Check the place and the directions of image %d, sample_time_us and the field "
            "strength.",
            most, field_of(job), field_from(job), facts->concomitant_image + 1);
        return LARMOR_OK;
    }
    facts->concomitant_rad = most;
    return lmr_physics_set_concomitant(o, facts, field_of(job) < LOW_FIELD_TESLA);
}

/* ---- trials ---- */

typedef struct trial {
    lmr_job job; /* whose models are compared */
    lmr_settings settings;
    lmr_caches caches;
    lmr_events events;
    lmr_scan_facts *facts; /* the reconstruction's own, whose model changes */
    int index;
    lmr_frame *frame;
    larmor_circulant *circulant;
    double weight;       /* of |x|^2; 0: not found yet */
    double noise;        /* the power of a sample's noise */
    double count, power; /* samples, and |b|^2 */
    double *seen;        /* [voxels] the sum of |x|^2 of the images so far */
} trial;

static void close_trial(trial *t)
{
    lmr_frames_close(t->frame, 1);
    larmor_circulant_free(t->circulant);
    free(t->seen);
    lmr_found_free(&t->job.found);
}

/* The image's samples and maps. Lines come when it is made. */
static larmor_status open_trial(lmr_job *job, lmr_scan_facts *facts, int index, trial *t)
{
    larmor_recon_report report;
    t->job = *job;
    t->job.found = lmr_found_ref(&job->found);
    t->settings = *job->settings;
    t->settings.opts.weighted = 0;
    t->events = *job->events;
    t->events.is_quiet = t->events.trial = 1;
    t->job.settings = &t->settings;
    t->job.caches = &t->caches;
    t->job.events = &t->events;
    t->job.checkpoint = NULL;
    t->facts = facts;
    t->index = index;
    lmr_method_take(&t->job, "cg");
    LMR_TRY(lmr_frames_open(&t->job, &index, 1, &t->frame, &report));
    return lmr_enter(&t->events, job->events->stage);
}

/* White noise of the scan's level and a flat spectrum of the image's power. */
static larmor_status find_weight(trial *t, const lmr_frame *frame, larmor_op *A, const larmor_array *b)
{
    double deviation = frame->cartesian.deviation, largest, size;
    if (!t->facts->whitening) LMR_TRY(larmor_noise_level(frame->samples.kspace, frame->samples.traj, &deviation));
    LMR_OWN(larmor_array, noise, lmr_sample_noise(&t->job, frame, 1, b, deviation, LMR_NOISE_SEED, &noise));
    LMR_TRY(larmor_weight_of_noise(A, b, noise, NULL, &t->weight));
    LMR_TRY(larmor_opnorm(A, POWER_STEPS, &largest));
    LMR_TRY(larmor_nrm2(b, &size));
    t->weight = fmax(t->weight / WEIGHT_OVER_FLAT_PRIOR, LEAST_WEIGHT * largest);
    t->noise = 2 * deviation * deviation;
    t->power = size * size;
    t->count = (double)larmor_array_count(b);
    return lmr_problem_circulant(&t->job, frame, 1, LARMOR_LAMBDA_FROM_DATA, &t->circulant);
}

/* Of one set of maps. */
static larmor_status add_seen(trial *t, const larmor_array *x)
{
    const int64_t voxels = larmor_shape_count(lmr_grid_shape(&t->frame->grid));
    if (larmor_array_count(x) != voxels) return LARMOR_OK;
    if (!t->seen) t->seen = calloc((size_t)voxels, sizeof *t->seen);
    if (!t->seen) return LMR_NO_MEMORY();
    LMR_OWN_MEMORY(double, value, larmor_array_download(x, LARMOR_C128, &value));
    for (int64_t i = 0; i < voxels; i++) t->seen[i] += pow(value[2 * i], 2) + pow(value[2 * i + 1], 2);
    return LARMOR_OK;
}

/* least <- the least of |A x - b|^2 + weight |x|^2 */
static larmor_status minimise(trial *t, larmor_op *A, const larmor_array *b, double *least)
{
    LMR_OWNED(larmor_op) *M = NULL;
    double left, size;
    const int ndim = lmr_grid_shape(&t->frame->grid).ndim;
    LMR_OWN(larmor_array, x, larmor_array_create(t->facts->dev, larmor_op_dtype(A), larmor_op_in_shape(A), &x));
    LMR_OWN(larmor_array, r, larmor_array_create(t->facts->dev, larmor_op_dtype(A), larmor_op_out_shape(A), &r));
    if (t->circulant) LMR_TRY(lmr_problem_inverse(t->circulant, t->weight, ndim, larmor_op_in_shape(A), &M));
    const larmor_solve_opts o = {.max_iter = MOST_STEPS,
                                 .tol = -1,
                                 .relative = MIN_REL_CHANGE,
                                 .lambda = t->weight,
                                 .precondition = M,
                                 .monitor = lmr_monitor,
                                 .user = t->job.events};
    LMR_TRY(larmor_cg(A, b, x, &o, NULL));
    LMR_TRY(larmor_op_forward(A, x, r));
    LMR_TRY(larmor_axpby(-1, b, 1, r));
    LMR_TRY(larmor_nrm2(r, &left));
    LMR_TRY(larmor_nrm2(x, &size));
    *least = left * left + t->weight * size * size;
    return add_seen(t, x);
}

/* By the model as it is now. */
static larmor_status try_model(trial *t, double *least)
{
    LMR_OWNED(larmor_op) *A = NULL;
    lmr_frame frame = *t->frame;
    int toeplitz;
    frame.cached = NULL;
    frame.segments = NULL;
    larmor_status st = lmr_find_segments(&t->job, &t->index, 1, frame.samples.traj, &frame.segments);
    if (!st) st = lmr_problem_operator(&t->job, &frame, 1, &A, &toeplitz);
    larmor_segments_free(frame.segments);
    LMR_TRY(st);
    LMR_OWN(larmor_array, b, lmr_problem_data(&t->job, &frame, 1, A, &b));
    if (!(t->weight > 0)) LMR_TRY(find_weight(t, &frame, A, b));
    return minimise(t, A, b, least);
}

/* How much likelier the second is, as a logarithm. What is beyond noise counts as noise. */
static double log_odds(const trial *t, double first, double second)
{
    const double power = fmax(t->noise, fmin(first, second) / t->count);
    return power > 0 ? (first - second) / power : 0;
}

static int is_clear(double first, double second)
{
    return fmin(first, second) <= MAX_CLEAR_RATIO * MAX_CLEAR_RATIO * fmax(first, second);
}

static double misfit(const trial *t, double least)
{
    return t->power > 0 ? sqrt(least / t->power) : 0;
}

/* ---- where the object is ---- */

/* value <- the mean along a dimension of n values, `stride` apart, of those within RADIUS. */
static void smooth_line(double *value, int64_t n, int64_t stride, double *line)
{
    for (int64_t i = 0; i < n; i++) line[i] = value[i * stride];
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = -RADIUS; j <= RADIUS; j++) sum += line[(i + j + n * RADIUS) % n];
        value[i * stride] = sum / (2 * RADIUS + 1);
    }
}

static larmor_status smooth(const larmor_grid *grid, double *value)
{
    int64_t stride = 1;
    const int64_t voxels = larmor_shape_count(lmr_grid_shape(grid));
    for (int d = 0; d < grid->ndim; stride *= grid->matrix[d++]) {
        LMR_HEAP LMR_NEW(double, line, grid->matrix[d]);
        for (int64_t i = 0; i < voxels; i++)
            if (i / stride % grid->matrix[d] == 0) smooth_line(value + i, grid->matrix[d], stride, line);
    }
    return LARMOR_OK;
}

/* The prior gets the deviation that images of both models have nearby, which maps are multiplied by: where there is
 * no object, a wrong model needs an image. */
static larmor_status learn_prior(trial *t)
{
    const larmor_grid *grid = &t->frame->grid;
    lmr_found_maps *maps = &t->job.found.maps;
    const int64_t voxels = larmor_shape_count(lmr_grid_shape(grid));
    LMR_OWNED(larmor_array) *factor = NULL, *weighted = NULL;
    LMR_HEAP double *both = calloc((size_t)voxels, 2 * sizeof *both);
    double mean = 0;
    if (!both) return LMR_NO_MEMORY();
    LMR_TRY(smooth(grid, t->seen));
    for (int64_t i = 0; i < voxels; i++) mean += t->seen[i] / (double)voxels;
    for (int64_t i = 0; i < voxels; i++) both[2 * i] = sqrt(fmax(t->seen[i] / mean, LEAST_POWER_NEARBY));
    const larmor_dtype dtype = larmor_array_dtype(maps->array);
    LMR_TRY(larmor_array_upload(t->facts->dev, dtype, lmr_grid_shape(grid), LARMOR_C128, both, &factor));
    LMR_TRY(larmor_array_create(t->facts->dev, dtype, larmor_array_shape(maps->array), &weighted));
    LMR_TRY(larmor_copy(maps->array, weighted));
    LMR_TRY(larmor_mul(factor, 0, weighted));
    larmor_array_free(maps->array);
    LMR_HAND_ON(maps->array, weighted);
    larmor_circulant_free(t->circulant);
    t->circulant = NULL;
    t->weight = 0;
    return LARMOR_OK;
}

/* ---- concomitant fields ---- */

static void say_concomitant(const lmr_job *job, int on, const char *why)
{
    lmr_log(
        job->events,
        "concomitant fields: up to %.2g rad at %.3g T%s, by the trajectory and the image's place: they are %s the "
        "model%s (opts.concomitant %s)",
        job->facts->concomitant_rad, field_of(job), field_from(job), on ? "in" : "not in", why, on ? "off" : "on");
}

static larmor_status try_both(trial *t, const larmor_recon_opts *o, double *without, double *with)
{
    LMR_TRY(lmr_physics_set_concomitant(o, t->facts, 0));
    LMR_TRY(try_model(t, without));
    LMR_TRY(lmr_physics_set_concomitant(o, t->facts, 1));
    return try_model(t, with);
}

static double least_log_odds(const lmr_job *job, double odds, int expected)
{
    if (expected) return odds < 0 ? LEAST_LOG_ODDS_AGAINST : LEAST_LOG_ODDS;
    return odds > 0 && job->facts->concomitant_rad < LARGE_LEAST_RAD ? CLEAR_LOG_ODDS : LEAST_LOG_ODDS;
}

/* *x: an image without the fields; *without: the samples that it has. */
static larmor_status first_image(trial *t, larmor_array **x, larmor_array **without)
{
    LMR_OWNED(larmor_op) *A = NULL;
    double largest;
    int toeplitz;
    lmr_frame frame = *t->frame;
    frame.cached = NULL;
    frame.segments = NULL;
    LMR_TRY(lmr_problem_operator(&t->job, &frame, 1, &A, &toeplitz));
    LMR_OWN(larmor_array, b, lmr_problem_data(&t->job, &frame, 1, A, &b));
    LMR_TRY(larmor_opnorm(A, POWER_STEPS, &largest));
    LMR_TRY(larmor_array_create(t->facts->dev, larmor_op_dtype(A), larmor_op_in_shape(A), x));
    LMR_TRY(larmor_array_create(t->facts->dev, larmor_op_dtype(A), larmor_op_out_shape(A), without));
    const larmor_solve_opts o = {.max_iter = FIRST_STEPS,
                                 .tol = -1,
                                 .lambda = LEAST_WEIGHT * largest,
                                 .monitor = lmr_monitor,
                                 .user = t->job.events};
    LMR_TRY(larmor_cg(A, b, *x, &o, NULL));
    return larmor_op_forward(A, *x, *without);
}

/* *change: by how much the fields change the samples of a first image: the energy, over that of noise. */
static larmor_status find_change(trial *t, const larmor_recon_opts *o, double *change)
{
    LMR_OWNED(larmor_array) *x = NULL, *d = NULL;
    LMR_OWNED(larmor_op) *A = NULL;
    lmr_frame frame = *t->frame;
    double size, deviation = frame.cartesian.deviation;
    int toeplitz;
    *change = INFINITY;
    frame.cached = NULL;
    frame.segments = NULL;
    if (!t->facts->whitening) LMR_TRY(larmor_noise_level(frame.samples.kspace, frame.samples.traj, &deviation));
    LMR_TRY(lmr_physics_set_concomitant(o, t->facts, 0));
    t->facts->toeplitz = 1; /* quick where nothing is beside the Fourier transform */
    larmor_status st = first_image(t, &x, &d);
    t->facts->toeplitz = -1;
    LMR_TRY(st);
    LMR_TRY(lmr_physics_set_concomitant(o, t->facts, 1));
    st = lmr_find_segments(&t->job, &t->index, 1, frame.samples.traj, &frame.segments);
    if (!st) st = lmr_problem_operator(&t->job, &frame, 1, &A, &toeplitz);
    larmor_segments_free(frame.segments);
    LMR_TRY(st);
    LMR_OWN(larmor_array, with,
            larmor_array_create(t->facts->dev, larmor_op_dtype(A), larmor_op_out_shape(A), &with));
    LMR_TRY(larmor_op_forward(A, x, with));
    LMR_TRY(larmor_axpby(-1, d, 1, with));
    LMR_TRY(larmor_nrm2(with, &size));
    const double noise = 2 * deviation * deviation * (double)larmor_array_count(with);
    if (noise > 0) *change = size * size / noise;
    return LARMOR_OK;
}

static larmor_status compare_concomitant(trial *t, const lmr_job *job, int *on)
{
    const larmor_recon_opts *o = &job->settings->opts;
    double with, without, change;
    char why[128];
    if (!*on) {
        LMR_TRY(find_change(t, o, &change));
        snprintf(why, sizeof why, ", as they change the samples by %.2g of the noise", sqrt(change));
        if (change < LEAST_CHANGE) {
            say_concomitant(job, 0, why);
            return LARMOR_OK;
        }
    }
    LMR_TRY(try_both(t, o, &without, &with));
    if (t->seen && (fabs(log_odds(t, without, with)) < CLEAR_LOG_ODDS || !is_clear(without, with))) {
        LMR_TRY(learn_prior(t));
        LMR_TRY(try_both(t, o, &without, &with));
    }
    const double odds = log_odds(t, without, with);
    const int decides = fabs(odds) >= least_log_odds(job, odds, *on);
    if (decides) *on = odds > 0;
    snprintf(why, sizeof why, "%s misfit %.5g with them, %.5g without, log odds %.2g",
             decides ? ", by the samples:" : ", as the samples do not tell:", misfit(t, with), misfit(t, without),
             odds);
    say_concomitant(job, *on, why);
    return LARMOR_OK;
}

static larmor_status decide_concomitant(trial *t, lmr_job *job)
{
    const larmor_recon_opts *o = &job->settings->opts;
    int on = field_of(job) < LOW_FIELD_TESLA;
    const larmor_status st = compare_concomitant(t, job, &on);
    if (st == LARMOR_STOPPED) return st;
    if (st) lmr_log(job->events, "concomitant fields: not compared with the samples: %s", larmor_last_error());
    if (st) say_concomitant(job, on, "");
    return lmr_physics_set_concomitant(o, t->facts, on);
}

/* ---- what was given: a map of the field, and phases of a camera ---- */

typedef struct given {
    double *factor; /* in the model */
    int others;     /* of the table below, so many */
    const char *option, *what, *taken;
} given;

/* The first is the quickest, and what is better than nothing is right. */
static const struct {
    double factor, max_ratio;
    const char *text;
} others[] = {{0, MAX_RATIO_OF_SIZE, "left out"},
              {-1, MAX_RATIO_OF_SIGN, "with the other sign"},
              {0.5 / M_PI, MAX_RATIO_OF_SIZE, "divided by 2 pi, as if it were in rad/s"}};

static larmor_status try_others(trial *t, const lmr_job *job, const given *g)
{
    double as_given, least = INFINITY;
    int best = 0;
    LMR_TRY(try_model(t, &as_given));
    for (int i = 0; i < g->others; i++) {
        double own;
        *g->factor = others[i].factor;
        LMR_TRY(try_model(t, &own));
        if (!i && own >= as_given) return LARMOR_OK;
        if (own < least) best = i;
        least = fmin(least, own);
    }
    if (log_odds(t, as_given, least) < LEAST_LOG_ODDS_OF_GIVEN) return LARMOR_OK;
    if (least > pow(others[best].max_ratio, 2) * as_given) return LARMOR_OK;
    lmr_warn(job->events, "opts.%s: the samples fit the %s better %s: misfit %.5g instead of %.5g. %s", g->option,
             g->what, others[best].text, misfit(t, least), misfit(t, as_given), g->taken);
    return LARMOR_OK;
}

static larmor_status compare_given(trial *t, const lmr_job *job, const given *g)
{
    const larmor_status st = try_others(t, job, g);
    *g->factor = 1;
    if (st && st != LARMOR_STOPPED)
        lmr_log(job->events, "opts.%s: not compared with the samples: %s", g->option, larmor_last_error());
    return st == LARMOR_STOPPED ? st : LARMOR_OK;
}

static larmor_status check_map(trial *t, const lmr_job *job)
{
    const given map = {&t->facts->physics->b0_factor, 3, "b0", "map",
                       "It is taken as it is, in Hz, for phases exp(+2 pi i f t). Check its sign, its unit and its "
                       "place, and the scan's dwell time."};
    if (job->facts->info.dwell_us > MOST_DWELL_US)
        lmr_warn(
            job->events,
            "opts.b0: a sample takes %.3g ms by the header, which is long. Check that its sample_time_us is in us.",
            1e-3 * job->facts->info.dwell_us);
    return compare_given(t, job, &map);
}

static larmor_status check_phases(trial *t, const lmr_job *job)
{
    const given phases = {&t->facts->physics->camera_factor, 2, "phase_terms", "phases",
                          "They are taken as they are, in rad, for signals exp(-i phase). Check their sign, their "
                          "axes and their times."};
    return compare_given(t, job, &phases);
}

/* ---- both ---- */

static int has_map(const lmr_scan_facts *facts)
{
    return facts->physics && facts->physics->b0.value;
}

static int has_phases(const lmr_scan_facts *facts)
{
    return facts->physics && facts->physics->terms;
}

/* What was not tried: images that move, have no maps, or are of a series with contrasts. */
static int may_compare(const lmr_job *job)
{
    const lmr_scan_facts *facts = job->facts;
    return !facts->slabs && !facts->basis && !lmr_moves(job) && !job->settings->opts.motion_fields &&
           !job->settings->opts.no_maps && job->found.method.kind != LMR_METHOD_NLINV;
}

static larmor_status compare(lmr_job *job, lmr_scan_facts *facts, int index)
{
    LMR_FREED_BY(close_trial) trial t = {.frame = NULL};
    larmor_status st = open_trial(job, facts, index, &t);
    if (!st && facts->concomitant_rad > 0) st = decide_concomitant(&t, job);
    if (!st && has_map(facts)) st = check_map(&t, job);
    if (!st && has_phases(facts)) st = check_phases(&t, job);
    job->events->stopped |= t.events.stopped;
    return st;
}

static int is_large(const lmr_scan_facts *facts, int index)
{
    const int64_t *matrix = facts->grid[index].matrix;
    return matrix[0] * matrix[1] * matrix[2] * facts->coils > MOST_VALUES;
}

/* Whether what is asked for is left as it is, with a line. */
static int takes_too_long(const lmr_job *job, const lmr_scan_facts *facts, int index)
{
    if (!is_large(facts, index) || facts->concomitant_rad >= LARGE_LEAST_RAD) return 0;
    if (facts->concomitant_rad > 0)
        say_concomitant(job, facts->physics && facts->physics->concomitant,
                        ", and the samples of so large an image are asked from 0.5 rad on alone");
    if (has_map(facts))
        lmr_log(job->events, "opts.b0: the map of so large an image is not compared with the samples");
    if (has_phases(facts))
        lmr_log(job->events, "opts.phase_terms: the phases of so large an image are not compared with the samples");
    return 1;
}

larmor_status lmr_model_compare(lmr_job *job, lmr_scan_facts *facts, const lmr_series *list)
{
    const int asks = facts->concomitant_rad > 0, toeplitz = facts->toeplitz;
    if (!asks && !has_map(facts) && !has_phases(facts)) return LARMOR_OK;
    if (list->groups && takes_too_long(job, facts, asks ? facts->concomitant_image : lmr_lead_group(list)))
        return LARMOR_OK;
    if (!may_compare(job) || !list->groups) {
        if (asks) say_concomitant(job, facts->physics && facts->physics->concomitant, "");
        return LARMOR_OK;
    }
    LMR_TRY(lmr_enter(job->events, "model"));
    facts->toeplitz = -1;
    const larmor_status st = compare(job, facts, asks ? facts->concomitant_image : lmr_lead_group(list));
    facts->toeplitz = toeplitz;
    if (facts->physics) { /* lines and warnings were not heard */
        facts->physics->reported = 0;
        facts->physics->b0.has_warned = facts->physics->t2star.has_warned = 0;
    }
    if (st == LARMOR_STOPPED) return st;
    if (st && asks) say_concomitant(job, facts->physics && facts->physics->concomitant, "");
    if (st) lmr_log(job->events, "model: not compared with the samples: %s", larmor_last_error());
    return LARMOR_OK;
}
