/* Coil compression of a scan: whether, how far, and from which images. SPDX-License-Identifier: Apache-2.0 */
#include "scan/virtual_coils.h"

#include "core/core.h"
#include "pipeline/report.h"
#include "scan/cartesian.h"
#include "scan/sample_cache.h"
#include "schedule/slab_samples.h"

enum {
    FEW = 12,            /* coils that are left as they are by default */
    CENTRE = 16,         /* radius of the centre of k-space that is looked at, in samples of 1/FOV, as for maps */
    PLACES = 2 * CENTRE, /* along the readouts, whose covariances are told apart */
    MOST_LOOKS = 8       /* images, evenly spread over the scan, whose covariances are added */
};

/* 1 if the options and the number of coils ask for it. */
static int is_wanted(const larmor_recon *r)
{
    const double asked = r->settings.opts.compress;
    const int coils = r->facts.info.coils;
    if (coils < 2 || asked < 0) return 0;
    return asked == 0 ? coils > FEW : asked < coils;
}

/* Energy of the noise in a sample of one coil. */
static larmor_status noise_of(const lmr_job *job, const larmor_samples *samples, double *energy)
{
    double deviation = 1;
    if (!job->facts->whitening) LMR_TRY(larmor_noise_level(samples->kspace, samples->traj, &deviation));
    *energy = 2 * deviation * deviation;
    return LARMOR_OK;
}

/* What is known of the coils. */
typedef struct knowledge {
    larmor_array *R, *along;            /* covariances; along readouts, NULL: not wanted */
    larmor_compression_opts opts, each; /* for them */
    int grid;                           /* 1: all readouts that were looked at are complete lines of the grid */
} knowledge;

LMR_FREES(free_knowledge, knowledge, along, R)

/* 1 if the readouts for calibration, if there are any, are on the grid. */
static larmor_status calibration_on_grid(const lmr_job *job, int group, int *grid)
{
    LMR_FREED_BY(larmor_samples_free) larmor_samples samples = {0};
    lmr_cartesian c;
    *grid = 1;
    if (!job->facts->info.calibration) return LARMOR_OK;
    LMR_TRY(lmr_cartesian_samples(job, group, 1, &samples, &c));
    if (samples.kspace) *grid = c.on_grid;
    return LARMOR_OK;
}

/* Adds the covariances of an image along its readouts, if those are on the grid. */
static larmor_status look_along(const lmr_job *job, int group, const larmor_samples *samples, const lmr_cartesian *c,
                                double noise, double unscaled, knowledge *k)
{
    double count;
    int grid;
    if (!k->along || !k->grid) return LARMOR_OK;
    LMR_TRY(calibration_on_grid(job, group, &grid));
    k->grid = grid && c->on_grid && larmor_array_shape(samples->kspace).dim[0] == job->facts->grid[group].matrix[0];
    if (!k->grid) return LARMOR_OK;
    LMR_TRY(larmor_coils_covariance_along(samples->kspace, samples->traj, CENTRE, unscaled, k->along, &count));
    k->each.noise += noise * unscaled * count;
    k->each.samples += count;
    return LARMOR_OK;
}

/* The same of a volume in slabs, whose readouts no rank holds. */
static larmor_status look_at_slabs(lmr_job *job, int group, knowledge *k)
{
    LMR_OWNED(larmor_array) *kspace = NULL, *traj = NULL;
    int64_t count = 0;
    double deviation = 1;
    lmr_scale_begin(job);
    larmor_status st = lmr_slab_centre(job, group, CENTRE, &kspace, &traj, &deviation);
    if (job->facts->whitening) deviation = 1;
    const double unscaled = st ? 1 : 1 / (job->found.scale * job->found.scale);
    if (!st) st = larmor_coils_covariance(kspace, traj, CENTRE, unscaled, k->R, &count);
    k->opts.noise += 2 * deviation * deviation * unscaled * (double)count;
    k->opts.samples += (double)count;
    return st;
}

/* Add what the samples of a group say, in their own unit. */
static larmor_status look_at(lmr_job *job, int group, knowledge *k)
{
    larmor_samples samples = {0};
    double noise = 0;
    int64_t count = 0;
    lmr_cartesian c;
    larmor_status st;
    int made;
    LMR_TRY(lmr_group_average(job, group, &samples, &made, &c));
    const double unscaled = 1 / (job->found.scale * job->found.scale);
    LMR_OR(done, noise_of(job, &samples, &noise));
    LMR_OR(done, larmor_coils_covariance(samples.kspace, samples.traj, CENTRE, unscaled, k->R, &count));
    LMR_OR(done, look_along(job, group, &samples, &c, noise, unscaled, k));
    k->opts.noise += noise * unscaled * (double)count;
    k->opts.samples += (double)count;
done:
    lmr_samples_release(job, group, &samples, made, &c);
    return st;
}

/* Frames of one image are looked at as the whole of it. */
static larmor_status is_seen(const lmr_job *job, const int *group, int looked, int *seen)
{
    larmor_group now, before;
    *seen = 0;
    if (!job->facts->info.averaged || job->facts->info.calibration) return LARMOR_OK;
    LMR_TRY(lmr_source_group(job->facts->source, group[looked], &now));
    for (int i = 0; i < looked && !*seen; i++) {
        LMR_TRY(lmr_source_group(job->facts->source, group[i], &before));
        *seen = now.encoding == before.encoding && now.slice == before.slice && now.contrast == before.contrast &&
                now.set == before.set;
    }
    return LARMOR_OK;
}

