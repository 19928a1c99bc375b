/* larmor compare: how far one image is from another, up to a factor. SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "common.h"
#include "json.h"
#include "stack.h"

typedef struct settings {
    double tol;
    const char *mask;
    int64_t inside;
    int magnitude, transpose, frames, json;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    OPTION(APP_NUMBER, tol, 0, "tol", "X", "exit with 1 if the error is larger (default: never)", .low = 0,
           .high = 1e6, .absent = 1),
    OPTION(APP_FLAG, magnitude, 0, "magnitude", "", "compare magnitudes, up to a real factor"),
    OPTION(APP_INTEGER, inside, 0, "inside", "D",
           "compare inside the ellipse (2, slice by slice) or ellipsoid (3) of k-space that the matrix holds; spokes "
           "and spirals sample no more; 0: everywhere",
           .preset = "0", .low = 0, .high = 3),
    OPTION(
        APP_READ_FILE, mask, 0, "mask", "FILE",
        "print the error of each region, too: voxels above 1/2 are region 1, above 3/2 region 2, ...; of the matrix "
        "of an image, or of all"),
    OPTION(APP_FLAG, frames, 0, "frames", "",
           "print the error of each frame and slice, too; without --mask where B is above a tenth of its maximum"),
    OPTION(APP_FLAG, transpose, 0, "transpose", "", "swap the first two dimensions of A first"),
    OPTION(APP_FLAG, json, 0, "json", "", "print a JSON object"),
    {0},
};

/* Rows are found before anything is printed. */
typedef struct table {
    larmor_region_error *row;
    int *count; /* of each image */
    int64_t images, slices;
} table;

static void free_table(table *t)
{
    free(t->row);
    free(t->count);
}

static void print_rows(const table *t)
{
    const larmor_region_error *r = t->row;
    printf("%6s %6s %6s %8s %12s %12s %12s %12s\n", "frame", "slice", "region", "voxels", "nrmse", "rmse", "largest",
           "ratio");
    for (int64_t i = 0; i < t->images; i++)
        for (int n = 0; n < t->count[i]; n++, r++)
            printf("%6lld %6lld %6d %8lld %12.6g %12.6g %12.6g %12.6g\n", (long long)(i / t->slices),
                   (long long)(i % t->slices), r->label, (long long)r->voxels, r->nrmse, r->rmse, r->largest,
                   r->ratio);
}

static void write_rows(json *j, const table *t)
{
    const larmor_region_error *r = t->row;
    json_open(j, "regions", '[');
    for (int64_t i = 0; i < t->images; i++)
        for (int n = 0; n < t->count[i]; n++, r++) {
            json_open(j, NULL, '{');
            json_integer(j, "frame", i / t->slices);
            json_integer(j, "slice", i % t->slices);
            json_integer(j, "region", r->label);
            JSON_MEMBERS(j, *r, voxels, nrmse, rmse, largest, ratio);
            json_close(j, '}');
        }
    json_close(j, ']');
}

static void print(const settings *s, const app_files *files, const larmor_comparison *d, const table *t)
{
    if (!s->json) {
        printf("nrmse %.6g\n", d->nrmse);
        if (t->row) print_rows(t);
        return;
    }
    json j = json_begin();
    json_text(&j, "a", files->name[0]);
    json_text(&j, "b", files->name[1]);
    JSON_MEMBERS(&j, *d, nrmse, largest);
    json_numbers(&j, "factor", d->factor, 2);
    if (s->tol >= 0) json_number(&j, "tol", s->tol);
    if (s->tol >= 0) json_flag(&j, "within", d->nrmse <= s->tol);
    if (s->mask) json_text(&j, "mask", s->mask);
    if (t->row) write_rows(&j, t);
    json_close(&j, '}');
}

