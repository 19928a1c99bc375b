/* Physiology that a TWIX file of VD or VE has in packets between the readouts: ECG, pulse, respiration and
 * external signals with the scanner's triggers, as blocks of ISMRMRD's waveforms. Layout and units as twixtools
 * (pmu.py, before its version for XA) and siemens_to_ismrmrd have them. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/reader/mrd_head.h"
#include "io/twix/twix.h"

enum {
    PACKET_HEAD = 60, /* size, 52 bytes of a name, whether it is swapped */
    NAME = 4,
    LONGEST_NAME = 52,
    PMU_HEAD = 16, /* two time stamps, the second one in the readouts' ticks, a number, a duration */
    STAMP = 4,
    DURATION = 12,
    LONGEST_PACKET = 1 << 20,
    SIGNALS = 8, /* four leads of the ECG, pulse, respiration, two external ones */
    LEADS = 4
};
#define MAGIC UINT32_C(0x01000000) /* of a signal; its number, from 1, is in the third byte */
#define NUMBER_MASK UINT32_C(0x00ff0000)
#define END UINT32_C(0x01ff0000)
#define UNIT_US 100. /* of durations and of what is from one sample to the next */

typedef struct signals {                /* of a packet */
    const unsigned char *data[SIGNALS]; /* 16 bits of the signal and 16 of the trigger for each sample; NULL: none */
    int64_t samples[SIGNALS];
    uint32_t stamp, duration;
} signals;

static uint32_t u16(const unsigned char *p)
{
    return (uint32_t)lmr_little_endian(p, 2);
}

static uint32_t u32(const unsigned char *p)
{
    return (uint32_t)lmr_little_endian(p, 4);
}

/* 0 for what is no such packet. */
static int divide(const unsigned char *p, int64_t bytes, signals *s)
{
    int64_t at = PMU_HEAD;
    *s = (signals){.stamp = u32(p + STAMP), .duration = u32(p + DURATION)};
    while (bytes - at >= 4 && u32(p + at) != END) {
        const uint32_t magic = u32(p + at);
        const int number = (int)((magic & NUMBER_MASK) >> 16) - 1;
        if ((magic & ~NUMBER_MASK) != MAGIC || number < 0 || number >= SIGNALS || bytes - at < 8) return 0;
        const uint32_t period = u32(p + at + 4);
        const int64_t samples = period ? s->duration / period : 0;
        if (samples < 1 || samples > UINT16_MAX || bytes - at - 8 < 4 * samples) return 0;
        s->data[number] = p + at + 8;
        s->samples[number] = samples;
        at += 8 + 4 * samples;
    }
    return bytes - at >= 4;
}

/* Signals first..first + count - 1 of as many samples as the first one that there is, and the triggers of all. */
static larmor_status add_block(lmr_twix *t, const signals *s, int first, int count, int id)
{
    int64_t samples = 0;
    int channels = 0;
    for (int i = first; i < first + count; i++) {
        if (s->data[i] && !samples) samples = s->samples[i];
        channels += s->data[i] && s->samples[i] == samples;
    }
    if (!channels || t->waves == LMR_MRD_MAX_WAVEFORMS) return LARMOR_OK;
    LMR_HEAP LMR_NEW_ZEROS(uint32_t, trigger, samples);
    for (int i = first; i < first + count; i++)
        for (int64_t n = 0; s->data[i] && s->samples[i] == samples && n < samples; n++) {
            const uint32_t value = u16(s->data[i] + 4 * n);
            lmr_bytes_add(&t->wave_data, &value, sizeof value);
            trigger[n] |= u16(s->data[i] + 4 * n + 2);
        }
    lmr_bytes_add(&t->wave_data, trigger, (size_t)samples * sizeof *trigger);
    LMR_TRY(lmr_grow(&t->wave, t->waves, &t->wave_room, sizeof *t->wave));
    t->wave[t->waves++] = (lmr_mrd_wave){.time_stamp = s->stamp,
                                         .sample_us = (float)(UNIT_US * s->duration / (double)samples),
                                         .id = (uint16_t)id,
                                         .channels = (uint16_t)(channels + 1),
                                         .samples = (uint16_t)samples,
                                         .trigger = (int16_t)channels,
                                         .kind = (int32_t)lmr_mrd_usual_kind(id)};
    return LARMOR_OK;
}

larmor_status lmr_twix_take_packet(lmr_twix *t, int64_t at, int64_t bytes)
{
    signals s;
    if (t->is_vb || bytes < PACKET_HEAD + PMU_HEAD || bytes > LONGEST_PACKET) return LARMOR_OK;
    LMR_HEAP LMR_NEW(unsigned char, packet, bytes);
    if (lmr_source_get(t->source, at, packet, (size_t)bytes) != bytes) return LARMOR_OK; /* the file is cut short */
    const char *name = (const char *)packet + NAME;
    if (strncmp(name, "PMU", 3) != 0 || !strncmp(name, "PMULearnPhase", 13)) return LARMOR_OK;
    if (!divide(packet + PACKET_HEAD, bytes - PACKET_HEAD, &s)) {
        t->unknown_packets++;
        return LARMOR_OK;
    }
    LMR_TRY(add_block(t, &s, 0, LEADS, 0));
    for (int i = LEADS; i < SIGNALS; i++) LMR_TRY(add_block(t, &s, i, 1, i - LEADS + 1));
    return LARMOR_OK;
}

void lmr_twix_put_waveforms(const lmr_twix *t, lmr_bytes *xml)
{
    static const char *const names[][2] = {
        {"ECG", "ecg"}, {"PULS", "pulse"}, {"RESP", "respiratory"}, {"EXT1", "other"}, {"EXT2", "other"}};
    for (int id = 0; id < (int)(sizeof names / sizeof *names); id++)
        for (int64_t i = 0; i < t->waves; i++) {
            if (t->wave[i].id != id) continue;
            lmr_bytes_print(xml,
                            "<waveformInformation><waveformName>%s</waveformName><waveformType>%s</waveformType>\n"
                            "<userParameters><userParameterLong><name>WaveformId</name><value>%d</value>"
                            "</userParameterLong><userParameterLong><name>TriggerChannel</name><value>%d</value>"
                            "</userParameterLong></userParameters></waveformInformation>\n",
                            names[id][0], names[id][1], id, t->wave[i].trigger);
            break;
        }
}
