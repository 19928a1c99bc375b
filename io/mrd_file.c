/* An ISMRMRD file as it lies on disk: HDF5's structure, the type of an acquisition, the heads.
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/mrd_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/h5_dataset.h"

struct lmr_mrd_file {
    int fd;
    int64_t bytes;
    hid_t id;
    char group[256];
    lmr_dataset xml, data;
    lmr_heap_ref xml_ref;
    int64_t xml_bytes;
    size_t data_at, traj_at; /* offsets in an element */
    H5E_auto2_t print;       /* the thread's error printing, to be restored */
    void *print_data;
};

/* Members of an acquisition's head: where they go, what they must be. */
typedef struct member {
    const char *name;
    size_t to;
    char kind; /* 'u' unsigned, 'f' float */
    unsigned char bytes, count;
} member;

#define HEAD(file_name, field, kind, bytes, count)                                                                   \
    {                                                                                                                \
        file_name, offsetof(lmr_mrd_head, field), kind, bytes, count                                                 \
    }
#define IDX(file_name, i)                                                                                            \
    {                                                                                                                \
        file_name, offsetof(lmr_mrd_head, counter) + (i) * sizeof(uint16_t), 'u', 2, 1                               \
    }
static const member head_members[] = {
    HEAD("flags", flags, 'u', 8, 1),
    HEAD("measurement_uid", measurement_uid, 'u', 4, 1),
    HEAD("acquisition_time_stamp", time_stamp, 'u', 4, 1),
    HEAD("physiology_time_stamp", physiology_stamp, 'u', 4, 3),
    HEAD("number_of_samples", samples, 'u', 2, 1),
    HEAD("active_channels", channels, 'u', 2, 1),
    HEAD("discard_pre", discard_pre, 'u', 2, 1),
    HEAD("discard_post", discard_post, 'u', 2, 1),
    HEAD("center_sample", center_sample, 'u', 2, 1),
    HEAD("encoding_space_ref", encoding, 'u', 2, 1),
    HEAD("trajectory_dimensions", traj_dims, 'u', 2, 1),
    HEAD("sample_time_us", dwell_us, 'f', 4, 1),
    HEAD("position", position, 'f', 4, 3),
    HEAD("read_dir", read_dir, 'f', 4, 3),
    HEAD("phase_dir", phase_dir, 'f', 4, 3),
    HEAD("slice_dir", slice_dir, 'f', 4, 3),
    HEAD("patient_table_position", table, 'f', 4, 3),
};
static const member idx_members[] = {
    IDX("kspace_encode_step_1", LMR_STEP1),
    IDX("kspace_encode_step_2", LMR_STEP2),
    IDX("average", LMR_AVERAGE),
    IDX("slice", LMR_SLICE),
    IDX("contrast", LMR_CONTRAST),
    IDX("phase", LMR_PHASE),
    IDX("repetition", LMR_REPETITION),
    IDX("set", LMR_SET),
    IDX("segment", LMR_SEGMENT),
};
enum { HEADS = sizeof head_members / sizeof *head_members, COUNTERS = sizeof idx_members / sizeof *idx_members };

static uint64_t little_endian(const unsigned char *p, int bytes)
{
    uint64_t v = 0;
    for (int i = bytes; i-- > 0;) v = v << 8 | p[i];
    return v;
}

/* ---- the file ---- */

/* Recognise what is not HDF5, and a file that ends before HDF5's own end-of-file address. */
static larmor_status check_superblock(int fd, int64_t bytes)
{
    static const unsigned char signature[] = "\211HDF\r\n\032\n";
    unsigned char b[64] = {0};
    const ssize_t got = pread(fd, b, sizeof b, 0);
    if (got < 0) return LMR_FAIL(LARMOR_ERR_IO, "cannot be read.");
    if (got < 8 || memcmp(b, signature, 8))
        return LMR_FAIL(LARMOR_ERR_FORMAT, "not HDF5 (first bytes are \"%s\"). MRD raw data is needed.",
                        lmr_printable((char *)b, got < 4 ? got : 4, 4).s);
    const int version = b[8], old = version < 2;
    const int offset_bytes = old ? b[13] : b[9], length_bytes = old ? b[14] : b[10];
    if (version > 3 || (got >= 48 && (offset_bytes != 8 || length_bytes != 8)))
        return LMR_FAIL(LARMOR_ERR_FORMAT, "damaged HDF5 structure (superblock). Copy it again.");
    const uint64_t end = got < 48 ? 48 : little_endian(b + (version == 0 ? 40 : version == 1 ? 44 : 28), 8);
    if (end > (uint64_t)bytes)
        return LMR_FAIL(LARMOR_ERR_FORMAT, "file cut short: %lld of %llu bytes. Copy it again.", (long long)bytes,
                        (unsigned long long)end);
    return LARMOR_OK;
}

