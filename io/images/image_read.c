/* Images and arrays of any format: what the reader made of a file, checked and put into an array; and a description
 * of it. SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

#include "core/core.h"
#include "io/images/formats.h"
#include "io/images/image_list.h"
#include "io/images/pieces.h"
#include "io/process/reader_process.h"
#include "io/reader/checksum.h"
#include "io/reverse_axes.h"

#define MOST_HEADER (INT64_C(16) << 20) /* as the reader has it */

/* ---- a file and its reader ---- */

typedef struct input {
    lmr_source source, second;
    const lmr_format *format;
    lmr_reader *reader;
} input;

/* Open a file of a known format; FILE.h5:/group opens FILE.h5, unless a file has the whole name. */
static larmor_status open_source(const char *path, lmr_source *source)
{
    const char *inside = lmr_inside(path);
    if (!inside) return lmr_source_open(path, "a file", source);
    char *file = strndup(path, (size_t)(inside - path));
    const larmor_status st = file ? lmr_source_open(file, "a file", source) : LMR_NO_MEMORY();
    free(file);
    source->inside = inside + 1;
    return st;
}

/* The file whose suffix is the format's second one. */
static larmor_status open_second(input *in)
{
    const char *path = in->source.path, *suffix = in->format->second;
    const size_t stem = strlen(path) - strlen(in->format->suffix);
    LMR_HEAP LMR_NEW(char, name, stem + strlen(suffix) + 1);
    memcpy(name, path, stem);
    memcpy(name + stem, suffix, strlen(suffix) + 1);
    return lmr_source_open(name, "a file", &in->second);
}

static void close_input(input *in)
{
    lmr_reader_end(in->reader);
    lmr_source_close(&in->second);
    lmr_source_close(&in->source);
}

/* can: what the format must be able to do, of LMR_CAN_READ and so on. `in` is to be closed in any case. */
static larmor_status open_input(const char *path, unsigned can, input *in)
{
    const lmr_format *named = lmr_format_of(path);
    *in = (input){.source.fd = -1, .second.fd = -1};
    if (named && named->inside) return lmr_unknown_suffix(path, 1);
    LMR_TRY(open_source(path, &in->source));
    in->format = lmr_format_of(in->source.path);
    if (!in->format || (in->format->can & can) != can) return lmr_unknown_suffix(in->source.path, 1);
    if (in->format->second) LMR_TRY(open_second(in));
    if (!in->format->can) return LARMOR_OK;
    return lmr_reader_start(&in->source, in->format->second ? &in->second : NULL, in->format->suffix, NULL,
                            &in->reader);
}

/* ---- answers, which may be anything ---- */

/* Elements in the order of the array, where the file has them in that of C. */
static larmor_status order(const lmr_reader_array *a, const void *host, void **ordered)
{
    *ordered = lmr_new(a->bytes, 1);
    if (!*ordered) return LMR_NO_MEMORY();
    lmr_reverse_axes(a->axes, a->dim, larmor_dtype_size((larmor_dtype)a->dtype), host, *ordered);
    return LARMOR_OK;
}

/* Elements that the file has in one piece; numbers of the file, whatever the reader says of their place. */
static larmor_status upload_from_file(input *in, const lmr_reader_array *a, larmor_shape shape, larmor_device *dev,
                                      larmor_array **x)
{
    const int64_t size = in->source.size;
    if (a->at < 0 || a->bytes > size || a->at > size - a->bytes) return lmr_reader_lies(in->reader);
    const larmor_dtype dtype = (larmor_dtype)a->dtype;
    LMR_HEAP void *host = lmr_new(a->bytes, 1);
    LMR_HEAP void *ordered = NULL;
    if (!host) return LMR_NO_MEMORY();
    LMR_TRY(lmr_source_read(&in->source, a->at, host, (size_t)a->bytes));
    if (a->last_fastest) LMR_TRY(order(a, host, &ordered));
    return larmor_array_upload(dev, dtype, shape, dtype, ordered ? ordered : host, x);
}

/* ---- pieces: elements that are in an HDF5 file as they are, with checksums or without ---- */

