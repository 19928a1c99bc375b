/* The records of ISMRMRD files, as its reference library writes them: packed to 2 bytes. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "io/reader/mrd_head.h"
#include "larmor/io.h"

#define LMR_MRD_SERIES "/dataset/image_0" /* where images are by convention */
#define LMR_MRD_RANK 5                    /* of their data: {images, channels, z, y, x} */

enum { LMR_MRD_VERSION = 1, LMR_MRD_MAX_COUNTER = 65535 };
enum { LMR_MRD_FLOAT = 5, LMR_MRD_COMPLEX_FLOAT = 7 };                 /* data_type */
enum { LMR_MRD_MAGNITUDE = 1, LMR_MRD_REAL = 3, LMR_MRD_COMPLEX = 5 }; /* image_type */

#pragma pack(push, 2)
typedef struct lmr_mrd_image { /* "header" of an image: 198 bytes */
    uint16_t version, data_type;
    uint64_t flags;
    uint32_t measurement_uid;
    uint16_t matrix_size[3];
    float field_of_view[3];
    uint16_t channels;
    float position[3], read_dir[3], phase_dir[3], slice_dir[3], patient_table_position[3];
    uint16_t average, slice, contrast, phase, repetition, set;
    uint32_t acquisition_time_stamp, physiology_time_stamp[3];
    uint16_t image_type, image_index, image_series_index;
    int32_t user_int[8];
    float user_float[8];
    uint32_t attribute_string_len;
} lmr_mrd_image;

typedef struct lmr_mrd_counters {
    uint16_t kspace_encode_step_1, kspace_encode_step_2, average, slice, contrast, phase, repetition, set, segment;
    uint16_t user[8];
} lmr_mrd_counters;

typedef struct lmr_mrd_readout_head { /* "head" of an acquisition: 340 bytes */
    uint16_t version;
    uint64_t flags;
    uint32_t measurement_uid, scan_counter, acquisition_time_stamp, physiology_time_stamp[3];
    uint16_t number_of_samples, available_channels, active_channels;
    uint64_t channel_mask[16];
    uint16_t discard_pre, discard_post, center_sample, encoding_space_ref, trajectory_dimensions;
    float sample_time_us;
    float position[3], read_dir[3], phase_dir[3], slice_dir[3], patient_table_position[3];
    lmr_mrd_counters idx;
    int32_t user_int[8];
    float user_float[8];
} lmr_mrd_readout_head;
#pragma pack(pop)

typedef struct lmr_mrd_wave_head { /* "head" of a waveform: 40 bytes, aligned as C has it */
    uint16_t version;
    uint64_t flags;
    uint32_t measurement_uid, scan_counter, time_stamp;
    uint16_t number_of_samples, channels;
    float sample_time_us;
    uint16_t waveform_id;
} lmr_mrd_wave_head;

/* Three floats of a record, which is aligned to 2 bytes only. */
static inline void lmr_mrd_set_floats(void *to, const double from[3])
{
    const float f[3] = {(float)from[0], (float)from[1], (float)from[2]};
    memcpy(to, f, sizeof f);
}

static inline void lmr_mrd_get_floats(double to[3], const void *from)
{
    float f[3];
    memcpy(f, from, sizeof f);
    for (int k = 0; k < 3; k++) to[k] = (double)f[k];
}

/* All numbers but user's. */
lmr_mrd_readout_head lmr_mrd_head_of(const larmor_acquisition *a, uint32_t counter);

/* Of one channel, without its types, index and series. */
lmr_mrd_image lmr_mrd_image_of(const larmor_image_meta *m, const int64_t dim[3], size_t attributes);
larmor_image_meta lmr_mrd_meta_of(const lmr_mrd_image *h);

/* The kind and the trigger channel of a block, by what a header says of [count] waveforms, else by the number. */
void lmr_mrd_wave_name(const larmor_waveform_info *known, int count, lmr_mrd_wave *wave);
