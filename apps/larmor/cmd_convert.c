/* larmor convert: between image formats, and from BART's k-space and trajectory to a scan.
 * SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "commands.h"
#include "common.h"
#include "scan.h"

typedef struct settings {
    const char *output, *traj, *kspace;
    app_list matrix, fov, window;
    int magnitude, force;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    OPTION(APP_WRITTEN_FILE, output, 'o', "output", "FILE", "the file to write (or give it as second argument)"),
    OPTION(APP_READ_FILE, traj, 0, "traj", "T.cfl", "a trajectory [3, samples, readouts] in 1/FOV, to make a scan"),
    OPTION(APP_READ_FILE, kspace, 0, "kspace", "K.cfl",
           "its samples, [1, samples, readouts, coils] or without the 1"),
    OPTION(APP_SIZES, matrix, 0, "matrix", "X[,Y[,Z]]", "voxels of the scan (default: twice the trajectory's extent)",
           .low = 1, .high = 65535),
    OPTION(APP_NUMBERS, fov, 0, "fov", "X[,Y[,Z]]", "field of view of the scan in mm (default: voxels of 1 mm)",
           .low = 1e-3, .high = 1e6),
    OPTION(APP_FLAG, magnitude, 0, "magnitude", "", "write magnitudes where the format could be complex"),
    APP_WINDOW_OPTION(settings),
    OPTION(APP_FLAG, force, 0, "force", "", "replace a file that exists"),
    {0},
};

/* An image of two or three dimensions goes with its geometry, larger arrays only where the format knows none. */
static larmor_status write_any(const settings *s, larmor_output *out, larmor_array *x, const larmor_image_meta *meta,
                               app_window_text *shown)
{
    const char *path = larmor_output_path(out);
    const larmor_shape shape = larmor_array_shape(x);
    const larmor_write_opts opts = {.magnitude = s->magnitude, .window = {s->window.value[0], s->window.value[1]}};
    if (!s->magnitude && larmor_format_of(path).saves) return larmor_array_save(out, x);
    larmor_array *picture;
    larmor_status st =
        larmor_array_reshape(x, shape.ndim > 1 ? shape : LARMOR_SHAPE(larmor_array_count(x), 1), &picture);
    if (st) return st;
    const larmor_image image = {.data = picture, .meta = *meta};
    st = larmor_image_write(out, &image, 1, &opts);
    *shown = app_describe_window(path, &image, 1, &s->window);
    larmor_array_free(picture);
    return st;
}

static int convert_image(const settings *s, const char *from, const char *to)
{
    larmor_device *dev = NULL;
    larmor_output *out = NULL;
    larmor_array *x = NULL;
    larmor_image_meta meta;
    app_window_text shown = {""};
    int code = APP_DONE;
    APP_OR(done, APP_RUN, app_output_open(to, s->force, &out));
    APP_OR(done, APP_INPUT, larmor_device_open("cpu", &dev));
    APP_OR(done, APP_INPUT, larmor_image_read(from, dev, &x));
    APP_OR(done, APP_INPUT, larmor_image_read_meta(from, &meta));
    APP_OR(done, APP_RUN, write_any(s, out, x, &meta, &shown));
    app_log("wrote %s%s", to, shown.s);
done:
    larmor_array_free(x);
    larmor_device_free(dev);
    larmor_output_free(out);
    return code;
}

typedef struct bart_scan {
    larmor_array *traj, *kspace;
    float *k, *data; /* complex values of both on the host */
    int64_t samples, readouts, coils;
    int ndim;
    int64_t matrix[3];
    double fov_mm[3];
} bart_scan;

static int64_t size_of(const larmor_array *x, int d)
{
    const larmor_shape shape = larmor_array_shape(x);
    return d < shape.ndim ? shape.dim[d] : 1;
}

/* BART's [1, samples, readouts, coils] for [samples, readouts, coils], too, as larmor nufft writes .npy. */
static larmor_status with_leading_one(larmor_array **x, int64_t samples)
{
    const larmor_shape shape = larmor_array_shape(*x);
    if (shape.ndim > 3 || shape.dim[0] == 1 || shape.dim[0] != samples) return LARMOR_OK;
    larmor_array *view;
    const larmor_shape with_one = {shape.ndim + 1, {1, shape.dim[0], size_of(*x, 1), size_of(*x, 2)}};
    const larmor_status st = larmor_array_reshape(*x, with_one, &view);
    if (st) return st;
    larmor_array_free(*x);
    *x = view;
    return LARMOR_OK;
}

