/* The records of ISMRMRD files: their HDF5 types, and where a file has their members. SPDX-License-Identifier:
 * Apache-2.0 */
#include "io/reader/mrd_types.h"

#include <stddef.h>
#include <string.h>

#include "io/reader/h5.h"
#include "io/reader/h5_heap.h"

_Static_assert(sizeof(lmr_mrd_image) == 198, "ISMRMRD's image header has 198 bytes");
_Static_assert(sizeof(lmr_mrd_readout_head) == 340, "ISMRMRD's acquisition header has 340 bytes");
_Static_assert(sizeof(lmr_mrd_wave_head) == 40, "ISMRMRD's waveform header has 40 bytes");

typedef enum kind { U16, U32, U64, I32, F32 } kind;

typedef struct member {
    const char *name;
    kind kind;
    int count; /* 0: not an array */
    size_t offset;
    size_t to; /* in lmr_mrd_head or lmr_mrd_image, or UNREAD */
} member;

#define UNREAD SIZE_MAX
#define MEMBER(record, name, kind, count, to)                                                                        \
    {                                                                                                                \
#name, kind, count, offsetof(record, name), to                                                               \
    }
#define ONE(record, name, kind) MEMBER(record, name, kind, 0, UNREAD)
#define MANY(record, name, kind, count) MEMBER(record, name, kind, count, UNREAD)
#define READ(name, kind, count, field) MEMBER(lmr_mrd_readout_head, name, kind, count, offsetof(lmr_mrd_head, field))
#define IMAGE(name, kind, count) MEMBER(lmr_mrd_image, name, kind, count, offsetof(lmr_mrd_image, name))
#define COUNTER(name, i) MEMBER(lmr_mrd_counters, name, U16, 0, offsetof(lmr_mrd_head, counter[i]))
#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static const member image_members[] = {
    IMAGE(version, U16, 0),
    IMAGE(data_type, U16, 0),
    IMAGE(flags, U64, 0),
    IMAGE(measurement_uid, U32, 0),
    IMAGE(matrix_size, U16, 3),
    IMAGE(field_of_view, F32, 3),
    IMAGE(channels, U16, 0),
    IMAGE(position, F32, 3),
    IMAGE(read_dir, F32, 3),
    IMAGE(phase_dir, F32, 3),
    IMAGE(slice_dir, F32, 3),
    IMAGE(patient_table_position, F32, 3),
    IMAGE(average, U16, 0),
    IMAGE(slice, U16, 0),
    IMAGE(contrast, U16, 0),
    IMAGE(phase, U16, 0),
    IMAGE(repetition, U16, 0),
    IMAGE(set, U16, 0),
    IMAGE(acquisition_time_stamp, U32, 0),
    IMAGE(physiology_time_stamp, U32, 3),
    IMAGE(image_type, U16, 0),
    IMAGE(image_index, U16, 0),
    IMAGE(image_series_index, U16, 0),
    IMAGE(user_int, I32, 8),
    IMAGE(user_float, F32, 8),
    IMAGE(attribute_string_len, U32, 0),
};

static const member counter_members[] = {
    COUNTER(kspace_encode_step_1, LMR_STEP1),
    COUNTER(kspace_encode_step_2, LMR_STEP2),
    COUNTER(average, LMR_AVERAGE),
    COUNTER(slice, LMR_SLICE),
    COUNTER(contrast, LMR_CONTRAST),
    COUNTER(phase, LMR_PHASE),
    COUNTER(repetition, LMR_REPETITION),
    COUNTER(set, LMR_SET),
    COUNTER(segment, LMR_SEGMENT),
    MEMBER(lmr_mrd_counters, user, U16, 8, offsetof(lmr_mrd_head, user)),
};

