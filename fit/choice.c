/* A smooth map of candidates: sequential tree-reweighted messages (Kolmogorov, IEEE Trans. Pattern Anal. 28, 1568
 * (2006)), then voxel by voxel. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "fit/fit.h"

enum { AXES = 3, SIDES = 2 * AXES, K = LMR_FIT_CANDIDATES, MOST_PASSES = 40, MOST_SWEEPS = 20 };

typedef float message[K];

typedef struct grid {
    const lmr_fit_candidates *of;
    int64_t extent[AXES], stride[AXES], voxels;
    double weight; /* of half the squared difference */
    message *to;   /* [voxels, SIDES]: what the neighbour on a side says */
} grid;

/* The neighbour on a side, even: of a smaller index; -1: there is none. */
static int64_t neighbour(const grid *g, int64_t i, int side)
{
    const int axis = side / 2;
    const int step = side % 2 ? 1 : -1;
    const int64_t at = i / g->stride[axis] % g->extent[axis] + step;
    if (at < 0 || at >= g->extent[axis]) return -1;
    const int64_t other = i + step * g->stride[axis];
    return g->of[other].count ? other : -1;
}

static double pair(const grid *g, double a, double b)
{
    return g->weight * (a - b) * (a - b);
}

/* What the voxel passes to its neighbours ahead, of a larger index where is_up is 1, else of a smaller one. */
static void pass(const grid *g, int64_t i, int is_up)
{
    const lmr_fit_candidates *own = &g->of[i];
    int64_t beside[SIDES];
    double sum[K];
    int ahead = 0, behind = 0;
    if (!own->count) return;
    for (int k = 0; k < own->count; k++) sum[k] = own->cost[k];
    for (int side = 0; side < SIDES; side++) {
        beside[side] = neighbour(g, i, side);
        if (beside[side] < 0) continue;
        side % 2 == is_up ? ahead++ : behind++;
        for (int k = 0; k < own->count; k++) sum[k] += g->to[i * SIDES + side][k];
    }
    const double share = 1. / (ahead > behind ? ahead : behind);
    for (int side = is_up; side < SIDES && ahead; side += 2) {
        if (beside[side] < 0) continue;
        const lmr_fit_candidates *other = &g->of[beside[side]];
        float *said = g->to[beside[side] * SIDES + (side ^ 1)];
        double least = INFINITY, best[K];
        for (int l = 0; l < other->count; l++) {
            best[l] = INFINITY;
            for (int k = 0; k < own->count; k++)
                best[l] = fmin(best[l],
                               share * sum[k] - g->to[i * SIDES + side][k] + pair(g, own->value[k], other->value[l]));
            least = fmin(least, best[l]);
        }
        for (int l = 0; l < other->count; l++) said[l] = (float)(best[l] - least);
    }
}

/* The voxel's best candidate beside those chosen already, the others by what they say. */
static int decide(const grid *g, int64_t i, const int *choice, int all_are_chosen)
{
    const lmr_fit_candidates *own = &g->of[i];
    double least = INFINITY;
    int best = 0;
    for (int k = 0; k < own->count; k++) {
        double cost = own->cost[k];
        for (int side = 0; side < SIDES; side++) {
            const int64_t j = neighbour(g, i, side);
            if (j < 0) continue;
            cost += all_are_chosen || side % 2 == 0 ? pair(g, own->value[k], g->of[j].value[choice[j]])
                                                    : (double)g->to[i * SIDES + side][k];
        }
        if (!(cost < least)) continue;
        least = cost;
        best = k;
    }
    return best;
}

larmor_status lmr_fit_choose(const lmr_fit_candidates *of, larmor_shape shape, double scale, int *choice)
{
    grid g = {.of = of, .voxels = 1, .weight = 0.5 / (scale * scale)};
    for (int a = 0; a < AXES; a++) {
        g.extent[a] = a < shape.ndim ? shape.dim[a] : 1;
        g.stride[a] = g.voxels;
        g.voxels *= g.extent[a];
    }
    for (int a = AXES; a < shape.ndim; a++) g.voxels *= shape.dim[a];
    LMR_HEAP message *to = calloc((size_t)g.voxels * SIDES + 1, sizeof *to);
    if (!to) return LMR_NO_MEMORY();
    g.to = to;
    for (int n = 0; n < MOST_PASSES; n++) {
        LMR_TRY(lmr_go_on());
        for (int64_t i = 0; i < g.voxels; i++) pass(&g, i, 1);
        for (int64_t i = g.voxels - 1; i >= 0; i--) pass(&g, i, 0);
    }
    for (int64_t i = 0; i < g.voxels; i++) choice[i] = decide(&g, i, choice, 0);
    for (int64_t n = 0, changed = 1; n < MOST_SWEEPS && changed; n++) {
        changed = 0;
        for (int64_t i = 0; i < g.voxels; i++) {
            const int best = decide(&g, i, choice, 1);
            changed += best != choice[i];
            choice[i] = best;
        }
    }
    return LARMOR_OK;
}