/* Samples that larmor reads again. */
static int check_values(const settings *s, const bart_scan *p)
{
    const int64_t count = 2 * p->samples * p->readouts * p->coils;
    int64_t bad = 0;
    double peak = 0;
    for (int64_t i = 0; i < count; i++) {
        bad += !isfinite(p->data[i]);
        peak = fmax(peak, fabs((double)p->data[i]));
    }
    if (!bad && peak <= LARMOR_LARGEST_SAMPLE) return APP_DONE;
    if (bad)
        app_error("%s: %lld value%s not finite.", s->kspace, (long long)bad, bad == 1 ? " is" : "s are");
    else
        app_error("%s: values up to %.1e: uninitialised or overflowing data, at most %.0e expected.", s->kspace, peak,
                  LARMOR_LARGEST_SAMPLE);
    return APP_REFUSED;
}

/* The two arrays fit together and into ISMRMRD's counters; else says why and returns the exit code. */
static int check_scan(const settings *s, bart_scan *p)
{
    p->samples = size_of(p->traj, 1);
    p->readouts = size_of(p->traj, 2);
    p->coils = size_of(p->kspace, 3);
    const int64_t rest = larmor_array_count(p->traj) / (3 * p->samples * p->readouts + !p->samples);
    if (size_of(p->traj, 0) != 3 || rest != 1) {
        app_error("%s: a trajectory of [3, samples, readouts] expected.", s->traj);
        return APP_REFUSED;
    }
    if (size_of(p->kspace, 0) != 1 || size_of(p->kspace, 1) != p->samples || size_of(p->kspace, 2) != p->readouts ||
        larmor_array_count(p->kspace) != p->samples * p->readouts * p->coils) {
        app_error("%s: [1, %lld, %lld, coils] expected, as %s has %lld samples x %lld readouts.", s->kspace,
                  (long long)p->samples, (long long)p->readouts, s->traj, (long long)p->samples,
                  (long long)p->readouts);
        return APP_REFUSED;
    }
    if (p->samples <= 65535 && p->coils <= 1024) return check_values(s, p);
    app_error("%s: %lld samples x %lld coils; ISMRMRD holds at most 65535 x 1024.", s->kspace, (long long)p->samples,
              (long long)p->coils);
    return APP_REFUSED;
}

static larmor_status read_complex(const char *path, larmor_device *dev, larmor_array **x, float **host)
{
    larmor_array *read;
    *x = NULL;
    *host = NULL;
    larmor_status st = larmor_image_read(path, dev, &read);
    if (!st && larmor_array_dtype(read) == LARMOR_C128) {
        larmor_array_free(read);
        return larmor_fail(LARMOR_ERR_FORMAT, "%s: single precision expected.", path);
    }
    if (!st) st = larmor_array_convert(read, LARMOR_C64, x);
    if (!st) st = larmor_array_download(*x, LARMOR_C64, host);
    larmor_array_free(read);
    return st;
}

/* The smallest even matrix whose k-space holds the trajectory, give or take a thousandth: x and y share the larger.
 */
static int fill_matrix(const settings *s, bart_scan *p)
{
    double most[3] = {0};
    for (int64_t i = 0; i < p->samples * p->readouts; i++)
        for (int d = 0; d < 3; d++) most[d] = fmax(most[d], fabs((double)p->k[2 * (3 * i + d)]));
    p->ndim = most[2] > 0 ? 3 : 2;
    most[0] = most[1] = fmax(most[0], most[1]);
    for (int d = 0; d < 3; d++) {
        const double n = most[d] > 0 ? 2 * ceil(most[d] * (1 - 1e-3)) : 1;
        const app_list *asked = &s->matrix;
        p->matrix[d] = asked->count ? p->matrix[d ? d - 1 : 0] : (int64_t)n;
        if (d < asked->count) p->matrix[d] = (int64_t)asked->value[d];
        if (d >= p->ndim && d >= asked->count) p->matrix[d] = 1;
        const double voxel_mm = s->fov.count && d ? p->fov_mm[0] / (double)p->matrix[0] : 1;
        p->fov_mm[d] = d < s->fov.count ? s->fov.value[d] : (double)p->matrix[d] * voxel_mm;
        if (!(n <= 65535)) {
            app_error("%s: extends to %g in direction %d; 32767 at most expected.", s->traj, most[d], d);
            return APP_REFUSED;
        }
    }
    if (most[0] > 0) return APP_DONE;
    app_error("%s: the trajectory has no extent.", s->traj);
    return APP_REFUSED;
}

