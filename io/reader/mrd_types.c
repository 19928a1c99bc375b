/* The records of ISMRMRD files: their HDF5 types, and where a file has their members. SPDX-License-Identifier:
 * Apache-2.0 */
#include "io/reader/mrd_types.h"

#include <stddef.h>
#include <string.h>

#include "io/reader/h5.h"
#include "io/reader/h5_heap.h"
#include "io/reader/numbers.h"

_Static_assert(sizeof(lmr_mrd_image) == 198, "ISMRMRD's image header has 198 bytes");
_Static_assert(sizeof(lmr_mrd_readout_head) == 340, "ISMRMRD's acquisition header has 340 bytes");
_Static_assert(sizeof(lmr_mrd_wave_head) == 40, "ISMRMRD's waveform header has 40 bytes");

typedef enum kind { U16, U32, U64, I32, F32 } kind;

typedef struct member {
    const char *name;
    kind kind;
    int is_array;
    size_t bytes, offset; /* in the record */
    size_t to;            /* in lmr_mrd_head or lmr_mrd_image, or UNREAD */
} member;

/* A member's kind is that of its C type, which arrays have as pointers. */
#define KIND(x)                                                                                                      \
    _Generic((x),                                                                                                    \
             uint16_t: U16, uint16_t *: U16,                                                                         \
             uint32_t: U32, uint32_t *: U32,                                                                         \
             uint64_t: U64, uint64_t *: U64,                                                                         \
             int32_t: I32, int32_t *: I32,                                                                           \
             float: F32, float *: F32)
#define IS_ARRAY(x)                                                                                                  \
    _Generic((x), uint16_t * : 1, uint32_t * : 1, uint64_t * : 1, int32_t * : 1, float * : 1, default : 0)
#define UNREAD SIZE_MAX
#define MEMBER(record, name, to)                                                                                     \
    {                                                                                                                \
#name, KIND(((record *)0)->name), IS_ARRAY(((record *)0)->name), sizeof((record *)0)->name,                  \
            offsetof(record, name), to                                                                               \
    }
#define IMAGE(name) MEMBER(lmr_mrd_image, name, offsetof(lmr_mrd_image, name))
#define COUNTER(name, i) MEMBER(lmr_mrd_counters, name, offsetof(lmr_mrd_head, counter[i]))
#define READ(name, field) MEMBER(lmr_mrd_readout_head, name, offsetof(lmr_mrd_head, field))
#define PASSED(name) MEMBER(lmr_mrd_readout_head, name, UNREAD)
#define WAVE(name, field) MEMBER(lmr_mrd_wave_head, name, offsetof(lmr_mrd_wave, field))
#define PASSED_WAVE(name) MEMBER(lmr_mrd_wave_head, name, UNREAD)
#define COUNT(table) (sizeof(table) / sizeof(table)[0])
#define TABLE(table) table, COUNT(table)

#define IMAGE_MEMBERS                                                                                                \
    IMAGE(version), IMAGE(data_type), IMAGE(flags), IMAGE(measurement_uid), IMAGE(matrix_size),                      \
        IMAGE(field_of_view), IMAGE(channels), IMAGE(position), IMAGE(read_dir), IMAGE(phase_dir), IMAGE(slice_dir), \
        IMAGE(patient_table_position), IMAGE(average), IMAGE(slice), IMAGE(contrast), IMAGE(phase),                  \
        IMAGE(repetition), IMAGE(set), IMAGE(acquisition_time_stamp), IMAGE(physiology_time_stamp),                  \
        IMAGE(image_type), IMAGE(image_index), IMAGE(image_series_index), IMAGE(user_int), IMAGE(user_float),        \
        IMAGE(attribute_string_len)
static const member image_members[] = {IMAGE_MEMBERS};

#define COUNTER_MEMBERS                                                                                              \
    COUNTER(kspace_encode_step_1, LMR_STEP1), COUNTER(kspace_encode_step_2, LMR_STEP2),                              \
        COUNTER(average, LMR_AVERAGE), COUNTER(slice, LMR_SLICE), COUNTER(contrast, LMR_CONTRAST),                   \
        COUNTER(phase, LMR_PHASE), COUNTER(repetition, LMR_REPETITION), COUNTER(set, LMR_SET),                       \
        COUNTER(segment, LMR_SEGMENT), MEMBER(lmr_mrd_counters, user, offsetof(lmr_mrd_head, user))
