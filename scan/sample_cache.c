/* The samples of a group, and those of one group kept from one look at them to the next: reading a scan of one large
 * image takes as long as many iterations. SPDX-License-Identifier: Apache-2.0 */
#include "scan/sample_cache.h"

#include "check/sample_faults.h"
#include "core/core.h"
#include "scan/cartesian.h"
#include "scan/compress.h"
#include "scan/trajectory.h"

enum { ROOM = 8 }; /* times their bytes are free on the device */

/* What samples are made with. */
typedef struct origin {
    int index, calibration;
    larmor_grid grid;
    double delay[6];
    int whole;
    const larmor_device *dev;
    const larmor_array *whitening, *compression;
} origin;

struct lmr_sample_cache {
    origin from;
    double scale; /* that they were multiplied by */
    larmor_samples samples;
    int made;
    lmr_cartesian cartesian;
};

static larmor_status origin_of(const lmr_job *job, int index, int calibration, origin *o)
{
    larmor_group group;
    *o = (origin){.index = index,
                  .calibration = calibration,
                  .grid = job->facts->grid[index],
                  .whole = job->facts->whole_readouts,
                  .dev = job->facts->dev,
                  .whitening = job->facts->whitening,
                  .compression = job->facts->compression};
    LMR_TRY(lmr_source_group(job->facts->source, index, &group));
    if (job->facts->delays) memcpy(o->delay, job->facts->delays[group.encoding].delay, sizeof o->delay);
    return LARMOR_OK;
}

static int same_grid(const larmor_grid *a, const larmor_grid *b)
{
    return a->ndim == b->ndim && !memcmp(a->matrix, b->matrix, sizeof a->matrix) &&
           !memcmp(a->fov_mm, b->fov_mm, sizeof a->fov_mm) && !memcmp(a->crop, b->crop, sizeof a->crop);
}

/* 1 if the samples of a, compressed where those of b are, are those of b. */
static int same(const origin *a, const origin *b)
{
    return a->index == b->index && a->calibration == b->calibration && same_grid(&a->grid, &b->grid) &&
           !memcmp(a->delay, b->delay, sizeof a->delay) && a->whole == b->whole && a->dev == b->dev &&
           a->whitening == b->whitening && (a->compression == b->compression || !a->compression);
}

void lmr_sample_cache_clear(lmr_caches *caches)
{
    if (caches->samples) larmor_samples_free(&caches->samples->samples);
    free(caches->samples);
    caches->samples = NULL;
}

larmor_status lmr_sample_cache_take(lmr_job *job, int index, int calibration, larmor_samples *samples, int *made,
                                    lmr_cartesian *c, int *taken)
{
    struct lmr_sample_cache *k = job->caches->samples;
    origin now;
    *taken = 0;
    if (!k || (k->from.calibration && !calibration)) return LARMOR_OK; /* those of all frames stay for their maps */
    LMR_TRY(origin_of(job, index, calibration, &now));
    if (same(&k->from, &now) && (job->found.scale == 0 || job->found.scale == k->scale)) {
        lmr_scale_take(job, k->scale);
        *samples = k->samples;
        *made = k->made;
        *c = k->cartesian;
        k->samples = (larmor_samples){0};
        *taken = 1;
    }
    const int compress = *taken && k->from.compression != now.compression;
    lmr_sample_cache_clear(job->caches);
    const larmor_status st = compress ? lmr_compress(job, samples) : LARMOR_OK;
    if (st) larmor_samples_free(samples);
    return st;
}

static int64_t bytes_of(const larmor_samples *samples)
{
    return (int64_t)larmor_array_bytes(samples->kspace) + (int64_t)larmor_array_bytes(samples->traj);
}

int64_t lmr_sample_cache_bytes(const lmr_job *job)
{
    return job->caches->samples ? bytes_of(&job->caches->samples->samples) : 0;
}

