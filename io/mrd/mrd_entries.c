/* What a raw file has, entry by entry: encodings, groups, acquisitions, stamps, waveforms.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/mrd/mrd.h"
#include "io/reader/mrd_records.h"

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
    LMR_NEED(raw, out);
    LMR_REFUSE(encoding < 0 || encoding >= raw->header.encodings, LARMOR_ERR_ARG, "raw: encoding %d, the file has %d",
               encoding, raw->header.encodings);
    *out = raw->header.encoding[encoding].space;
    return LARMOR_OK;
}

larmor_status larmor_raw_group(const larmor_raw *raw, int group, larmor_group *out)
{
    LMR_NEED(raw, out);
    LMR_REFUSE(group < 0 || group >= raw->info.groups, LARMOR_ERR_ARG, "raw: group %d, the file has %d", group,
               raw->info.groups);
    *out = raw->group[group];
    return LARMOR_OK;
}

larmor_status larmor_raw_acquisition(const larmor_raw *raw, int64_t i, larmor_acquisition *out)
{
    LMR_NEED(raw, out);
    LMR_REFUSE(i < 0 || i >= raw->info.acquisitions, LARMOR_ERR_ARG, "raw: acquisition %lld, the file has %lld",
               (long long)i, (long long)raw->info.acquisitions);
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
    LMR_NEED(raw, stamps);
    LMR_REFUSE(group < 0 || group >= raw->info.groups, LARMOR_ERR_ARG, "raw: stamps: group %d, the file has %d",
               group, raw->info.groups);
    for (int64_t r = 0; r < raw->group[group].readouts; r++) {
        const int64_t i = raw->order[raw->first_in_order[group] + r];
        const lmr_mrd_head *h = &raw->head[i];
        stamps[r] = (larmor_stamp){.time = h->time_stamp, .samples = lmr_head_kept(h), .kz = kz_of(raw, i)};
        for (int d = 0; d < 3; d++) stamps[r].physiology[d] = h->physiology_stamp[d];
    }
    return LARMOR_OK;
}

/* ---- waveforms ---- */

static int is_possible(const lmr_mrd_wave *w)
{
    const double us = (double)w->sample_us;
    return w->channels && w->samples && us >= 1 && us <= 1e7 && w->trigger >= -1 && w->trigger < w->channels &&
           w->kind >= LARMOR_WAVEFORM_OTHER && w->kind <= LARMOR_WAVEFORM_RESPIRATION;
}

static larmor_status take_waves(lmr_reader *reader, int64_t count, larmor_raw *raw)
{
    int64_t bytes, numbers = 0;
    const unsigned char *memory = lmr_reader_memory(reader, &bytes);
    if (!count) return LARMOR_OK;
    if (count < 0 || count > LMR_MRD_MAX_WAVEFORMS || !memory) return lmr_reader_lies(reader);
    const int64_t heads = count * (int64_t)sizeof *raw->wave;
    if (bytes < heads) return lmr_reader_lies(reader);
    LMR_ALLOCATE(raw->wave, count);
    LMR_ALLOCATE(raw->wave_at, count);
    memcpy(raw->wave, memory, (size_t)heads);
    for (int64_t i = 0; i < count; i++) {
        if (!is_possible(&raw->wave[i])) return lmr_reader_lies(reader);
        raw->wave_at[i] = numbers;
        numbers += (int64_t)raw->wave[i].channels * raw->wave[i].samples;
    }
    if (bytes != heads + 4 * numbers) return lmr_reader_lies(reader);
    LMR_ALLOCATE(raw->wave_data, numbers);
    memcpy(raw->wave_data, memory + heads, (size_t)(4 * numbers));
    raw->waves = count;
    return LARMOR_OK;
}

larmor_status lmr_mrd_read_waves(lmr_reader *reader, const lmr_source *source, larmor_raw *raw)
{
    const lmr_reader_answer *answer;
    const int64_t heads = LMR_MRD_MAX_WAVEFORMS * (int64_t)sizeof *raw->wave;
    const int64_t packed = 4; /* bytes of a number that takes one in a stream of version 2 */
    larmor_status st = lmr_reader_ask_for(reader, LMR_ASK_WAVES, NULL, heads + packed * source->size, &answer);
    if (!st) st = take_waves(reader, answer->waves.count, raw);
    if (st != LARMOR_ERR_FORMAT) return st;
    LMR_MRD_WARN(raw, "%s They are left out.", larmor_last_error());
    raw->waves = 0;
    return LARMOR_OK;
}