/* Floats become complex, from the last one on, which may lie where they are. */
static void widen(const float *from, int64_t count, float *to)
{
    for (int64_t i = count; i-- > 0;) {
        to[2 * i] = from[i];
        to[2 * i + 1] = 0;
    }
}

static larmor_status read_piece(const input *in, const lmr_reader_array *a, const lmr_reader_piece *p,
                                unsigned char *memory, float *host)
{
    const size_t bytes = (size_t)p->count * larmor_dtype_size((larmor_dtype)a->stored);
    float *to = host + 2 * p->first;
    if (a->checksums) {
        LMR_TRY(lmr_take_checked(&in->source, p, memory));
        memcpy(to, memory, bytes);
    }
    if (!a->checksums) LMR_TRY(lmr_source_read(&in->source, p->at, to, bytes));
    if (a->stored == LARMOR_F32) widen(to, p->count, to);
    return LARMOR_OK;
}

/* The reader has checked none of the elements, and this process none of what HDF5 says but bounds. */
static larmor_status upload_pieces(input *in, const lmr_reader_array *a, larmor_shape shape, larmor_device *dev,
                                   larmor_array **x)
{
    int64_t bytes;
    const lmr_reader_piece *piece = lmr_reader_memory(in->reader, &bytes);
    const int64_t count = bytes / (int64_t)sizeof *piece;
    if (!piece || a->dtype != LARMOR_C64 || (a->stored != LARMOR_C64 && a->stored != LARMOR_F32))
        return lmr_reader_lies(in->reader);
    LMR_TRY(lmr_check_pieces(&in->source, in->reader, a, piece, count));
    LMR_HEAP float *host = lmr_new(a->bytes, 1);
    LMR_HEAP unsigned char *memory =
        lmr_new(a->checksums ? lmr_largest_piece(piece, count) + LMR_CHECKSUM_BYTES : 0, 1);
    if (!host || !memory) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < count; i++) LMR_TRY(read_piece(in, a, &piece[i], memory, host));
    return larmor_array_upload(dev, LARMOR_C64, shape, LARMOR_C64, host, x);
}

/* said: what the reader said of it. */
static larmor_status read_described(input *in, larmor_device *dev, lmr_reader_array *said, larmor_array **x)
{
    const lmr_reader_answer *answer;
    larmor_shape shape;
    int64_t bytes;
    LMR_TRY(lmr_reader_ask_for(in->reader, LMR_ASK_ARRAY, NULL, INT64_MAX, &answer));
    const void *memory = lmr_reader_memory(in->reader, &bytes);
    const lmr_reader_array a = answer->array;
    *said = a;
    if (!lmr_is_possible_array(&a)) return lmr_reader_lies(in->reader);
    LMR_TRY(lmr_shape_from(in->source.path, a.axes, a.dim, &shape));
    if (a.in_file == LMR_IN_ONE) return upload_from_file(in, &a, shape, dev, x);
    if (a.in_file == LMR_IN_PIECES) return upload_pieces(in, &a, shape, dev, x);
    if (!memory || bytes != a.bytes) return lmr_reader_lies(in->reader);
    const larmor_dtype dtype = (larmor_dtype)a.dtype;
    LMR_HEAP void *ordered = NULL;
    if (a.last_fastest) LMR_TRY(order(&a, memory, &ordered));
    return larmor_array_upload(dev, dtype, shape, dtype, ordered ? ordered : memory, x);
}

static larmor_status read_array(input *in, larmor_device *dev, larmor_array **x)
{
    lmr_reader_array said;
    return read_described(in, dev, &said, x);
}

static int is_counter(int value)
{
    return value >= 0 && value <= 65535;
}

static int is_possible_meta(const larmor_image_meta *m)
{
    return is_counter(m->encoding) && is_counter(m->slice) && is_counter(m->contrast) && is_counter(m->phase) &&
           is_counter(m->repetition) && is_counter(m->set) && is_counter(m->average) && m->place_unknown >= 0 &&
           m->place_unknown <= 1;
}

static larmor_status read_meta(input *in, larmor_image_meta *meta)
{
    const lmr_reader_answer *answer;
    LMR_TRY(lmr_reader_ask_for(in->reader, LMR_ASK_META, NULL, 0, &answer));
    if (!is_possible_meta(&answer->meta)) return lmr_reader_lies(in->reader);
    *meta = answer->meta;
    return LARMOR_OK;
}

