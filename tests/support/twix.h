/* Small TWIX files, of VB and of VD, by the layouts of twixtools' mdh_def.py. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { TWIX_ROOM = 1 << 20, TWIX_FIRST = 10240, TWIX_ENTRY = 152 };

typedef struct twix_readout {
    uint64_t mask;        /* EvalInfoMask */
    uint16_t counter[14]; /* Lin, Ave, Sli, Par, Eco, Phs, Rep, Set, Seg, Ida to Ide */
    uint16_t ice[24];     /* of VB 4, and 4 free ones */
    uint16_t cut[2];      /* samples before and after */
    uint16_t centre[3];   /* column, line, partition */
    uint16_t samples, channels;
    uint32_t time, pmu, since_rf;
    int32_t table[3];
    float position[3], quaternion[4];
    int stray; /* 1: the last channel's header has another readout's number */
} twix_readout;

typedef struct twix_file {
    int is_vb, readouts; /* readouts of the measurement so far */
    size_t bytes, first; /* of all; where the measurement begins */
    unsigned char data[TWIX_ROOM];
} twix_file;

static const char twix_yaps[] =
    "### ASCCONV BEGIN ###\n"
    "tProtocolName\t = \t\"\"gre & more\"\"\n"
    "sKSpace.lBaseResolution\t = \t8\nsKSpace.lPhaseEncodingLines\t = \t6\n"
    "sKSpace.lPartitions = 4\nsKSpace.lImagesPerSlab = 4\n"
    "sKSpace.dPhaseOversamplingForDialog = 0.5\nsKSpace.dSliceOversamplingForDialog = 0.25\n"
    "sKSpace.ucTrajectory = 0x1\nsKSpace.ucDimension = 0x4\n"
    "sSliceArray.asSlice[0].dReadoutFOV = 160\nsSliceArray.asSlice[0].dPhaseFOV = 80.5\n"
    "sSliceArray.asSlice[0].dThickness = 32\n"
    "sRXSPEC.alDwellTime[0] = 2500\nsRXSPEC.alDwellTime[1] = 5000\n"
    "lContrasts = 2\nalTR[0] = 10000\nalTE[0] = 3000\nalTE[1] = 5500\nalTE[2] = 9999\n"
    "adFlipAngleDegree[0] = 12.5\nsPat.lAccelFactPE = 2\nsPat.ucRefScanMode = 0x4\n"
    "sTXSPEC.asNucleusInfo[0].lFrequency = 123200000\n"
    "### ASCCONV END ###\n";
static const char twix_config[] =
    "<XProtocol>\n{\n<ParamString.\"tPatientName\"> { }\n"
    "<ParamString.\"tPatientName\"> { \"Doe^J\xf6\" }\n"
    "<ParamString.\"PatientBirthDay\"> { \"19010203\" }\n"
    "<ParamDouble.\"flReadoutOSFactor\"> {\n <Precision> 6 \n 2.000000 \n}\n"
    "<ParamDouble.\"flMagneticFieldStrength\">  { <Precision> 6  2.893620  }\n"
    "<ParamLong.\"iPEFTLength\"> { 6 }\n<ParamString.\"tPatientPosition\"> { \"FFS\" }\n}\n";

static inline void twix_put(twix_file *f, const void *data, size_t bytes)
{
    memcpy(f->data + f->bytes, data, bytes);
    f->bytes += bytes;
}

static inline void twix_number(twix_file *f, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) f->data[f->bytes++] = (unsigned char)(value >> 8 * i);
}

static inline void twix_buffer(twix_file *f, const char *name, const char *text)
{
    twix_put(f, name, strlen(name) + 1);
    twix_number(f, strlen(text) + 1, 4);
    twix_put(f, text, strlen(text) + 1);
}

static inline void twix_set(twix_file *f, size_t at, uint64_t value, int bytes)
{
    const size_t end = f->bytes;
    f->bytes = at;
    twix_number(f, value, bytes);
    f->bytes = end;
}

/* The next measurement, of a file that begins as {0} but for is_vb. */
static inline void twix_begin(twix_file *f, const char *name, const char *yaps)
{
    const unsigned count = f->data[4];
    if (!f->is_vb && !count) f->bytes = TWIX_FIRST;
    f->first = f->bytes;
    f->readouts = 0;
    twix_number(f, 0, 4);
    twix_number(f, 2, 4);
    twix_buffer(f, "Config", twix_config);
    twix_buffer(f, "MeasYaps", yaps);
    while (f->bytes % 32) f->bytes++;
    twix_set(f, f->first, f->bytes - f->first, 4);
    if (f->is_vb) return;
    const size_t entry = 8 + TWIX_ENTRY * count;
    f->data[4]++;
    twix_set(f, entry, 7 + count, 4);
    twix_set(f, entry + 8, f->first, 8);
    memcpy(f->data + entry + 88, name, strlen(name));
}

