/* Siemens TWIX raw data (.dat) as the reader has it: VB, where the file is one measurement and each channel has a
 * header of 128 bytes, and VD, VE and later, where a table of measurements comes first and a readout has a header of
 * 192 bytes and one of 32 for each channel. Little-endian; samples are complex float32. Layouts as twixtools'
 * mdh_def.py and siemens_to_ismrmrd's siemensraw.h give them. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "io/bytes.h"
#include "io/reader/mrd_head.h"
#include "io/reader/protocol.h"
#include "io/reader/source.h"

typedef struct lmr_twix_range { /* of a counter, over the readouts that make images */
    int low, high;
} lmr_twix_range;

typedef struct lmr_twix { /* one measurement */
    const lmr_source *source;
    int is_vb, measurements; /* in the file */
    int64_t first, end;      /* its bytes */
    uint32_t id;             /* MeasID; 0 in VB */
    char *text;              /* the protocol: all buffers of the header, with a 0 at its end */
    int64_t text_bytes;
    double dwell_us[16]; /* of a sample, by echo; 0 where the protocol says nothing */
    int is_adjustment;   /* 1: of coil sensitivities, whose noise is sampled every 5 us */
    lmr_mrd_head *head;  /* [count] */
    lmr_reader_place *place;
    int64_t count, room;
    int channels; /* the most of a readout */
    lmr_twix_range range[LMR_COUNTERS];
    int imaging, centre_line, centre_partition; /* readouts that make images; of the first of them */
    lmr_mrd_wave *wave;                         /* [waves] of physiology, with kinds and triggers */
    int64_t waves, wave_room;
    lmr_bytes wave_data; /* of all waves, 32 bits each */
    int unknown_packets; /* of physiology, in a layout that is not known */
    char note[1024];     /* lines for the user, each ending in '\n' */
} lmr_twix;

/* 1 if the file begins as one of these. */
int lmr_twix_is(const lmr_source *source);

/* Read a measurement's protocol and all its headers. What is cut off at the end of the file is left out, with a note.
 *
 * measurement  its number, from 1; "": the last one.
 * Errors       LARMOR_ERR_FORMAT: damaged, no such measurement, no readouts; LARMOR_ERR_MEMORY. */
larmor_status lmr_twix_open(const lmr_source *source, const char *measurement, lmr_twix **out);
void lmr_twix_free(lmr_twix *twix); /* NULL is fine */

/* ISMRMRD's header of the measurement. */
larmor_status lmr_twix_xml(const lmr_twix *twix, lmr_bytes *xml);

/* twix_pmu.c: take a packet between readouts, whose content is so many bytes from `at` on, if it is physiology of
 * VD or VE; and what the header says of what was taken. Errors: LARMOR_ERR_MEMORY. */
larmor_status lmr_twix_take_packet(lmr_twix *twix, int64_t at, int64_t bytes);
void lmr_twix_put_waveforms(const lmr_twix *twix, lmr_bytes *xml);

typedef struct lmr_twix_value {
    char s[128]; /* UTF-8; "": the protocol does not say it */
} lmr_twix_value;

/* What the protocol says of a name: of MeasYaps "sKSpace.lBaseResolution", or of the other buffers, where the first
 * one with a value counts, "flReadoutOSFactor". The number is `missing` where there is none. */
lmr_twix_value lmr_twix_text(const lmr_twix *twix, const char *name);
double lmr_twix_number(const lmr_twix *twix, const char *name, double missing);
