/* What a raw file has, entry by entry: encodings, groups, acquisitions, stamps.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "io/mrd/mrd.h"

larmor_raw_info larmor_raw_describe(const larmor_raw *raw)
{
    return raw ? raw->info : (larmor_raw_info){0};
}

const char *larmor_raw_xml(const larmor_raw *raw)
{
    return raw ? raw->xml : "";
}

larmor_status larmor_raw_encoding(const larmor_raw *raw, int encoding, larmor_encoding *out)
{
    LMR_NEED(raw);
    LMR_NEED(out);
    if (encoding < 0 || encoding >= raw->header.encodings)
        return LMR_FAIL(LARMOR_ERR_ARG, "raw: encoding %d, the file has %d", encoding, raw->header.encodings);
    *out = raw->header.encoding[encoding].space;
    return LARMOR_OK;
}

larmor_status larmor_raw_group(const larmor_raw *raw, int group, larmor_group *out)
{
    LMR_NEED(raw);
    LMR_NEED(out);
    if (group < 0 || group >= raw->info.groups)
        return LMR_FAIL(LARMOR_ERR_ARG, "raw: group %d, the file has %d", group, raw->info.groups);
    *out = raw->group[group];
    return LARMOR_OK;
}

larmor_status larmor_raw_acquisition(const larmor_raw *raw, int64_t i, larmor_acquisition *out)
{
    LMR_NEED(raw);
    LMR_NEED(out);
    if (i < 0 || i >= raw->info.acquisitions)
        return LMR_FAIL(LARMOR_ERR_ARG, "raw: acquisition %lld, the file has %lld", (long long)i,
                        (long long)raw->info.acquisitions);
    const lmr_mrd_head *h = &raw->head[i];
    const int used = raw->readout[i].use != 0;
    *out = (larmor_acquisition){.flags = h->flags,
                                .samples = h->samples,
                                .coils = h->channels,
                                .traj_dims = h->traj_dims,
                                .discard_pre = h->discard_pre,
                                .discard_post = h->discard_post,
                                .center_sample = h->center_sample,
                                .encoding = h->encoding,
                                .dwell_us = (double)h->dwell_us,
                                .step1 = h->counter[LMR_STEP1],
                                .step2 = h->counter[LMR_STEP2],
                                .average = h->counter[LMR_AVERAGE],
                                .slice = h->counter[LMR_SLICE],
                                .contrast = h->counter[LMR_CONTRAST],
                                .phase = h->counter[LMR_PHASE],
                                .repetition = h->counter[LMR_REPETITION],
                                .set = h->counter[LMR_SET],
                                .segment = h->counter[LMR_SEGMENT],
                                .time_stamp = h->time_stamp,
                                .measurement_uid = h->measurement_uid,
                                .data = used ? raw->data + raw->readout[i].data : NULL,
                                .traj = used && h->traj_dims ? raw->traj + raw->readout[i].traj : NULL};
    for (int k = 0; k < 8; k++) out->user[k] = h->user[k];
    memcpy(out->user_int, h->user_int, sizeof out->user_int);
    memcpy(out->user_float, h->user_float, sizeof out->user_float);
    for (int d = 0; d < 3; d++) {
        out->position_mm[d] = (double)h->position[d];
        out->read_dir[d] = (double)h->read_dir[d];
        out->phase_dir[d] = (double)h->phase_dir[d];
        out->slice_dir[d] = (double)h->slice_dir[d];
        out->table_mm[d] = (double)h->table[d];
        out->physiology_stamp[d] = h->physiology_stamp[d];
    }
    return LARMOR_OK;
}

#define MAX_DISTANCE_FROM_PLANE                                                                                      \
    1e-3 /* cycles per field of view: readouts that stay this close to their plane lie in it */

/* The kz of larmor_stamp. */
static double kz_of(const larmor_raw *raw, int64_t i)
{
    const lmr_mrd_head *h = &raw->head[i];
    const lmr_mrd_traj *t = &raw->traj_of[h->encoding];
    const larmor_encoding *space = &raw->header.encoding[h->encoding].space;
    if (space->ndim < 3 || !strcmp(space->trajectory, "cartesian") || !strcmp(space->trajectory, "epi")) return 0;
    if (!h->traj_dims || t->spatial < 3) return h->counter[LMR_STEP2] - t->center[2];
    const float *k = raw->traj + raw->readout[i].traj + 2;
    const double first = (double)k[(int64_t)h->discard_pre * h->traj_dims];
    for (int64_t s = h->discard_pre; s < h->samples - h->discard_post; s++)
        if (fabs((double)k[s * h->traj_dims] - first) * t->scale[2] > MAX_DISTANCE_FROM_PLANE) return NAN;
    return t->scale[2] * (first - t->offset);
}

larmor_status larmor_raw_stamps(const larmor_raw *raw, int group, larmor_stamp *stamps)
{
    LMR_NEED(raw);
    LMR_NEED(stamps);
    if (group < 0 || group >= raw->info.groups)
        return LMR_FAIL(LARMOR_ERR_ARG, "raw: stamps: group %d, the file has %d", group, raw->info.groups);
    for (int64_t r = 0; r < raw->group[group].readouts; r++) {
        const int64_t i = raw->order[raw->first_in_order[group] + r];
        const lmr_mrd_head *h = &raw->head[i];
        stamps[r] = (larmor_stamp){.time = h->time_stamp, .samples = lmr_head_kept(h), .kz = kz_of(raw, i)};
        for (int d = 0; d < 3; d++) stamps[r].physiology[d] = h->physiology_stamp[d];
    }
    return LARMOR_OK;
}
