/* The HDF5 types of ISMRMRD's records. SPDX-License-Identifier: Apache-2.0 */
#include "io/mrd_types.h"

#include <stddef.h>

_Static_assert(sizeof(lmr_mrd_image) == 198, "ISMRMRD's image header has 198 bytes");
_Static_assert(sizeof(lmr_mrd_readout_head) == 340, "ISMRMRD's acquisition header has 340 bytes");

typedef enum kind { U16, U32, U64, I32, F32 } kind;

typedef struct member {
    const char *name;
    kind kind;
    int count; /* 0: not an array */
    size_t offset;
} member;

#define ONE(record, name, kind)                                                                                      \
    {                                                                                                                \
#name, kind, 0, offsetof(record, name)                                                                       \
    }
#define MANY(record, name, kind, count)                                                                              \
    {                                                                                                                \
#name, kind, count, offsetof(record, name)                                                                   \
    }
#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static const member image_members[] = {
    ONE(lmr_mrd_image, version, U16),
    ONE(lmr_mrd_image, data_type, U16),
    ONE(lmr_mrd_image, flags, U64),
    ONE(lmr_mrd_image, measurement_uid, U32),
    MANY(lmr_mrd_image, matrix_size, U16, 3),
    MANY(lmr_mrd_image, field_of_view, F32, 3),
    ONE(lmr_mrd_image, channels, U16),
    MANY(lmr_mrd_image, position, F32, 3),
    MANY(lmr_mrd_image, read_dir, F32, 3),
    MANY(lmr_mrd_image, phase_dir, F32, 3),
    MANY(lmr_mrd_image, slice_dir, F32, 3),
    MANY(lmr_mrd_image, patient_table_position, F32, 3),
    ONE(lmr_mrd_image, average, U16),
    ONE(lmr_mrd_image, slice, U16),
    ONE(lmr_mrd_image, contrast, U16),
    ONE(lmr_mrd_image, phase, U16),
    ONE(lmr_mrd_image, repetition, U16),
    ONE(lmr_mrd_image, set, U16),
    ONE(lmr_mrd_image, acquisition_time_stamp, U32),
    MANY(lmr_mrd_image, physiology_time_stamp, U32, 3),
    ONE(lmr_mrd_image, image_type, U16),
    ONE(lmr_mrd_image, image_index, U16),
    ONE(lmr_mrd_image, image_series_index, U16),
    MANY(lmr_mrd_image, user_int, I32, 8),
    MANY(lmr_mrd_image, user_float, F32, 8),
    ONE(lmr_mrd_image, attribute_string_len, U32),
};

static const member counter_members[] = {
    ONE(lmr_mrd_counters, kspace_encode_step_1, U16),
    ONE(lmr_mrd_counters, kspace_encode_step_2, U16),
    ONE(lmr_mrd_counters, average, U16),
    ONE(lmr_mrd_counters, slice, U16),
    ONE(lmr_mrd_counters, contrast, U16),
    ONE(lmr_mrd_counters, phase, U16),
    ONE(lmr_mrd_counters, repetition, U16),
    ONE(lmr_mrd_counters, set, U16),
    ONE(lmr_mrd_counters, segment, U16),
    MANY(lmr_mrd_counters, user, U16, 8),
};

