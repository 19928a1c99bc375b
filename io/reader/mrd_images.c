/* Reading ISMRMRD images: finding them in a file, strict checks, geometry of the first. SPDX-License-Identifier:
 * Apache-2.0 */
#include "core/core.h"
#include "io/reader/h5.h"
#include "io/reader/h5_dataset.h"
#include "io/reader/h5_driver.h"
#include "io/reader/h5_heap.h"
#include "io/reader/mrd_notes.h"
#include "io/reader/mrd_types.h"
#include "io/reader/parsers.h"

/* ---- finding the images of a file ---- */

typedef struct search {
    hid_t file;
    const char *group; /* being listed */
    int depth;         /* 1: look into the groups of the root, too */
    int series, groups;
    char path[256], group_found[256]; /* the first series in natural order */
} search;

static int is_series(hid_t file, const char *path)
{
    char data[300], header[300];
    snprintf(data, sizeof data, "%s/data", path);
    snprintf(header, sizeof header, "%s/header", path);
    return lmr_h5_leads_to(file, data, H5I_DATASET) && lmr_h5_leads_to(file, header, H5I_DATASET);
}

/* image_2 comes before image_10. */
static int before(const char *a, const char *b)
{
    const size_t m = strlen(a), n = strlen(b);
    return m != n ? m < n : strcmp(a, b) < 0;
}

static void visit(const char *name, void *user)
{
    search *s = user;
    char path[256];
    if (snprintf(path, sizeof path, "%s/%s", s->group, name) >= (int)sizeof path ||
        !lmr_h5_leads_to(s->file, path, H5I_GROUP))
        return;
    if (is_series(s->file, path)) {
        if (!s->series || before(path, s->path)) snprintf(s->path, sizeof s->path, "%s", path);
        s->series++;
    } else if (s->depth) {
        search inner = {.file = s->file, .group = path};
        if (lmr_h5_list(s->file, path, visit, &inner) && inner.series) {
            if (!s->groups) snprintf(s->group_found, sizeof s->group_found, "%s", inner.path);
            s->groups++;
        }
    }
}

static int list(hid_t file, const char *group, int depth, search *found)
{
    *found = (search){.file = file, .group = strcmp(group, "/") ? group : "", .depth = depth};
    return lmr_h5_leads_to(file, group, H5I_GROUP) && lmr_h5_list(file, group, visit, found);
}

/* The series to read: the one that was asked for, else /dataset/image_0, the first of /dataset, or that of the only
 * other group with images. */
static larmor_status choose(const lmr_source *source, hid_t file, char path[256])
{
    search found;
    if (source->inside) {
        snprintf(path, 256, "%s", source->inside);
        size_t length = strlen(path);
        while (length > 1 && path[length - 1] == '/') path[--length] = 0;
        if (is_series(file, path)) return LARMOR_OK;
        if (list(file, path, 0, &found) && found.series) {
            snprintf(path, 256, "%s", found.path);
            return LARMOR_OK;
        }
        return LMR_FAIL(LARMOR_ERR_FORMAT, "no images in %s.", source->inside);
    }
    if (is_series(file, LMR_MRD_SERIES)) {
        snprintf(path, 256, "%s", LMR_MRD_SERIES);
        return LARMOR_OK;
    }
    if (list(file, "/dataset", 0, &found) && found.series) {
        snprintf(path, 256, "%s", found.path);
        return LARMOR_OK;
    }
    LMR_REFUSE(!list(file, "/", 1, &found), LARMOR_ERR_FORMAT, "cannot list its groups.");
    LMR_REFUSE(found.series + found.groups == 0, LARMOR_ERR_FORMAT, "holds no images.");
    LMR_REFUSE(found.groups > 1 || (found.groups && found.series), LARMOR_ERR_FORMAT,
               "several groups hold images; name one, as in %s:%s", source->path, found.group_found);
    snprintf(path, 256, "%s", found.series ? found.path : found.group_found);
    return LARMOR_OK;
}

/* ---- reading ---- */

typedef struct content { /* of a series */
    int64_t dim[LMR_MRD_RANK];
    int axes;
    size_t bytes;              /* of an element */
    lmr_mrd_number real, imag; /* imag: NULL for real images */
    size_t real_at, imag_at;
    const lmr_input *input;
    float *values;  /* complex; NULL with */
    int64_t pieces; /* of the file */
    int checksums;  /* 1: they have some */
} content;

