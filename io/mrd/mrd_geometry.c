/* Whether a scan says where its images lie: directions and positions of the readouts, and slices that are apart.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "io/mrd/mrd.h"

#define LENGTH_OFF .1 /* of a direction's length from 1 */
#define CROOKED .02   /* the product of two directions that are perpendicular, at most */
#define SAME_MM .01   /* between positions that are one */
#define MOVED_MM .5   /* of a readout from the first of its image */
#define TURNED .02    /* likewise, of a direction */

/* 1 if v is a direction; files that were simulated often have none. */
static int is_direction(const float v[3])
{
    const double length = sqrt((double)v[0] * v[0] + (double)v[1] * v[1] + (double)v[2] * v[2]);
    return length > 1 - LENGTH_OFF && length < 1 + LENGTH_OFF;
}

static int is_perpendicular(const float a[3], const float b[3])
{
    return fabs((double)a[0] * b[0] + (double)a[1] * b[1] + (double)a[2] * b[2]) <= CROOKED;
}

/* 1 if a head has directions. */
int lmr_mrd_is_oriented(const lmr_mrd_head *h)
{
    return is_direction(h->read_dir) && is_direction(h->phase_dir) && is_direction(h->slice_dir) &&
           is_perpendicular(h->read_dir, h->phase_dir) && is_perpendicular(h->read_dir, h->slice_dir) &&
           is_perpendicular(h->phase_dir, h->slice_dir);
}

static int is_placed(const lmr_mrd_head *h)
{
    return isfinite(h->position[0]) && isfinite(h->position[1]) && isfinite(h->position[2]);
}

typedef struct slice { /* of an encoding */
    int encoding, number;
    double place[6]; /* position and direction, 0 where it has none */
} slice;

static int by_slice(const void *left, const void *right)
{
    const slice *a = left, *b = right;
    if (a->encoding != b->encoding) return a->encoding - b->encoding;
    return a->number - b->number;
}

static int by_place(const void *left, const void *right)
{
    const slice *a = left, *b = right;
    if (a->encoding != b->encoding) return a->encoding - b->encoding;
    for (int d = 0; d < 6; d++)
        if (a->place[d] != b->place[d]) return a->place[d] < b->place[d] ? -1 : 1;
    return a->number - b->number;
}

static int same_place(const slice *a, const slice *b)
{
    int same = a->encoding == b->encoding;
    for (int d = 0; d < 3; d++) same &= fabs(a->place[d] - b->place[d]) <= SAME_MM;
    for (int d = 3; d < 6; d++) same &= fabs(a->place[d] - b->place[d]) <= TURNED;
    return same;
}

/* Slices that lie where another one does. */
static larmor_status check_slices(larmor_raw *raw)
{
    slice *all = lmr_new(raw->info.groups, sizeof *all);
    int count = 0, shared = 0;
    if (!all) return LMR_NO_MEMORY();
    for (int g = 0; g < raw->info.groups; g++) {
        const lmr_mrd_head *h = &raw->head[raw->order[raw->first_in_order[g]]];
        all[g] = (slice){.encoding = raw->group[g].encoding, .number = raw->group[g].slice};
        for (int d = 0; d < 3; d++) all[g].place[d] = isfinite(h->position[d]) ? (double)h->position[d] : 0;
        for (int d = 0; d < 3 && lmr_mrd_is_oriented(h); d++) all[g].place[3 + d] = (double)h->slice_dir[d];
    }
    qsort(all, (size_t)raw->info.groups, sizeof *all, by_slice);
    for (int g = 0; g < raw->info.groups; g++)
        if (!g || by_slice(&all[g], &all[count - 1])) all[count++] = all[g];
    qsort(all, (size_t)count, sizeof *all, by_place);
    for (int s = 0; s < count; s++) {
        const int before = s > 0 && same_place(&all[s], &all[s - 1]);
        const int after = s + 1 < count && same_place(&all[s], &all[s + 1]);
        shared += before || after;
    }
    free(all);
    if (shared)
        LMR_MRD_WARN(raw,
                     "%d of %d slices are at the same position as another one: where they lie is not known, which "
                     "is what NIfTI files say (code 0).",
                     shared, count);
    return LARMOR_OK;
}

/* Between the centres of what two readouts are of. */
static double apart_mm(const lmr_mrd_head *a, const lmr_mrd_head *b)
{
    double square = 0;
    for (int d = 0; d < 3; d++) square += pow((double)a->position[d] - (double)b->position[d], 2);
    return sqrt(square);
}

static int is_turned(const lmr_mrd_head *a, const lmr_mrd_head *b)
{
    double away = 0;
    for (int d = 0; d < 3; d++) {
        away = fmax(away, fabs((double)a->read_dir[d] - (double)b->read_dir[d]));
        away = fmax(away, fabs((double)a->phase_dir[d] - (double)b->phase_dir[d]));
        away = fmax(away, fabs((double)a->slice_dir[d] - (double)b->slice_dir[d]));
    }
    return away > TURNED;
}

