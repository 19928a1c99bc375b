/* Coil compression of a scan: whether, how far, and from which images. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/virtual_coils.h"

#include "core/status.h"
#include "pipeline/cartesian.h"
#include "pipeline/group.h"
#include "pipeline/report.h"

enum {
    FEW = 12,      /* coils that are left as they are by default */
    CENTRE = 16,   /* radius of the centre of k-space that is looked at, in samples of 1/FOV, as for maps */
    MOST_LOOKS = 8 /* images, evenly spread over the scan, whose covariances are added */
};

/* 1 if the options and the number of coils ask for it. */
static int is_wanted(const larmor_recon *r)
{
    const double asked = r->opts.compress;
    const int coils = r->job.info.coils;
    if (coils < 2 || asked < 0) return 0;
    return asked == 0 ? coils > FEW : asked < coils;
}

/* Energy of the noise in a sample of one coil. */
static larmor_status noise_of(const lmr_job *job, const larmor_samples *samples, double *energy)
{
    double deviation = 1;
    if (!job->whitening) LMR_TRY(larmor_noise_level(samples->kspace, samples->traj, &deviation));
    *energy = 2 * deviation * deviation;
    return LARMOR_OK;
}

/* Add what the samples of a group say, in their own unit. */
static larmor_status look_at(lmr_job *job, int group, larmor_array *R, larmor_compression_opts *opts)
{
    larmor_samples samples;
    double noise = 0;
    int64_t count = 0;
    lmr_cartesian unused;
    int made;
    if (!job->whitening) job->scale = 0;
    LMR_TRY(lmr_group_average(job, group, &samples, &made, &unused));
    const double unscaled = 1 / (job->scale * job->scale);
    larmor_status st = noise_of(job, &samples, &noise);
    if (!st) st = larmor_coils_covariance(samples.kspace, samples.traj, CENTRE, unscaled, R, &count);
    opts->noise += noise * unscaled * (double)count;
    opts->samples += (double)count;
    larmor_samples_free(&samples);
    return st;
}

static larmor_status look(larmor_recon *r, larmor_array *R, larmor_compression_opts *opts)
{
    const int groups = r->job.info.groups;
    const int looks = groups < MOST_LOOKS ? groups : MOST_LOOKS;
    for (int i = 0; i < looks; i++) {
        const int group = looks > 1 ? (int)((int64_t)i * (groups - 1) / (looks - 1)) : 0;
        LMR_TRY(look_at(&r->job, group, R, opts));
    }
    return LARMOR_OK;
}

larmor_status lmr_find_compression(larmor_recon *r)
{
    lmr_job *job = &r->job;
    const double asked = r->opts.compress;
    larmor_array *R = NULL, *C = NULL;
    larmor_compression_opts opts = {.energy = asked > 0 && asked < 1 ? asked : 0};
    larmor_status st;
    if (!is_wanted(r)) return LARMOR_OK;
    if (asked >= 1) opts.coils = (int64_t)asked;
    LMR_TRY(lmr_enter(&r->events, "coil compression"));
    LMR_OR(done, larmor_array_create(job->dev, LARMOR_C128, LARMOR_SHAPE(job->info.coils, job->info.coils), &R));
    LMR_OR(done, look(r, R, &opts));
    LMR_OR(done, larmor_compression(R, &opts, &C, &job->compressed));
    if (job->compressed.coils < job->info.coils) {
        LMR_OR(done, larmor_array_convert(C, LARMOR_C64, &job->compression));
        job->coils = (int)job->compressed.coils;
    }
    lmr_report_compression(r);
done:
    larmor_array_free(C);
    larmor_array_free(R);
    return st;
}