static larmor_status look(larmor_recon *r, knowledge *k)
{
    const int groups = r->facts.info.groups;
    const int looks = groups < MOST_LOOKS ? groups : MOST_LOOKS;
    int group[MOST_LOOKS], seen;
    for (int i = 0; i < looks; i++) {
        group[i] = looks > 1 ? (int)((int64_t)i * (groups - 1) / (looks - 1)) : 0;
        LMR_TRY(is_seen(&r->job, group, i, &seen));
        if (seen) continue;
        LMR_TRY(r->facts.slabs ? look_at_slabs(&r->job, group[i], k) : look_at(&r->job, group[i], k));
    }
    return LARMOR_OK;
}

/* 1 if all images are made of lines on one grid along the readouts, as far as that is known before they are read. */
static larmor_status has_lines(const larmor_recon *r, int *lines)
{
    const lmr_job *job = &r->job;
    *lines = 0;
    for (int i = 0; i < job->facts->info.groups; i++) {
        int64_t repeats, left;
        LMR_TRY(lmr_cartesian_expect(job, i, &repeats, &left));
        if (repeats < 1 || job->facts->grid[i].matrix[0] != job->facts->grid[0].matrix[0]) return LARMOR_OK;
    }
    *lines = job->facts->info.groups > 0;
    return LARMOR_OK;
}

static larmor_status know(larmor_recon *r, knowledge *k)
{
    const lmr_job *job = &r->job;
    const int64_t coils = job->facts->info.coils;
    const larmor_shape along = LARMOR_SHAPE(coils, coils, PLACES, LARMOR_GEOMETRIC_PARTS);
    k->grid = 0;
    if (r->settings.opts.compress_method != LARMOR_COMPRESS_SVD) LMR_TRY(has_lines(r, &k->grid));
    if (k->grid) LMR_TRY(larmor_array_create(job->facts->dev, LARMOR_C128, along, &k->along));
    LMR_TRY(larmor_array_create(job->facts->dev, LARMOR_C128, LARMOR_SHAPE(coils, coils), &k->R));
    LMR_TRY(look(r, k));
    if (k->grid || r->settings.opts.compress_method != LARMOR_COMPRESS_GEOMETRIC) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG,
                    "opts.compress_method geometric: the readouts are not complete lines of one grid, without stored "
                    "coordinates, off-resonance or asymmetric echoes; use svd or auto.");
}

/* Matrices for each place are taken where with fewer coils, or with a given number, they leave out this part of
 * what one matrix may: noise turns them a little. */
static const double max_left_out_ratio = 0.25;

static int is_better(const larmor_recon *r, const larmor_compression_report *each,
                     const larmor_compression_report *one)
{
    if (r->settings.opts.compress_method == LARMOR_COMPRESS_GEOMETRIC) return 1;
    if (r->settings.opts.compress >= 1) return 1 - each->energy < max_left_out_ratio * (1 - one->energy);
    return each->coils < one->coils;
}

/* C <- the better matrix or matrices. */
static larmor_status choose(const larmor_recon *r, const knowledge *k, larmor_array **C,
                            larmor_compression_report *report)
{
    larmor_compression_report each;
    larmor_compression_opts opts = k->each;
    LMR_OWNED(larmor_array) *along = NULL;
    LMR_TRY(larmor_compression(k->R, &k->opts, C, report));
    if (!k->grid) return LARMOR_OK;
    const double energy = opts.energy > 0 ? opts.energy : LARMOR_COMPRESSION_ENERGY;
    if (r->settings.opts.compress_method == LARMOR_COMPRESS_AUTO) opts.energy = 1 - max_left_out_ratio * (1 - energy);
    LMR_TRY(larmor_geometric_compression(k->along, r->facts.grid[0].matrix[0], &opts, &along, &each));
    if (is_better(r, &each, report)) {
        larmor_array *other = *C;
        *C = along;
        along = other;
        *report = each;
    }
    return LARMOR_OK;
}

static larmor_status take_known(larmor_recon *r)
{
    const lmr_known *known = r->known;
    r->facts.compressed = known->compressed;
    if (!known->compression) return LARMOR_OK;
    r->facts.coils = (int)known->compressed.coils;
    return larmor_array_upload(r->facts.dev, LARMOR_C64, known->shape, LARMOR_C64, known->compression,
                               &r->facts.compression);
}

larmor_status lmr_find_compression(larmor_recon *r)
{
    lmr_job *job = &r->job;
    const double asked = r->settings.opts.compress;
    LMR_FREED_BY(free_knowledge) knowledge k = {.opts = {.energy = asked > 0 && asked < 1 ? asked : 0}};
    LMR_OWNED(larmor_array) *C = NULL;
    LMR_REFUSE(
        asked > job->facts->info.coils, LARMOR_ERR_ARG,
        "opts.compress %g: there %s %d coil%s; a number up to that, or below 1 a part of the energy, expected.",
        asked, job->facts->info.coils == 1 ? "is" : "are", job->facts->info.coils,
        job->facts->info.coils == 1 ? "" : "s");
    if (!is_wanted(r)) return LARMOR_OK;
    if (r->known) return take_known(r);
    if (asked >= 1) k.opts.coils = (int64_t)asked;
    k.each = k.opts;
    LMR_TRY(lmr_enter(&r->events, "coil compression"));
    LMR_TRY(know(r, &k));
    LMR_TRY(choose(r, &k, &C, &r->facts.compressed));
    if (job->facts->compressed.coils < job->facts->info.coils) {
        LMR_TRY(larmor_array_convert(C, LARMOR_C64, &r->facts.compression));
        r->facts.coils = (int)job->facts->compressed.coils;
    }
    lmr_report_compression(r);
    return LARMOR_OK;
}