/* ---- all images of a file ---- */

/* Of each image its own, where they fit the array. */
static larmor_status read_metas(input *in, const lmr_reader_array *array, lmr_image_list *list)
{
    const lmr_reader_answer *answer;
    int64_t bytes, needed = 1;
    LMR_TRY(lmr_reader_ask_for(in->reader, LMR_ASK_LIST, NULL, INT64_MAX, &answer));
    const larmor_image_meta *meta = lmr_reader_memory(in->reader, &bytes);
    const lmr_reader_list l = answer->list;
    const int64_t size[5] = {l.dim[0], l.dim[1], l.dim[2], l.channels, l.count};
    for (int d = 0; d < 5; d++)
        if (size[d] < 1 || !lmr_mul(needed, size[d], &needed)) return lmr_reader_lies(in->reader);
    for (int d = 0; d < array->axes; d++) {
        if (needed % array->dim[d]) return lmr_reader_lies(in->reader);
        needed /= array->dim[d];
    }
    if (needed != 1 || !meta || bytes / (int64_t)sizeof *meta != l.count || bytes % (int64_t)sizeof *meta)
        return lmr_reader_lies(in->reader);
    for (int64_t i = 0; i < l.count; i++)
        if (!is_possible_meta(&meta[i])) return lmr_reader_lies(in->reader);
    LMR_ALLOCATE(list->meta, l.count);
    memcpy(list->meta, meta, (size_t)bytes);
    list->metas = l.count;
    list->axes = 5;
    memcpy(list->dim, size, sizeof size);
    return LARMOR_OK;
}

static larmor_status read_list(input *in, larmor_device *dev, lmr_image_list *list)
{
    lmr_reader_array array;
    LMR_TRY(read_described(in, dev, &array, &list->all));
    list->has_geometry = (in->format->can & LMR_CAN_PLACE) != 0;
    list->is_real = in->format->can & LMR_CAN_LIST && array.stored == LARMOR_F32;
    if (in->format->can & LMR_CAN_LIST) return read_metas(in, &array, list);
    list->axes = array.axes;
    memcpy(list->dim, array.dim, (size_t)array.axes * sizeof *list->dim);
    LMR_ALLOCATE(list->meta, 1);
    list->metas = 1;
    return read_meta(in, list->meta);
}

/* The XML header that lies beside the images. */
static larmor_status read_header(input *in, lmr_image_list *list)
{
    const lmr_reader_answer *answer;
    int64_t bytes;
    LMR_TRY(lmr_reader_ask_for(in->reader, LMR_ASK_IMAGES_XML, NULL, MOST_HEADER, &answer));
    const void *memory = lmr_reader_memory(in->reader, &bytes);
    if (!memory || bytes < 1) return LARMOR_OK;
    list->header = strndup(memory, (size_t)bytes);
    return list->header ? LARMOR_OK : LMR_NO_MEMORY();
}

larmor_status lmr_image_list_read(const char *path, larmor_device *dev, lmr_image_list *list)
{
    *list = (lmr_image_list){.all = NULL};
    LMR_FREED_BY(close_input) input in;
    LMR_TRY(open_input(path, LMR_CAN_READ | LMR_CAN_READ_META, &in));
    larmor_status st = read_list(&in, dev, list);
    if (!st) st = read_header(&in, list);
    list->format = in.format;
    if (st) lmr_image_list_free(list);
    return st;
}

void lmr_image_list_free(lmr_image_list *list)
{
    LMR_FREE(list->all, list->meta, list->header);
    *list = (lmr_image_list){.all = NULL};
}

/* A text that ends and has no control characters but, in several lines, their ends. */
static void take_text(char *to, const char *from, size_t room, int lines)
{
    size_t i = 0;
    for (; i + 1 < room && from[i]; i++)
        to[i] = (unsigned char)from[i] >= ' ' || (lines && from[i] == '\n') ? from[i] : '?';
    to[i] = '\0';
}

