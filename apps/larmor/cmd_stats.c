/* larmor stats: magnitudes, phase and SNR of images in the regions of a mask. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "commands.h"
#include "common.h"
#include "json.h"

typedef struct settings {
    const char *mask;
    int json;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    OPTION(APP_READ_FILE, mask, 0, "mask", "FILE",
           "regions: voxels above 1/2 are region 1, above 3/2 region 2, ...; of the matrix of an image, or of all "
           "(default: above a tenth of each image's largest magnitude)"),
    OPTION(APP_FLAG, json, 0, "json", "", "print a JSON object"),
    {0},
};

/* The images of a file in the order of their places and counters, all of one shape. */
typedef struct stack {
    larmor_array *all;
    larmor_shape image; /* of one */
    int64_t voxels, slices;
} stack;

static void free_stack(stack *s)
{
    larmor_array_free(s->all);
}

static larmor_status read_stack(const char *path, larmor_device *dev, stack *s)
{
    APP_FREED_BY(larmor_images_free) larmor_image_set set = {.count = 0};
    TRY(app_read_images(path, dev, &set));
    if (!set.count) return larmor_fail(LARMOR_ERR_ARG, "%s: an array of so many dimensions has no images", path);
    s->image = larmor_array_shape(set.image[0].data);
    s->voxels = larmor_array_count(set.image[0].data);
    if (set.has_counters)
        TRY(larmor_images_stack(set.image, set.count, &s->all));
    else
        s->all = larmor_array_ref(set.all);
    const larmor_shape all = larmor_array_shape(s->all);
    const int is_volume = s->image.ndim > 2 && s->image.dim[2] > 1;
    s->slices = !is_volume && all.ndim > 2 ? all.dim[2] : 1;
    return LARMOR_OK;
}

typedef struct sizes {
    char s[128];
} sizes;

static sizes sizes_of(larmor_shape shape)
{
    sizes text = {""};
    size_t used = 0;
    for (int d = 0; d < shape.ndim && used < 100; d++)
        used += (size_t)snprintf(text.s + used, sizeof text.s - used, d ? ", %lld" : "%lld", (long long)shape.dim[d]);
    return text;
}

/* Of a mask for one image, for the slices of a volume, or for all: the part for image i. Its shape begins as that of
 * the images does. */
static larmor_status fits(const char *path, const larmor_array *mask, const stack *s)
{
    const int64_t voxels = larmor_array_count(mask);
    const larmor_shape m = larmor_array_shape(mask), all = larmor_array_shape(s->all);
    int alike = voxels == s->voxels || voxels == s->voxels * s->slices || voxels == larmor_array_count(s->all);
    for (int d = 0; d < m.ndim; d++)
        if (m.dim[d] != (d < all.ndim ? all.dim[d] : 1)) alike = 0;
    if (alike) return LARMOR_OK;
    return larmor_fail(LARMOR_ERR_SHAPE,
                       "%s: the mask is [%s], expected [%s], or that of one image or one volume of it", path,
                       sizes_of(m).s, sizes_of(all).s);
}

static larmor_status read_mask(const char *path, larmor_device *dev, const stack *s, larmor_array **mask)
{
    APP_FREED_BY(free_stack) stack read = {.all = NULL};
    APP_HEAP double *value = NULL;
    TRY(read_stack(path, dev, &read));
    TRY(fits(path, read.all, s));
    TRY(larmor_array_download(read.all, LARMOR_C128, &value));
    const int64_t count = larmor_array_count(read.all);
    for (int64_t i = 0; i < count; i++) {
        if (value[2 * i + 1] != 0)
            return larmor_fail(LARMOR_ERR_ARG, "%s: the mask is complex, expected real numbers", path);
        value[i] = value[2 * i];
    }
    return larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(count), LARMOR_F64, value, mask);
}

static larmor_status part_of(const larmor_array *flat, const stack *s, int64_t i, larmor_array **part)
{
    const int64_t first = i * s->voxels % larmor_array_count(flat);
    return larmor_array_part(flat, first, s->voxels, s->image, part);
}

static void print_header(void)
{
    printf("%6s %6s %6s %8s %12s %12s %12s %12s %12s %8s %9s %9s %9s\n", "frame", "slice", "region", "voxels", "mean",
           "deviation", "lowest", "highest", "median", "phase", "coherence", "ratio", "snr");
}

static void print_row(int64_t frame, int64_t slice, const larmor_region *r)
{
    printf("%6lld %6lld %6d %8lld %12.6g %12.6g %12.6g %12.6g %12.6g %8.4f %9.6g %9.6g %9.6g\n", (long long)frame,
           (long long)slice, r->label, (long long)r->voxels, r->mean, r->deviation, r->lowest, r->highest, r->median,
           r->phase, r->coherence, r->ratio, r->snr);
}

static void write_row(json *j, int64_t frame, int64_t slice, const larmor_region *r)
{
    json_open(j, NULL, '{');
    json_integer(j, "frame", frame);
    json_integer(j, "slice", slice);
    json_integer(j, "region", r->label);
    json_integer(j, "voxels", r->voxels);
    json_number(j, "mean", r->mean);
    json_number(j, "deviation", r->deviation);
    json_number(j, "lowest", r->lowest);
    json_number(j, "highest", r->highest);
    json_number(j, "median", r->median);
    json_number(j, "phase", r->phase);
    json_number(j, "coherence", r->coherence);
    json_number(j, "ratio", r->ratio);
    json_number(j, "snr", r->snr);
    json_close(j, '}');
}

