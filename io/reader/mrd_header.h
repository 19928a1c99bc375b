/* The XML header of ISMRMRD raw data. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/array.h"
#include "larmor/io.h"

#define LMR_MRD_MAX_HEADER (INT64_C(16) << 20)
#define LMR_MRD_MAX_MATRIX 65535
#define LMR_MRD_MEMORY (INT64_C(64) << 30) /* bytes that a scan or an image may need, unless the caller says */
#define LMR_MRD_MAX_ENCODINGS 64
#define LMR_MRD_MAX_BITS 16
#define LMR_MRD_MAX_TESLA 100.0
#define LMR_MRD_MAX_RAMP_US 1e6 /* of a part of a readout's gradient */

/* The counters of an acquisition, in the order of ISMRMRD. */
enum {
    LMR_STEP1,
    LMR_STEP2,
    LMR_AVERAGE,
    LMR_SLICE,
    LMR_CONTRAST,
    LMR_PHASE,
    LMR_REPETITION,
    LMR_SET,
    LMR_SEGMENT,
    LMR_COUNTERS
};

enum { LMR_MINIMUM, LMR_MAXIMUM, LMR_CENTER, LMR_BOUNDS };

/* What the header leaves out, or gives as 0, is 0 here, and the trajectory "". lmr_mrd_complete fills it in. */
typedef struct lmr_mrd_encoding {
    larmor_encoding space;
    int has_space[2], has_limits;        /* encodedSpace and reconSpace; encodingLimits */
    char unknown[44];                    /* a type of trajectory that larmor does not know */
    int limit[LMR_COUNTERS][LMR_BOUNDS]; /* -1 where the header says nothing */
} lmr_mrd_encoding;

typedef struct lmr_mrd_header {
    int encodings;
    lmr_mrd_encoding *encoding;
    int receiver_channels;  /* 0 if not given */
    double noise_bandwidth; /* default 0.793 */
    double field_tesla;     /* of the magnet; 0 if not given */
    int field_by_h1;        /* 1: by the resonance frequency of protons */
    int echoes;             /* echo times that are there */
    double echo_ms[LARMOR_MAX_ECHOES];
    int has_readout_start;
    double readout_start_ms;
    int bits_stored; /* of a pixel, as the host wants it; 0 if not given */
    int waveforms;   /* that the header describes and whose id is known */
    larmor_waveform_info waveform[LARMOR_MOST_WAVEFORM_INFOS];
} lmr_mrd_header;

/* By ISMRMRD's numbers of waveforms: 0 ECG, 1 pulse, 2 respiration; OTHER of the rest. */
static inline larmor_waveform_kind lmr_mrd_usual_kind(int id)
{
    static const larmor_waveform_kind usual[] = {LARMOR_WAVEFORM_ECG, LARMOR_WAVEFORM_PULSE,
                                                 LARMOR_WAVEFORM_RESPIRATION};
    return id >= 0 && id < 3 ? usual[id] : LARMOR_WAVEFORM_OTHER;
}

/* Read a header strictly: no DOCTYPE, at most 64 levels, numbers whole, in range and finite; what is not needed is
 * skipped whatever its size. What is left out is no error here. Free *out with lmr_mrd_header_free, also after an
 * error.
 *
 * Errors  LARMOR_ERR_FORMAT `header...: what is wrong`; LARMOR_ERR_MEMORY. */
larmor_status lmr_mrd_header_parse(const char *text, int64_t bytes, lmr_mrd_header *out);
void lmr_mrd_header_free(lmr_mrd_header *header);
