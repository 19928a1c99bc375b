/* An ISMRMRD file as it lies on disk: HDF5's structure, the type of an acquisition, the heads.
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/reader/mrd_file.h"

#include "core/core.h"
#include "io/reader/h5_driver.h"

enum { MOST_GROUPS = 64 }; /* of the root, that are looked into for a scan */

/* ---- the group ---- */

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
    LMR_REFUSE(!n, LARMOR_ERR_FORMAT, "no group %s; the file is empty.", f->group);
    return LMR_FAIL(LARMOR_ERR_FORMAT, "no group %s; found %s%s. Use opts.group.", f->group, found,
                    info.nlinks > listed ? ", ..." : "");
}

/* How many of xml and data are in a group of the root. */
static int parts_of_scan(const lmr_mrd_file *f, const char *group)
{
    char path[280];
    int parts = 0;
    snprintf(path, sizeof path, "%s/xml", group);
    parts += lmr_h5_leads_to(f->id, path, H5I_DATASET);
    snprintf(path, sizeof path, "%s/data", group);
    return parts + lmr_h5_leads_to(f->id, path, H5I_DATASET);
}

/* The group of a scan that nobody named: /dataset, or the only one of the root with xml and data. */
static larmor_status choose_group(lmr_mrd_file *f)
{
    char group[sizeof f->group] = "/", found[sizeof f->group];
    int scans = 0;
    hid_t id;
    snprintf(f->group, sizeof f->group, "%s", LMR_MRD_USUAL_GROUP);
    LMR_TRY(lmr_h5_find(f->id, f->group, &id));
    const int is_group = !id || H5Iget_type(id) == H5I_GROUP;
    lmr_h5_close(id);
    H5G_info_t info = {.nlinks = 0};
    if (!is_group || parts_of_scan(f, f->group) || H5Gget_info(f->id, &info) < 0 || info.nlinks > MOST_GROUPS)
        return LARMOR_OK;
    for (hsize_t i = 0; i < info.nlinks; i++) {
        const ssize_t bytes =
            H5Lget_name_by_idx(f->id, ".", H5_INDEX_NAME, H5_ITER_INC, i, group + 1, sizeof group - 1, H5P_DEFAULT);
        if (bytes <= 0 || bytes > LMR_MRD_LONGEST_GROUP || parts_of_scan(f, group) < 2) continue;
        memcpy(found, group, sizeof found);
        scans++;
    }
    if (lmr_h5_lacks_memory()) return LMR_NO_MEMORY();
    if (scans == 1) memcpy(f->group, found, sizeof found);
    return LARMOR_OK;
}

static larmor_status find_group(lmr_mrd_file *f)
{
    hid_t id;
    const int is_named = f->group[1] != 0;
    if (!is_named) LMR_TRY(choose_group(f));
    LMR_TRY(lmr_h5_find(f->id, f->group, &id));
    /* fastMRI's files have the samples of all slices as one array, and the header, beside each other in the root */
    f->is_array = !id && !is_named && lmr_h5_leads_to(f->id, "/kspace", H5I_DATASET) &&
                  lmr_h5_leads_to(f->id, "/ismrmrd_header", H5I_DATASET);
    if (f->is_array) f->group[0] = 0;
    if (f->is_array) return LARMOR_OK;
    if (!id) return no_group(f);
    const H5I_type_t kind = H5Iget_type(id);
    H5Oclose(id);
    return kind == H5I_GROUP ? LARMOR_OK
                             : LMR_FAIL(LARMOR_ERR_FORMAT, "%s is not a group. Use opts.group.", f->group);
}

/* ---- the header ---- */

