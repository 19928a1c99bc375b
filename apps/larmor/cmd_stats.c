/* larmor stats: magnitudes, phase and SNR of images in the regions of a mask. SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "common.h"
#include "json.h"
#include "stack.h"

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
    JSON_MEMBERS(j, *r, voxels, mean, deviation, lowest, highest, median, phase, coherence, ratio, snr);
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

static larmor_status measure(const app_stack *image, const app_stack *second, const larmor_array *mask, table *t)
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
        TRY(app_part_of(flat, image, i, &a));
        if (other) TRY(app_part_of(other, image, i, &b));
        if (mask) TRY(app_part_of(mask, image, i, &m));
        TRY(larmor_region_stats(a, b, m, found, &t->count[i]));
        larmor_region *longer = realloc(t->row, (size_t)(rows + t->count[i]) * sizeof *longer);
        if (!longer) return NO_MEMORY();
        t->row = longer;
        for (int n = 0; n < t->count[i]; n++) t->row[rows++] = found[n];
    }
    return LARMOR_OK;
}

static void print(const settings *s, const app_files *files, const app_stack *image, const table *t)
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
    APP_FREED_BY(app_free_stack) app_stack image = {.all = NULL}, second = {.all = NULL};
    APP_FREED_BY(free_table) table t = {.row = NULL};
    APP_TRY(APP_INPUT, larmor_device_open("cpu", &dev));
    APP_TRY(APP_INPUT, app_read_stack(files->name[0], dev, &image));
    if (files->count > 1) {
        APP_TRY(APP_INPUT, app_read_stack(files->name[1], dev, &second));
        if (!larmor_shape_equal(larmor_array_shape(image.all), larmor_array_shape(second.all)))
            return app_fail(APP_INPUT, larmor_fail(LARMOR_ERR_SHAPE, "%s and %s have images of other shapes",
                                                   files->name[0], files->name[1]));
    }
    if (s->mask) APP_TRY(APP_INPUT, app_read_mask(s->mask, dev, &image, &mask));
    const larmor_status st = measure(&image, files->count > 1 ? &second : NULL, mask, &t);
    if (st == LARMOR_ERR_ARG) { /* of what a file holds */
        return app_refuse(APP_REFUSED, "%s: %s.", s->mask ? s->mask : files->name[0], larmor_last_error());
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
    APP_OWN_PARTS,
};