static larmor_status check_block(const larmor_waveform *w, int64_t i)
{
    const int is_block = w->data && w->channels > 0 && w->samples > 0 && w->channels <= UINT16_MAX &&
                         w->samples <= UINT16_MAX && w->id >= 0 && w->id <= UINT16_MAX;
    LMR_REFUSE(!is_block, LARMOR_ERR_ARG,
               "waveforms: block %lld: id %d with %d samples x %d channels, expected 0 to 65535 and 1 to 65535",
               (long long)i, w->id, w->samples, w->channels);
    if (w->sample_us >= 1 && w->sample_us <= 1e7) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG, "waveforms: block %lld: %g us from sample to sample, expected 1 to 1e7",
                    (long long)i, w->sample_us);
}

/* The numbers of the blocks that raw has. */
static int64_t numbers_of(const larmor_raw *raw)
{
    const int64_t last = raw->waves - 1;
    return raw->waves ? raw->wave_at[last] + (int64_t)raw->wave[last].channels * raw->wave[last].samples : 0;
}

static larmor_status make_room(larmor_raw *raw, int64_t blocks, int64_t numbers)
{
    lmr_mrd_wave *wave = realloc(raw->wave, (size_t)blocks * sizeof *wave);
    if (!wave) return LMR_NO_MEMORY();
    raw->wave = wave;
    int64_t *at = realloc(raw->wave_at, (size_t)blocks * sizeof *at);
    if (!at) return LMR_NO_MEMORY();
    raw->wave_at = at;
    uint32_t *data = realloc(raw->wave_data, (size_t)numbers * sizeof *data);
    if (!data) return LMR_NO_MEMORY();
    raw->wave_data = data;
    return LARMOR_OK;
}

static void add_block(larmor_raw *raw, const larmor_waveform *block, int64_t at)
{
    lmr_mrd_wave *w = &raw->wave[raw->waves];
    *w = (lmr_mrd_wave){.time_stamp = block->time_stamp,
                        .sample_us = (float)block->sample_us,
                        .id = (uint16_t)block->id,
                        .channels = (uint16_t)block->channels,
                        .samples = (uint16_t)block->samples};
    lmr_mrd_wave_name(raw->header.waveform, raw->header.waveforms, w);
    memcpy(raw->wave_data + at, block->data, (size_t)block->channels * (size_t)block->samples * sizeof *block->data);
    raw->wave_at[raw->waves++] = at;
}

larmor_status larmor_raw_add_waveforms(larmor_raw *raw, const larmor_waveform *blocks, int64_t count)
{
    LMR_NEED(raw);
    LMR_REFUSE(count < 0 || count > LMR_MRD_MAX_WAVEFORMS - raw->waves, LARMOR_ERR_ARG,
               "waveforms: got %lld blocks, expected 0 to %lld", (long long)count,
               (long long)(LMR_MRD_MAX_WAVEFORMS - raw->waves));
    if (!count) return LARMOR_OK;
    LMR_NEED(blocks);
    int64_t at = numbers_of(raw), numbers = at;
    for (int64_t i = 0; i < count; i++) {
        LMR_TRY(check_block(&blocks[i], i));
        numbers += (int64_t)blocks[i].channels * blocks[i].samples;
    }
    LMR_TRY(make_room(raw, raw->waves + count, numbers));
    for (int64_t i = 0; i < count; i++) {
        add_block(raw, &blocks[i], at);
        at += (int64_t)blocks[i].channels * blocks[i].samples;
    }
    return LARMOR_OK;
}

int64_t larmor_raw_waveforms(const larmor_raw *raw)
{
    return raw ? raw->waves : 0;
}

larmor_status larmor_raw_waveform(const larmor_raw *raw, int64_t i, larmor_waveform *out)
{
    LMR_NEED(out);
    *out = (larmor_waveform){.trigger = -1};
    LMR_NEED(raw);
    LMR_REFUSE(i < 0 || i >= raw->waves, LARMOR_ERR_ARG, "raw: waveform %lld is not one of %lld", (long long)i,
               (long long)raw->waves);
    const lmr_mrd_wave *w = &raw->wave[i];
    *out = (larmor_waveform){.id = w->id,
                             .kind = (larmor_waveform_kind)w->kind,
                             .trigger = w->trigger,
                             .channels = w->channels,
                             .samples = w->samples,
                             .time_stamp = w->time_stamp,
                             .sample_us = (double)w->sample_us,
                             .data = raw->wave_data + raw->wave_at[i]};
    return LARMOR_OK;
}