/* An image lies where its first readout does. */
static void check_readouts_of_images(larmor_raw *raw)
{
    int64_t moved = 0, turned = 0;
    double farthest = 0;
    for (int g = 0; g < raw->info.groups; g++) {
        const int64_t from = raw->first_in_order[g];
        const lmr_mrd_head *first = &raw->head[raw->order[from]];
        for (int64_t i = from + 1; i < from + raw->group[g].readouts; i++) {
            const lmr_mrd_head *h = &raw->head[raw->order[i]];
            const double away = is_placed(h) && is_placed(first) ? apart_mm(h, first) : 0;
            moved += away > MOVED_MM;
            farthest = fmax(farthest, away);
            turned += lmr_mrd_is_oriented(h) && lmr_mrd_is_oriented(first) && is_turned(h, first);
        }
    }
    if (moved)
        LMR_MRD_WARN(
            raw,
            "%lld readouts are up to %.3g mm away from the first of their image, where all of it is taken to "
            "lie. Slices need a number each in the counter of slices.",
            (long long)moved, farthest);
    if (turned)
        LMR_MRD_WARN(raw,
                     "%lld readouts have other directions than the first of their image, which all of it is taken to "
                     "have. Trajectories are in the axes of the directions of the head.",
                     (long long)turned);
}

larmor_status lmr_mrd_check_geometry(larmor_raw *raw)
{
    int64_t imaging = 0, without = 0, nowhere = 0;
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        if (!(raw->readout[i].use & LMR_IMAGING)) continue;
        imaging++;
        without += !lmr_mrd_is_oriented(&raw->head[i]);
        nowhere += !is_placed(&raw->head[i]);
    }
    if (without)
        LMR_MRD_WARN(raw,
                     "%lld of %lld readouts lack one of three perpendicular directions of length 1: the images' "
                     "orientation in the patient is unknown, which is what NIfTI files say (code 0), and x, y and z "
                     "stand for it.",
                     (long long)without, (long long)imaging);
    if (nowhere)
        LMR_MRD_WARN(raw, "%lld of %lld readouts have no position: 0 is taken for it.", (long long)nowhere,
                     (long long)imaging);
    check_readouts_of_images(raw);
    return check_slices(raw);
}

/* ---- of images ---- */

#define SAME_SHIFT_MM .5 /* between a shift and a position that are one */

int lmr_mrd_is_shifted(const larmor_raw *raw, int nd)
{
    int shifted = 0;
    for (int d = 0; d < nd; d++) shifted |= raw->shift_mm[d] != 0;
    return shifted;
}

/* The centre of a field of view that was moved. Samples that were not demodulated are about the isocentre: where
 * the shift is the head's position, that is the centre; else the position was that of the samples. */
static void shift_position(const larmor_raw *raw, int nd, larmor_image_meta *meta)
{
    const double *const dir[3] = {meta->read_dir, meta->phase_dir, meta->slice_dir};
    int there = lmr_mrd_is_shifted(raw, nd);
    for (int d = 0; d < nd; d++) {
        double at = 0;
        for (int c = 0; c < 3; c++) at += dir[d][c] * meta->position_mm[c];
        there &= fabs(at - raw->shift_mm[d]) <= SAME_SHIFT_MM;
    }
    for (int d = 0; d < nd && !there; d++)
        for (int c = 0; c < 3; c++) meta->position_mm[c] += dir[d][c] * raw->shift_mm[d];
}

larmor_status larmor_raw_image_meta(const larmor_raw *raw, int group, larmor_image_meta *meta)
{
    LMR_NEED(raw, meta);
    LMR_REFUSE(group < 0 || group >= raw->info.groups, LARMOR_ERR_ARG, "raw: image meta: group %d, the file has %d",
               group, raw->info.groups);
    const larmor_group *g = &raw->group[group];
    const lmr_mrd_head *h = &raw->head[raw->order[raw->first_in_order[group]]];
    const int oriented = lmr_mrd_is_oriented(h);
    *meta = (larmor_image_meta){.encoding = g->encoding,
                                .slice = g->slice,
                                .contrast = g->contrast,
                                .phase = g->phase,
                                .repetition = g->repetition,
                                .set = g->set,
                                .average = h->counter[LMR_AVERAGE],
                                .place_unknown = !oriented || !is_placed(h),
                                .measurement_uid = h->measurement_uid,
                                .time_stamp = h->time_stamp};
    for (int d = 0; d < 3; d++) {
        meta->fov_mm[d] = raw->header.encoding[g->encoding].space.recon_fov_mm[d];
        meta->position_mm[d] = isfinite(h->position[d]) ? (double)h->position[d] : 0;
        meta->table_mm[d] = isfinite(h->table[d]) ? (double)h->table[d] : 0;
        meta->read_dir[d] = oriented ? (double)h->read_dir[d] : d == 0;
        meta->phase_dir[d] = oriented ? (double)h->phase_dir[d] : d == 1;
        meta->slice_dir[d] = oriented ? (double)h->slice_dir[d] : d == 2;
        meta->physiology_stamp[d] = h->physiology_stamp[d];
    }
    shift_position(raw, raw->header.encoding[g->encoding].space.ndim, meta);
    return LARMOR_OK;
}
