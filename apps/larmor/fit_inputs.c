/* Images of several times for larmor fit. SPDX-License-Identifier: Apache-2.0 */
#include "fit_inputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT = 1 << 16 };

void fit_inputs_free(fit_inputs *in)
{
    larmor_images_free(&in->first);
    larmor_array_free(in->images);
}

/* ---- times ---- */

/* Numbers up to a character that belongs to none: how many; *end: there. -1 past the most. */
static int read_numbers(const char *text, double ms[FIT_TIMES], const char **end)
{
    int count = 0;
    for (;;) {
        char *rest;
        text += strspn(text, ", \t\r\n[");
        const double value = strtod(text, &rest);
        *end = text;
        if (rest == text) return count;
        if (count == FIT_TIMES) return -1;
        ms[count++] = value;
        text = rest;
    }
}

int fit_read_times(const char *text, double ms[FIT_TIMES])
{
    const char *end = text;
    const int count = text ? read_numbers(text, ms, &end) : -1;
    if (count < 1 || *end) return -1;
    for (int i = 0; i < count; i++)
        if (!(ms[i] >= 0 && ms[i] <= 1e6)) return -1;
    return count;
}

static char *read_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = f ? calloc(MOST_TEXT + 1, 1) : NULL;
    if (text && fread(text, 1, MOST_TEXT + 1, f) > MOST_TEXT) text[0] = 0;
    if (f) fclose(f);
    return text;
}

int fit_read_times_file(const char *path, double ms[FIT_TIMES])
{
    APP_HEAP char *text = read_text(path);
    return fit_read_times(text, ms);
}

/* The numbers of all elements of a name in a header of MRD. */
static int times_of_header(const char *header, const char *element, double ms[FIT_TIMES])
{
    char tag[32];
    int count = 0;
    snprintf(tag, sizeof tag, "<%s>", element);
    for (const char *at = strstr(header, tag); at && count < FIT_TIMES; at = strstr(at + 1, tag))
        ms[count++] = strtod(at + strlen(tag), NULL);
    return count;
}

double fit_field_strength(const fit_inputs *in)
{
    double tesla[FIT_TIMES];
    const int count = in->first.header ? times_of_header(in->first.header, "systemFieldStrength_T", tesla) : 0;
    return count ? tesla[0] : 0;
}

/* The sidecar that BIDS has beside x.nii, to be freed; NULL: there is none. */
static char *read_sidecar(const char *path)
{
    const char *suffix = larmor_format_of(path).suffix;
    char name[4096];
    if (!suffix || !larmor_format_of(path).has_sidecar) return NULL;
    snprintf(name, sizeof name, "%.*s.json", (int)(strlen(path) - strlen(suffix)), path);
    return read_text(name);
}

/* EchoTime or InversionTime of the sidecar, a number or a list, in s. */
static int times_of_sidecar(const char *path, const char *element, double ms[FIT_TIMES])
{
    const char *end;
    APP_HEAP char *text = read_sidecar(path);
    const char *at = text ? strstr(text, strcmp(element, "TE") ? "\"InversionTime\"" : "\"EchoTime\"") : NULL;
    at = at ? strchr(at, ':') : NULL;
    const int count = at ? read_numbers(at + 1, ms, &end) : 0;
    for (int i = 0; i < count; i++) ms[i] *= 1000;
    return count > 0 ? count : 0;
}

/* ---- images ---- */

/* The set's images with the time as last dimension. */
static larmor_status take_set(const larmor_image_set *set, int is_only, larmor_array **volumes)
{
    if (!set->has_counters && is_only) {
        larmor_shape shape = larmor_array_shape(set->all);
        while (shape.ndim > 1 && shape.dim[shape.ndim - 1] == 1) shape.ndim--;
        return larmor_array_reshape(set->all, shape, volumes);
    }
    APP_OWN(larmor_array, stacked, larmor_images_stack(set->image, set->count, &stacked));
    larmor_shape shape = larmor_array_shape(stacked);
    while (shape.ndim < 3) shape = larmor_shape_append(shape, 1);
    if (shape.ndim == 3) shape = larmor_shape_append(shape, 1);
    return larmor_array_reshape(stacked, shape, volumes);
}

