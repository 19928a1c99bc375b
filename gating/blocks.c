/* Where the blocks of a waveform lie in time. SPDX-License-Identifier: Apache-2.0 */
#include "gating/blocks.h"

#include "core/core.h"
#include "gating/gating.h"

#define CLOCK_ROUNDING_TICKS 2.0 /* by which stamps of blocks that follow each other may be off */
#define MAX_BEND_TICKS 3.0       /* by which stamps of a clock that drifts may be off its line */
#define MAX_JITTER_S 0.05        /* by which one stamp of long blocks may be off */
#define MAX_DRIFT 2e-3           /* of a clock, as a part of it: quartz has less than 1e-4 */

enum { MOST_LAYOUTS = 16 };

void lmr_blocks_free(lmr_blocks *blocks)
{
    free(blocks->block);
    *blocks = (lmr_blocks){.count = 0};
}

static int alike(const larmor_waveform *a, const larmor_waveform *b)
{
    return a->id == b->id && a->channels == b->channels && a->sample_us == b->sample_us;
}

static int64_t next_of(const larmor_raw *raw, larmor_waveform_kind kind, int64_t from, larmor_waveform *w)
{
    for (int64_t i = from; i < larmor_raw_waveforms(raw); i++)
        if (!larmor_raw_waveform(raw, i, w) && w->kind == kind) return i;
    return -1;
}

/* A block of the layout that most samples have, of MOST_LAYOUTS that come first, and the number of all blocks. */
static int64_t usual_layout(const larmor_raw *raw, larmor_waveform_kind kind, larmor_waveform *usual)
{
    larmor_waveform w, layout[MOST_LAYOUTS];
    int64_t samples[MOST_LAYOUTS] = {0}, blocks = 0;
    int layouts = 0, most = 0;
    for (int64_t i = next_of(raw, kind, 0, &w); i >= 0; i = next_of(raw, kind, i + 1, &w), blocks++) {
        int k = 0;
        while (k < layouts && !alike(&w, &layout[k])) k++;
        if (k == MOST_LAYOUTS) continue;
        if (k == layouts) layout[layouts++] = w;
        samples[k] += w.samples;
    }
    for (int k = 1; k < layouts; k++)
        if (samples[k] > samples[most]) most = k;
    if (blocks) *usual = layout[most];
    return blocks;
}

static void gather(const larmor_raw *raw, larmor_waveform_kind kind, const larmor_waveform *usual, double tick_ms,
                   lmr_blocks *b)
{
    larmor_waveform w;
    for (int64_t i = next_of(raw, kind, 0, &w); i >= 0; i = next_of(raw, kind, i + 1, &w)) {
        if (!alike(&w, usual)) {
            b->other++;
            continue;
        }
        if (!b->count) b->stamp = w.time_stamp;
        b->block[b->count++] = (lmr_block){i, w.samples, 0, 0, lmr_clock_s(w.time_stamp, b->stamp, tick_ms)};
    }
}

/* s from the begin of block i to that of block j, if all between follow each other. */
static double length_of(const lmr_blocks *b, int64_t i, int64_t j)
{
    int64_t samples = 0;
    for (int64_t k = i; k < j; k++) samples += b->block[k].samples;
    return (double)samples * b->dt;
}

/* By how much stamp j is later than the end of the blocks from i to before j, in s. */
static double late_by(const lmr_blocks *b, int64_t i, int64_t j)
{
    return b->block[j].s - b->block[i].s - length_of(b, i, j);
}

static double rounding_s(double tick_ms)
{
    return 1e-3 * tick_ms * CLOCK_ROUNDING_TICKS;
}

static double jitter(const lmr_blocks *b, int64_t samples, double tick_ms)
{
    const double length = (double)samples * b->dt;
    return fmax(rounding_s(tick_ms), fmin(length / 2, MAX_JITTER_S));
}

static int follows(const lmr_blocks *b, int64_t i, int64_t j, double tick_ms)
{
    return fabs(late_by(b, i, j)) <= jitter(b, b->block[i].samples, tick_ms);
}

/* The end of the blocks from i on that follow each other. */
static int64_t end_of_run(const lmr_blocks *b, int64_t i, double tick_ms)
{
    while (i + 1 < b->count && follows(b, i, i + 1, tick_ms)) i++;
    return i + 1;
}

static void stamp_anew(lmr_blocks *b, int64_t i, int64_t end, double s)
{
    for (; i < end; i++, b->stray++) {
        b->block[i].s = s;
        s += (double)b->block[i].samples * b->dt;
    }
}

/* Stamps of a run between two that agree with each other are replaced, and those of a first run that would be later
 * than a longer second one. */
