/* Lines that are sampled while the gradient goes up and down, as echo-planar ones are: where their samples are.
 *
 * Conventions are those of ISMRMRD's ConventionalEPI as Gadgetron reads it: k = 0 where half of the gradient's
 * area is over, the samples' whole time covers the matrix, and without other knowledge that time is in the middle
 * of the gradient. Times are those of the middle of each sample, by which the readouts of both directions mirror
 * each other. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/mrd/mrd.h"
#include "io/reader/source.h"

#define MAX_BEYOND                                                                                                   \
    1.02 /* of the gradient's time, of the samples: headers round times, but this is another gradient */
#define MIN_COVERED 0.25 /* of the gradient's time, by the samples */
#define MIN_GAIN .5 /* samples by which the middle must be nearer to the echoes than the delay that is described */

static double duration_of(const larmor_ramp *r)
{
    return r->up_us + r->flat_us + r->down_us;
}

static double whole_area(const larmor_ramp *r)
{
    return r->up_us / 2 + r->flat_us + r->down_us / 2;
}

/* The gradient's area up to a time, in us at the flat top. */
static double area_until(const larmor_ramp *r, double us)
{
    const double left = duration_of(r) - us;
    if (us <= 0) return 0;
    if (left <= 0) return whole_area(r);
    if (us < r->up_us) return us * us / (2 * r->up_us);
    if (left < r->down_us) return whole_area(r) - left * left / (2 * r->down_us);
    return r->up_us / 2 + us - r->up_us;
}

/* When half of the area is over, which is at the flat top unless that is shorter than the ramps differ. */
static double middle_of(const larmor_ramp *r)
{
    return r->up_us + r->flat_us / 2 + (r->down_us - r->up_us) / 4;
}

/* From the gradient's start to that of samples that lie evenly about its middle. */
static double balanced_delay(const larmor_ramp *r)
{
    return middle_of(r) - r->dwell_us * (double)r->samples / 2;
}

double lmr_mrd_ramp_k(const larmor_encoding *encoding, const lmr_mrd_head *h, lmr_mrd_place centre, double s)
{
    const larmor_ramp *r = &encoding->ramp;
    const int reversed = (h->flags & LARMOR_ACQ_REVERSE) != 0;
    const double end = r->delay_us + r->dwell_us * (double)r->samples;
    const double scale = (double)encoding->matrix[0] / (area_until(r, end) - area_until(r, r->delay_us));
    double from = r->delay_us;
    if (h->samples != r->samples) { /* a part of the readout, of which its centre says which one */
        const int center = reversed ? h->samples - 1 - centre.sample : centre.sample;
        from = middle_of(r) - ((double)center + (h->samples % 2 ? .5 : 0)) * r->dwell_us;
    }
    const double k = scale * (area_until(r, from + (s + .5) * r->dwell_us) - whole_area(r) / 2);
    return reversed ? -k : k;
}

/* ---- the decision ---- */

/* A line of the encoding without a trajectory, of which most others are alike: the longest; -1: there is none. */
static int64_t longest_line(const larmor_raw *raw, int encoding)
{
    int64_t found = -1;
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        const lmr_mrd_head *h = &raw->head[i];
        if (!(raw->readout[i].use & (LMR_IMAGING | LMR_CALIBRATION)) || h->encoding != encoding) continue;
        if (h->traj_dims) return -1;
        if (found < 0 || h->samples > raw->head[found].samples) found = i;
    }
    return found;
}

/* Why a description cannot be that of the samples; NULL if it can. */
static const char *contradiction(const larmor_ramp *r)
{
    const double read = r->dwell_us * (double)r->samples;
    if (!(r->dwell_us > 0)) return "it has no dwellTime, and the readouts no sample_time_us";
    if (read > MAX_BEYOND * duration_of(r)) return "the samples take longer than the gradient";
    if (read < MIN_COVERED * duration_of(r)) return "the samples take but a small part of the gradient's time";
    return NULL;
}