static larmor_status join(larmor_array **part, int count, larmor_device *dev, larmor_array **all)
{
    larmor_shape shape = larmor_array_shape(part[0]);
    larmor_dtype type = LARMOR_F32;
    shape.dim[3] = 0;
    for (int i = 0; i < count; i++) {
        const larmor_shape one = larmor_array_shape(part[i]);
        const int is_alike = one.dim[0] == shape.dim[0] && one.dim[1] == shape.dim[1] && one.dim[2] == shape.dim[2];
        if (!is_alike)
            return larmor_fail(LARMOR_ERR_SHAPE,
                               "file %d: got %lld x %lld x %lld voxels, expected %lld x %lld x %lld as in file 1",
                               i + 1, (long long)one.dim[0], (long long)one.dim[1], (long long)one.dim[2],
                               (long long)shape.dim[0], (long long)shape.dim[1], (long long)shape.dim[2]);
        const larmor_dtype own = larmor_array_dtype(part[i]);
        if (own == LARMOR_C64 || own == LARMOR_C128) type = LARMOR_C64;
        shape.dim[3] += one.dim[3];
    }
    APP_OWN(larmor_array, whole, larmor_array_create(dev, type, shape, &whole));
    for (int64_t i = 0, first = 0; i < count; i++) {
        const int64_t own = larmor_array_shape(part[i]).dim[3];
        APP_OWN(larmor_array, place, larmor_array_slice(whole, first, own, &place));
        APP_OWN(larmor_array, converted, larmor_array_convert(part[i], type, &converted));
        TRY(larmor_copy(converted, place));
        first += own;
    }
    *all = whole;
    whole = NULL;
    return LARMOR_OK;
}

/* What a volume of NIfTI is made of, which its format does not say: by MRAcquisitionType of the sidecar, else by the
 * description that larmor writes. */
static fit_made_of made_of(const char *path, larmor_device *dev, const larmor_image_set *set)
{
    APP_HEAP larmor_image_info *info = NULL;
    const larmor_shape shape = set->count ? larmor_array_shape(set->image[0].data) : (larmor_shape){0};
    if (shape.ndim < 3 || shape.dim[2] < 2 || !larmor_format_of(path).has_sidecar) return FIT_AS_STORED;
    APP_HEAP char *text = read_sidecar(path);
    const char *at = text ? strstr(text, "\"MRAcquisitionType\"") : NULL;
    at = at ? strchr(at, ':') : NULL;
    at = at ? at + 1 + strspn(at + 1, " \t\r\n") : NULL;
    if (at && !strncmp(at, "\"2D\"", 4)) return FIT_OF_SLICES;
    if (at && !strncmp(at, "\"3D\"", 4)) return FIT_AS_STORED;
    info = calloc(1, sizeof *info);
    if (!info || larmor_image_describe(path, dev, info)) return FIT_NOT_SAID;
    if (strstr(info->notes, "description: larmor, 2D slices")) return FIT_OF_SLICES;
    return strstr(info->notes, "description: larmor\n") ? FIT_AS_STORED : FIT_NOT_SAID;
}

int fit_inputs_read(const app_files *files, const char *element, larmor_device *dev, fit_inputs *in)
{
    larmor_array *part[APP_MAX_FILES] = {NULL};
    larmor_status st = LARMOR_OK;
    int all_have = 1;
    for (int i = 0; i < files->count && !st; i++) {
        APP_FREED_BY(larmor_images_free) larmor_image_set set = {.count = 0};
        double ms[FIT_TIMES];
        st = app_read_images(files->name[i], dev, &set);
        if (!st) st = take_set(&set, files->count == 1, &part[i]);
        if (st) break;
        int own = set.header ? times_of_header(set.header, element, ms) : 0;
        if (!own) own = times_of_sidecar(files->name[i], element, ms);
        all_have = all_have && own && in->times + own <= FIT_TIMES;
        if (all_have) memcpy(in->ms + in->times, ms, (size_t)own * sizeof *ms);
        if (all_have) in->times += own;
        if (i) continue;
        in->first = set;
        in->made_of = made_of(files->name[0], dev, &set);
        in->name = files->name[0];
        set = (larmor_image_set){.count = 0};
    }
    if (!all_have) in->times = 0;
    if (!st && files->count == 1) {
        in->images = part[0];
        part[0] = NULL;
    } else if (!st) {
        st = join(part, files->count, dev, &in->images);
    }
    for (int i = 0; i < files->count; i++) larmor_array_free(part[i]);
    return st ? app_fail(APP_INPUT, st) : APP_DONE;
}

/* ---- maps ---- */

larmor_status fit_name_map(const char *prefix, const char *map, const char *more, char *name, size_t room)
{
    const size_t length = strlen(prefix);
    const int is_folder = length && prefix[length - 1] == '/';
    const char *suffix = is_folder ? ".nii" : larmor_format_of(prefix).suffix;
    if (!suffix || larmor_format_of(prefix).is_folder)
        return larmor_fail(LARMOR_ERR_ARG,
                           "opts.output: got \"%s\", expected a folder, as out/, or a suffix as of x.nii", prefix);
    const int stem = (int)(is_folder ? length : length - strlen(suffix));
    const int used = snprintf(name, room, "%.*s%s%s%s%s", stem, prefix, is_folder ? "" : "_", map, more, suffix);
    if (used >= (int)room) return larmor_fail(LARMOR_ERR_ARG, "opts.output: got a name that is too long");
    return LARMOR_OK;
}