static void mend_stamps(lmr_blocks *b, double tick_ms)
{
    for (int64_t first = 0, end = end_of_run(b, 0, tick_ms), next; end < b->count; first = end, end = next) {
        next = end_of_run(b, end, tick_ms);
        const double length = length_of(b, first, end);
        if (next < b->count && follows(b, end - 1, next, tick_ms)) {
            stamp_anew(b, end, next, b->block[end - 1].s + length_of(b, end - 1, end));
            next = end_of_run(b, next, tick_ms);
        } else if (first == 0 && b->block[0].s > b->block[end].s && length < length_of(b, end, next)) {
            stamp_anew(b, 0, end, b->block[end].s - length);
        }
    }
}

/* A last run that is farther away than all other blocks are long. */
static void drop_end(lmr_blocks *b, double tick_ms)
{
    int64_t last = b->count - 1;
    while (last > 0 && follows(b, last - 1, last, tick_ms)) last--;
    if (last <= 0 || fabs(late_by(b, last - 1, last)) <= length_of(b, 0, last)) return;
    if (length_of(b, last, b->count) >= length_of(b, 0, last)) return;
    b->stray += b->count - last;
    b->count = last;
}

/* A first run that is farther away than all other blocks are long. */
static void drop_begin(lmr_blocks *b, double tick_ms)
{
    const int64_t end = end_of_run(b, 0, tick_ms);
    if (end >= b->count || fabs(late_by(b, end - 1, end)) <= length_of(b, end, b->count)) return;
    if (length_of(b, 0, end) >= length_of(b, end, b->count)) return;
    for (int64_t i = end; i < b->count; i++) b->block[i - end] = b->block[i];
    b->count -= end;
    b->stray += end;
}

/* How late the stamps become over all blocks that follow each other, and the samples until then; *bend: by how much
 * they are then from a line that is `drift` late, at most. */
static double lateness(const lmr_blocks *b, double tick_ms, double drift, double *elapsed, double *bend)
{
    double late = 0;
    *elapsed = *bend = 0;
    for (int64_t i = 0; i + 1 < b->count; i++) {
        if (!follows(b, i, i + 1, tick_ms)) continue;
        late += late_by(b, i, i + 1);
        *elapsed += (double)b->block[i].samples * b->dt;
        *bend = fmax(*bend, fabs(late - drift * *elapsed));
    }
    return late;
}

/* The step from sample to sample by the clock of the stamps: where they become late along a line, as a pause does
 * not. */
static void fit_clock(lmr_blocks *b, double tick_ms)
{
    double elapsed, bend;
    const double late = lateness(b, tick_ms, 0, &elapsed, &bend);
    if (fabs(late) <= rounding_s(tick_ms) || fabs(late) > MAX_DRIFT * elapsed) return;
    const double drift = late / elapsed;
    lateness(b, tick_ms, drift, &elapsed, &bend);
    if (bend > MAX_BEND_TICKS * 1e-3 * tick_ms) return;
    b->drift = drift;
    b->dt *= 1 + drift;
}

/* 1 if block i is where the one before ends: its stamp says so, or is off alone. */
static int is_next(const lmr_blocks *b, int64_t i, double off, double tick_ms)
{
    if (off <= rounding_s(tick_ms)) return 1;
    if (off > jitter(b, b->block[i].samples, tick_ms)) return 0;
    return i + 1 >= b->count || fabs(late_by(b, i, i + 1)) > rounding_s(tick_ms);
}

static void place(lmr_blocks *b, double tick_ms)
{
    const double begin = b->block[0].s;
    int64_t kept = 0;
    for (int64_t i = 0; i < b->count; i++) {
        lmr_block k = b->block[i];
        k.at = llround((k.s - begin) / b->dt);
        if (is_next(b, i, fabs((double)(k.at - b->steps)) * b->dt, tick_ms)) k.at = b->steps;
        k.skip = k.at < b->steps ? b->steps - k.at : 0;
        if (k.skip >= k.samples) {
            b->repeated++;
            continue;
        }
        b->steps = k.at + k.samples;
        b->filled += k.samples - k.skip;
        b->block[kept++] = k;
    }
    b->count = kept;
}

larmor_status lmr_blocks_place(const larmor_raw *raw, larmor_waveform_kind kind, double tick_ms, lmr_blocks *blocks)
{
    larmor_waveform usual;
    *blocks = (lmr_blocks){.count = 0};
    const int64_t most = usual_layout(raw, kind, &usual);
    if (!most) return LARMOR_OK;
    LMR_ALLOCATE(blocks->block, most);
    blocks->dt = 1e-6 * usual.sample_us;
    gather(raw, kind, &usual, tick_ms, blocks);
    mend_stamps(blocks, tick_ms);
    drop_end(blocks, tick_ms);
    drop_begin(blocks, tick_ms);
    fit_clock(blocks, tick_ms);
    place(blocks, tick_ms);
    return LARMOR_OK;
}