/* Rows are found before the first is printed: what is refused prints none. */
typedef struct table {
    larmor_region *row;
    int *count; /* of each image */
    int64_t images;
} table;

static void free_table(table *t)
{
    free(t->row);
    free(t->count);
}

static larmor_status measure(const stack *image, const stack *second, const larmor_array *mask, table *t)
{
    APP_OWNED(larmor_array) *flat = NULL, *other = NULL;
    APP_HEAP larmor_region *found = malloc(LARMOR_MAX_REGIONS * sizeof *found);
    int64_t rows = 0;
    t->images = larmor_array_count(image->all) / image->voxels;
    t->count = calloc((size_t)t->images, sizeof *t->count);
    if (!found || !t->count) return NO_MEMORY();
    TRY(larmor_array_reshape(image->all, LARMOR_SHAPE(larmor_array_count(image->all)), &flat));
    if (second) TRY(larmor_array_reshape(second->all, LARMOR_SHAPE(larmor_array_count(second->all)), &other));
    for (int64_t i = 0; i < t->images; i++) {
        APP_OWNED(larmor_array) *a = NULL, *b = NULL, *m = NULL;
        TRY(part_of(flat, image, i, &a));
        if (other) TRY(part_of(other, image, i, &b));
        if (mask) TRY(part_of(mask, image, i, &m));
        TRY(larmor_region_stats(a, b, m, found, &t->count[i]));
        larmor_region *longer = realloc(t->row, (size_t)(rows + t->count[i]) * sizeof *longer);
        if (!longer) return NO_MEMORY();
        t->row = longer;
        for (int n = 0; n < t->count[i]; n++) t->row[rows++] = found[n];
    }
    return LARMOR_OK;
}

static void print(const settings *s, const app_files *files, const stack *image, const table *t)
{
    json j = {stdout, 0, 0};
    const larmor_region *row = t->row;
    if (s->json) {
        json_open(&j, NULL, '{');
        json_text(&j, "image", files->name[0]);
        if (files->count > 1) json_text(&j, "second", files->name[1]);
        if (s->mask) json_text(&j, "mask", s->mask);
        if (!s->mask) json_number(&j, "threshold", LARMOR_OBJECT_LEVEL);
        json_open(&j, "regions", '[');
    } else {
        print_header();
    }
    for (int64_t i = 0; i < t->images; i++)
        for (int n = 0; n < t->count[i]; n++, row++)
            if (s->json)
                write_row(&j, i / image->slices, i % image->slices, row);
            else
                print_row(i / image->slices, i % image->slices, row);
    if (!s->json) return;
    json_close(&j, ']');
    json_close(&j, '}');
}

static int run(const void *given, const app_files *files)
{
    const settings *s = given;
    APP_OWNED(larmor_device) *dev = NULL;
    APP_OWNED(larmor_array) *mask = NULL;
    APP_FREED_BY(free_stack) stack image = {.all = NULL}, second = {.all = NULL};
    APP_FREED_BY(free_table) table t = {.row = NULL};
    APP_TRY(APP_INPUT, larmor_device_open("cpu", &dev));
    APP_TRY(APP_INPUT, read_stack(files->name[0], dev, &image));
    if (files->count > 1) {
        APP_TRY(APP_INPUT, read_stack(files->name[1], dev, &second));
        if (!larmor_shape_equal(larmor_array_shape(image.all), larmor_array_shape(second.all)))
            return app_fail(APP_INPUT, larmor_fail(LARMOR_ERR_SHAPE, "%s and %s have images of other shapes",
                                                   files->name[0], files->name[1]));
    }
    if (s->mask) APP_TRY(APP_INPUT, read_mask(s->mask, dev, &image, &mask));
    const larmor_status st = measure(&image, files->count > 1 ? &second : NULL, mask, &t);
    if (st == LARMOR_ERR_ARG) { /* of what a file holds */
        app_error("%s: %s.", s->mask ? s->mask : files->name[0], larmor_last_error());
        return APP_REFUSED;
    }
    if (st) return app_fail_in(APP_INPUT, st, s->mask ? s->mask : files->name[0]);
    if (!s->mask) app_log("no --mask: region 1 is what is above %g of each image's maximum", LARMOR_OBJECT_LEVEL);
    print(s, files, &image, &t);
    return APP_DONE;
}

const app_command cmd_stats = {
    .name = "stats",
    .usage = "IMAGE [SECOND] [options]",
    .summary = "mean, deviation, phase, SNR of images in regions",
    .details =
        "A row for each image, of a frame and a slice from 0, and region of the mask. With the SECOND image of\n"
        "the same scan snr is that of their difference; ratio is the mean over that of region 1. Formats follow\n"
        "the suffixes (.h5, .nii, .nii.gz, .cfl, .npy).",
    .min_files = 1,
    .max_files = 2,
    .options = options,
    .settings = sizeof(settings),
    .run = run,
};