static larmor_status open_hdf5(lmr_mrd_file *f)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", f->fd);
    H5PLset_loading_state(0);
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (access < 0) return LMR_NO_MEMORY();
    H5Pset_fapl_sec2(access); /* whatever HDF5_DRIVER says */
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    f->id = H5Fopen(path, H5F_ACC_RDONLY, access);
    H5Pclose(access);
    if (f->id < 0)
        return LMR_FAIL(LARMOR_ERR_FORMAT, "damaged HDF5 structure (superblock or root group). Copy it again.");
    hsize_t user = 0;
    const hid_t create = H5Fget_create_plist(f->id);
    const int odd = create < 0 || H5Pget_userblock(create, &user) < 0 || user;
    if (create >= 0) H5Pclose(create);
    return odd ? LMR_FAIL(LARMOR_ERR_FORMAT, "damaged HDF5 structure (superblock). Copy it again.") : LARMOR_OK;
}

/* `no group /x; found /y, /z.` */
static larmor_status no_group(lmr_mrd_file *f)
{
    char found[192] = "", name[48];
    H5G_info_t info = {.nlinks = 0};
    H5Gget_info(f->id, &info);
    size_t n = 0;
    const hsize_t listed = info.nlinks < 3 ? info.nlinks : 3;
    for (hsize_t i = 0; i < listed; i++) {
        const ssize_t bytes =
            H5Lget_name_by_idx(f->id, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT);
        if (bytes <= 0) break;
        n += (size_t)snprintf(found + n, sizeof found - n, "%s/%s", i ? ", " : "",
                              lmr_printable(name, (int64_t)strlen(name), 40).s);
    }
    if (!n) return LMR_FAIL(LARMOR_ERR_FORMAT, "no group %s; the file is empty.", f->group);
    return LMR_FAIL(LARMOR_ERR_FORMAT, "no group %s; found %s%s. Use --group.", f->group, found,
                    info.nlinks > listed ? ", ..." : "");
}

static larmor_status find_group(lmr_mrd_file *f)
{
    hid_t id;
    LMR_TRY(lmr_object_open(f->id, f->group, &id));
    if (!id) return no_group(f);
    const H5I_type_t kind = H5Iget_type(id);
    H5Oclose(id);
    return kind == H5I_GROUP ? LARMOR_OK : LMR_FAIL(LARMOR_ERR_FORMAT, "%s is not a group. Use --group.", f->group);
}

/* ---- the header ---- */

static larmor_status find_xml(lmr_mrd_file *f)
{
    char path[280];
    hid_t there;
    snprintf(path, sizeof path, "%s/xml", f->group);
    LMR_TRY(lmr_object_open(f->id, path, &there));
    if (!there) return LMR_FAIL(LARMOR_ERR_FORMAT, "%s has no xml header.", f->group);
    H5Oclose(there);
    LMR_TRY(lmr_dataset_open(f->id, f->fd, f->bytes, path, "a header", &f->xml));
    lmr_dataset *d = &f->xml;
    if (d->count != 1)
        return LMR_FAIL(LARMOR_ERR_FORMAT, "%s holds %lld elements, 1 expected.", path, (long long)d->count);
    if (H5Tget_class(d->type) != H5T_STRING)
        return LMR_FAIL(LARMOR_ERR_FORMAT, "%s is %s, a string expected.", path, lmr_dataset_describe(d).s);
    const int variable = H5Tis_variable_str(d->type) > 0;
    f->xml_bytes = (int64_t)d->bytes;
    if (variable || f->xml_bytes <= LMR_MRD_MAX_HEADER) {
        const unsigned char *element;
        LMR_TRY(lmr_dataset_prepare(d, "headers"));
        LMR_TRY(lmr_dataset_block(d, 0, &element));
        if (variable) {
            f->xml_ref = lmr_heap_ref_decode(element);
            f->xml_bytes = f->xml_ref.length;
        }
    }
    if (f->xml_bytes > LMR_MRD_MAX_HEADER)
        return LMR_FAIL(LARMOR_ERR_FORMAT, "header is %lld bytes, limit %lld.", (long long)f->xml_bytes,
                        (long long)LMR_MRD_MAX_HEADER);
    return LARMOR_OK;
}

