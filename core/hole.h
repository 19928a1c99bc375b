/* A centre of k-space without samples. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <math.h>
#include <stdint.h>

/* Tuned on tests/io/test_mrd_hole.c and 197 scans of all trajectories that have none. */
#define LMR_MIN_HOLE .75         /* 1/FOV of the image, radius of a centre without samples that matters */
#define LMR_MIN_HOLE_EXPECTED 8. /* samples in a hole if they were as dense as around it, of one that is no chance */

/* What it is called, with its radius in 1/FOV. */
#define LMR_HOLE_TEXT                                                                                                \
    "k-space has a hole in its centre: no sample is nearer to k = 0 than %.2g/FOV, so that large and uniform parts " \
    "of the object may be missing or wrong in the image."

/* What those of single images are called: how many, of how many, which hole, and the counters of the first. */
#define LMR_HOLES_TEXT                                                                                               \
    "k-space of %d of %d images has a hole in its centre: %s, the first of them slice %d of contrast %d, phase %d, " \
    "repetition %d, set %d: large and uniform parts of the object may be missing or wrong there."
#define LMR_NO_SAMPLE_TEXT "no sample is nearer to k = 0 than %.2g/FOV"

/* 1 if no sample nearer to k = 0 than `least` is a hole and no chance. within: samples up to twice that radius, of
 *   so many
 * axes. */
static inline int lmr_is_hole(double least, int64_t within, int axes)
{
    const double expected =
        (double)within / (axes == 3 ? 7 : 3); /* in the hole, as dense as up to twice its radius */
    return least >= LMR_MIN_HOLE && isfinite(least) && expected >= LMR_MIN_HOLE_EXPECTED;
}