/* Where the elements have a member that is a number, and how to read it. */
static lmr_mrd_number find_part(const lmr_dataset *d, const char *name, size_t *at)
{
    const int i = H5Tget_member_index(d->type, name);
    LMR_HID type = i < 0 ? -1 : H5Tget_member_type(d->type, (unsigned)i);
    if (type < 0) return NULL;
    *at = H5Tget_member_offset(d->type, (unsigned)i);
    return *at + H5Tget_size(type) <= d->bytes ? lmr_mrd_find_number(type) : NULL;
}

static larmor_status check_data(const lmr_dataset *d, content *c)
{
    const H5T_class_t class = H5Tget_class(d->type);
    c->bytes = d->bytes;
    LMR_REFUSE(d->rank != LMR_MRD_RANK, LARMOR_ERR_FORMAT, "%s has %d dimensions, images have %d.", d->path, d->rank,
               LMR_MRD_RANK);
    LMR_REFUSE(!d->count, LARMOR_ERR_FORMAT, "%s is empty.", d->path);
    if (class == H5T_COMPOUND) {
        c->real = find_part(d, "real", &c->real_at);
        c->imag = find_part(d, "imag", &c->imag_at);
        if (H5Tget_nmembers(d->type) == 2 && c->real && c->imag) return LARMOR_OK;
        return LMR_FAIL(LARMOR_ERR_FORMAT, "%s holds records that are not {real, imag}.", d->path);
    }
    LMR_REFUSE(class != H5T_FLOAT && class != H5T_INTEGER, LARMOR_ERR_FORMAT, "%s holds no numbers.", d->path);
    c->real = lmr_mrd_find_number(d->type);
    if (c->real) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT,
                    "%s holds numbers that are not read: integers, float or double, little-endian, expected.",
                    d->path);
}

static void take_values(int64_t first, int64_t n, const unsigned char *elements, void *user)
{
    content *c = user;
    float *to = c->values + 2 * first;
    for (int64_t i = 0; i < n; i++, elements += c->bytes) {
        to[2 * i] = c->real(elements + c->real_at);
        to[2 * i + 1] = c->imag ? c->imag(elements + c->imag_at) : 0;
    }
}

/* 1 if an element is a little-endian float, or two: real, then imag. */
static int is_plain(const lmr_dataset *d, const content *c)
{
    if (!c->imag) return H5Tequal(d->type, H5T_IEEE_F32LE) > 0;
    if (c->bytes != 8 || c->real_at != 0 || c->imag_at != 4) return 0;
    LMR_HID real = H5Tget_member_type(d->type, (unsigned)H5Tget_member_index(d->type, "real"));
    LMR_HID imag = H5Tget_member_type(d->type, (unsigned)H5Tget_member_index(d->type, "imag"));
    return real > 0 && imag > 0 && H5Tequal(real, H5T_IEEE_F32LE) > 0 && H5Tequal(imag, H5T_IEEE_F32LE) > 0;
}

/* Where the file has the elements, if it has them as they are. */
static larmor_status find_values(lmr_dataset *d, content *c)
{
    void *room;
    LMR_OWN_MEMORY(lmr_reader_piece, piece, lmr_dataset_pieces(d, &piece, &c->pieces, &c->checksums));
    if (c->pieces) {
        LMR_TRY(c->input->room(c->input->user, c->pieces * (int64_t)sizeof *piece, &room));
        memcpy(room, piece, (size_t)c->pieces * sizeof *piece);
    }
    return LARMOR_OK;
}

static larmor_status read_values(lmr_dataset *d, void *result)
{
    content *c = result;
    LMR_TRY(check_data(d, c));
    LMR_TRY(lmr_dataset_prepare(d, "voxels"));
    for (int k = 0; k < LMR_MRD_RANK; k++) {
        const int64_t size = (int64_t)d->dim[LMR_MRD_RANK - 1 - k];
        if (k < 2 || size != 1) c->dim[c->axes++] = size;
    }
    int64_t bytes;
    void *room;
    if (is_plain(d, c)) LMR_TRY(find_values(d, c));
    if (c->pieces) return LARMOR_OK;
    if (!lmr_mul(d->count, 2 * sizeof *c->values, &bytes)) return LMR_NO_MEMORY();
    LMR_TRY(c->input->room(c->input->user, bytes, &room));
    c->values = room;
    return lmr_dataset_each(d, take_values, c);
}