static larmor_status write_scan(const bart_scan *p, larmor_output *out)
{
    const double unit[3] = {1, 1, 1};
    larmor_scan scan = {.coils = (int)p->coils, .readouts = p->readouts, .description = "converted from cfl"};
    for (int d = 0; d < 3; d++) {
        scan.encoding.matrix[d] = scan.encoding.recon_matrix[d] = p->matrix[d];
        scan.encoding.fov_mm[d] = scan.encoding.recon_fov_mm[d] = p->fov_mm[d];
    }
    snprintf(scan.encoding.trajectory, sizeof scan.encoding.trajectory, "other");
    scan.encoding.ndim = p->ndim;
    const int64_t points = p->samples * p->readouts;
    double *traj = malloc((size_t)(points * p->ndim) * sizeof *traj + 1);
    if (!traj) return larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
    for (int64_t i = 0; i < points; i++)
        for (int d = 0; d < p->ndim; d++) traj[i * p->ndim + d] = p->k[2 * (3 * i + d)];
    const scan_source source = {.data = p->data,
                                .traj = traj,
                                .ndim = p->ndim,
                                .samples = p->samples,
                                .centre = p->samples / 2,
                                .readouts = p->readouts,
                                .coils = (int)p->coils,
                                .unit = unit,
                                .geometry = {.read_dir = {1, 0, 0}, .phase_dir = {0, 1, 0}, .slice_dir = {0, 0, 1}},
                                .last = 1};
    larmor_raw_writer *writer = NULL;
    larmor_status st = larmor_raw_create(out, &scan, &writer);
    if (!st) st = scan_append(writer, &source);
    if (!st) st = larmor_raw_finish(writer);
    larmor_raw_writer_free(writer);
    free(traj);
    return st;
}

static int convert_scan(const settings *s)
{
    larmor_device *dev = NULL;
    larmor_output *out = NULL;
    bart_scan p = {0};
    int code = APP_DONE;
    APP_OR(done, APP_RUN, app_output_open(s->output, s->force, &out));
    APP_OR(done, APP_INPUT, larmor_device_open("cpu", &dev));
    APP_OR(done, APP_INPUT, read_complex(s->traj, dev, &p.traj, &p.k));
    APP_OR(done, APP_INPUT, read_complex(s->kspace, dev, &p.kspace, &p.data));
    APP_OR(done, APP_INPUT, with_leading_one(&p.kspace, size_of(p.traj, 1)));
    code = check_scan(s, &p);
    if (!code) code = fill_matrix(s, &p);
    if (code) goto done;
    APP_OR(done, APP_RUN, write_scan(&p, out));
    app_log("wrote %s: %lld readout%s x %lld sample%s, %lld coil%s, matrix %lld x %lld x %lld, %g x %g x %g mm",
            s->output, (long long)p.readouts, app_s(p.readouts), (long long)p.samples, app_s(p.samples),
            (long long)p.coils, app_s(p.coils), (long long)p.matrix[0], (long long)p.matrix[1],
            (long long)p.matrix[2], p.fov_mm[0], p.fov_mm[1], p.fov_mm[2]);
done:
    free(p.k);
    free(p.data);
    larmor_array_free(p.traj);
    larmor_array_free(p.kspace);
    larmor_device_free(dev);
    larmor_output_free(out);
    return code;
}

static int run(const void *given, const app_files *files)
{
    const settings *s = given;
    const char *second = files->count > 1 ? files->name[1] : NULL;
    const char *to = s->output ? s->output : second;
    if (app_check_window(&s->window)) return APP_USAGE;
    if (s->window.count && to && !app_is_picture(to)) {
        app_error("--window: has no effect with %s; it is an option of a .png.", to);
        return APP_USAGE;
    }
    if (!s->traj && !s->kspace && to && files->count == 1 + !s->output) return convert_image(s, files->name[0], to);
    if (s->traj && s->kspace && s->output && !files->count && !strcasecmp(app_suffix(s->output), ".h5"))
        return convert_scan(s);
    app_error("convert: either FROM and TO, or --traj T.cfl --kspace K.cfl -o SCAN.h5 expected; "
              "'larmor convert --help' says more.");
    return APP_USAGE;
}

const app_command cmd_convert = {
    .name = "convert",
    .usage = "FROM TO | --traj T.cfl --kspace K.cfl -o SCAN.h5",
    .summary = "between image formats, or from BART's k-space and trajectory to a scan",
    .details =
        "Formats follow the suffixes: from .h5, .nii, .nii.gz, .cfl and .npy to the same and .png. Geometry is kept\n"
        "where the format has one.",
    .max_files = 2,
    .written_files = 1u << 1,
    .options = options,
    .settings = sizeof(settings),
    .run = run,
};
