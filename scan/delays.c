/* Gradient delays of a scan, which are found before anything is done with trajectories.
 * SPDX-License-Identifier: Apache-2.0 */
#include "scan/delays.h"

#include "core/core.h"
#include "pipeline/report.h"
#include "scan/sample_cache.h"
#include "scan/trajectory.h"
#include "schedule/slab_samples.h"

/* Delays are known to less than this, in samples; so much rounding cannot tell two runs of a scan apart. */
static const double delay_resolution = 1e-3;

/* ---- from the data ---- */

/* The wanted group of an encoding that has most readouts, and signal: the first, or the last of them. */
static int group_with_most(const larmor_recon *r, int encoding, int last)
{
    const lmr_series *list = &r->list;
    int64_t most = 0;
    int best = -1;
    larmor_group g;
    for (int s = 0; s < list->series; s++)
        for (int i = list->first[s]; i < list->first[s + 1]; i++) {
            if (list->is_weak && list->is_weak[s]) continue;
            if (lmr_source_group(r->facts.source, list->group[i], &g) || g.encoding != encoding) continue;
            if (g.readouts < most || (g.readouts == most && !last)) continue;
            most = g.readouts;
            best = list->group[i];
        }
    return best;
}

/* Of a volume in slabs some readouts tell, if a rank does not hold them all. */
static larmor_status read_readouts(const larmor_recon *r, lmr_job *job, int group, larmor_samples *samples, int *made,
                                   lmr_cartesian *cartesian)
{
    enum { PART = 8 }; /* of what may be used */
    const int64_t limit = r->settings.opts.memory > 0 ? r->settings.opts.memory : INT64_MAX;
    if (r->facts.slabs) {
        lmr_scale_begin(job);
        return lmr_slab_some(job, group, limit / PART, samples);
    }
    return lmr_group_average(job, group, samples, made, cartesian);
}

/* 1 if the coordinates of the group are those of lines that are counted. */
static int counts_lines(const lmr_job *job, int group)
{
    larmor_group g;
    larmor_encoding e;
    if (job->facts->info.traj_stored || lmr_source_group(job->facts->source, group, &g)) return 0;
    return !lmr_source_encoding(job->facts->source, g.encoding, &e) && !strcmp(e.trajectory, "cartesian");
}

/* Lines are looked at as they were acquired: neither without oversampling nor in compressed coils, which are for
 * the grid. */
static larmor_status estimate(larmor_recon *r, int group, larmor_delays *found)
{
    const larmor_grid *grid = &r->facts.grid[group];
    const larmor_delays_opts opts = lmr_delays_opts(grid);
    larmor_samples samples;
    lmr_cartesian cartesian;
    const int lines = counts_lines(&r->job, group);
    lmr_scan_facts whole = r->facts;
    lmr_job job = r->job;
    int made;
    whole.whole_readouts = 1;
    whole.compression = NULL;
    whole.coils = r->facts.info.coils;
    if (lines) job.facts = &whole;
    larmor_status st = read_readouts(r, &job, group, &samples, &made, &cartesian);
    larmor_array *kspace = NULL, *traj = NULL;
    if (!st) st = larmor_samples_align(&samples, &kspace, &traj);
    if (!st) st = larmor_delays_estimate(kspace, traj, &opts, found);
    LMR_FREE(traj, kspace);
    if (r->facts.slabs || lines)
        larmor_samples_free(&samples);
    else
        lmr_samples_release(&job, group, &samples, made, &cartesian);
    r->job.found = job.found;
    return st;
}

static int agree(const larmor_delays *a, const larmor_delays *b)
{
    int alike = 1;
    for (int e = 0; e < 6; e++) {
        const double spread = hypot(a->deviation[e], b->deviation[e]);
        const double apart = fabs(a->delay[e] - b->delay[e]);
        alike &= apart <= 0.1 + 4 * fmin(spread, 0.1) + 0.2 * fabs(a->delay[e]);
    }
    return alike;
}

/* Delays of two images of a scan are the same, or they are none; and so are delays of more than half a readout,
 * which a few short readouts may seem to have. */