larmor_status lmr_mrd_file_header_bytes(lmr_mrd_file *f, int64_t *bytes)
{
    *bytes = f->xml_bytes;
    return LARMOR_OK;
}

larmor_status lmr_mrd_file_header(lmr_mrd_file *f, char *text)
{
    if (H5Tis_variable_str(f->xml.type) <= 0) {
        const unsigned char *element;
        LMR_TRY(lmr_dataset_block(&f->xml, 0, &element));
        memcpy(text, element, (size_t)f->xml_bytes);
        return LARMOR_OK;
    }
    lmr_heap *heap = lmr_heap_create(f->fd, f->bytes);
    if (!heap) return LMR_NO_MEMORY();
    const char *wrong = lmr_heap_fetch(heap, f->xml_ref, 1, text);
    lmr_heap_free(heap);
    if (!wrong) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT, "damaged HDF5 structure (%s, %s). Copy it again.", wrong, f->xml.path);
}

/* ---- the acquisitions ---- */

/* Where member `m` of a compound is; its type must be exactly ISMRMRD's. */
static larmor_status find_member(hid_t compound, const char *inside, const member *m, size_t *at)
{
    const int i = H5Tget_member_index(compound, m->name);
    if (i < 0) return LMR_FAIL(LARMOR_ERR_FORMAT, "acquisitions lack member \"%s%s\".", inside, m->name);
    const hid_t scalar = m->kind == 'f'  ? H5T_IEEE_F32LE
                         : m->bytes == 2 ? H5T_STD_U16LE
                         : m->bytes == 4 ? H5T_STD_U32LE
                                         : H5T_STD_U64LE;
    const hid_t type = H5Tget_member_type(compound, (unsigned)i);
    const hid_t base = type > 0 && m->count > 1 && H5Tget_class(type) == H5T_ARRAY ? H5Tget_super(type) : 0;
    const int fits =
        type > 0 && H5Tequal(base > 0 ? base : type, scalar) > 0 && H5Tget_size(type) == (size_t)m->bytes * m->count;
    if (base > 0) H5Tclose(base);
    if (type > 0) H5Tclose(type);
    *at = H5Tget_member_offset(compound, (unsigned)i);
    if (!fits || *at > H5Tget_size(compound) - (size_t)m->bytes * m->count)
        return LMR_FAIL(LARMOR_ERR_FORMAT, "acquisitions: member \"%s%s\" is not %s of %d bits (little-endian).",
                        inside, m->name, m->kind == 'f' ? "float" : "unsigned", 8 * m->bytes);
    return LARMOR_OK;
}

static larmor_status find_list(lmr_mrd_file *f, const char *name, size_t *at)
{
    const int i = H5Tget_member_index(f->data.type, name);
    if (i < 0) return LMR_FAIL(LARMOR_ERR_FORMAT, "acquisitions lack member \"%s\".", name);
    const hid_t type = H5Tget_member_type(f->data.type, (unsigned)i);
    const hid_t base = type > 0 && H5Tget_class(type) == H5T_VLEN ? H5Tget_super(type) : 0;
    const int fits = base > 0 && H5Tequal(base, H5T_IEEE_F32LE) > 0;
    if (base > 0) H5Tclose(base);
    if (type > 0) H5Tclose(type);
    *at = H5Tget_member_offset(f->data.type, (unsigned)i);
    if (!fits || f->data.bytes < LMR_HEAP_REF_BYTES || *at > f->data.bytes - LMR_HEAP_REF_BYTES)
        return LMR_FAIL(LARMOR_ERR_FORMAT, "acquisitions: member \"%s\" is not a list of floats (little-endian).",
                        name);
    return LARMOR_OK;
}