/* What the array and the geometry do not tell. */
static larmor_status read_rest(input *in, larmor_image_info *info)
{
    const lmr_reader_answer *answer;
    LMR_TRY(lmr_reader_ask_for(in->reader, LMR_ASK_DESCRIBE, NULL, 0, &answer));
    const larmor_image_info *i = &answer->info;
    const int has_shape = !(in->format->can & LMR_CAN_READ);
    const larmor_shape s = i->shape;
    if (i->images < 0) return lmr_reader_lies(in->reader);
    for (int d = 0; d < 3 && has_shape; d++)
        if (s.ndim < 2 || s.ndim > 3 || (d < s.ndim && s.dim[d] < 0)) return lmr_reader_lies(in->reader);
    if (*i->type) take_text(info->type, i->type, sizeof info->type, 0);
    take_text(info->inside, i->inside, sizeof info->inside, 0);
    take_text(info->notes, i->notes, sizeof info->notes, 1);
    if (i->images) info->images = i->images;
    if (has_shape) info->shape = larmor_shape_of(s.ndim, s.dim);
    info->has_geometry = i->has_geometry != 0;
    info->has_counters = i->has_counters != 0;
    return LARMOR_OK;
}

/* ---- what is public ---- */

larmor_status larmor_image_read(const char *path, larmor_device *dev, larmor_array **image)
{
    LMR_REFUSE(!image || !dev, LARMOR_ERR_ARG, "image: no device or no place for the result");
    *image = NULL;
    LMR_FREED_BY(close_input) input in;
    LMR_TRY(open_input(path, LMR_CAN_READ, &in));
    return read_array(&in, dev, image);
}

larmor_status larmor_image_read_meta(const char *path, larmor_image_meta *meta)
{
    LMR_REFUSE(!meta, LARMOR_ERR_ARG, "image: no place for the geometry");
    *meta = (larmor_image_meta){.fov_mm = {1, 1, 1}, .read_dir = {1}, .phase_dir = {0, 1}, .slice_dir = {0, 0, 1}};
    LMR_FREED_BY(close_input) input in;
    LMR_TRY(open_input(path, LMR_CAN_READ, &in));
    return in.format->can & LMR_CAN_READ_META ? read_meta(&in, meta) : LARMOR_OK;
}

static larmor_status find_range(const larmor_array *x, larmor_image_info *info)
{
    const int64_t count = larmor_array_count(x);
    info->is_complex = lmr_is_complex(larmor_array_dtype(x));
    LMR_HEAP LMR_NEW(float, values, count);
    LMR_TRY(lmr_values(x, info->is_complex ? LMR_AS_MAGNITUDE : LMR_AS_REAL, values));
    for (int64_t i = 0; i < count; i++) {
        const double v = (double)values[i];
        if (!isfinite(v)) {
            info->nonfinite++;
            continue;
        }
        if (!info->has_range || v < info->lowest) info->lowest = v;
        if (!info->has_range || v > info->highest) info->highest = v;
        info->has_range = 1;
    }
    return LARMOR_OK;
}

static larmor_status look_into(input *in, larmor_device *dev, larmor_image_info *info)
{
    LMR_OWN(larmor_array, x, read_array(in, dev, &x));
    info->shape = larmor_array_shape(x);
    snprintf(info->type, sizeof info->type, "%s", larmor_dtype_name(larmor_array_dtype(x)));
    return find_range(x, info);
}

static larmor_status describe_file(const char *path, larmor_device *dev, larmor_image_info *out)
{
    *out = (larmor_image_info){.images = 1};
    LMR_FREED_BY(close_input) input in;
    LMR_TRY(open_input(path, 0, &in));
    snprintf(out->format, sizeof out->format, "%s", in.format->name);
    const unsigned can = in.format->can;
    if (!can) return lmr_unknown_suffix(path, 1);
    if (can & LMR_CAN_READ) LMR_TRY(look_into(&in, dev, out));
    if (can & LMR_CAN_READ_META) LMR_TRY(read_meta(&in, &out->meta));
    return can & LMR_CAN_DESCRIBE ? read_rest(&in, out) : LARMOR_OK;
}

/* ---- a folder of files, a slice each ---- */

