/* Long readouts that a file has in pieces: scanners' receivers and ISMRMRD's 65535 samples end some too early. Their
 * acquisitions follow each other, and differ in the counter of segments alone. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/mrd/mrd.h"

#define MOST_SAMPLES (1 << 30)
#define EVEN                                                                                                         \
    .5 /* of a step from sample to sample: the most that the next one differs from it, slew rates being limited */
#define STILL 1e-4     /* cycles per field of view: a gradient that rests tells nothing */
#define TICK_SLACK 1.5 /* ticks that stamps may be off, as clocks are read between them */

/* 1 if acquisition i + 1 is the segment after i by its head. */
static int follows(const larmor_raw *raw, int64_t i)
{
    const lmr_mrd_head *a = &raw->head[i], *b = a + 1;
    const int use = raw->readout[i].use;
    if (!(use & (LMR_IMAGING | LMR_CALIBRATION)) || raw->readout[i + 1].use != use) return 0;
    int same = a->encoding == b->encoding && a->traj_dims >= 2 && a->traj_dims == b->traj_dims &&
               a->dwell_us == b->dwell_us && a->channels == b->channels && !a->discard_post && !b->discard_pre &&
               a->measurement_uid == b->measurement_uid && !((a->flags ^ b->flags) & LARMOR_ACQ_REVERSE);
    for (int c = 0; c < LMR_COUNTERS; c++) same &= c == LMR_SEGMENT || a->counter[c] == b->counter[c];
    for (int d = 0; d < 3; d++) same &= a->position[d] == b->position[d];
    return same && b->counter[LMR_SEGMENT] == a->counter[LMR_SEGMENT] + 1;
}

/* Past the last segment of the readout that begins with acquisition i. */
static int64_t end_of(const larmor_raw *raw, int64_t i)
{
    int64_t end = i + 1;
    while (end < raw->info.acquisitions && follows(raw, end - 1)) end++;
    return end;
}

/* ---- do the data agree? ---- */

/* The step from sample s of acquisition i to the next one, or from its last one to the first of the next
 * acquisition, in cycles per field of view. */
static void step_at(const larmor_raw *raw, int64_t i, int64_t s, double step[3])
{
    const lmr_mrd_traj *t = &raw->traj_of[raw->head[i].encoding];
    const int dims = raw->head[i].traj_dims;
    const float *k = raw->traj + raw->readout[i].traj + s * dims; /* the next acquisition's trajectory follows */
    for (int d = 0; d < 3; d++) step[d] = d < t->spatial ? t->scale[d] * ((double)k[dims + d] - (double)k[d]) : 0;
}

static double length_of(const double v[3])
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/* 1 if k-space goes on from acquisition i to i + 1 as within them, which no two excitations do. */
static int goes_on(const larmor_raw *raw, int64_t i)
{
    double before[3], between[3], after[3];
    const int64_t last = raw->head[i].samples - 1;
    if (last < 1 || raw->head[i + 1].samples < 2) return 0;
    step_at(raw, i, last - 1, before);
    step_at(raw, i, last, between);
    step_at(raw, i + 1, 0, after);
    const double most = fmax(length_of(before), length_of(after));
    double change = 0;
    for (int d = 0; d < 3; d++) {
        change = fmax(change, fabs(between[d] - before[d]));
        change = fmax(change, fabs(after[d] - between[d]));
    }
    return most > STILL && change <= EVEN * most;
}

/* 1 unless the clock says that acquisition i + 1 began much later than i ended. Ticks are those of Siemens, or
 *   decimal parts
 * of a second. */
static int is_in_time(const larmor_raw *raw, int64_t i)
{
    static const double ticks_ms[] = {2.5, 1, .1, .01, .001};
    const lmr_mrd_head *h = &raw->head[i];
    const double ticks = (double)(uint32_t)(h[1].time_stamp - h->time_stamp);
    const double ms = 1e-3 * (double)h->dwell_us * h->samples;
    if (!(h->dwell_us > 0) || !isfinite(ms)) return 1;
    for (size_t t = 0; t < sizeof ticks_ms / sizeof *ticks_ms; t++)
        if (fabs(ticks * ticks_ms[t] - ms) <= TICK_SLACK * ticks_ms[t]) return 1;
    return 0;
}

