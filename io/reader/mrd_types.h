/* The records of ISMRMRD files: their HDF5 types, and where their members are in a file's elements.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <hdf5.h>

#include "core/status.h"
#include "io/reader/mrd_head.h"
#include "io/reader/mrd_records.h"

typedef struct lmr_mrd_acquisition { /* an element of "data" */
    lmr_mrd_readout_head head;
    hvl_t traj, data;
} lmr_mrd_acquisition;

typedef struct lmr_mrd_waveform { /* an element of "waveforms" */
    lmr_mrd_wave_head head;
    hvl_t data;
} lmr_mrd_waveform;

/* HDF5 types of these in memory, and of a complex float {real, imag}; negative if HDF5 fails. Close with H5Tclose. */
hid_t lmr_mrd_image_type(void);
hid_t lmr_mrd_acquisition_type(void);
hid_t lmr_mrd_waveform_type(void);
hid_t lmr_mrd_complex_type(void);

/* A number of a file, read as a float; NULL for types other than integers of 8 to 64 bits, float and double. */
typedef float (*lmr_mrd_number)(const unsigned char *from);
lmr_mrd_number lmr_mrd_find_number(hid_t type);

/* Where the members of a head are in a file's element of "data". */
enum { LMR_MRD_HEAD_MEMBERS = 21, LMR_MRD_COUNTER_MEMBERS = LMR_COUNTERS + 1, LMR_MRD_USER_MEMBERS = 2 };
typedef struct lmr_mrd_places {
    size_t head[LMR_MRD_HEAD_MEMBERS], counter[LMR_MRD_COUNTER_MEMBERS], user[LMR_MRD_USER_MEMBERS], traj, data;
} lmr_mrd_places;

/* Find them in an element's compound type, where they may lie in any order and with others, but with exactly
 * ISMRMRD's types. Errors: LARMOR_ERR_FORMAT `acquisitions ...`. */
larmor_status lmr_mrd_find_members(hid_t type, lmr_mrd_places *places);
void lmr_mrd_decode_head(const unsigned char *element, const lmr_mrd_places *places, lmr_mrd_head *head);

/* The same for an element of "waveforms". Errors: LARMOR_ERR_FORMAT `waveforms ...`. */
enum { LMR_MRD_WAVE_MEMBERS = 9 };
typedef struct lmr_mrd_wave_places {
    size_t head[LMR_MRD_WAVE_MEMBERS], data;
} lmr_mrd_wave_places;
larmor_status lmr_mrd_find_wave_members(hid_t type, lmr_mrd_wave_places *places);
void lmr_mrd_decode_wave(const unsigned char *element, const lmr_mrd_wave_places *places, lmr_mrd_wave *wave);

/* The same for an element of "header", the header of an image. Errors: LARMOR_ERR_FORMAT `image headers ...`. */
larmor_status lmr_mrd_decode_image(hid_t type, const unsigned char *element, lmr_mrd_image *image);