static larmor_status check_headers(const lmr_dataset *d)
{
    if (H5Tget_class(d->type) == H5T_COMPOUND && d->bytes <= 4096 && d->rank == 1 && d->count) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT, "%s is no list of image headers.", d->path);
}

/* The header of the first image, an lmr_mrd_image. */
static larmor_status read_first(lmr_dataset *d, void *result)
{
    const unsigned char *element;
    LMR_TRY(check_headers(d));
    LMR_TRY(lmr_dataset_prepare(d, "images"));
    LMR_TRY(lmr_dataset_block(d, 0, &element));
    return lmr_mrd_decode_image(d->type, element, result);
}

/* Find the series and read its dataset of this name. */
static larmor_status read_series(const lmr_source *source, const char *name,
                                 larmor_status (*read)(lmr_dataset *d, void *result), void *result)
{
    const lmr_h5_print before_us = lmr_h5_quiet();
    hid_t file;
    char path[300];
    lmr_dataset d = {0};
    larmor_status st = lmr_h5_open(source, "An MRD image is", &file);
    if (!st) st = choose(source, file, path);
    if (!st && !strncmp(name, "/..", 3)) { /* HDF5 knows no .. */
        *strrchr(path, '/') = '\0';
        name += 3;
    }
    if (!st) {
        strcat(path, name);
        st = lmr_dataset_open(source, file, path, "images", &d);
    }
    if (!st) st = read(&d, result);
    lmr_dataset_close(&d);
    if (file >= 0) lmr_h5_close_descriptor(file);
    lmr_h5_loud(before_us);
    return st ? lmr_fail_in(st, source->path) : st;
}

static larmor_status read_images(const lmr_input *input, lmr_reader_array *array)
{
    content c = {.input = input};
    LMR_TRY(read_series(&input->source, "/data", read_values, &c));
    *array = (lmr_reader_array){.dtype = LARMOR_C64,
                                .axes = c.axes,
                                .bytes = 2 * sizeof *c.values,
                                .in_file = c.pieces ? LMR_IN_PIECES : LMR_NOT_IN_FILE,
                                .stored = c.imag ? LARMOR_C64 : LARMOR_F32,
                                .checksums = c.checksums};
    for (int k = 0; k < c.axes; k++) {
        array->dim[k] = c.dim[k];
        array->bytes *= c.dim[k];
    }
    return LARMOR_OK;
}

static larmor_status read_meta(const lmr_input *input, larmor_image_meta *meta)
{
    lmr_mrd_image h = {0};
    LMR_TRY(read_series(&input->source, "/header", read_first, &h));
    *meta = lmr_mrd_meta_of(&h);
    return LARMOR_OK;
}

/* ---- the geometry of all images ---- */

static larmor_status read_extent(lmr_dataset *d, void *result)
{
    lmr_reader_list *list = result;
    LMR_REFUSE(d->rank != LMR_MRD_RANK, LARMOR_ERR_FORMAT, "%s has %d dimensions, images have %d.", d->path, d->rank,
               LMR_MRD_RANK);
    *list = (lmr_reader_list){.count = (int64_t)d->dim[0], .channels = (int64_t)d->dim[1]};
    for (int k = 0; k < 3; k++) list->dim[k] = (int64_t)d->dim[LMR_MRD_RANK - 1 - k];
    return LARMOR_OK;
}

typedef struct headers {
    const lmr_input *input;
    int64_t count; /* of images */
    larmor_image_meta *meta;
    hid_t type;
    size_t bytes; /* of an element in the file */
    larmor_status status;
} headers;

static void take_headers(int64_t first, int64_t n, const unsigned char *elements, void *user)
{
    headers *h = user;
    for (int64_t i = 0; i < n && !h->status; i++) {
        lmr_mrd_image header = {0};
        h->status = lmr_mrd_decode_image(h->type, elements + (size_t)i * h->bytes, &header);
        if (!h->status) h->meta[first + i] = lmr_mrd_meta_of(&header);
    }
}