/* 1 if the file has a clock: stamps of used readouts that differ. */
static int has_clock(const larmor_raw *raw)
{
    int64_t first = -1;
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        if (!raw->readout[i].use) continue;
        if (first < 0) first = i;
        if (raw->head[i].time_stamp != raw->head[first].time_stamp) return 1;
    }
    return 0;
}

typedef struct survey { /* of an encoding's readouts in segments */
    int64_t readouts, acquisitions;
    int apart, late; /* 1: k-space does not go on somewhere; the clock disagrees */
} survey;

static survey look(const larmor_raw *raw, int encoding)
{
    survey s = {0};
    const int clock = has_clock(raw);
    for (int64_t i = 0, end = 0; i < raw->info.acquisitions; i = end) {
        end = end_of(raw, i);
        if (end == i + 1 || raw->head[i].encoding != encoding) continue;
        s.readouts++;
        s.acquisitions += end - i;
        for (int64_t a = i; a + 1 < end; a++) {
            s.apart |= !goes_on(raw, a);
            s.late |= clock && !is_in_time(raw, a);
        }
    }
    return s;
}

/* ---- joining ---- */

/* Acquisitions first .. end - 1 become the first one. Their numbers lie behind each other, but coil by coil. */
static larmor_status join(larmor_raw *raw, int64_t first, int64_t end)
{
    lmr_mrd_head *head = &raw->head[first];
    lmr_mrd_readout *readout = &raw->readout[first];
    int64_t samples = 0;
    for (int64_t a = first; a < end; a++) samples += raw->head[a].samples;
    LMR_REFUSE(samples > MOST_SAMPLES, LARMOR_ERR_FORMAT,
               "acquisition %lld: a readout in segments of %lld samples, at most %d expected. "
               "Use opts.join none.",
               (long long)first, (long long)samples, MOST_SAMPLES);
    float *joined = lmr_new(samples * head->channels, 2 * sizeof *joined), *to = joined;
    if (!joined) return LMR_NO_MEMORY();
    for (int c = 0; c < head->channels; c++) {
        for (int64_t a = first; a < end; a++) {
            const int64_t count = INT64_C(2) * raw->head[a].samples;
            memcpy(to, raw->data + raw->readout[a].data + c * count, (size_t)count * sizeof *to);
            to += count;
        }
    }
    memcpy(raw->data + readout->data, joined, (size_t)(to - joined) * sizeof *to);
    free(joined);
    head->samples = (int32_t)samples;
    head->discard_post = raw->head[end - 1].discard_post;
    for (int64_t a = first + 1; a < end; a++) {
        raw->info.imaging -= !!(readout->use & LMR_IMAGING);
        raw->info.calibration -= !!(readout->use & LMR_CALIBRATION);
        raw->info.joined++;
        raw->readout[a].use = 0;
    }
    return LARMOR_OK;
}

static larmor_status join_all(larmor_raw *raw, int encoding)
{
    for (int64_t i = 0, end = 0; i < raw->info.acquisitions; i = end) {
        end = end_of(raw, i);
        if (end == i + 1 || raw->head[i].encoding != encoding) continue;
        LMR_TRY(lmr_go_on());
        LMR_TRY(join(raw, i, end));
    }
    return LARMOR_OK;
}

larmor_status lmr_mrd_join_segments(larmor_raw *raw, int asked)
{
    for (int e = 0; e < raw->header.encodings; e++) {
        const survey s = look(raw, e);
        if (!s.readouts) continue;
        if (!asked && s.apart) continue;
        if (!asked && s.late) {
            LMR_MRD_WARN(
                raw,
                "%lld acquisitions look like the segments of %lld readouts, but their time stamps are apart; "
                "opts.join segment joins them.",
                (long long)s.acquisitions, (long long)s.readouts);
            continue;
        }
        LMR_TRY(join_all(raw, e));
        LMR_MRD_WARN(raw, "%lld acquisitions are the segments of %lld readouts and are joined%s.",
                     (long long)s.acquisitions, (long long)s.readouts,
                     asked ? "" : "; opts.join none leaves them apart");
    }
    return LARMOR_OK;
}
