/* Navigators of echo-planar scans: lines that are flagged for phase correction, and which readouts they are for.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
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

/* A line of an image or of calibration. */
static int is_line(const larmor_raw *raw, int64_t i)
{
    return raw->readout[i].use & (LMR_IMAGING | LMR_CALIBRATION);
}

/* listed <- 1 for navigators of the slice that were acquired after each other, the last ones before each readout for
 * calibration. */
static void add_before_calibration(const larmor_raw *raw, const larmor_group *g, const int64_t *readout,
                                   int64_t count, unsigned char *listed)
{
    for (int64_t r = 0; r < count; r++) {
        int64_t i = readout[r] - 1;
        while (i >= 0 && !match_level(raw, i, g)) i--;
        for (; i >= 0 && !is_line(raw, i) && !listed[i]; i--) listed[i] = match_level(raw, i, g) > 0;
    }
}

/* The navigators of a group, *count of them, as in the file: those that match closest, of one length, and those of
 * its calibration. */
static larmor_status find_navigators(const larmor_raw *raw, const larmor_group *g, const int64_t *readout,
                                     int64_t readouts, int64_t **list, int64_t *count)
{
    int closest = 0;
    LMR_HEAP LMR_NEW_ZEROS(unsigned char, listed, raw->info.acquisitions + 1);
    *count = 0;
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        const int level = match_level(raw, i, g);
        if (level > closest) closest = level;
    }
    if (!closest) return LARMOR_OK;
    LMR_ALLOCATE(*list, raw->info.acquisitions + 1);
    for (int64_t i = 0; i < raw->info.acquisitions; i++) listed[i] = match_level(raw, i, g) == closest;
    add_before_calibration(raw, g, readout, readouts, listed);
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        lmr_mrd_place centre;
        if (!listed[i] || !centre_like(raw, i, &centre)) continue;
        if (*count && raw->head[i].samples != raw->head[(*list)[0]].samples) continue;
        (*list)[(*count)++] = i;
    }
    return LARMOR_OK;
}

/* Between two navigators of one shot there is no line. */
static int is_next_shot(const larmor_raw *raw, int64_t before, int64_t now)
{
    for (int64_t i = before + 1; i < now; i++)
        if (is_line(raw, i)) return 1;
    return 0;
}

/* The last shot before a readout, of navigators that match as closely as this; else the first such, or -1. */
static int64_t shot_before(const larmor_raw *raw, const larmor_group *g, const larmor_navigators *of,
                           const int64_t *list, int level, int64_t readout)
{
    int64_t shot = -1;
    for (int64_t s = 0; s < of->shots; s++) {
        const int64_t first = list[of->first[s]];
        if (match_level(raw, first, g) < level) continue;
        if (shot < 0 || first < readout) shot = s;
    }
    return shot;
}

static larmor_status find_shots(const larmor_raw *raw, int group, const int64_t *calibration, const int64_t *list,
                                int64_t count, larmor_navigators *out)
{
    const larmor_group *g = &raw->group[group];
    const int64_t *order = raw->order + raw->first_in_order[group], readouts = g->readouts;
    int closest = 0;
    LMR_ALLOCATE(out->first, count + 1);
    LMR_ALLOCATE(out->shot, readouts + 1);
    LMR_ALLOCATE(out->calibration_shot, out->calibration + 1);
    for (int64_t n = 0; n < count; n++) {
        const int level = match_level(raw, list[n], g);
        if (level > closest) closest = level;
        if (!n || is_next_shot(raw, list[n - 1], list[n])) out->first[out->shots++] = n;
    }
    out->first[out->shots] = count;
    for (int64_t r = 0; r < readouts; r++) out->shot[r] = shot_before(raw, g, out, list, closest, order[r]);
    for (int64_t r = 0; r < out->calibration; r++) {
        const int64_t shot = shot_before(raw, g, out, list, 1, calibration[r]);
        out->calibration_shot[r] = shot >= 0 && list[out->first[shot]] < calibration[r] ? shot : -1;
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
    LMR_REFUSE(group < 0 || group >= raw->info.groups, LARMOR_ERR_ARG, "raw: navigators: group %d, the file has %d",
               group, raw->info.groups);
    LMR_HEAP int64_t *list = NULL, *calibration = NULL;
    int64_t count = 0;
    LMR_TRY(lmr_mrd_calibration(raw, group, &calibration, &out->calibration));
    larmor_status st = find_navigators(raw, &raw->group[group], calibration, out->calibration, &list, &count);
    if (!st && count) st = find_shots(raw, group, calibration, list, count, out);
    if (!st && count) st = fill(raw, grid, list, count, dev, out);
    if (st || !count) larmor_navigators_free(out);
    return st;
}

void larmor_navigators_free(larmor_navigators *navigators)
{
    if (!navigators) return;
    LMR_FREE(navigators->kspace, navigators->traj, navigators->first, navigators->shot, navigators->calibration_shot);
    *navigators = (larmor_navigators){0};
}
