/* The records of ISMRMRD files: as its reference library writes them (packed to 2 bytes), their HDF5 types, and where
 * their members are in a file's elements. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_MRD_TYPES_H
#define LMR_MRD_TYPES_H

#include <hdf5.h>

#include "core/status.h"
#include "io/reader/mrd_head.h"

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

typedef struct lmr_mrd_acquisition { /* an element of "data" */
    lmr_mrd_readout_head head;
    hvl_t traj, data;
} lmr_mrd_acquisition;

/* HDF5 types of these in memory, and of a complex float {real, imag}; negative if HDF5 fails. Close with H5Tclose. */
hid_t lmr_mrd_image_type(void);
hid_t lmr_mrd_acquisition_type(void);
hid_t lmr_mrd_complex_type(void);

/* Three floats of a record, which is aligned to 2 bytes only. */
void lmr_mrd_set_floats(void *to, const double from[3]);
void lmr_mrd_get_floats(double to[3], const void *from);

/* A number of a file, read as a float; NULL for types other than integers of 8 to 64 bits, float and double. */
typedef float (*lmr_mrd_number)(const unsigned char *from);
lmr_mrd_number lmr_mrd_find_number(hid_t type);

/* Where the members of a head are in a file's element of "data". */
enum { LMR_MRD_HEAD_MEMBERS = 21, LMR_MRD_COUNTER_MEMBERS = LMR_COUNTERS + 1 };
typedef struct lmr_mrd_places {
    size_t head[LMR_MRD_HEAD_MEMBERS], counter[LMR_MRD_COUNTER_MEMBERS], traj, data;
} lmr_mrd_places;

/* Find them in an element's compound type, where they may lie in any order and with others, but with exactly
 * ISMRMRD's types. Errors: LARMOR_ERR_FORMAT `acquisitions ...`. */
larmor_status lmr_mrd_find_members(hid_t type, lmr_mrd_places *places);
void lmr_mrd_decode_head(const unsigned char *element, const lmr_mrd_places *places, lmr_mrd_head *head);

/* The same for an element of "header", the header of an image. Errors: LARMOR_ERR_FORMAT `image headers ...`. */
larmor_status lmr_mrd_decode_image(hid_t type, const unsigned char *element, lmr_mrd_image *image);

#endif