static larmor_status find_xml(lmr_mrd_file *f)
{
    char path[280];
    lmr_dataset *d = &f->xml;
    snprintf(path, sizeof path, "%s/%s", f->group, f->is_array ? "ismrmrd_header" : "xml");
    LMR_TRY(lmr_dataset_open(f->source, f->id, path, "a header", d));
    LMR_REFUSE(!d->id, LARMOR_ERR_FORMAT, "%s has no xml header.", f->group);
    LMR_REFUSE(d->count != 1, LARMOR_ERR_FORMAT, "%s holds %lld elements, 1 expected.", path, (long long)d->count);
    LMR_REFUSE(H5Tget_class(d->type) != H5T_STRING, LARMOR_ERR_FORMAT, "%s is %s, a string expected.", path,
               lmr_dataset_describe(d).s);
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
    LMR_REFUSE(f->xml_bytes > LMR_MRD_MAX_HEADER, LARMOR_ERR_FORMAT, "header is %lld bytes, limit %lld.",
               (long long)f->xml_bytes, (long long)LMR_MRD_MAX_HEADER);
    return LARMOR_OK;
}

static larmor_status fetch_xml(lmr_mrd_file *f, char *text)
{
    const unsigned char *element;
    const char *wrong;
    if (H5Tis_variable_str(f->xml.type) <= 0) {
        LMR_TRY(lmr_dataset_block(&f->xml, 0, &element));
        memcpy(text, element, (size_t)f->xml_bytes);
        return LARMOR_OK;
    }
    LMR_TRY(lmr_heap_fetch(f->source, f->xml_ref, 1, text, &wrong));
    if (!wrong) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT, "damaged HDF5 structure (%s, %s). Copy it again.", wrong, f->xml.path);
}

larmor_status lmr_mrd_file_header(lmr_mrd_file *f, char **text)
{
    *text = NULL;
    LMR_HEAP LMR_NEW_ZEROS(char, xml, f->xml_bytes + 1);
    LMR_TRY(fetch_xml(f, xml));
    return LMR_HAND_ON(*text, xml);
}

/* ---- the acquisitions ---- */

static larmor_status none_written(const lmr_dataset *d)
{
    return LMR_FAIL(LARMOR_ERR_FORMAT, "has room for %lld acquisitions, none of which was written.",
                    (long long)d->claimed);
}

/* As h5py and the reference library store complex64: two floats, the real part first. */
static int is_complex_float(hid_t type)
{
    if (H5Tget_class(type) != H5T_COMPOUND || H5Tget_size(type) != 8 || H5Tget_nmembers(type) != 2) return 0;
    int good = 1;
    for (unsigned i = 0; i < 2; i++) {
        LMR_HID part = H5Tget_member_type(type, i);
        good &= part > 0 && H5Tequal(part, H5T_IEEE_F32LE) > 0 && H5Tget_member_offset(type, i) == 4 * i;
    }
    return good;
}

/* Samples and lines are the last two dimensions, lines the fastest; coils are before them, slices first. */
static larmor_status find_array(lmr_mrd_file *f)
{
    enum { MAX_LENGTH = 65535 };
    lmr_dataset *d = &f->data;
    LMR_TRY(lmr_dataset_open(f->source, f->id, "/kspace", "samples", d));
    LMR_REFUSE(!d->id || !is_complex_float(d->type) || d->rank < 3 || d->rank > 4, LARMOR_ERR_FORMAT,
               "/kspace is %s; in the fastMRI layout complex[slices][coils][samples][lines] of single "
               "precision, or [slices][samples][lines] of one coil, expected.",
               lmr_dataset_describe(d).s);
    for (int k = 0; k < d->rank; k++)
        LMR_REFUSE(d->dim[k] < 1 || d->dim[k] > MAX_LENGTH || (d->rank > 3 && d->dim[1] > LMR_MRD_MAX_CHANNELS),
                   LARMOR_ERR_FORMAT, "/kspace is %s, at most %d along each axis and %d coils expected.",
                   lmr_dataset_describe(d).s, MAX_LENGTH, LMR_MRD_MAX_CHANNELS);
    LMR_REFUSE(d->layout != H5D_CONTIGUOUS, LARMOR_ERR_FORMAT,
               "/kspace is in chunks, which is not read in the fastMRI layout. Use h5repack -l CONTI -f NONE.");
    const int64_t elements = d->count;
    LMR_TRY(lmr_dataset_prepare(d, "samples"));
    LMR_REFUSE(!d->count, LARMOR_ERR_FORMAT, "/kspace was never written.");
    if (d->address > (uint64_t)f->source->size ||
        (uint64_t)elements * d->bytes > (uint64_t)f->source->size - d->address)
        return lmr_h5_damaged("storage", d->path);
    d->count = (int64_t)(d->dim[0] * d->dim[d->rank - 1]);
    d->claimed = d->count;
    return LARMOR_OK;
}

