/* Samples that are exactly 0 in all coils, at the ends of readouts or in all of them: files pad readouts with
 * zeros to a common length, and write zeros where nothing was acquired. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/mrd/mrd.h"

#define CHANCE                                                                                                       \
    1e-3 /* expected number of readouts that end in zeros by chance, as values of data that were rounded do */

/* How many of `most` samples, one `step` after the other, are 0. */
static int64_t count_zeros(const float *x, int64_t most, int64_t step)
{
    int64_t n = 0;
    while (n < most && x[2 * n * step] == 0 && x[2 * n * step + 1] == 0) n++;
    return n;
}

void lmr_mrd_count_zeros(larmor_raw *raw, int64_t i)
{
    const lmr_mrd_head *h = &raw->head[i];
    lmr_mrd_readout *r = &raw->readout[i];
    const int64_t kept = lmr_head_kept(h);
    int64_t first = kept, last = kept;
    for (int c = 0; c < h->channels && (first || last); c++) {
        const float *x = raw->data + r->data + 2 * ((int64_t)c * h->samples + h->discard_pre);
        first = count_zeros(x, first, 1);
        last = count_zeros(x + 2 * (kept - 1), last, -1);
    }
    r->zeros_first = (int)first;
    r->zeros_last = (int)last;
}

static int is_empty(const larmor_raw *raw, int64_t i)
{
    return raw->readout[i].zeros_first == lmr_head_kept(&raw->head[i]);
}

static int has_zeros(const lmr_mrd_readout *r)
{
    return r->use && (r->zeros_first || r->zeros_last);
}

/* Samples between the ends of a readout that are 0 in all coils. */
static int64_t zeros_within(const larmor_raw *raw, int64_t i)
{
    const lmr_mrd_head *h = &raw->head[i];
    const lmr_mrd_readout *r = &raw->readout[i];
    int64_t zeros = 0;
    for (int64_t s = h->discard_pre + r->zeros_first; s < h->samples - h->discard_post - r->zeros_last; s++) {
        int zero = 1;
        for (int c = 0; c < h->channels && zero; c++) {
            const float *x = raw->data + r->data + 2 * ((int64_t)c * h->samples + s);
            zero = x[0] == 0 && x[1] == 0;
        }
        zeros += zero;
    }
    return zeros;
}

/* The least number of zeros at an end that is no chance: more than one where samples within readouts are 0, too. */
static larmor_status least_run(const larmor_raw *raw, int *least)
{
    int64_t within = 0, samples = 0, readouts = 0;
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        LMR_TRY(lmr_go_on());
        if (!raw->readout[i].use || is_empty(raw, i)) continue;
        within += zeros_within(raw, i);
        samples += lmr_head_kept(&raw->head[i]);
        readouts++;
    }
    *least = 1;
    if (!within || within == samples) return LARMOR_OK;
    const double part = (double)within / (double)samples;
    *least = (int)fmin(1e6, ceil(log(CHANCE / (2. * (double)readouts)) / log(part)));
    return LARMOR_OK;
}

/* ---- slices of zeros ---- */

enum { SLICES = 65536 /* that a counter has */, OF_IMAGES = LMR_IMAGING | LMR_CALIBRATION };
#define MIN_DISTANCE_MM 1e-3 /* of slices at places of their own */

typedef struct slices {
    char *has_signal;   /* [encodings, SLICES] */
    const float *place; /* of a readout with signal */
} slices;

static size_t slice_of(const lmr_mrd_head *h)
{
    return (size_t)h->encoding * SLICES + h->counter[LMR_SLICE];
}

static larmor_status find_signal(const larmor_raw *raw, slices *s)
{
    LMR_ALLOCATE_ZEROS(s->has_signal, raw->info.encodings * SLICES);
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        if (!(raw->readout[i].use & OF_IMAGES) || is_empty(raw, i)) continue;
        s->has_signal[slice_of(&raw->head[i])] = 1;
        s->place = raw->head[i].position;
    }
    return LARMOR_OK;
}

/* 1 if readout i is of a slice, at a place of its own, that was acquired and has zeros alone. */
static int is_of_zeros(const larmor_raw *raw, int64_t i, const slices *s)
{
    const lmr_mrd_head *h = &raw->head[i];
    double away = 0;
    for (int d = 0; d < 3 && s->place; d++) away = fmax(away, fabs((double)h->position[d] - (double)s->place[d]));
    return raw->readout[i].use & OF_IMAGES && !s->has_signal[slice_of(h)] && away > MIN_DISTANCE_MM;
}

typedef struct left_out {
    int64_t empty, samples, readouts, of_zeros;
} left_out;

/* The noise scan stays where it is empty as a whole, which is judged elsewhere. */
static void leave_out(larmor_raw *raw, int64_t i, int least, const slices *s, left_out *out)
{
    lmr_mrd_head *h = &raw->head[i];
    lmr_mrd_readout *r = &raw->readout[i];
    if (is_empty(raw, i)) {
        if (r->use == LMR_NOISE || lmr_head_kept(h) < least) return;
        out->of_zeros += is_of_zeros(raw, i, s);
        if (is_of_zeros(raw, i, s)) return;
        r->use = 0;
        out->empty++;
        return;
    }
    const int first = r->zeros_first >= least ? r->zeros_first : 0;
    const int last = r->zeros_last >= least ? r->zeros_last : 0;
    h->discard_pre = (uint16_t)(h->discard_pre + first);
    h->discard_post = (uint16_t)(h->discard_post + last);
    out->samples += first + last;
    out->readouts += first + last > 0;
}

larmor_status lmr_mrd_leave_out_zeros(larmor_raw *raw)
{
    left_out out = {0};
    int any = 0, least;
    for (int64_t i = 0; i < raw->info.acquisitions && !any; i++) any = has_zeros(&raw->readout[i]);
    if (!any) return LARMOR_OK;
    LMR_TRY(least_run(raw, &least));
    slices s = {.has_signal = NULL};
    LMR_TRY(find_signal(raw, &s));
    for (int64_t i = 0; i < raw->info.acquisitions; i++)
        if (has_zeros(&raw->readout[i])) leave_out(raw, i, least, &s, &out);
    free(s.has_signal);
    if (out.samples)
        LMR_MRD_WARN(raw,
                     "%lld samples at the ends of %lld readouts are exactly 0 in all coils: they are taken for not "
                     "acquired.",
                     (long long)out.samples, (long long)out.readouts);
    if (out.empty)
        LMR_MRD_WARN(raw, "%lld readouts are exactly 0 in all coils: they are taken for not acquired.",
                     (long long)out.empty);
    if (out.of_zeros)
        LMR_MRD_WARN(raw, "%lld readouts, all those of their slices, are exactly 0 in all coils: so are the images.",
                     (long long)out.of_zeros);
    return LARMOR_OK;
}
