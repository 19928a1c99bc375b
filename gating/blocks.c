/* Where the blocks of a waveform lie in time. SPDX-License-Identifier: Apache-2.0 */
#include "gating/blocks.h"

#include <math.h>
#include <stdlib.h>

#include "core/array.h"
#include "core/owned.h"
#include "core/status.h"
#include "gating/gating.h"

#define CLOCK_ROUNDING_TICKS 2.0 /* by which stamps of blocks that follow each other may be off */
#define MAX_JITTER_S 0.05        /* by which stamps of long blocks may be off */
#define MAX_DRIFT 2e-3           /* of a clock, as a part of it: quartz has less than 1e-4 */

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

/* A block of the layout that most samples have, by a vote (Boyer and Moore 1981), and the number of all blocks. */
static int64_t usual_layout(const larmor_raw *raw, larmor_waveform_kind kind, larmor_waveform *usual)
{
    larmor_waveform w;
    int64_t votes = 0, blocks = 0;
    for (int64_t i = next_of(raw, kind, 0, &w); i >= 0; i = next_of(raw, kind, i + 1, &w), blocks++) {
        if (!votes) *usual = w;
        votes += alike(&w, usual) ? w.samples : -w.samples;
        if (votes < 0) {
            *usual = w;
            votes = -votes;
        }
    }
    return blocks;
}

static void gather(const larmor_raw *raw, larmor_waveform_kind kind, const larmor_waveform *usual, double tick_ms,
                   lmr_blocks *b)
{
    larmor_waveform w;
    uint32_t first = 0;
    for (int64_t i = next_of(raw, kind, 0, &w); i >= 0; i = next_of(raw, kind, i + 1, &w)) {
        if (!alike(&w, usual)) {
            b->other++;
            continue;
        }
        if (!b->count) first = w.time_stamp;
        b->block[b->count++] = (lmr_block){i, w.samples, 0, 0, lmr_clock_s(w.time_stamp, first, tick_ms)};
    }
}

/* By how much stamp j is later than the end of the blocks from i to before j, in s. */
static double late_by(const lmr_blocks *b, int64_t i, int64_t j)
{
    int64_t samples = 0;
    for (int64_t k = i; k < j; k++) samples += b->block[k].samples;
    return b->block[j].s - b->block[i].s - (double)samples * b->dt;
}

static double jitter(const lmr_blocks *b, int64_t samples, double tick_ms)
{
    const double length = (double)samples * b->dt;
    return fmax(1e-3 * tick_ms * CLOCK_ROUNDING_TICKS, fmin(length / 2, MAX_JITTER_S));
}

static int follows(const lmr_blocks *b, int64_t i, int64_t j, double tick_ms)
{
    return fabs(late_by(b, i, j)) <= jitter(b, b->block[i].samples, tick_ms);
}

/* Stamps between two that agree with each other are replaced. */
static void mend_stamps(lmr_blocks *b, double tick_ms)
{
    for (int64_t i = 1; i + 1 < b->count; i++) {
        if (follows(b, i - 1, i, tick_ms) || !follows(b, i - 1, i + 1, tick_ms)) continue;
        b->block[i].s = b->block[i - 1].s + (double)b->block[i - 1].samples * b->dt;
        b->stray++;
    }
}

/* A first or a last block that is farther away than all blocks are long. */
static void drop_ends(lmr_blocks *b)
{
    double length = 0;
    for (int64_t i = 0; i < b->count; i++) length += (double)b->block[i].samples * b->dt;
    if (b->count > 2 && fabs(late_by(b, b->count - 2, b->count - 1)) > length) {
        b->count--;
        b->stray++;
    }
    if (b->count < 3 || fabs(late_by(b, 0, 1)) <= length) return;
    for (int64_t i = 1; i < b->count; i++) b->block[i - 1] = b->block[i];
    b->count--;
    b->stray++;
}

/* The step from sample to sample by the clock of the stamps, from blocks that follow each other. */
static void fit_clock(lmr_blocks *b, double tick_ms)
{
    double elapsed = 0, samples = 0;
    for (int64_t i = 0; i + 1 < b->count; i++) {
        if (!follows(b, i, i + 1, tick_ms)) continue;
        elapsed += b->block[i + 1].s - b->block[i].s;
        samples += (double)b->block[i].samples;
    }
    if (!(samples > 0)) return;
    const double drift = elapsed / (samples * b->dt) - 1, off = fabs(drift) * samples * b->dt;
    if (off <= 1e-3 * tick_ms * CLOCK_ROUNDING_TICKS || fabs(drift) > MAX_DRIFT) return;
    b->drift = drift;
    b->dt *= 1 + drift;
}

static void place(lmr_blocks *b, double tick_ms)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < b->count; i++) {
        lmr_block k = b->block[i];
        k.at = llround((k.s - b->block[0].s) / b->dt);
        if (fabs((double)(k.at - b->steps)) * b->dt <= jitter(b, k.samples, tick_ms)) k.at = b->steps;
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
    blocks->block = lmr_new(most, sizeof *blocks->block);
    if (!blocks->block) return LMR_NO_MEMORY();
    blocks->dt = 1e-6 * usual.sample_us;
    gather(raw, kind, &usual, tick_ms, blocks);
    mend_stamps(blocks, tick_ms);
    drop_ends(blocks);
    fit_clock(blocks, tick_ms);
    place(blocks, tick_ms);
    return LARMOR_OK;
}