static const member counter_members[] = {COUNTER_MEMBERS};

/* The header's members around idx, which is a record of its own. */
#define READOUT_MEMBERS                                                                                              \
    PASSED(version), READ(flags, flags), READ(measurement_uid, measurement_uid), PASSED(scan_counter),               \
        READ(acquisition_time_stamp, time_stamp), READ(physiology_time_stamp, physiology_stamp),                     \
        READ(number_of_samples, stored), PASSED(available_channels), READ(active_channels, channels),                \
        PASSED(channel_mask), READ(discard_pre, discard_pre), READ(discard_post, discard_post),                      \
        READ(center_sample, center_sample), READ(encoding_space_ref, encoding),                                      \
        READ(trajectory_dimensions, traj_dims), READ(sample_time_us, dwell_us), READ(position, position),            \
        READ(read_dir, read_dir), READ(phase_dir, phase_dir), READ(slice_dir, slice_dir),                            \
        READ(patient_table_position, table)
static const member readout_members[] = {READOUT_MEMBERS};
static const member readout_user_members[] = {READ(user_int, user_int), READ(user_float, user_float)};

static const member wave_members[] = {PASSED_WAVE(version),         PASSED_WAVE(flags),
                                      PASSED_WAVE(measurement_uid), PASSED_WAVE(scan_counter),
                                      WAVE(time_stamp, time_stamp), WAVE(number_of_samples, samples),
                                      WAVE(channels, channels),     WAVE(sample_time_us, sample_us),
                                      WAVE(waveform_id, id)};

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

static size_t size_of(kind k)
{
    static const size_t sizes[] = {[U16] = 2, [U32] = 4, [U64] = 8, [I32] = 4, [F32] = 4};
    return sizes[k];
}