/* The delay that is described, or none where the samples are at other times by their echoes. */
static void choose_delay(larmor_raw *raw, int encoding, int asked, larmor_ramp *r)
{
    const double balanced = balanced_delay(r), described = r->delay_us, echo = raw->traj_of[encoding].echo;
    const double late = (described - balanced) / r->dwell_us; /* samples */
    const double found = ((double)r->samples - 1) / 2 - echo; /* the same by the echoes */
    if (described < 0) r->delay_us = balanced;
    if (described < 0 || asked) return;
    const int misses = described + r->dwell_us * (double)r->samples > MAX_BEYOND * duration_of(r);
    if (!misses && (isnan(echo) || fabs(found - late) <= fabs(found) + MIN_GAIN)) return;
    r->delay_us = balanced;
    if (fabs(late) < MIN_GAIN) return;
    LMR_MRD_WARN(raw,
                 "trajectoryDescription: samples begin %.4g us after the gradient by acqDelayTime, but %s; they are "
                 "taken to be in its middle, from %.4g us on.",
                 described, misses ? "would then end after it" : "the echoes are not there", balanced);
}

static void complete_ramp(larmor_raw *raw, int encoding, int asked)
{
    larmor_ramp *r = &raw->header.encoding[encoding].space.ramp;
    const int64_t line = longest_line(raw, encoding);
    const int ramps = r->up_us > 0 || r->down_us > 0;
    const char *type = raw->header.encoding[encoding].space.trajectory;
    const int lines = !strcmp(type, "epi") || (asked && !strcmp(type, "cartesian"));
    if (line < 0 || !lines || !ramps || !(r->flat_us > 0)) {
        *r = (larmor_ramp){0};
        return;
    }
    const lmr_mrd_head *h = &raw->head[line];
    if (!r->samples) r->samples = h->samples;
    if (!(r->dwell_us > 0) && isfinite(h->dwell_us) && h->dwell_us > 0) r->dwell_us = (double)h->dwell_us;
    const char *why = contradiction(r);
    if (!why) choose_delay(raw, encoding, asked, r);
    if (why)
        LMR_MRD_WARN(
            raw,
            "the gradient of %.4g + %.4g + %.4g us is not that of %lld samples of %.4g us: %s. The samples are taken "
            "to be equally far apart.",
            r->up_us, r->flat_us, r->down_us, (long long)r->samples, r->dwell_us, why);
    if (why) {
        *r = (larmor_ramp){0};
        return;
    }
    snprintf(raw->info.traj_report, sizeof raw->info.traj_report,
             "from the counters; along the readouts by a gradient of %.4g + %.4g + %.4g us, samples of %.4g us from "
             "%.4g us on",
             r->up_us, r->flat_us, r->down_us, r->dwell_us, r->delay_us);
}

/* "UP,FLAT,DOWN[,DELAY[,DWELL]]" */
static larmor_status parse_ramp(const char *text, larmor_ramp *r)
{
    double value[5] = {0, 0, 0, -1, 0};
    const char *at = text;
    int count = 0, good = 1;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c) return LMR_NO_MEMORY();
    while (good && count < 5 && strspn(at, "0123456789.")) {
        char *end;
        value[count] = strtod_l(at, &end, c);
        good = end > at && value[count] <= LMR_MRD_MAX_RAMP_US && (*end == ',' || !*end);
        at = *end == ',' && count < 4 ? end + 1 : end;
        good &= *end != ',' || *at;
        count++;
    }
    freelocale(c);
    good &= count >= 3 && !*at && value[1] > 0 && strspn(text, "0123456789.,") == strlen(text);
    *r = (larmor_ramp){
        .up_us = value[0], .flat_us = value[1], .down_us = value[2], .delay_us = value[3], .dwell_us = value[4]};
    if (good) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG, "opts.ramp \"%s\": auto, even, or UP,FLAT,DOWN[,DELAY[,DWELL]] in us, expected.",
                    lmr_printable(text, (int64_t)strlen(text), 60).s);
}

larmor_status lmr_mrd_find_ramps(larmor_raw *raw, const char *asked)
{
    const int given = asked && strcmp(asked, "auto") != 0 && strcmp(asked, "even") != 0;
    larmor_ramp by_hand = {0};
    int lines = 0;
    if (given) LMR_TRY(parse_ramp(asked, &by_hand));
    for (int e = 0; e < raw->header.encodings; e++) {
        larmor_ramp *r = &raw->header.encoding[e].space.ramp;
        if (given) *r = by_hand;
        if (asked && !strcmp(asked, "even")) *r = (larmor_ramp){0};
        complete_ramp(raw, e, given);
        lines |= r->flat_us > 0;
    }
    if (!given || lines) return LARMOR_OK;
    return LMR_FAIL(
        LARMOR_ERR_ARG,
        "opts.ramp: no lines without a trajectory are sampled on such ramps. It is for Cartesian and epi scans.");
}