/* The header's members around idx, which is a record of its own. */
static const member readout_members[] = {
    ONE(lmr_mrd_readout_head, version, U16),
    ONE(lmr_mrd_readout_head, flags, U64),
    ONE(lmr_mrd_readout_head, measurement_uid, U32),
    ONE(lmr_mrd_readout_head, scan_counter, U32),
    ONE(lmr_mrd_readout_head, acquisition_time_stamp, U32),
    MANY(lmr_mrd_readout_head, physiology_time_stamp, U32, 3),
    ONE(lmr_mrd_readout_head, number_of_samples, U16),
    ONE(lmr_mrd_readout_head, available_channels, U16),
    ONE(lmr_mrd_readout_head, active_channels, U16),
    MANY(lmr_mrd_readout_head, channel_mask, U64, 16),
    ONE(lmr_mrd_readout_head, discard_pre, U16),
    ONE(lmr_mrd_readout_head, discard_post, U16),
    ONE(lmr_mrd_readout_head, center_sample, U16),
    ONE(lmr_mrd_readout_head, encoding_space_ref, U16),
    ONE(lmr_mrd_readout_head, trajectory_dimensions, U16),
    ONE(lmr_mrd_readout_head, sample_time_us, F32),
    MANY(lmr_mrd_readout_head, position, F32, 3),
    MANY(lmr_mrd_readout_head, read_dir, F32, 3),
    MANY(lmr_mrd_readout_head, phase_dir, F32, 3),
    MANY(lmr_mrd_readout_head, slice_dir, F32, 3),
    MANY(lmr_mrd_readout_head, patient_table_position, F32, 3),
};
static const member readout_user_members[] = {
    MANY(lmr_mrd_readout_head, user_int, I32, 8),
    MANY(lmr_mrd_readout_head, user_float, F32, 8),
};

static hid_t native(kind k)
{
    switch (k) {
    case U16:
        return H5T_NATIVE_UINT16;
    case U32:
        return H5T_NATIVE_UINT32;
    case U64:
        return H5T_NATIVE_UINT64;
    case I32:
        return H5T_NATIVE_INT32;
    default:
        return H5T_NATIVE_FLOAT;
    }
}

static int insert(hid_t record, const member *members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const member *m = &members[i];
        const hsize_t size = (hsize_t)m->count;
        const hid_t type = m->count ? H5Tarray_create2(native(m->kind), 1, &size) : H5Tcopy(native(m->kind));
        const int good = type >= 0 && H5Tinsert(record, m->name, m->offset, type) >= 0;
        if (type >= 0) H5Tclose(type);
        if (!good) return 0;
    }
    return 1;
}

/* The record, or -1 after closing it. */
static hid_t if_good(hid_t record, int good)
{
    if (good || record < 0) return record;
    H5Tclose(record);
    return -1;
}

static int insert_own(hid_t record, const char *name, size_t offset, hid_t type)
{
    const int good = type >= 0 && H5Tinsert(record, name, offset, type) >= 0;
    if (type >= 0) H5Tclose(type);
    return good;
}

hid_t lmr_mrd_image_type(void)
{
    const hid_t record = H5Tcreate(H5T_COMPOUND, sizeof(lmr_mrd_image));
    return if_good(record, record >= 0 && insert(record, image_members, COUNT(image_members)));
}

static hid_t counters_type(void)
{
    const hid_t record = H5Tcreate(H5T_COMPOUND, sizeof(lmr_mrd_counters));
    return if_good(record, record >= 0 && insert(record, counter_members, COUNT(counter_members)));
}

static hid_t readout_head_type(void)
{
    const hid_t record = H5Tcreate(H5T_COMPOUND, sizeof(lmr_mrd_readout_head));
    return if_good(record, record >= 0 && insert(record, readout_members, COUNT(readout_members)) &&
                               insert_own(record, "idx", offsetof(lmr_mrd_readout_head, idx), counters_type()) &&
                               insert(record, readout_user_members, COUNT(readout_user_members)));
}

hid_t lmr_mrd_acquisition_type(void)
{
    const hid_t record = H5Tcreate(H5T_COMPOUND, sizeof(lmr_mrd_acquisition));
    return if_good(
        record,
        record >= 0 && insert_own(record, "head", offsetof(lmr_mrd_acquisition, head), readout_head_type()) &&
            insert_own(record, "traj", offsetof(lmr_mrd_acquisition, traj), H5Tvlen_create(H5T_NATIVE_FLOAT)) &&
            insert_own(record, "data", offsetof(lmr_mrd_acquisition, data), H5Tvlen_create(H5T_NATIVE_FLOAT)));
}

hid_t lmr_mrd_complex_type(void)
{
    const hid_t record = H5Tcreate(H5T_COMPOUND, 2 * sizeof(float));
    return if_good(record, record >= 0 && H5Tinsert(record, "real", 0, H5T_NATIVE_FLOAT) >= 0 &&
                               H5Tinsert(record, "imag", sizeof(float), H5T_NATIVE_FLOAT) >= 0);
}