static int insert(hid_t record, const member *members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const member *m = &members[i];
        const hsize_t size = m->bytes / size_of(m->kind);
        LMR_HID type = m->is_array ? H5Tarray_create2(native(m->kind), 1, &size) : H5Tcopy(native(m->kind));
        if (type < 0 || H5Tinsert(record, m->name, m->offset, type) < 0) return 0;
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

/* The type, which is closed, as a member. */
static int insert_own(hid_t record, const char *name, size_t offset, hid_t type)
{
    LMR_HID own = type;
    return own >= 0 && H5Tinsert(record, name, offset, own) >= 0;
}

static hid_t record_type(size_t bytes, const member *members, size_t count)
{
    const hid_t record = H5Tcreate(H5T_COMPOUND, bytes);
    return if_good(record, record >= 0 && insert(record, members, count));
}

hid_t lmr_mrd_image_type(void)
{
    return record_type(sizeof(lmr_mrd_image), TABLE(image_members));
}

static hid_t readout_head_type(void)
{
    const hid_t record = record_type(sizeof(lmr_mrd_readout_head), TABLE(readout_members));
    return if_good(record, record >= 0 &&
                               insert_own(record, "idx", offsetof(lmr_mrd_readout_head, idx),
                                          record_type(sizeof(lmr_mrd_counters), TABLE(counter_members))) &&
                               insert(record, TABLE(readout_user_members)));
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

hid_t lmr_mrd_waveform_type(void)
{
    const hid_t record = H5Tcreate(H5T_COMPOUND, sizeof(lmr_mrd_waveform));
    return if_good(
        record, record >= 0 &&
                    insert_own(record, "head", offsetof(lmr_mrd_waveform, head),
                               record_type(sizeof(lmr_mrd_wave_head), TABLE(wave_members))) &&
                    insert_own(record, "data", offsetof(lmr_mrd_waveform, data), H5Tvlen_create(H5T_NATIVE_UINT32)));
}

hid_t lmr_mrd_complex_type(void)
{
    const hid_t record = H5Tcreate(H5T_COMPOUND, 2 * sizeof(float));
    return if_good(record, record >= 0 && H5Tinsert(record, "real", 0, H5T_NATIVE_FLOAT) >= 0 &&
                               H5Tinsert(record, "imag", sizeof(float), H5T_NATIVE_FLOAT) >= 0);
}

/* ---- in files ---- */

static const char *name_of(kind k)
{
    if (k == F32) return "float";
    return k == I32 ? "signed" : "unsigned";
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
        LMR_HID type = H5Tget_member_type(record, (unsigned)i);
        LMR_HID base = m->is_array && type > 0 && H5Tget_class(type) == H5T_ARRAY ? H5Tget_super(type) : -1;
        const int fits =
            type > 0 && H5Tequal(base > 0 ? base : type, native(m->kind)) > 0 && H5Tget_size(type) == m->bytes;
        const size_t at = H5Tget_member_offset(record, (unsigned)i);
        LMR_REFUSE(!fits || at + m->bytes > H5Tget_size(record), LARMOR_ERR_FORMAT,
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
    LMR_HID type = H5Tget_member_type(record, (unsigned)i);
    LMR_HID base = type > 0 && H5Tget_class(type) == H5T_VLEN ? H5Tget_super(type) : -1;
    const int fits = base > 0 && H5Tequal(base, native(k)) > 0;
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
        LMR_HID type = H5Tget_member_type(record, (unsigned)i);
        first[i] = H5Tget_member_offset(record, (unsigned)i);
        end[i] = first[i] + (type > 0 ? H5Tget_size(type) : 0);
        for (int k = 0; k < i; k++)
            LMR_REFUSE(first[i] < end[k] && first[k] < end[i], LARMOR_ERR_FORMAT,
                       "damaged HDF5 structure (type of %s). Copy it again.", what);
    }
    return LARMOR_OK;
}

larmor_status lmr_mrd_find_members(hid_t type, lmr_mrd_places *places)
{
    static const char what[] = "acquisitions";
    size_t at, inside = 0;
    LMR_TRY(find_list(type, what, "traj", F32, &places->traj));
    LMR_TRY(find_list(type, what, "data", F32, &places->data));
    LMR_HID head = find_record(type, "head", &at);
    LMR_REFUSE(head < 0, LARMOR_ERR_FORMAT, "acquisitions lack member \"head\".");
    LMR_HID idx = find_record(head, "idx", &inside);
    LMR_TRY(find(head, what, "head.", at, TABLE(readout_members), places->head));
    LMR_TRY(find(head, what, "head.", at, TABLE(readout_user_members), places->user));
    LMR_TRY(check_apart(type, what));
    LMR_TRY(check_apart(head, what));
    LMR_REFUSE(idx < 0, LARMOR_ERR_FORMAT, "acquisitions lack member \"head.idx\".");
    LMR_TRY(check_apart(idx, what));
    return find(idx, what, "head.idx.", at + inside, TABLE(counter_members), places->counter);
}

static void decode(const unsigned char *element, const size_t *places, const member *members, size_t count,
                   void *record)
{
    for (size_t k = 0; k < count; k++)
        if (members[k].to != UNREAD && places[k] != UNREAD)
            memcpy((unsigned char *)record + members[k].to, element + places[k], members[k].bytes);
}

void lmr_mrd_decode_head(const unsigned char *element, const lmr_mrd_places *places, lmr_mrd_head *head)
{
    decode(element, places->head, TABLE(readout_members), head);
    decode(element, places->counter, TABLE(counter_members), head);
    decode(element, places->user, TABLE(readout_user_members), head);
}

larmor_status lmr_mrd_find_wave_members(hid_t type, lmr_mrd_wave_places *places)
{
    size_t at;
    LMR_TRY(find_list(type, "waveforms", "data", U32, &places->data));
    LMR_HID head = find_record(type, "head", &at);
    LMR_REFUSE(head < 0, LARMOR_ERR_FORMAT, "waveforms lack member \"head\".");
    LMR_TRY(find(head, "waveforms", "head.", at, TABLE(wave_members), places->head));
    LMR_TRY(check_apart(type, "waveforms"));
    return check_apart(head, "waveforms");
}

void lmr_mrd_decode_wave(const unsigned char *element, const lmr_mrd_wave_places *places, lmr_mrd_wave *wave)
{
    decode(element, places->head, TABLE(wave_members), wave);
}

larmor_status lmr_mrd_decode_image(hid_t type, const unsigned char *element, lmr_mrd_image *image)
{
    size_t places[COUNT(image_members)];
    LMR_TRY(find(type, "image headers", "", 0, TABLE(image_members), places));
    LMR_TRY(check_apart(type, "image headers"));
    decode(element, places, TABLE(image_members), image);
    return LARMOR_OK;
}

/* ---- numbers ---- */

LMR_NUMBERS(float)
LMR_NUMBER(float, int64_t)
LMR_NUMBER(float, uint64_t)

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
