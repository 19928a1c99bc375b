/* Navigators of echo-planar scans: lines that are flagged for phase correction, and which readouts they are for.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "core/owned.h"
#include "io/mrd/mrd.h"

/* How closely a navigator belongs to an image, from 3, by all of its counters, to 1, by its slice; 0: it does not. */
static int match_level(const larmor_raw *raw, int64_t i, const larmor_group *g)
{
    const lmr_mrd_head *h = &raw->head[i];
    const int image = h->counter[LMR_REPETITION] == g->repetition && h->counter[LMR_PHASE] == g->phase &&
                      h->counter[LMR_SET] == g->set;
    if (!(raw->readout[i].use & LMR_NAVIGATOR) || h->encoding != g->encoding || h->counter[LMR_SLICE] != g->slice)
        return 0;
    return 1 + image + (image && h->counter[LMR_CONTRAST] == g->contrast);
}

/* The centre of lines that go the way of a navigator; returns 0 if there are none. */
static int centre_like(const larmor_raw *raw, int64_t navigator, lmr_mrd_place *centre)
{
    const lmr_mrd_head *h = &raw->head[navigator];
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        const lmr_mrd_head *line = &raw->head[i];
        if (!(raw->readout[i].use & LMR_IMAGING) || line->traj_dims || line->encoding != h->encoding) continue;
        if (line->samples != h->samples || ((line->flags ^ h->flags) & LARMOR_ACQ_REVERSE)) continue;
        *centre = raw->readout[i].centre;
        return 1;
    }
    return 0;
}

/* The navigators of a group, *count of them, as in the file; those that match closest, and of one length. */
static larmor_status find_navigators(const larmor_raw *raw, const larmor_group *g, int64_t **list, int64_t *count)
{
    int closest = 0;
    int64_t n = 0;
    *count = 0;
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        const int level = match_level(raw, i, g);
        if (level > closest) closest = level;
        n += level > 0;
    }
    LMR_ALLOCATE(*list, n + 1);
    for (int64_t i = 0; i < raw->info.acquisitions && closest; i++) {
        lmr_mrd_place centre;
        if (match_level(raw, i, g) != closest || !centre_like(raw, i, &centre)) continue;
        if (*count && raw->head[i].samples != raw->head[(*list)[0]].samples) continue;
        (*list)[(*count)++] = i;
    }
    return LARMOR_OK;
}

/* Between two navigators of one shot there is no line of the group. */
static int is_next_shot(const int64_t *order, int64_t readouts, int64_t before, int64_t now)
{
    for (int64_t r = 0; r < readouts; r++)
        if (order[r] > before && order[r] < now) return 1;
    return 0;
}

static larmor_status find_shots(const larmor_raw *raw, int group, const int64_t *list, int64_t count,
                                larmor_navigators *out)
{
    const int64_t *order = raw->order + raw->first_in_order[group], readouts = raw->group[group].readouts;
    out->first = lmr_new(count + 1, sizeof *out->first);
    out->shot = lmr_new(readouts + 1, sizeof *out->shot);
    if (!out->first || !out->shot) return LMR_NO_MEMORY();
    for (int64_t n = 0; n < count; n++)
        if (!n || is_next_shot(order, readouts, list[n - 1], list[n])) out->first[out->shots++] = n;
    out->first[out->shots] = count;
    for (int64_t r = 0; r < readouts; r++) {
        out->shot[r] = 0;
        for (int64_t s = 1; s < out->shots; s++)
            if (list[out->first[s]] < order[r]) out->shot[r] = s;
    }
    return LARMOR_OK;
}

static larmor_status fill(const larmor_raw *raw, const larmor_grid *grid, const int64_t *list, int64_t count,
                          larmor_device *dev, larmor_navigators *out)
{
    const int64_t n = raw->head[list[0]].samples, coils = raw->info.coils;
    const float sign = raw->conjugate ? -1.f : 1.f;
    LMR_HEAP LMR_NEW(float, y, 2 * n * count * coils);
    LMR_HEAP LMR_NEW(double, k, n *count);
    for (int64_t l = 0; l < count; l++) {
        const lmr_mrd_head *h = &raw->head[list[l]];
        const larmor_encoding *space = &raw->header.encoding[h->encoding].space;
        lmr_mrd_place centre = {0, 0};
        centre_like(raw, list[l], &centre);
        const lmr_mrd_line line = lmr_mrd_line_of(h, centre, space->matrix[0], 0);
        for (int64_t s = 0; s < n; s++) {
            const double at = space->ramp.flat_us > 0 ? lmr_mrd_ramp_k(space, h, centre, (double)s)
                                                      : line.first + line.step * (double)s;
            k[s + n * l] = at * grid->fov_mm[0] / space->fov_mm[0];
        }
        for (int64_t c = 0; c < coils; c++) {
            const float *from = raw->data + raw->readout[list[l]].data + 2 * (int64_t)raw->kept[c] * n;
            float *to = y + 2 * n * (l + count * c);
            for (int64_t s = 0; s < n; s++) {
                to[2 * s] = from[2 * s];
                to[2 * s + 1] = sign * from[2 * s + 1];
            }
        }
    }
    LMR_TRY(larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(n, count, coils), LARMOR_C64, y, &out->kspace));
    return larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(n, count), LARMOR_F64, k, &out->traj);
}

larmor_status larmor_raw_navigators(const larmor_raw *raw, int group, const larmor_grid *grid, larmor_device *dev,
                                    larmor_navigators *out)
{
    LMR_NEED(out);
    *out = (larmor_navigators){0};
    LMR_NEED(raw, grid, dev);
    if (group < 0 || group >= raw->info.groups)
        return LMR_FAIL(LARMOR_ERR_ARG, "raw: navigators: group %d, the file has %d", group, raw->info.groups);
    int64_t *list = NULL, count = 0;
    larmor_status st = find_navigators(raw, &raw->group[group], &list, &count);
    if (!st && count) st = find_shots(raw, group, list, count, out);
    if (!st && count) st = fill(raw, grid, list, count, dev, out);
    free(list);
    if (st) larmor_navigators_free(out);
    return st;
}

void larmor_navigators_free(larmor_navigators *navigators)
{
    if (!navigators) return;
    LMR_FREE(navigators->kspace, navigators->traj, navigators->first, navigators->shot);
    *navigators = (larmor_navigators){0};
}