/* The header's members around idx, which is a record of its own. */
static const member readout_members[] = {
    ONE(lmr_mrd_readout_head, version, U16),
    READ(flags, U64, 0, flags),
    READ(measurement_uid, U32, 0, measurement_uid),
    ONE(lmr_mrd_readout_head, scan_counter, U32),
    READ(acquisition_time_stamp, U32, 0, time_stamp),
    READ(physiology_time_stamp, U32, 3, physiology_stamp),
    READ(number_of_samples, U16, 0, stored),
    ONE(lmr_mrd_readout_head, available_channels, U16),
    READ(active_channels, U16, 0, channels),
    MANY(lmr_mrd_readout_head, channel_mask, U64, 16),
    READ(discard_pre, U16, 0, discard_pre),
    READ(discard_post, U16, 0, discard_post),
    READ(center_sample, U16, 0, center_sample),
    READ(encoding_space_ref, U16, 0, encoding),
    READ(trajectory_dimensions, U16, 0, traj_dims),
    READ(sample_time_us, F32, 0, dwell_us),
    READ(position, F32, 3, position),
    READ(read_dir, F32, 3, read_dir),
    READ(phase_dir, F32, 3, phase_dir),
    READ(slice_dir, F32, 3, slice_dir),
    READ(patient_table_position, F32, 3, table),
};
static const member readout_user_members[] = {
    READ(user_int, I32, 8, user_int),
    READ(user_float, F32, 8, user_float),
};

#define WAVE(name, kind, field) MEMBER(lmr_mrd_wave_head, name, kind, 0, offsetof(lmr_mrd_wave, field))
static const member wave_members[] = {
    ONE(lmr_mrd_wave_head, version, U16),
    ONE(lmr_mrd_wave_head, flags, U64),
    ONE(lmr_mrd_wave_head, measurement_uid, U32),
    ONE(lmr_mrd_wave_head, scan_counter, U32),
    WAVE(time_stamp, U32, time_stamp),
    WAVE(number_of_samples, U16, samples),
    WAVE(channels, U16, channels),
    WAVE(sample_time_us, F32, sample_us),
    WAVE(waveform_id, U16, id),
};

_Static_assert(COUNT(wave_members) == LMR_MRD_WAVE_MEMBERS, "all have a place");
_Static_assert(COUNT(readout_members) == LMR_MRD_HEAD_MEMBERS, "all have a place");
_Static_assert(COUNT(counter_members) == LMR_MRD_COUNTER_MEMBERS, "all have a place");
_Static_assert(COUNT(readout_user_members) == LMR_MRD_USER_MEMBERS, "all have a place");

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
        lmr_h5_close(type);
        if (!good) return 0;
    }
    return 1;
}

/* The record, or -1 after closing it. */
static hid_t if_good(hid_t record, int good)
{
    if (good) return record;
    lmr_h5_close(record);
    return -1;
}

