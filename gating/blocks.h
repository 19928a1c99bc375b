/* Where the blocks of a waveform lie in time. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/gating.h"

typedef struct lmr_block { /* of a waveform */
    int64_t index;         /* as larmor_raw_waveform counts */
    int64_t samples, at;   /* at: the step at which it begins */
    int64_t skip;          /* of its first samples, which the block before has, too */
    double s;              /* its stamp, since the first block's */
} lmr_block;

typedef struct lmr_blocks { /* in the order of the file; free with lmr_blocks_free */
    lmr_block *block;
    int64_t count, steps, filled; /* steps from the first to the last sample, and those that blocks fill */
    int64_t other, repeated;      /* left out: of another layout than most samples, and at a time that others have */
    int64_t stray;                /* whose stamps are refuted by those beside them, and are not used */
    uint32_t stamp;               /* at which `s` of blocks is 0 */
    double dt;                    /* s from one sample to the next, by the stamps' clock */
    double drift;                 /* what dt is above the file's own number, as a part of it */
} lmr_blocks;

/* The blocks of a kind, placed by their stamps, those of the layout that most samples have. Blocks whose stamps are
 * as far apart as their samples last follow each other without a gap, within what stamps are rounded by; one stamp
 * alone may be off by half a block, 50 ms at most. Where stamps become late along a line, the samples' clock is slow
 * and is fitted. Stamps between two that agree with each other are wrong, and so are those of a first run of blocks
 * that is later than a longer second one, or of a first or a last one that is farther away than all others are long.
 * count is 0 where there are none. Errors: MEMORY. */
larmor_status lmr_blocks_place(const larmor_raw *raw, larmor_waveform_kind kind, double tick_ms, lmr_blocks *blocks);
void lmr_blocks_free(lmr_blocks *blocks);