static larmor_status find_acquisitions(lmr_mrd_file *f)
{
    char path[280];
    hid_t there;
    snprintf(path, sizeof path, "%s/data", f->group);
    LMR_TRY(lmr_object_open(f->id, path, &there));
    if (!there) return LMR_FAIL(LARMOR_ERR_FORMAT, "no acquisitions (%s is missing).", path);
    H5Oclose(there);
    LMR_TRY(lmr_dataset_open(f->id, f->fd, f->bytes, path, "acquisitions", &f->data));
    lmr_dataset *d = &f->data;
    const int compound = H5Tget_class(d->type) == H5T_COMPOUND;
    const int known =
        compound && (H5Tget_member_index(d->type, "head") >= 0 || H5Tget_member_index(d->type, "data") >= 0);
    if (!known || d->rank != 1)
        return LMR_FAIL(LARMOR_ERR_FORMAT, "%s is %s, not MRD acquisitions%s.", path, lmr_dataset_describe(d).s,
                        d->rank > 2 ? " (a fastMRI file?)" : "");
    LMR_TRY(find_list(f, "traj", &f->traj_at));
    LMR_TRY(find_list(f, "data", &f->data_at));
    if (!d->count) return LMR_FAIL(LARMOR_ERR_FORMAT, "no acquisitions.");
    LMR_TRY(lmr_dataset_prepare(d, "acquisitions"));
    if (d->count > LMR_MRD_MAX_ACQUISITIONS)
        return LMR_FAIL(LARMOR_ERR_FORMAT, "has %lld acquisitions, limit %lld.", (long long)d->count,
                        (long long)LMR_MRD_MAX_ACQUISITIONS);
    return LARMOR_OK;
}

/* Where all members are in an element. */
static larmor_status find_members(const lmr_dataset *d, size_t head_at[HEADS], size_t idx_at[COUNTERS])
{
    larmor_status st = LARMOR_OK;
    const int i = H5Tget_member_index(d->type, "head");
    if (i < 0) return LMR_FAIL(LARMOR_ERR_FORMAT, "acquisitions lack member \"head\".");
    const hid_t head = H5Tget_member_type(d->type, (unsigned)i);
    if (head <= 0 || H5Tget_class(head) != H5T_COMPOUND) {
        if (head > 0) H5Tclose(head);
        return LMR_FAIL(LARMOR_ERR_FORMAT, "acquisitions: member \"head\" is not a compound.");
    }
    const size_t at = H5Tget_member_offset(d->type, (unsigned)i);
    for (int k = 0; k < HEADS && !st; k++) st = find_member(head, "head.", &head_members[k], &head_at[k]);
    const int j = H5Tget_member_index(head, "idx");
    const hid_t idx = j < 0 ? 0 : H5Tget_member_type(head, (unsigned)j);
    if (!st && (idx <= 0 || H5Tget_class(idx) != H5T_COMPOUND))
        st = LMR_FAIL(LARMOR_ERR_FORMAT, "acquisitions lack member \"head.idx\".");
    for (int k = 0; k < COUNTERS && !st; k++) st = find_member(idx, "head.idx.", &idx_members[k], &idx_at[k]);
    const size_t in_head = j < 0 ? 0 : H5Tget_member_offset(head, (unsigned)j);
    for (int k = 0; k < HEADS && !st; k++) head_at[k] += at;
    for (int k = 0; k < COUNTERS && !st; k++) idx_at[k] += at + in_head;
    if (!st && (at + H5Tget_size(head) > d->bytes || in_head + H5Tget_size(idx) > H5Tget_size(head)))
        st = LMR_FAIL(LARMOR_ERR_FORMAT, "damaged HDF5 structure (type of %s). Copy it again.", d->path);
    if (idx > 0) H5Tclose(idx);
    H5Tclose(head);
    return st;
}

