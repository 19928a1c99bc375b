/* larmor compare: how far one image is from another, up to a factor. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>
#include <stdlib.h>
#include <string.h>

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
           .high = INFINITY, .absent = 1),
    OPTION(APP_FLAG, magnitude, 0, "magnitude", "", "compare magnitudes, up to a real factor"),
    OPTION(APP_INTEGER, inside, 0, "inside", "D",
           "compare inside the ellipse (2, slice by slice) or ellipsoid (3) of k-space that the matrix holds; spokes "
           "and spirals sample no more; 0: everywhere",
           .preset = "0", .low = 0, .high = 3),
    OPTION(APP_FLAG, transpose, 0, "transpose", "", "swap the first two dimensions of A first"),
    OPTION(APP_FLAG, json, 0, "json", "", "print a JSON object"),
    {0},
};

typedef struct picture {
    larmor_shape shape; /* without dimensions of 1 */
    double _Complex *value;
    int64_t count;
} picture;

typedef struct difference {
    double nrmse, largest; /* of |s a - b|: l2 norm over that of b, and maximum over that of b */
    double _Complex factor;
} difference;

static larmor_shape squeeze(larmor_shape shape)
{
    larmor_shape squeezed = {0};
    for (int d = 0; d < shape.ndim; d++)
        if (shape.dim[d] != 1) squeezed.dim[squeezed.ndim++] = shape.dim[d];
    return squeezed;
}

static larmor_status load(const char *path, larmor_device *dev, picture *p)
{
    larmor_array *x;
    larmor_status st = larmor_image_read(path, dev, &x);
    if (st) return st;
    p->shape = squeeze(larmor_array_shape(x));
    p->count = larmor_array_count(x);
    st = larmor_array_download(x, LARMOR_C128, &p->value);
    larmor_array_free(x);
    return st;
}

static larmor_status transpose(picture *p)
{
    const int64_t nx = p->shape.dim[0], ny = p->shape.dim[1];
    double _Complex *transposed = malloc((size_t)p->count * sizeof *transposed + 1);
    if (!transposed) return larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
    for (int64_t i = 0; i < p->count; i++) {
        const int64_t x = i % nx, y = i / nx % ny, rest = i / (nx * ny);
        transposed[(rest * nx + x) * ny + y] = p->value[i];
    }
    free(p->value);
    p->value = transposed;
    p->shape.dim[0] = ny;
    p->shape.dim[1] = nx;
    return LARMOR_OK;
}

/* Without the corners of k-space, along the first dimensions. */
static larmor_status keep_inside(larmor_device *dev, int64_t dims, picture *p)
{
    const size_t bytes = (size_t)p->count * sizeof *p->value;
    larmor_array *x;
    larmor_status st = larmor_array_upload(dev, LARMOR_C128, p->shape, LARMOR_C128, p->value, &x);
    if (!st) st = larmor_band_limit(x, (1u << dims) - 1);
    if (!st) st = larmor_array_read(x, p->value, bytes);
    larmor_array_free(x);
    return st;
}

static void take_magnitude(picture *p)
{
    for (int64_t i = 0; i < p->count; i++) p->value[i] = cabs(p->value[i]);
}

/* Without phase, as a format or a program that keeps magnitudes alone leaves an image. */
static int is_magnitude(const picture *p)
{
    for (int64_t i = 0; i < p->count; i++)
        if (cimag(p->value[i]) != 0 || creal(p->value[i]) < 0) return 0;
    return 1;
}

/* The factor s that makes |s a - b| least, and what then remains. */
static difference compare(const picture *a, const picture *b)
{
    double _Complex ab = 0;
    double aa = 0, bb = 0, rest = 0, most = 0, top = 0;
    for (int64_t i = 0; i < a->count; i++) {
        ab += conj(a->value[i]) * b->value[i];
        aa += creal(a->value[i] * conj(a->value[i]));
        bb += creal(b->value[i] * conj(b->value[i]));
    }
    difference d = {.factor = aa > 0 ? ab / aa : 0};
    for (int64_t i = 0; i < a->count; i++) {
        const double error = cabs(d.factor * a->value[i] - b->value[i]);
        rest += error * error;
        most = fmax(most, error);
        top = fmax(top, cabs(b->value[i]));
    }
    d.nrmse = sqrt(rest / bb);
    d.largest = most / top;
    return d;
}