typedef struct folder {
    struct dirent **entry;
    int count, files; /* entries; of the first one's series */
    double *along;    /* [files] the places of their slices along the first one's normal */
    larmor_image_info first, other;
} folder;

static void close_folder(folder *f)
{
    for (int i = 0; i < f->count; i++) free(f->entry[i]);
    LMR_FREE(f->entry, f->along);
}

static int is_dicom(const struct dirent *entry)
{
    const lmr_format *format = lmr_format_of(entry->d_name);
    return format && !strcmp(format->suffix, ".dcm");
}

static larmor_status add_file(const char *path, larmor_device *dev, folder *f)
{
    larmor_image_info *info = f->files ? &f->other : &f->first;
    double along = 0;
    LMR_TRY(describe_file(path, dev, info));
    if (strcmp(info->inside, f->first.inside) != 0) return LARMOR_OK;
    for (int k = 0; k < 3; k++) along += f->first.meta.slice_dir[k] * info->meta.position_mm[k];
    f->along[f->files++] = along;
    return LARMOR_OK;
}

/* Slices of one series as volumes, as far apart as the outermost say. */
static void stack_slices(folder *f, larmor_image_info *out)
{
    int slices = 1;
    lmr_sort_f64(f->along, f->files);
    for (int i = 1; i < f->files; i++) slices += f->along[i] - f->along[i - 1] > 1e-3 /* mm */;
    *out = f->first;
    out->images *= f->files;
    if (slices < 2 || f->files % slices || out->shape.dim[2] > 1) return;
    const double *normal = out->meta.slice_dir;
    const double step = (f->along[f->files - 1] - f->along[0]) / (slices - 1);
    double first = 0;
    for (int k = 0; k < 3; k++) first += normal[k] * out->meta.position_mm[k];
    for (int k = 0; k < 3; k++) out->meta.position_mm[k] += (f->along[0] + step * (slices / 2) - first) * normal[k];
    out->images /= slices;
    out->shape = LARMOR_SHAPE(out->shape.dim[0], out->shape.dim[1], slices);
    out->meta.fov_mm[2] = step * slices;
}

static larmor_status describe_folder(const char *path, larmor_device *dev, larmor_image_info *out)
{
    LMR_FREED_BY(close_folder) folder f = {.count = 0};
    f.count = scandir(path, &f.entry, is_dicom, alphasort);
    if (f.count < 0) {
        f.count = 0;
        return LMR_FAIL(LARMOR_ERR_IO, "%s: %s.", path, strerror(errno));
    }
    LMR_REFUSE(!f.count, LARMOR_ERR_FORMAT, "%s: holds no .dcm file.", path);
    LMR_ALLOCATE(f.along, f.count);
    for (int i = 0; i < f.count; i++) {
        char file[PATH_MAX];
        LMR_TRY(lmr_go_on());
        const int needed =
            snprintf(file, sizeof file, "%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/", f.entry[i]->d_name);
        LMR_REFUSE(needed >= (int)sizeof file, LARMOR_ERR_ARG, "%s: the name is too long", path);
        LMR_TRY(add_file(file, dev, &f));
    }
    stack_slices(&f, out);
    const size_t used = strlen(out->notes);
    snprintf(out->notes + used, sizeof out->notes - used, "Files: %d", f.count);
    if (f.files < f.count)
        snprintf(out->notes + strlen(out->notes), sizeof out->notes - strlen(out->notes), ", %d of other series",
                 f.count - f.files);
    snprintf(out->notes + strlen(out->notes), sizeof out->notes - strlen(out->notes), "\n");
    return LARMOR_OK;
}

larmor_status larmor_image_describe(const char *path, larmor_device *dev, larmor_image_info *out)
{
    struct stat s;
    LMR_REFUSE(!out || !dev, LARMOR_ERR_ARG, "image: no device or no place for the result");
    const lmr_format *format = lmr_format_of(path);
    const int may_be_folder = format && (format->inside || !strcmp(format->suffix, ".dcm"));
    if (may_be_folder && !stat(path, &s) && S_ISDIR(s.st_mode)) return describe_folder(path, dev, out);
    return describe_file(path, dev, out);
}
