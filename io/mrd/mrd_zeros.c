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

/* ---- zeros of one coil ---- */

/* Readouts that are looked at, far apart; zeros that follow each other; and what is beside them over the smallest
 * value of their coil in the readout: of values that were rounded, those beside zeros by chance are the smallest. */
enum { LOOKED_AT = 256, LEAST_GAP = 3, MIN_BESIDE = 8 };

typedef struct gaps {
    int64_t looked_at, *samples, *readouts; /* [channels] of these readouts */
    int64_t coils, readout, sample;         /* coils with any; the first one */
} gaps;

LMR_FREES(free_gaps, gaps, samples, readouts)

static float size_of(const float *x)
{
    return fmaxf(fabsf(x[0]), fabsf(x[1]));
}

static float smallest_of(const float *x, int64_t n)
{
    float least = INFINITY;
    for (int64_t i = 0; i < n; i++)
        if (size_of(x + 2 * i) > 0) least = fminf(least, size_of(x + 2 * i));
    return least;
}

static int other_has_signal(const float *x, int64_t stride, int channels, int64_t i)
{
    for (int c = 0; c < channels; c++)
        if (size_of(x + 2 * (stride * c + i)) > 0) return 1;
    return 0;
}

/* Samples of a coil that are 0 where another one has signal, between samples of its own. x: of all coils. */
static int64_t find_gaps_of(const float *x, int64_t stride, int channels, int coil, int64_t n, int64_t *first)
{
    const float *own = x + 2 * stride * coil;
    const float least = MIN_BESIDE * smallest_of(own, n);
    int64_t count = 0, before = -1;
    for (int64_t i = 0; i < n; i++) {
        if (!(size_of(own + 2 * i) > 0)) continue;
        const int is_gap = before >= 0 && i - before > LEAST_GAP && size_of(own + 2 * i) >= least &&
                           size_of(own + 2 * before) >= least && other_has_signal(x, stride, channels, before + 1);
        if (is_gap && !count) *first = before + 1;
        if (is_gap) count += i - before - 1;
        before = i;
    }
    return count;
}

static void look_for_gaps(const larmor_raw *raw, int64_t i, gaps *g)
{
    const lmr_mrd_head *h = &raw->head[i];
    const float *x = raw->data + raw->readout[i].data + 2 * (int64_t)h->discard_pre;
    g->looked_at++;
    for (int c = 0; c < h->channels && c < raw->channels; c++) {
        int64_t first = 0;
        const int64_t found = find_gaps_of(x, h->samples, h->channels, c, lmr_head_kept(h), &first);
        if (!found) continue;
        if (!g->coils) {
            g->readout = i;
            g->sample = first + h->discard_pre;
        }
        g->coils += !g->readouts[c];
        g->samples[c] += found;
        g->readouts[c]++;
    }
}

larmor_status lmr_mrd_name_gaps(larmor_raw *raw)
{
    LMR_FREED_BY(free_gaps) gaps g = {0};
    const int64_t step = (raw->info.acquisitions / LOOKED_AT) | 1;
    int most = 0;
    LMR_ALLOCATE_ZEROS(g.samples, raw->channels);
    LMR_ALLOCATE_ZEROS(g.readouts, raw->channels);
    for (int64_t i = 0; i < raw->info.acquisitions; i += step)
        if (raw->readout[i].use & OF_IMAGES && !is_empty(raw, i)) look_for_gaps(raw, i, &g);
    for (int c = 1; c < raw->channels; c++)
        if (g.samples[c] > g.samples[most]) most = c;
    if (g.coils)
        LMR_MRD_WARN(
            raw,
            "coil %d (from 0)%s is exactly 0 in %lld samples of %lld of the %lld readouts that were looked at, "
            "where other coils have signal, first in readout %lld from sample %lld on: its samples were cut "
            "out or lost, but count as measured. Leave the coil out of the file.",
            most, g.coils > 1 ? ", and others as well," : "", (long long)g.samples[most], (long long)g.readouts[most],
            (long long)g.looked_at, (long long)g.readout, (long long)g.sample);
    return LARMOR_OK;
}