static larmor_status find_in_data(larmor_recon *r, int encoding, larmor_delays *found)
{
    const int first = group_with_most(r, encoding, 0), last = group_with_most(r, encoding, 1);
    larmor_delays other;
    larmor_group group;
    if (first < 0) return LARMOR_OK;
    LMR_TRY(estimate(r, first, found));
    LMR_TRY(lmr_source_group(r->facts.source, first, &group));
    for (int e = 0; e < 6; e++) found->significant &= fabs(found->delay[e]) <= (double)group.samples / 2;
    if (!found->significant || last == first) return LARMOR_OK;
    LMR_TRY(estimate(r, last, &other));
    found->significant = other.significant && agree(found, &other);
    for (int e = 0; e < 6; e++) found->delay[e] = (found->delay[e] + other.delay[e]) / 2;
    return LARMOR_OK;
}

/* Samples; gradients are late by up to 10 us, and compensated for by a bit too much at most. Simulated scans: -1
 * to 7.6. Readouts that begin at other samples may be up to MAX_LATE_SAMPLES early as well: what fits beyond that has
 * another cause, such as arms that contradict each other, and its correction does harm. */
#define MAX_EARLY_SAMPLES 3
#define MAX_LATE_SAMPLES 15
#define MAX_COUPLING_SAMPLES 3

/* Corrected, or not: so much is no delay of gradients. */
static void warn_of_unlikely(larmor_recon *r, const larmor_delays *found, int is_corrected)
{
    double early = 0, late = 0, coupled = 0;
    for (int e = 0; e < 3; e++) {
        early = fmax(early, -found->delay[e]);
        late = fmax(late, found->delay[e]);
        coupled = fmax(coupled, fabs(found->delay[3 + e]));
    }
    if (early <= MAX_EARLY_SAMPLES && late <= MAX_LATE_SAMPLES && coupled <= MAX_COUPLING_SAMPLES) return;
    lmr_warn(
        &r->events,
        "no gradients are %s by %.3g samples: readouts begin at other samples than the trajectory says, or it is not "
        "theirs, or the samples are not of one object. %s",
        early > fmax(late, coupled) ? "early" : "late", fmax(early, fmax(late, coupled)),
        is_corrected ? "opts.delays off corrects nothing." : "Nothing is corrected; opts.delays can be given.");
}

static int is_possible(const larmor_delays *found)
{
    double most = 0;
    for (int e = 0; e < 6; e++) most = fmax(most, fabs(found->delay[e]));
    return most <= MAX_LATE_SAMPLES;
}

static larmor_status find_for(larmor_recon *r, int encoding)
{
    larmor_delays *to = &r->facts.delays[encoding], found = {.significant = 0};
    const larmor_status st = find_in_data(r, encoding, &found);
    if (st == LARMOR_STOPPED || st == LARMOR_ERR_MEMORY) return st;
    const int group = st || !found.significant ? -1 : group_with_most(r, encoding, 0);
    const int is_looked_at = group >= 0 && !counts_lines(&r->job, group),
              is_corrected = !is_looked_at || is_possible(&found);
    if (!is_corrected) warn_of_unlikely(r, &found, 0);
    found.significant &= is_corrected;
    lmr_report_delays(r, encoding, &found, st);
    if (st || !found.significant) return LARMOR_OK;
    *to = found;
    for (int e = 0; e < 6; e++) to->delay[e] = delay_resolution * round(found.delay[e] / delay_resolution);
    if (is_looked_at) warn_of_unlikely(r, to, 1);
    return LARMOR_OK;
}

int lmr_delays_couple(const lmr_job *job)
{
    int couple = 0;
    for (int i = 0; i < job->facts->info.encodings && job->facts->delays; i++)
        for (int e = 3; e < 6; e++) couple |= job->facts->delays[i].delay[e] != 0;
    return couple;
}

larmor_status lmr_delays_find(larmor_recon *r)
{
    lmr_job *job = &r->job;
    const larmor_recon_opts *o = &r->settings.opts;
    if (o->delays == LARMOR_DELAYS_OFF) return LARMOR_OK;
    LMR_NEW_ZEROS(larmor_delays, delays, (size_t)job->facts->info.encodings + 1);
    r->facts.delays = delays;
    if (o->delays == LARMOR_DELAYS_GIVEN) {
        for (int i = 0; i < job->facts->info.encodings; i++) memcpy(delays[i].delay, o->delay, sizeof o->delay);
        lmr_report_given_delays(r);
        return LARMOR_OK;
    }
    if (r->known && r->known->delays) {
        memcpy(delays, r->known->delays, (size_t)job->facts->info.encodings * sizeof *delays);
        return LARMOR_OK;
    }
    LMR_TRY(lmr_enter(&r->events, "gradient delays"));
    for (int i = 0; i < job->facts->info.encodings; i++) LMR_TRY(find_for(r, i));
    return LARMOR_OK;
}