/* The last measurement is complete. */
static inline void twix_end(twix_file *f)
{
    if (!f->is_vb) twix_set(f, 8 + TWIX_ENTRY * (size_t)(f->data[4] - 1) + 16, f->bytes - f->first, 8);
    while (f->bytes % 512) f->bytes++;
}

static inline void twix_header(twix_file *f, const twix_readout *r, size_t length)
{
    twix_number(f, length, 4);
    twix_number(f, 4711, 4);
    twix_number(f, (uint64_t)f->readouts + 1, 4);
    twix_number(f, r->time, 4);
    twix_number(f, r->pmu, 4);
    if (!f->is_vb) twix_number(f, 0, 4);
    for (int d = 0; d < 3 && !f->is_vb; d++) twix_number(f, (uint32_t)r->table[d], 4);
    if (!f->is_vb) twix_number(f, 0, 4);
    twix_number(f, r->mask, 8);
    twix_number(f, r->samples, 2);
    twix_number(f, r->channels, 2);
    for (int i = 0; i < 14; i++) twix_number(f, r->counter[i], 2);
    twix_number(f, r->cut[0], 2);
    twix_number(f, r->cut[1], 2);
    twix_number(f, r->centre[0], 2);
    twix_number(f, 0, 6);
    twix_number(f, r->since_rf, 4);
    twix_number(f, r->centre[1], 2);
    twix_number(f, r->centre[2], 2);
    if (f->is_vb) twix_put(f, r->ice, 16);
    twix_put(f, r->position, sizeof r->position);
    twix_put(f, r->quaternion, sizeof r->quaternion);
    if (f->is_vb) twix_number(f, 0, 4);
    if (f->is_vb) return;
    twix_put(f, r->ice, sizeof r->ice);
    twix_number(f, 0, 8);
    twix_number(f, 0, 8);
}

/* Sample n of channel c is what the test wants there. */
static inline void twix_add(twix_file *f, const twix_readout *r,
                            void (*sample)(int readout, int c, int n, float x[2]))
{
    if (!f->is_vb) twix_header(f, r, 192 + (size_t)r->channels * (32 + 8 * (size_t)r->samples));
    for (int c = 0; c < r->channels; c++) {
        if (f->is_vb) twix_header(f, r, 128 + 8 * (size_t)r->samples);
        if (!f->is_vb) {
            const int stray = r->stray && c == r->channels - 1;
            twix_number(f, 32 + 8 * (uint64_t)r->samples, 4);
            twix_number(f, 4711, 4);
            twix_number(f, (uint64_t)(f->readouts + 1 + stray), 4);
            twix_number(f, 0, 8);
            twix_number(f, 0, 4);
            twix_number(f, (uint64_t)c, 2);
            twix_number(f, 0, 6);
        }
        for (int n = 0; n < r->samples; n++) {
            float x[2];
            sample(f->readouts, c, n, x);
            twix_put(f, x, sizeof x);
        }
    }
    f->readouts++;
}

/* A packet of physiological data (bit 5), or the end (bit 0), with so many bytes after its header. */
static inline void twix_packet(twix_file *f, int bit, size_t bytes)
{
    const twix_readout r = {.mask = UINT64_C(1) << bit, .samples = 16, .channels = 1};
    twix_header(f, &r, (f->is_vb ? 128 : 192) + bytes);
    memset(f->data + f->bytes, 0x55, bytes);
    f->bytes += bytes;
}

/* Physiology between readouts: a packet of this name, stamp and duration in 0.1 ms; its signals follow. Returns where
 * it begins. */
static inline size_t twix_pmu(twix_file *f, const char *name, uint32_t stamp, uint32_t duration)
{
    const size_t begin = f->bytes;
    char id[52] = "";
    twix_packet(f, 5, 0);
    twix_number(f, 0, 4);
    memcpy(id, name, strlen(name));
    twix_put(f, id, sizeof id);
    twix_number(f, 0, 4);
    twix_number(f, 1, 4);
    twix_number(f, stamp, 4);
    twix_number(f, 0, 4);
    twix_number(f, duration, 4);
    return begin;
}

/* A signal of it, 1 to 4 leads of an ECG, 5 pulse, 6 respiration, with triggers of bit 14. */
static inline void twix_signal(twix_file *f, int number, uint32_t period, const uint16_t *value, const int *trigger,
                               int samples)
{
    twix_number(f, 0x01000000u + ((uint32_t)number << 16), 4);
    twix_number(f, period, 4);
    for (int i = 0; i < samples; i++) {
        twix_number(f, value[i], 2);
        twix_number(f, trigger && trigger[i] ? 0x4000 : 0, 2);
    }
}

static inline void twix_pmu_end(twix_file *f, size_t begin)
{
    twix_number(f, 0x01ff0000u, 4);
    twix_set(f, begin, f->bytes - begin, 4);
}