static larmor_status read_headers(lmr_dataset *d, void *result)
{
    headers *h = result;
    void *room;
    LMR_TRY(check_headers(d));
    LMR_REFUSE(d->count != h->count, LARMOR_ERR_FORMAT, "%s has %lld headers for %lld images.", d->path,
               (long long)d->count, (long long)h->count);
    LMR_TRY(lmr_dataset_prepare(d, "images"));
    LMR_TRY(h->input->room(h->input->user, h->count * (int64_t)sizeof *h->meta, &room));
    h->meta = room;
    h->type = d->type;
    h->bytes = d->bytes;
    LMR_TRY(lmr_dataset_each(d, take_headers, h));
    return h->status;
}

static larmor_status read_list(const lmr_input *input, lmr_reader_list *list)
{
    LMR_TRY(read_series(&input->source, "/data", read_extent, list));
    headers h = {.input = input, .count = list->count};
    return read_series(&input->source, "/header", read_headers, &h);
}

/* ---- what is in it ---- */

/* The kinds of ISMRMRD, image_type. */
static const char *kind_of(int image_type)
{
    static const char *const kinds[] = {"magnitude", "phase", "real", "imaginary", "complex"};
    return image_type >= 1 && image_type <= 5 ? kinds[image_type - 1] : "c64";
}

static larmor_status read_kind(lmr_dataset *d, void *result)
{
    larmor_image_info *info = result;
    lmr_mrd_image h = {0};
    LMR_TRY(read_first(d, &h));
    snprintf(info->type, sizeof info->type, "%s", kind_of(h.image_type));
    const size_t length = strlen(d->path) - strlen("/header");
    snprintf(info->inside, sizeof info->inside, "%.*s", (int)length, d->path);
    info->images = d->count;
    return LARMOR_OK;
}

/* The first element, where it is a string; NULL if there is none. */
static larmor_status read_text(lmr_dataset *d, const char *what, char **text, int64_t *bytes)
{
    const unsigned char *element;
    if (!d->id || H5Tget_class(d->type) != H5T_STRING || !d->count) return LARMOR_OK;
    LMR_TRY(lmr_dataset_prepare(d, what));
    LMR_TRY(lmr_dataset_block(d, 0, &element));
    const int is_variable = H5Tis_variable_str(d->type) > 0;
    const lmr_heap_ref ref = is_variable ? lmr_heap_ref_decode(element) : (lmr_heap_ref){.length = 0};
    const size_t length = is_variable ? ref.length : d->bytes;
    if (!length || length > LMR_MRD_MAX_HEADER) return LARMOR_OK;
    *bytes = (int64_t)length;
    *text = calloc(length + 1, 1);
    if (!*text) return LMR_NO_MEMORY();
    const char *wrong = NULL;
    if (is_variable)
        LMR_TRY(lmr_heap_fetch(d->source, ref, 1, *text, &wrong));
    else
        memcpy(*text, element, length);
    return wrong ? lmr_h5_damaged(what, d->path) : LARMOR_OK;
}

/* The text of the first image's attributes, where they are strings; none is no error. */
static larmor_status read_notes(lmr_dataset *d, void *result)
{
    larmor_image_info *info = result;
    int64_t bytes;
    LMR_OWN_MEMORY(char, text, read_text(d, "attributes", &text, &bytes));
    return text ? lmr_mrd_notes(text, (size_t)bytes, info->notes, sizeof info->notes) : LARMOR_OK;
}

static larmor_status describe(const lmr_input *input, larmor_image_info *info)
{
    info->has_geometry = info->has_counters = 1;
    LMR_TRY(read_series(&input->source, "/header", read_kind, info));
    return read_series(&input->source, "/attributes", read_notes, info);
}

static larmor_status read_header(lmr_dataset *d, void *result)
{
    const lmr_input *input = result;
    int64_t bytes;
    void *room;
    LMR_OWN_MEMORY(char, text, read_text(d, "header", &text, &bytes));
    if (!text) return LARMOR_OK;
    LMR_TRY(input->room(input->user, bytes, &room));
    memcpy(room, text, (size_t)bytes);
    return LARMOR_OK;
}

/* It lies beside the series, in their group. */
static larmor_status read_xml(const lmr_input *input)
{
    lmr_input own = *input;
    return read_series(&input->source, "/../xml", read_header, &own);
}

const lmr_parser lmr_parser_h5 = {
    .suffix = ".h5",
    .read = read_images,
    .read_meta = read_meta,
    .read_list = read_list,
    .read_xml = read_xml,
    .describe = describe,
};
