/* larmor compare: how far one image is from another, up to a factor. SPDX-License-Identifier: Apache-2.0 */

#include "commands.h"
#include "common.h"
#include "json.h"

typedef struct settings {
    double tol;
    int64_t inside;
    int magnitude, transpose, json;
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
    OPTION(APP_FLAG, transpose, 0, "transpose", "", "swap the first two dimensions of A first"),
    OPTION(APP_FLAG, json, 0, "json", "", "print a JSON object"),
    {0},
};

static void print(const settings *s, const app_files *files, const larmor_comparison *d)
{
    if (!s->json) {
        printf("nrmse %.6g\n", d->nrmse);
        return;
    }
    json j = {stdout, 0, 0};
    json_open(&j, NULL, '{');
    json_text(&j, "a", files->name[0]);
    json_text(&j, "b", files->name[1]);
    json_number(&j, "nrmse", d->nrmse);
    json_number(&j, "largest", d->largest);
    json_numbers(&j, "factor", d->factor, 2);
    if (s->tol >= 0) json_number(&j, "tol", s->tol);
    if (s->tol >= 0) json_flag(&j, "within", d->nrmse <= s->tol);
    json_close(&j, '}');
}

/* Images are compared with those of the same counters and places, whatever their order in the files; two arrays of
 * other kinds as they are. */
static larmor_status compare(const larmor_image_set *a, const larmor_image_set *b, const larmor_compare_opts *opts,
                             larmor_comparison *d)
{
    APP_OWNED(larmor_array) *p = NULL, *q = NULL;
    if (!a->has_counters && !b->has_counters) return larmor_compare(a->all, b->all, opts, d);
    TRY(larmor_images_stack(a->image, a->count, &p));
    TRY(larmor_images_stack(b->image, b->count, &q));
    return larmor_compare(p, q, opts, d);
}

static int run(const void *given, const app_files *files)
{
    const settings *s = given;
    const larmor_compare_opts opts = {.magnitude = s->magnitude, .transpose = s->transpose, .inside = (int)s->inside};
    APP_OWNED(larmor_device) *dev = NULL;
    APP_FREED_BY(larmor_images_free) larmor_image_set a = {.count = 0}, b = {.count = 0};
    larmor_comparison d;
    int code = APP_DONE;
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
    print(s, files, &d);
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
        "the files; dimensions of 1 do not count. If one image has no phase, magnitudes are compared.",
    .min_files = 2,
    .max_files = 2,
    .options = options,
    .settings = sizeof(settings),
    .run = run,
};