larmor_status fit_make_real(larmor_array **x, larmor_device *dev)
{
    if (!*x || larmor_array_dtype(*x) == LARMOR_F32 || larmor_array_dtype(*x) == LARMOR_F64) return LARMOR_OK;
    const int64_t count = larmor_array_count(*x);
    larmor_array *real = NULL;
    APP_OWN_MEMORY(float, pairs, larmor_array_download(*x, LARMOR_C64, &pairs));
    for (int64_t i = 0; i < count; i++) pairs[i] = pairs[2 * i];
    TRY(larmor_array_upload(dev, LARMOR_F32, larmor_array_shape(*x), LARMOR_F32, pairs, &real));
    larmor_array_free(*x);
    *x = real;
    return LARMOR_OK;
}

static double along(const larmor_image_meta *meta, const double *slice_dir)
{
    double sum = 0;
    for (int k = 0; k < 3; k++) sum += meta->position_mm[k] * slice_dir[k];
    return sum;
}

static int is_one_volume(const larmor_image_meta *a, const larmor_image_meta *b)
{
    return a->contrast == b->contrast && a->phase == b->phase && a->repetition == b->repetition && a->set == b->set &&
           a->average == b->average;
}

/* The first volume's slices in the order of larmor_images_stack: how many. */
static int find_slices(const larmor_image_set *set, const larmor_image_meta **slice, int most)
{
    int count = 0;
    for (int i = 0; i < set->count; i++) {
        const larmor_image_meta *meta = &set->image[i].meta;
        if (!is_one_volume(meta, &set->image[0].meta)) continue;
        if (count == most) return most + 1;
        int at = count++;
        const double *direction = set->image[0].meta.slice_dir;
        for (; at > 0 && along(slice[at - 1], direction) > along(meta, direction); at--) slice[at] = slice[at - 1];
        slice[at] = meta;
    }
    return count;
}

larmor_status fit_write_map(const fit_inputs *in, const larmor_array *map, larmor_output *out)
{
    const larmor_shape shape = larmor_array_shape(map);
    const larmor_shape own = in->first.count ? larmor_array_shape(in->first.image[0].data) : shape;
    if (!in->first.has_counters && larmor_format_of(larmor_output_path(out)).saves)
        return larmor_array_save(out, map);
    if (!in->first.has_geometry) {
        larmor_image image = {.data = map, .meta = {.place_unknown = 1}};
        for (int d = 0; d < 3; d++) image.meta.fov_mm[d] = d < shape.ndim ? (double)shape.dim[d] : 1;
        image.meta.read_dir[0] = image.meta.phase_dir[1] = image.meta.slice_dir[2] = 1;
        return larmor_image_write(out, &image, 1, NULL);
    }
    if (own.ndim > 2 && own.dim[2] > 1) {
        const larmor_image image = {.data = map, .meta = in->first.image[0].meta};
        return larmor_image_write(out, &image, 1, &(larmor_write_opts){.header = in->first.header});
    }
    const int slices = (int)shape.dim[2];
    APP_HEAP const larmor_image_meta **meta = calloc((size_t)slices + 1, sizeof *meta);
    APP_HEAP larmor_image *images = calloc((size_t)slices + 1, sizeof *images);
    if (!meta || !images) return larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
    if (find_slices(&in->first, meta, slices) != slices)
        return larmor_fail(LARMOR_ERR_SHAPE, "slices: got other places in the first image than in the others");
    larmor_status st = LARMOR_OK;
    for (int s = 0; s < slices && !st; s++) {
        larmor_array *part = NULL;
        st = larmor_array_part(map, s, 1, LARMOR_SHAPE(shape.dim[0], shape.dim[1]), &part);
        images[s] = (larmor_image){.data = part, .meta = *meta[s]};
    }
    if (!st) st = larmor_image_write(out, images, slices, &(larmor_write_opts){.header = in->first.header});
    for (int s = 0; s < slices; s++) larmor_array_free(images[s].data);
    return st;
}