static const char *shape_text(larmor_shape shape, char text[128])
{
    int used = snprintf(text, 128, "[");
    for (int d = 0; d < shape.ndim; d++)
        used += snprintf(text + used, 128 - (size_t)used, "%s%lld", d ? ", " : "", (long long)shape.dim[d]);
    snprintf(text + used, 128 - (size_t)used, "]");
    return text;
}

/* What makes a comparison meaningless: an exit code, or APP_DONE. */
static int check(const char *path, const picture *p, int reference)
{
    double energy = 0;
    for (int64_t i = 0; i < p->count; i++) energy += creal(p->value[i] * conj(p->value[i]));
    if (isfinite(energy) && (energy > 0 || !reference)) return APP_DONE;
    app_error("%s: %s; there is nothing to compare.", path,
              isfinite(energy) ? "all zero" : "holds values that are not finite");
    return APP_REFUSED;
}

static void print(const settings *s, const app_files *files, const difference *d)
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
    json_numbers(&j, "factor", (double[]){creal(d->factor), cimag(d->factor)}, 2);
    if (s->tol >= 0) json_number(&j, "tol", s->tol);
    if (s->tol >= 0) json_flag(&j, "within", d->nrmse <= s->tol);
    json_close(&j, '}');
}

static int run(const void *given, const app_files *files)
{
    const settings *s = given;
    larmor_device *dev = NULL;
    picture a = {0}, b = {0};
    int code = APP_DONE;
    APP_OR(done, APP_INPUT, larmor_device_open("cpu", &dev));
    APP_OR(done, APP_INPUT, load(files->name[0], dev, &a));
    APP_OR(done, APP_INPUT, load(files->name[1], dev, &b));
    if (s->transpose && a.shape.ndim > 1) APP_OR(done, APP_RUN, transpose(&a));
    if (!larmor_shape_equal(a.shape, b.shape)) {
        char of_a[128], of_b[128];
        app_error("%s: %s, but %s has %s; both must have one shape.", files->name[0], shape_text(a.shape, of_a),
                  files->name[1], shape_text(b.shape, of_b));
        code = APP_REFUSED;
        goto done;
    }
    const int one_sided = is_magnitude(&a) != is_magnitude(&b);
    if (one_sided && !s->magnitude)
        app_log("%s holds magnitudes alone: magnitudes are compared", files->name[is_magnitude(&a) ? 0 : 1]);
    if (s->magnitude || one_sided) {
        take_magnitude(&a);
        take_magnitude(&b);
    }
    code = check(files->name[0], &a, 0);
    if (!code) code = check(files->name[1], &b, 1);
    if (code) goto done;
    if (s->inside > a.shape.ndim) {
        app_error("--inside \"%lld\": %s has %d dimensions.", (long long)s->inside, files->name[0], a.shape.ndim);
        code = APP_USAGE;
        goto done;
    }
    if (s->inside) {
        APP_OR(done, APP_RUN, keep_inside(dev, s->inside, &a));
        APP_OR(done, APP_RUN, keep_inside(dev, s->inside, &b));
    }
    const difference d = compare(&a, &b);
    print(s, files, &d);
    if (s->tol >= 0 && !(d.nrmse <= s->tol)) {
        app_error("%s: nrmse %.6g is above %g.", files->name[0], d.nrmse, s->tol);
        code = APP_FAILED;
    }
done:
    free(a.value);
    free(b.value);
    larmor_device_free(dev);
    return code;
}

const app_command cmd_compare = {
    .name = "compare",
    .usage = "A B [options]",
    .summary = "the error of image A against image B",
    .details =
        "nrmse is the least |s A - B| / |B| over all complex factors s. Formats follow the suffixes (.h5, .nii,\n"
        ".nii.gz, .cfl, .npy); dimensions of 1 do not count. If one image has no phase, magnitudes are compared.",
    .min_files = 2,
    .max_files = 2,
    .options = options,
    .settings = sizeof(settings),
    .run = run,
};
