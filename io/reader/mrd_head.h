/* The head of an acquisition, as far as it is read, and the limits of a file. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "io/reader/mrd_header.h"

#define LMR_MRD_MAX_CHANNELS 1024
#define LMR_MRD_MAX_ACQUISITIONS (INT64_C(1) << 28)
#define LMR_MRD_USUAL_GROUP "/dataset" /* of the scan, in HDF5 */
#define LMR_MRD_LONGEST_GROUP 250      /* characters of its name */

typedef struct lmr_mrd_head { /* of an acquisition, from the file */
    uint64_t flags;
    uint32_t measurement_uid, time_stamp, physiology_stamp[3];
    int32_t samples; /* of all segments that are joined; the reader leaves it alone */
    uint16_t stored, channels, discard_pre, discard_post, center_sample, encoding, traj_dims;
    uint16_t counter[LMR_COUNTERS];
    uint16_t unwritten; /* 1: the file has a place for it that was never written */
    float dwell_us, position[3], read_dir[3], phase_dir[3], slice_dir[3], table[3];
    uint16_t user[8]; /* what MRD leaves to users, 0 where a file does not have it */
    int32_t user_int[8];
    float user_float[8];
} lmr_mrd_head;

#define LMR_MRD_MAX_WAVEFORMS (1 << 22)

typedef struct lmr_mrd_wave { /* of a block of a waveform, from the file and its header */
    uint32_t time_stamp;
    float sample_us;
    uint16_t id, channels, samples;
    int16_t trigger; /* -1: none */
    int32_t kind;    /* a larmor_waveform_kind */
} lmr_mrd_wave;