static larmor_status find_acquisitions(lmr_mrd_file *f)
{
    if (f->is_array) return find_array(f);
    char path[280];
    lmr_dataset *d = &f->data;
    snprintf(path, sizeof path, "%s/data", f->group);
    LMR_TRY(lmr_dataset_open(f->source, f->id, path, "acquisitions", d));
    LMR_REFUSE(!d->id, LARMOR_ERR_FORMAT, "no acquisitions (%s is missing).", path);
    const int compound = H5Tget_class(d->type) == H5T_COMPOUND;
    const int known =
        compound && (H5Tget_member_index(d->type, "head") >= 0 || H5Tget_member_index(d->type, "data") >= 0);
    LMR_REFUSE(!known || d->rank != 1, LARMOR_ERR_FORMAT, "%s is %s, not MRD acquisitions%s.", path,
               lmr_dataset_describe(d).s, d->rank > 2 ? " (a fastMRI file?)" : "");
    LMR_TRY(lmr_mrd_find_members(d->type, &f->places));
    LMR_REFUSE(!d->count, LARMOR_ERR_FORMAT, "no acquisitions.");
    LMR_TRY(lmr_dataset_prepare(d, "acquisitions"));
    if (!d->count) return none_written(d);
    LMR_REFUSE(d->count > LMR_MRD_MAX_ACQUISITIONS, LARMOR_ERR_FORMAT, "has %lld acquisitions, limit %lld.",
               (long long)d->count, (long long)LMR_MRD_MAX_ACQUISITIONS);
    return LARMOR_OK;
}

static larmor_status check_lengths(int64_t i, const lmr_mrd_head *h, const lmr_mrd_refs *r)
{
    LMR_REFUSE(r->data.length != UINT64_C(2) * h->stored * h->channels, LARMOR_ERR_FORMAT,
               "acquisition %lld: header says %d samples x %d channels, %u numbers stored.", (long long)i, h->stored,
               h->channels, r->data.length);
    LMR_REFUSE(r->traj.length != (uint64_t)h->stored * h->traj_dims, LARMOR_ERR_FORMAT,
               "acquisition %lld: trajectory has %u numbers, %d x %d expected.", (long long)i, r->traj.length,
               h->stored, h->traj_dims);
    return LARMOR_OK;
}

static int is_zero(const unsigned char *p, size_t bytes)
{
    size_t i = 0;
    while (i < bytes && !p[i]) i++;
    return i == bytes;
}

/* A program that is stopped leaves zeros at the end of the last chunk. */
static larmor_status end_with_written(lmr_dataset *d, lmr_mrd_head *head, int64_t end)
{
    for (int64_t i = end; i < d->count; i++) head[i].unwritten = 1;
    d->count = end;
    return end ? LARMOR_OK : none_written(d);
}

static int coils_of(const lmr_dataset *d)
{
    return d->rank > 3 ? (int)d->dim[1] : 1;
}