static int insert_own(hid_t record, const char *name, size_t offset, hid_t type)
{
    const int good = type >= 0 && H5Tinsert(record, name, offset, type) >= 0;
    lmr_h5_close(type);
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

static hid_t wave_head_type(void)
{
    const hid_t record = H5Tcreate(H5T_COMPOUND, sizeof(lmr_mrd_wave_head));
    return if_good(record, record >= 0 && insert(record, wave_members, COUNT(wave_members)));
}

hid_t lmr_mrd_waveform_type(void)
{
    const hid_t record = H5Tcreate(H5T_COMPOUND, sizeof(lmr_mrd_waveform));
    return if_good(
        record, record >= 0 && insert_own(record, "head", offsetof(lmr_mrd_waveform, head), wave_head_type()) &&
                    insert_own(record, "data", offsetof(lmr_mrd_waveform, data), H5Tvlen_create(H5T_NATIVE_UINT32)));
}

hid_t lmr_mrd_complex_type(void)
{
    const hid_t record = H5Tcreate(H5T_COMPOUND, 2 * sizeof(float));
    return if_good(record, record >= 0 && H5Tinsert(record, "real", 0, H5T_NATIVE_FLOAT) >= 0 &&
                               H5Tinsert(record, "imag", sizeof(float), H5T_NATIVE_FLOAT) >= 0);
}

/* ---- in files ---- */

static size_t size_of(kind k)
{
    static const size_t sizes[] = {[U16] = 2, [U32] = 4, [U64] = 8, [I32] = 4, [F32] = 4};
    return sizes[k];
}

static const char *name_of(kind k)
{
    if (k == F32) return "float";
    return k == I32 ? "signed" : "unsigned";
}

static size_t bytes_of(const member *m)
{
    return size_of(m->kind) * (size_t)(m->count ? m->count : 1);
}

/* The places of all members that are read in an element that has the record at `start`; UNREAD for those of the user
 * that are missing. what: the elements are. */
static larmor_status find(hid_t record, const char *what, const char *prefix, size_t start, const member *members,
                          size_t count, size_t *places)
{
    for (size_t k = 0; k < count; k++) {
        const member *m = &members[k];
        if (m->to == UNREAD) continue;
        const int i = H5Tget_member_index(record, m->name);
        if (i < 0 && !strncmp(m->name, "user", 4)) {
            places[k] = UNREAD;
            continue;
        }
        LMR_REFUSE(i < 0, LARMOR_ERR_FORMAT, "%s lack member \"%s%s\".", what, prefix, m->name);
        const hid_t type = H5Tget_member_type(record, (unsigned)i);
        const hid_t base = m->count && type > 0 && H5Tget_class(type) == H5T_ARRAY ? H5Tget_super(type) : -1;
        const int fits =
            type > 0 && H5Tequal(base > 0 ? base : type, native(m->kind)) > 0 && H5Tget_size(type) == bytes_of(m);
        lmr_h5_close(base);
        lmr_h5_close(type);
        const size_t at = H5Tget_member_offset(record, (unsigned)i);
        LMR_REFUSE(!fits || at + bytes_of(m) > H5Tget_size(record), LARMOR_ERR_FORMAT,
                   "%s: member \"%s%s\" is not %s of %zu bits (little-endian).", what, prefix, m->name,
                   name_of(m->kind), 8 * size_of(m->kind));
        places[k] = start + at;
    }
    return LARMOR_OK;
}

static larmor_status find_list(hid_t record, const char *what, const char *name, kind k, size_t *at)
{
    const int i = H5Tget_member_index(record, name);
    LMR_REFUSE(i < 0, LARMOR_ERR_FORMAT, "%s lack member \"%s\".", what, name);
    const hid_t type = H5Tget_member_type(record, (unsigned)i);
    const hid_t base = type > 0 && H5Tget_class(type) == H5T_VLEN ? H5Tget_super(type) : -1;
    const int fits = base > 0 && H5Tequal(base, native(k)) > 0;
    lmr_h5_close(base);
    lmr_h5_close(type);
    *at = H5Tget_member_offset(record, (unsigned)i);
    LMR_REFUSE(!fits || *at + LMR_HEAP_REF_BYTES > H5Tget_size(record), LARMOR_ERR_FORMAT,
               "%s: member \"%s\" is not a list of %s (little-endian).", what, name,
               k == F32 ? "floats" : "unsigned numbers of 32 bits");
    return LARMOR_OK;
}

/* The type of a member that is a record itself, to be closed, or -1. */
static hid_t find_record(hid_t record, const char *name, size_t *at)
{
    const int i = H5Tget_member_index(record, name);
    const hid_t type = i < 0 ? -1 : H5Tget_member_type(record, (unsigned)i);
    *at = i < 0 ? 0 : H5Tget_member_offset(record, (unsigned)i);
    return if_good(type,
                   type > 0 && H5Tget_class(type) == H5T_COMPOUND && *at + H5Tget_size(type) <= H5Tget_size(record));
}

/* Members that share bytes: an offset in the file is damaged, and what is read there is something else. */
static larmor_status check_apart(hid_t record, const char *what)
{
    enum { MOST_MEMBERS = 128 };
    size_t first[MOST_MEMBERS], end[MOST_MEMBERS];
    const int n = H5Tget_nmembers(record);
    LMR_REFUSE(n > MOST_MEMBERS, LARMOR_ERR_FORMAT, "%s have %d members, limit %d.", what, n, MOST_MEMBERS);
    for (int i = 0; i < n; i++) {
        const hid_t type = H5Tget_member_type(record, (unsigned)i);
        first[i] = H5Tget_member_offset(record, (unsigned)i);
        end[i] = first[i] + (type > 0 ? H5Tget_size(type) : 0);
        lmr_h5_close(type);
        for (int k = 0; k < i; k++)
            LMR_REFUSE(first[i] < end[k] && first[k] < end[i], LARMOR_ERR_FORMAT,
                       "damaged HDF5 structure (type of %s). Copy it again.", what);
    }
    return LARMOR_OK;
}

larmor_status lmr_mrd_find_members(hid_t type, lmr_mrd_places *places)
{
    size_t at, inside = 0;
    LMR_TRY(find_list(type, "acquisitions", "traj", F32, &places->traj));
    LMR_TRY(find_list(type, "acquisitions", "data", F32, &places->data));
    const hid_t head = find_record(type, "head", &at);
    LMR_REFUSE(head < 0, LARMOR_ERR_FORMAT, "acquisitions lack member \"head\".");
    const hid_t idx = find_record(head, "idx", &inside);
    larmor_status st = find(head, "acquisitions", "head.", at, readout_members, COUNT(readout_members), places->head);
    if (!st)
        st = find(head, "acquisitions", "head.", at, readout_user_members, COUNT(readout_user_members), places->user);
    if (!st) st = check_apart(type, "acquisitions");
    if (!st) st = check_apart(head, "acquisitions");
    if (!st && idx >= 0) st = check_apart(idx, "acquisitions");
    if (!st && idx < 0) st = LMR_FAIL(LARMOR_ERR_FORMAT, "acquisitions lack member \"head.idx\".");
    if (!st)
        st = find(idx, "acquisitions", "head.idx.", at + inside, counter_members, COUNT(counter_members),
                  places->counter);
    lmr_h5_close(idx);
    lmr_h5_close(head);
    return st;
}

static void decode(const unsigned char *element, const size_t *places, const member *members, size_t count,
                   void *record)
{
    for (size_t k = 0; k < count; k++)
        if (members[k].to != UNREAD && places[k] != UNREAD)
            memcpy((unsigned char *)record + members[k].to, element + places[k], bytes_of(&members[k]));
}

void lmr_mrd_decode_head(const unsigned char *element, const lmr_mrd_places *places, lmr_mrd_head *head)
{
    decode(element, places->head, readout_members, COUNT(readout_members), head);
    decode(element, places->counter, counter_members, COUNT(counter_members), head);
    decode(element, places->user, readout_user_members, COUNT(readout_user_members), head);
}

larmor_status lmr_mrd_find_wave_members(hid_t type, lmr_mrd_wave_places *places)
{
    size_t at;
    LMR_TRY(find_list(type, "waveforms", "data", U32, &places->data));
    const hid_t head = find_record(type, "head", &at);
    LMR_REFUSE(head < 0, LARMOR_ERR_FORMAT, "waveforms lack member \"head\".");
    larmor_status st = find(head, "waveforms", "head.", at, wave_members, COUNT(wave_members), places->head);
    if (!st) st = check_apart(type, "waveforms");
    if (!st) st = check_apart(head, "waveforms");
    lmr_h5_close(head);
    return st;
}

void lmr_mrd_decode_wave(const unsigned char *element, const lmr_mrd_wave_places *places, lmr_mrd_wave *wave)
{
    decode(element, places->head, wave_members, COUNT(wave_members), wave);
}

larmor_status lmr_mrd_decode_image(hid_t type, const unsigned char *element, lmr_mrd_image *image)
{
    size_t places[COUNT(image_members)];
    LMR_TRY(find(type, "image headers", "", 0, image_members, COUNT(image_members), places));
    LMR_TRY(check_apart(type, "image headers"));
    decode(element, places, image_members, COUNT(image_members), image);
    return LARMOR_OK;
}

/* ---- numbers ---- */

#define FROM(type)                                                                                                   \
    static float from_##type(const unsigned char *from)                                                              \
    {                                                                                                                \
        type value;                                                                                                  \
        memcpy(&value, from, sizeof value);                                                                          \
        return (float)value;                                                                                         \
    }
FROM(float)
FROM(double)
FROM(int8_t)
FROM(int16_t)
FROM(int32_t)
FROM(int64_t)
FROM(uint8_t)
FROM(uint16_t)
FROM(uint32_t)
FROM(uint64_t)

lmr_mrd_number lmr_mrd_find_number(hid_t type)
{
    const struct {
        hid_t type;
        lmr_mrd_number number;
    } known[] = {
        {H5T_NATIVE_FLOAT, from_float},     {H5T_NATIVE_DOUBLE, from_double},   {H5T_NATIVE_INT8, from_int8_t},
        {H5T_NATIVE_INT16, from_int16_t},   {H5T_NATIVE_INT32, from_int32_t},   {H5T_NATIVE_INT64, from_int64_t},
        {H5T_NATIVE_UINT8, from_uint8_t},   {H5T_NATIVE_UINT16, from_uint16_t}, {H5T_NATIVE_UINT32, from_uint32_t},
        {H5T_NATIVE_UINT64, from_uint64_t},
    };
    for (size_t i = 0; i < COUNT(known); i++)
        if (H5Tequal(type, known[i].type) > 0) return known[i].number;
    return NULL;
}