/* Numbers of 2, 4 or 8 bytes, little-endian in the file, into the struct. */
static void copy_member(const member *m, const unsigned char *element, size_t at, lmr_mrd_head *head)
{
    for (int i = 0; i < m->count; i++) {
        const uint64_t v = little_endian(element + at + (size_t)(i * m->bytes), m->bytes);
        unsigned char *to = (unsigned char *)head + m->to + i * m->bytes;
        if (m->bytes == 2) memcpy(to, &(uint16_t){(uint16_t)v}, 2);
        if (m->bytes == 4) memcpy(to, &(uint32_t){(uint32_t)v}, 4);
        if (m->bytes == 8) memcpy(to, &v, 8);
    }
}

static larmor_status check_lengths(int64_t i, const lmr_mrd_head *h, const lmr_mrd_refs *r)
{
    if (r->data.length != UINT64_C(2) * h->samples * h->channels)
        return LMR_FAIL(LARMOR_ERR_FORMAT,
                        "acquisition %lld: header says %d samples x %d channels, %u numbers stored.", (long long)i,
                        h->samples, h->channels, r->data.length);
    if (r->traj.length != (uint64_t)h->samples * h->traj_dims)
        return LMR_FAIL(LARMOR_ERR_FORMAT, "acquisition %lld: trajectory has %u numbers, %d x %d expected.",
                        (long long)i, r->traj.length, h->samples, h->traj_dims);
    return LARMOR_OK;
}

larmor_status lmr_mrd_file_heads(lmr_mrd_file *f, lmr_mrd_head *head, lmr_mrd_refs *refs)
{
    lmr_dataset *d = &f->data;
    size_t head_at[HEADS], idx_at[COUNTERS];
    const unsigned char *element = NULL;
    uint64_t numbers = 0;
    LMR_TRY(find_members(d, head_at, idx_at));
    for (int64_t i = 0; i < d->count; i++, element += d->bytes) {
        if (i % d->per_block == 0) LMR_TRY(lmr_dataset_block(d, i / d->per_block, &element));
        for (int k = 0; k < HEADS; k++) copy_member(&head_members[k], element, head_at[k], &head[i]);
        for (int k = 0; k < COUNTERS; k++) copy_member(&idx_members[k], element, idx_at[k], &head[i]);
        refs[i].data = lmr_heap_ref_decode(element + f->data_at);
        refs[i].traj = lmr_heap_ref_decode(element + f->traj_at);
        LMR_TRY(check_lengths(i, &head[i], &refs[i]));
        numbers += (uint64_t)refs[i].data.length + refs[i].traj.length;
        if (numbers > (uint64_t)f->bytes / sizeof(float))
            return LMR_FAIL(LARMOR_ERR_FORMAT,
                            "acquisition %lld: header says %d samples x %d channels, more than the "
                            "file's %lld bytes hold.",
                            (long long)i, head[i].samples, head[i].channels, (long long)f->bytes);
    }
    return LARMOR_OK;
}

/* ---- life ---- */

larmor_status lmr_mrd_file_open(int fd, int64_t bytes, const char *group, lmr_mrd_file **out)
{
    *out = NULL;
    while (*group == '/') group++;
    LMR_TRY(check_superblock(fd, bytes));
    if (!*group || strlen(group) > 250)
        return LMR_FAIL(LARMOR_ERR_ARG, "group name has %zu characters, 1 to 250 expected.", strlen(group));
    lmr_mrd_file *f = calloc(1, sizeof *f);
    if (!f) return LMR_NO_MEMORY();
    f->fd = fd, f->bytes = bytes;
    snprintf(f->group, sizeof f->group, "/%s", group);
    H5Eget_auto2(H5E_DEFAULT, &f->print, &f->print_data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    larmor_status st;
    LMR_OR(fail, open_hdf5(f));
    LMR_OR(fail, find_group(f));
    LMR_OR(fail, find_xml(f));
    LMR_OR(fail, find_acquisitions(f));
    *out = f;
    return LARMOR_OK;
fail:
    lmr_mrd_file_close(f);
    return st;
}

void lmr_mrd_file_close(lmr_mrd_file *f)
{
    if (!f) return;
    lmr_dataset_close(&f->xml), lmr_dataset_close(&f->data);
    if (f->id > 0) H5Fclose(f->id);
    H5Eset_auto2(H5E_DEFAULT, f->print, f->print_data);
    free(f);
}

int64_t lmr_mrd_file_count(const lmr_mrd_file *f)
{
    return f->data.count;
}