/* Acquisitions of an array: slice by slice, line by line. k = 0 is in the middle of both axes. */
static void make_heads(const lmr_dataset *d, lmr_mrd_head *head)
{
    const int64_t lines = (int64_t)d->dim[d->rank - 1];
    const uint16_t samples = (uint16_t)d->dim[d->rank - 2];
    for (int64_t i = 0; i < d->count; i++) {
        head[i] = (lmr_mrd_head){
            .stored = samples, .channels = (uint16_t)coils_of(d), .center_sample = (uint16_t)(samples / 2)};
        head[i].counter[LMR_STEP1] = (uint16_t)(i % lines);
        head[i].counter[LMR_SLICE] = (uint16_t)(i / lines);
    }
}

lmr_reader_place lmr_mrd_file_place(const lmr_mrd_file *f, int64_t i)
{
    const lmr_dataset *d = &f->data;
    const int64_t lines = (int64_t)d->dim[d->rank - 1], samples = (int64_t)d->dim[d->rank - 2];
    const int64_t step = lines * (int64_t)d->bytes;
    const int64_t first = i / lines * coils_of(d) * samples * lines + i % lines;
    return (lmr_reader_place){
        .data = (int64_t)d->address + first * (int64_t)d->bytes, .sample_step = step, .channel_step = samples * step};
}

larmor_status lmr_mrd_file_heads(lmr_mrd_file *f, lmr_mrd_head *head, lmr_mrd_refs *refs)
{
    lmr_dataset *d = &f->data;
    if (f->is_array) {
        make_heads(d, head);
        return LARMOR_OK;
    }
    const int64_t bytes = f->source->size;
    const unsigned char *block = NULL;
    uint64_t numbers = 0;
    int64_t end = 0, found = 0;
    for (int64_t i = 0; i < d->count; i++) {
        if (i % d->per_block == 0) {
            LMR_TRY(lmr_dataset_find_block(d, i / d->per_block, &block));
            found += block != NULL;
        }
        head[i] = (lmr_mrd_head){.unwritten = !block};
        refs[i] = (lmr_mrd_refs){.data = {0}};
        if (!block) continue;
        const unsigned char *element = block + (size_t)(i % d->per_block) * d->bytes;
        if (!is_zero(element, d->bytes)) end = i + 1;
        lmr_mrd_decode_head(element, &f->places, &head[i]);
        refs[i].data = lmr_heap_ref_decode(element + f->places.data);
        refs[i].traj = lmr_heap_ref_decode(element + f->places.traj);
        LMR_TRY(check_lengths(i, &head[i], &refs[i]));
        numbers += (uint64_t)refs[i].data.length + refs[i].traj.length;
        LMR_REFUSE(numbers > (uint64_t)bytes / sizeof(float), LARMOR_ERR_FORMAT,
                   "acquisition %lld: header says %d samples x %d channels, more than the "
                   "file's %lld bytes hold.",
                   (long long)i, head[i].stored, head[i].channels, (long long)bytes);
    }
    if (d->written >= 0 && found != d->written) return lmr_h5_damaged("chunk index", d->path);
    return end_with_written(d, head, end);
}

/* ---- life ---- */

LMR_OWNS(lmr_mrd_file, lmr_mrd_file_close)

larmor_status lmr_mrd_file_open(const lmr_source *source, const char *group, lmr_mrd_file **out)
{
    *out = NULL;
    while (*group == '/') group++;
    LMR_OWNED(lmr_mrd_file) *f = calloc(1, sizeof *f);
    if (!f) return LMR_NO_MEMORY();
    f->source = source;
    snprintf(f->group, sizeof f->group, "/%s", group);
    f->print = lmr_h5_quiet();
    LMR_TRY(lmr_h5_open(source, "MRD raw data is", &f->id));
    LMR_TRY(find_group(f));
    LMR_TRY(find_xml(f));
    LMR_TRY(find_acquisitions(f));
    return LMR_HAND_ON(*out, f);
}

void lmr_mrd_file_close(lmr_mrd_file *f)
{
    if (!f) return;
    lmr_dataset_close(&f->xml);
    lmr_dataset_close(&f->data);
    if (f->id > 0) lmr_h5_close_descriptor(f->id);
    lmr_h5_loud(f->print);
    free(f);
}
