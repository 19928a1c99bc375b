/* The noise of images by any method: images of the scan with more noise, at the weight of the image.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "noise/repeat.h"
#include "pipeline/problem.h"

typedef struct of_replica {
    const lmr_noisy *n;
    lmr_noise_sums sums;
} of_replica;

/* The part along the image's phase of what the noise changes it by; of a voxel that is 0, of that of both parts. */
static larmor_status add_change(void *user, int image, const float *value)
{
    of_replica *s = user;
    const float *before = s->n->value[image];
    for (int64_t v = 0; v < s->n->voxels[image]; v++) {
        const double re = value[2 * v] - before[2 * v], im = value[2 * v + 1] - before[2 * v + 1];
        const double size = hypot((double)before[2 * v], (double)before[2 * v + 1]);
        const double along = size > 0 ? (re * before[2 * v] + im * before[2 * v + 1]) / size : re;
        s->sums.sum[image][v] += along;
        s->sums.square[image][v] += along * along;
    }
    return LARMOR_OK;
}

static larmor_status solve_replica(const lmr_noisy *n, int i, lmr_repeat *r, larmor_array **more, of_replica *each)
{
    for (int f = 0; f < n->count; f++) {
        const uint64_t seed = LMR_NOISE_SEED + (uint64_t)(i + 1) * (uint64_t)n->count + (uint64_t)f;
        LMR_TRY(lmr_scan_noise(n->job, &n->frames[f], n->deviation, seed, &more[f]));
    }
    return lmr_repeat_solve(n, r, more, add_change, each);
}

larmor_status lmr_noise_replicas(const lmr_noisy *n, int samples, double **deviation)
{
    LMR_FREED_BY(lmr_repeat_free) lmr_repeat r;
    LMR_HEAP double **sum = calloc((size_t)n->images, sizeof *sum);
    LMR_HEAP larmor_array **more = calloc((size_t)n->count, sizeof *more);
    larmor_status st = lmr_repeat_begin(n, &r);
    if (!sum || !more) st = LMR_NO_MEMORY();
    for (int i = 0; i < n->images && !st; i++) {
        sum[i] = calloc((size_t)n->voxels[i], sizeof **sum);
        if (!sum[i]) st = LMR_NO_MEMORY();
    }
    of_replica each = {n, {sum, deviation, n->images, samples}};
    for (int i = 0; i < samples && !st; i++) {
        st = lmr_noise_step(n, i, samples);
        if (!st) st = solve_replica(n, i, &r, more, &each);
        for (int f = 0; f < n->count; f++) LMR_CLEAR(more[f]);
    }
    for (int i = 0; i < n->images && !st; i++)
        for (int64_t v = 0; v < n->voxels[i]; v++)
            deviation[i][v] = sqrt(fmax(0, deviation[i][v] - sum[i][v] * sum[i][v] / samples) / (samples - 1));
    for (int i = 0; i < n->images && sum; i++) free(sum[i]);
    return st;
}
