/* Where the samples of a readout without a trajectory are along its line: heads say which sample is at the centre
 * of k-space, which ones are discarded and whether it goes backwards, but not how many samples would cover the
 * matrix. SPDX-License-Identifier: Apache-2.0 */
#include "io/mrd/mrd.h"

#define SYMMETRIC 2 /* samples by which the sides of a whole readout may differ */
#define LEAST_ECHO                                                                                                   \
    (1. / 5) /* shorter sides than this of the longer one are taken for a centre that was not filled in */

/* The samples of a readout from `low` to before `high` would be so many with both sides as long as the longer one. */
static int64_t both_sides(int64_t low, int64_t high, int64_t center)
{
    const int64_t before = center - low, after = high - center;
    if (before - after >= -SYMMETRIC && before - after <= SYMMETRIC) return before + after;
    return 2 * (before > after ? before : after);
}

static int is_plausible(int64_t low, int64_t high, int64_t center)
{
    const double before = (double)(center - low), after = (double)(high - center);
    return before > LEAST_ECHO * after && after > LEAST_ECHO * before;
}

lmr_mrd_line lmr_mrd_line_of(const lmr_mrd_head *h, lmr_mrd_place centre, int64_t matrix, int spans)
{
    const int64_t n = h->samples, kept = lmr_head_kept(h);
    const int reversed = (h->flags & LARMOR_ACQ_REVERSE) != 0;
    const int64_t low = reversed ? h->discard_post : h->discard_pre;
    const int64_t high = low + kept;
    int64_t center = centre.sample, middle = n / 2, whole = n;
    const int echo = centre.is_echo || (center > low && center < high && is_plausible(low, high, center));
    if (!spans && n <= matrix) {
        whole = matrix;
    } else {
        /* Of what could cover the matrix, the first that does so a whole number of times. */
        const int64_t choice[] = {echo ? both_sides(low, high, center) : n, echo ? both_sides(0, n, center) : n, n,
                                  kept};
        int i = 0;
        while (i < 3 && choice[i] % matrix) i++;
        whole = choice[choice[i] % matrix ? 0 : i];
        if (whole == kept) middle = low + kept / 2;
    }
    const double step = (double)matrix / (double)whole, edge = (double)matrix / 2 + .5;
    const int within = (double)(center - low) * step <= edge && (double)(high - 1 - center) * step <= edge;
    if (!centre.is_echo && (!within || (spans && !echo))) center = middle; /* not filled in */
    return (lmr_mrd_line){.first = (double)((reversed ? n - 1 : 0) - center) * step, .step = reversed ? -step : step};
}