static int has_room(const lmr_job *job, const larmor_samples *samples)
{
    int64_t available, total;
    const double bytes = (double)bytes_of(samples);
    if (job->facts->slabs || !job->caches->keep_samples) return 0;
    return !larmor_device_memory(job->facts->dev, &available, &total) && ROOM * bytes <= (double)available;
}

/* Returns samples, unmodified, to the cache, in place of others, where memory is not limited and has room for many of
 * them; else they are freed. */
static void keep_samples(lmr_job *job, int index, int calibration, larmor_samples *samples, int made,
                         const lmr_cartesian *c)
{
    lmr_sample_cache_clear(job->caches);
    struct lmr_sample_cache *k = samples->kspace && has_room(job, samples) ? calloc(1, sizeof *k) : NULL;
    if (k && !origin_of(job, index, calibration, &k->from)) {
        k->scale = job->found.scale;
        k->samples = *samples;
        k->made = made;
        k->cartesian = *c;
        *samples = (larmor_samples){0};
        job->caches->samples = k;
        return;
    }
    free(k);
    larmor_samples_free(samples);
}

/* ---- reading ---- */

/* The trajectory from the counters; the first time it is said which. */
static larmor_status make_trajectory(lmr_job *job, const larmor_group *group, const larmor_encoding *encoding,
                                     const larmor_grid *grid, larmor_samples *samples)
{
    const int known = job->found.decided.spokes.decided;
    LMR_TRY(lmr_make_trajectory(job->facts->dev, group, encoding, grid, samples, &job->found.decided.spokes,
                                &samples->traj));
    if (!known) lmr_log(job->events, "trajectory: %s", job->found.decided.spokes.said);
    return LARMOR_OK;
}

/* calibration: as of a source. */
static larmor_status read_samples(lmr_job *job, int index, int calibration, larmor_samples *samples, int *made,
                                  lmr_cartesian *cartesian)
{
    const larmor_grid *grid = &job->facts->grid[index];
    larmor_group group;
    larmor_encoding encoding;
    larmor_status st;
    int taken;
    *samples = (larmor_samples){0};
    LMR_TRY(lmr_sample_cache_take(job, index, calibration, samples, made, cartesian, &taken));
    if (taken) return LARMOR_OK;
    LMR_OR(fail, lmr_source_group(job->facts->source, index, &group));
    LMR_OR(fail, lmr_source_encoding(job->facts->source, group.encoding, &encoding));
    LMR_OR(fail, lmr_cartesian_samples(job, index, calibration, samples, cartesian));
    *made = !samples->traj;
    if (*made) LMR_OR(fail, make_trajectory(job, &group, &encoding, grid, samples));
    if (*made) LMR_OR(fail, lmr_correct_trajectory(job, index, group.encoding, grid, samples));
    if (!calibration && cartesian->deviation == 1) /* else they were looked at before they were cropped */
        LMR_OR(fail, larmor_sample_faults_find(samples->kspace, samples->traj, grid->matrix, &cartesian->faults));
    LMR_OR(fail, lmr_scale_samples(job, samples->kspace));
    if (job->facts->whitening) LMR_OR(fail, larmor_whiten(job->facts->whitening, samples->kspace));
    LMR_OR(fail, lmr_compress(job, samples));
    return LARMOR_OK;
fail:
    larmor_samples_free(samples);
    return st;
}

larmor_status lmr_group_samples(lmr_job *job, int index, larmor_samples *samples, int *made, lmr_cartesian *cartesian)
{
    return read_samples(job, index, 0, samples, made, cartesian);
}

int lmr_averages(const lmr_job *job)
{
    return job->facts->info.averaged > 0 && !job->facts->info.calibration;
}

larmor_status lmr_group_average(lmr_job *job, int index, larmor_samples *samples, int *made, lmr_cartesian *cartesian)
{
    lmr_scale_begin(job);
    return read_samples(job, index, lmr_averages(job), samples, made, cartesian);
}

void lmr_samples_release(lmr_job *job, int index, larmor_samples *samples, int made, const lmr_cartesian *cartesian)
{
    keep_samples(job, index, lmr_averages(job), samples, made, cartesian);
}