/* The factor is that of all images, so that what one of them has too much of is seen. */
static larmor_status measure(const settings *s, const app_files *files, larmor_device *dev,
                             const larmor_comparison *d, table *t)
{
    APP_FREED_BY(app_free_stack) app_stack a = {.all = NULL}, b = {.all = NULL};
    APP_OWNED(larmor_array) *image = NULL, *reference = NULL, *mask = NULL;
    APP_HEAP larmor_region_error *found = malloc(LARMOR_MAX_REGIONS * sizeof *found);
    int64_t rows = 0;
    TRY(app_read_stack(files->name[0], dev, &a));
    TRY(app_read_stack(files->name[1], dev, &b));
    if (s->mask) TRY(app_read_mask(s->mask, dev, &b, &mask));
    t->images = larmor_array_count(b.all) / b.voxels;
    t->slices = b.slices;
    t->count = calloc((size_t)t->images, sizeof *t->count);
    if (!found || !t->count) return NO_MEMORY();
    TRY(larmor_array_reshape(a.all, LARMOR_SHAPE(larmor_array_count(a.all)), &image));
    TRY(larmor_array_reshape(b.all, LARMOR_SHAPE(larmor_array_count(b.all)), &reference));
    for (int64_t i = 0; i < t->images; i++) {
        APP_OWNED(larmor_array) *x = NULL, *y = NULL, *m = NULL;
        TRY(app_part_of(image, &b, i, &x));
        TRY(app_part_of(reference, &b, i, &y));
        if (mask) TRY(app_part_of(mask, &b, i, &m));
        const larmor_status st =
            larmor_compare_regions(x, y, m, s->magnitude || d->without_phase, d->factor, found, &t->count[i]);
        if (st == LARMOR_ERR_ARG && !mask)
            app_log("frame %lld, slice %lld: %s holds zeros alone", (long long)(i / t->slices),
                    (long long)(i % t->slices), files->name[1]);
        else if (st)
            return st;
        larmor_region_error *longer = realloc(t->row, (size_t)(rows + t->count[i]) * sizeof *longer);
        if (!longer) return NO_MEMORY();
        t->row = longer;
        for (int n = 0; n < t->count[i]; n++) t->row[rows++] = found[n];
    }
    return LARMOR_OK;
}

/* Images are compared with those of the same counters and places, whatever their order in the files; two arrays of
 * other kinds as they are. */
static larmor_status compare(const larmor_image_set *a, const larmor_image_set *b, const larmor_compare_opts *opts,
                             larmor_comparison *d)
{
    if (!a->has_counters && !b->has_counters) return larmor_compare(a->all, b->all, opts, d);
    APP_OWN(larmor_array, p, larmor_images_stack(a->image, a->count, &p));
    APP_OWN(larmor_array, q, larmor_images_stack(b->image, b->count, &q));
    return larmor_compare(p, q, opts, d);
}

static int run(const void *given, const app_files *files)
{
    const settings *s = given;
    const larmor_compare_opts opts = {.magnitude = s->magnitude, .transpose = s->transpose, .inside = (int)s->inside};
    APP_OWNED(larmor_device) *dev = NULL;
    APP_FREED_BY(larmor_images_free) larmor_image_set a = {.count = 0}, b = {.count = 0};
    APP_FREED_BY(free_table) table t = {.row = NULL};
    larmor_comparison d;
    int code = APP_DONE;
    if ((s->mask || s->frames) && (s->inside || s->transpose))
        return app_refuse(APP_USAGE, "--%s does not go with --%s.", s->inside ? "inside" : "transpose",
                          s->mask ? "mask" : "frames");
    APP_TRY(APP_INPUT, larmor_device_open("cpu", &dev));
    APP_TRY(APP_INPUT, app_read_images(files->name[0], dev, &a));
    APP_TRY(APP_INPUT, app_read_images(files->name[1], dev, &b));
    const larmor_status st = compare(&a, &b, &opts, &d);
    if (st) {
        char both[1024];
        snprintf(both, sizeof both, "%s against %s", files->name[0], files->name[1]);
        return app_fail_in(APP_INPUT, st, both);
    }
    if (d.without_phase && !s->magnitude)
        app_log("%s holds magnitudes alone: magnitudes are compared", files->name[d.without_phase - 1]);
    if (s->mask || s->frames) APP_TRY(APP_INPUT, measure(s, files, dev, &d, &t));
    print(s, files, &d, &t);
    if (s->tol >= 0 && !(d.nrmse <= s->tol)) {
        app_error("%s: nrmse %.6g is above %g.", files->name[0], d.nrmse, s->tol);
        code = APP_FAILED;
    }
    return code;
}

const app_command cmd_compare = {
    .name = "compare",
    .usage = "A B [options]",
    .summary = "the error of image A against image B",
    .details =
        "nrmse is the least |s A - B| / |B| over all complex factors s. Formats follow the suffixes (.h5, .nii,\n"
        ".nii.gz, .cfl, .npy); slices are compared by their places and series by their counters, whatever their "
        "order in\n"
        "the files; dimensions of 1 do not count. If one image has no phase, magnitudes are compared.\n"
        "Rows of --frames and --mask have the s of all images: nrmse in the region, rmse and largest error in the\n"
        "unit of B, and ratio, the sum of |s A| over that of |B|.",
    .min_files = 2,
    .max_files = 2,
    APP_OWN_PARTS,
};