larmor_status fit_join_noise(larmor_array **noise, const larmor_array *images, larmor_device *dev)
{
    TRY(fit_make_real(noise, dev));
    if (!*noise) return LARMOR_OK;
    const larmor_shape all = larmor_array_shape(images);
    const int64_t times = all.dim[all.ndim - 1];
    if (times < 2) return LARMOR_OK;
    const int64_t voxels = larmor_shape_count(all) / times;
    if (larmor_shape_count(larmor_array_shape(*noise)) != voxels * times) return LARMOR_OK;
    larmor_array *joined;
    APP_OWN_MEMORY(double, value, larmor_array_download(*noise, LARMOR_F64, &value));
    for (int64_t i = 0; i < voxels; i++) {
        double sum = 0;
        for (int64_t t = 0; t < times; t++) sum += value[i + voxels * t] * value[i + voxels * t];
        value[i] = sqrt(sum / (double)times);
    }
    larmor_shape shape = all;
    shape.ndim--;
    TRY(larmor_array_upload(dev, LARMOR_F32, shape, LARMOR_F64, value, &joined));
    larmor_array_free(*noise);
    *noise = joined;
    return LARMOR_OK;
}

/* Neighbours that differ by more than this many error bars, in the median, are worth a line. */
#define MANY_BARS 1.0

/* *deviation <- the root of its square and that of spread */
static larmor_status add_spread(const larmor_array *spread, larmor_array **deviation)
{
    larmor_array *both;
    const larmor_shape shape = larmor_array_shape(spread);
    APP_OWN_MEMORY(double, bar, larmor_array_download(*deviation, LARMOR_F64, &bar));
    APP_OWN_MEMORY(double, beyond, larmor_array_download(spread, LARMOR_F64, &beyond));
    for (int64_t i = 0; i < larmor_shape_count(shape); i++) bar[i] = hypot(bar[i], beyond[i]);
    TRY(larmor_array_upload(larmor_array_device(spread), LARMOR_F32, shape, LARMOR_F64, bar, &both));
    larmor_array_free(*deviation);
    *deviation = both;
    return LARMOR_OK;
}

/* 1 if the map's slices are images of their own, between which there may be gaps. */
static int are_slices(const fit_inputs *in, const larmor_array *map)
{
    const larmor_shape own = in->first.count ? larmor_array_shape(in->first.image[0].data) : larmor_array_shape(map);
    if (in->made_of == FIT_OF_SLICES) return larmor_array_shape(map).ndim == 3;
    return in->first.has_geometry && (own.ndim < 3 || own.dim[2] == 1) && larmor_array_shape(map).ndim == 3;
}

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of spread over deviation, where this is not 0. */
static larmor_status median_bars(const larmor_array *spread, const larmor_array *deviation, double *ratio)
{
    int64_t count = 0;
    APP_OWN_MEMORY(double, bar, larmor_array_download(deviation, LARMOR_F64, &bar));
    APP_OWN_MEMORY(double, beyond, larmor_array_download(spread, LARMOR_F64, &beyond));
    for (int64_t i = 0; i < larmor_array_count(spread); i++)
        if (bar[i] > 0) beyond[count++] = beyond[i] / bar[i];
    qsort(beyond, (size_t)count, sizeof *beyond, compare_numbers);
    *ratio = count ? (beyond[(count - 1) / 2] + beyond[count / 2]) / 2 : 0;
    return LARMOR_OK;
}

/* As larmor_fit_spread, of each slice by itself. */
static larmor_status spread_in_slices(const larmor_array *value, const larmor_array *deviation, larmor_array **spread,
                                      double *ratio)
{
    const larmor_shape shape = larmor_array_shape(value), slice = LARMOR_SHAPE(shape.dim[0], shape.dim[1]);
    TRY(larmor_array_create(larmor_array_device(value), LARMOR_F32, shape, spread));
    for (int64_t z = 0; z < shape.dim[2]; z++) {
        APP_OWN(larmor_array, from, larmor_array_part(value, z, 1, slice, &from));
        APP_OWN(larmor_array, bars, larmor_array_part(deviation, z, 1, slice, &bars));
        APP_OWN(larmor_array, found, larmor_fit_spread(from, bars, &found, NULL));
        APP_OWN(larmor_array, place, larmor_array_part(*spread, z, 1, slice, &place));
        TRY(larmor_copy(found, place));
    }
    return median_bars(*spread, deviation, ratio);
}

larmor_status fit_judge_bars(const fit_inputs *in, const char *name, int edges, const larmor_array *value,
                             larmor_array **deviation, double *ratio)
{
    APP_OWNED(larmor_array) *spread = NULL;
    TRY((are_slices(in, value) ? spread_in_slices : larmor_fit_spread)(value, *deviation, &spread, ratio));
    if (edges && in->made_of == FIT_NOT_SAID)
        app_log("%s: slices of %s are taken for neighbours; they are not where its .json has \"MRAcquisitionType\": "
                "\"2D\"",
                name, in->name);
    if (edges) return add_spread(spread, deviation);
    if (*ratio > MANY_BARS)
        app_log("%s: error bars are of noise alone; neighbours differ by %.2g times as much beyond it (blur, "
                "ringing, edges), which --edge-bars adds",
                name, *ratio);
    return LARMOR_OK;
}
