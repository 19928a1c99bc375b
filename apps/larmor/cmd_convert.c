/* larmor convert: between image formats, from TWIX files to scans, and between scans and arrays.
 * SPDX-License-Identifier: Apache-2.0 */
#include <strings.h>

#include "commands.h"
#include "common.h"
#include "in_options.h"
#include "json.h"

typedef struct settings {
    const char *output, *traj, *kspace, *measurement;
    const char *save_kspace, *save_traj, *save_density, *save_noise;
    int64_t image;
    app_list matrix, fov, window;
    int magnitude, planes, color, dicom_phase, anonymous, bids, force, json;
    double fps;
} settings;

static int is_measurement(const char *text)
{
    char *rest = NULL;
    const long number = *text >= '0' && *text <= '9' ? strtol(text, &rest, 10) : 0;
    return !strcmp(text, "all") || (number >= 1 && number <= 64 && !*rest);
}

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    OPTION(APP_WRITTEN_FILE, output, 'o', "output", "FILE", "the file to write (or give it as second argument)"),
    OPTION(APP_READ_FILE, traj, 0, "traj", "T.cfl", "a trajectory [3, samples, readouts] in 1/FOV, to make a scan"),
    OPTION(APP_READ_FILE, kspace, 0, "kspace", "K.cfl",
           "its samples, [1, samples, readouts, coils] or without the 1"),
    OPTION(APP_SIZES, matrix, 0, "matrix", "X[,Y[,Z]]", "voxels of the scan (default: twice the trajectory's extent)",
           .low = 1, .high = 65535),
    OPTION(APP_NUMBERS, fov, 0, "fov", "X[,Y[,Z]]", "field of view of the scan in mm (default: voxels of 1 mm)",
           .low = 1e-3, .high = 1e6, .member = "fov_mm"),
    OPTION(APP_TEXT, measurement, 0, "measurement", "N|all", "of a TWIX file, from 1 (default: the last one)",
           .reads = is_measurement, .expected = "a number from 1 to 64, or all"),
    OPTION(APP_WRITTEN_FILE, save_kspace, 0, "save-kspace", "K.npy",
           "of a scan: the samples of an image, as --kspace takes them; .npy or .cfl"),
    OPTION(APP_WRITTEN_FILE, save_traj, 0, "save-traj", "T.npy", "their trajectory, as --traj takes it"),
    OPTION(APP_WRITTEN_FILE, save_density, 0, "save-density", "D.npy", "the weights that the scan stores with it"),
    OPTION(APP_WRITTEN_FILE, save_noise, 0, "save-noise", "N.npy", "the scan's noise, [samples, coils]"),
    OPTION(APP_INTEGER, image, 0, "image", "N", "of this image of the scan, as larmor info counts them",
           .preset = "0", .low = 0, .high = 1 << 30),
    OPTION(APP_FLAG, magnitude, 0, "magnitude", "", "write magnitudes where the format could be complex"),
    APP_WINDOW_OPTION(settings),
    APP_PICTURE_OPTIONS(settings),
    APP_DICOM_OPTIONS(settings),
    APP_BIDS_OPTION(settings),
    OPTION(APP_FLAG, force, 'f', "force", "", "replace a file that exists"),
    OPTION(APP_FLAG, json, 0, "json", "", "print what was written as a JSON object on stdout"),
    {0},
};

/* Of what was read and written; to: NULL where that is said otherwise. */
static json begin_report(const char *from, const char *to)
{
    json j = json_begin();
    json_text(&j, "input", from);
    if (to) json_text(&j, "output", to);
    return j;
}

/* k: samples, readouts and coils. */
static void end_report(json *j, const int64_t k[3], const int64_t matrix[3], const double fov_mm[3])
{
    json_integer(j, "samples", k[0]);
    json_integer(j, "readouts", k[1]);
    json_integer(j, "coils", k[2]);
    json_integers(j, "matrix", matrix, 3);
    json_numbers(j, "fov_mm", fov_mm, 3);
    json_close(j, '}');
}

/* Images go one by one with their geometry, other arrays as they are. */
static larmor_status write_any(const settings *s, larmor_output *out, const larmor_image_set *set,
                               app_window_text *shown)
{
    const char *path = larmor_output_path(out);
    const larmor_write_opts opts = {.magnitude = s->magnitude,
                                    .header = set->header,
                                    .window = {s->window.value[0], s->window.value[1]},
                                    .phase = s->dicom_phase,
                                    .anonymous = s->anonymous,
                                    .planes = s->planes,
                                    .colour = s->color,
                                    .frames_per_s = s->fps};
    if (!s->magnitude && !set->has_counters && larmor_format_of(path).saves) return larmor_array_save(out, set->all);
    const larmor_status st = larmor_image_write(out, set->image, set->count, &opts);
    *shown = app_describe_window(path, set->image, set->count, &s->window);
    return st;
}

static int convert_image(const settings *s, const char *from, const char *to)
{
    APP_OWNED(larmor_device) *dev = NULL;
    APP_OWNED(larmor_output) *out = NULL;
    APP_FREED_BY(larmor_images_free) larmor_image_set set = {.count = 0};
    app_window_text shown = {""};
    APP_TRY(APP_RUN, app_output_open(to, s->force, &out));
    APP_TRY(APP_RUN, app_add_files(s->bids, s->dicom_phase, out));
    APP_TRY(APP_INPUT, larmor_device_open("cpu", &dev));
    APP_TRY(APP_INPUT, app_read_images(from, dev, &set));
    APP_TRY(APP_RUN, write_any(s, out, &set, &shown));
    app_log("wrote %s%s", to, shown.s);
    if (!s->json) return APP_DONE;
    json j = begin_report(from, to);
    json_integer(&j, "images", set.count);
    json_integers(&j, "shape", larmor_array_shape(set.all).dim, larmor_array_shape(set.all).ndim);
    json_close(&j, '}');
    return APP_DONE;
}

static larmor_status read_samples(const char *path, larmor_device *dev, larmor_array **kspace)
{
    *kspace = NULL;
    APP_OWN(larmor_array, read, app_read_array(path, dev, &read));
    return larmor_array_convert(read, LARMOR_C64, kspace);
}

static int convert_scan(const settings *s)
{
    larmor_grid_opts opts = {.matrix = {0}};
    larmor_encoding space;
    APP_OWNED(larmor_device) *dev = NULL;
    APP_OWNED(larmor_output) *out = NULL;
    APP_OWNED(larmor_array) *traj = NULL, *kspace = NULL;
    char both[512];
    int code = APP_DONE;
    for (int d = 0; d < s->matrix.count; d++) opts.matrix[d] = (int64_t)s->matrix.value[d];
    for (int d = 0; d < s->fov.count; d++) opts.fov_mm[d] = s->fov.value[d];
    snprintf(both, sizeof both, "%s with %s", s->kspace, s->traj);
    APP_TRY(APP_RUN, app_output_open(s->output, s->force, &out));
    APP_TRY(APP_INPUT, larmor_device_open("cpu", &dev));
    APP_TRY(APP_INPUT, larmor_traj_read(s->traj, 3, dev, &traj));
    APP_TRY(APP_INPUT, read_samples(s->kspace, dev, &kspace));
    const larmor_status st = larmor_raw_save(out, kspace, traj, &opts, &space);
    if (st) return st == LARMOR_ERR_IO ? app_fail(APP_RUN, st) : app_fail_in(APP_INPUT, st, both);
    const int64_t *n = space.matrix;
    const larmor_shape points = larmor_array_shape(traj);
    const int64_t coils = larmor_array_count(kspace) / (points.dim[1] * points.dim[2]);
    app_log("wrote %s: %lld readout%s x %lld sample%s, %lld coil%s, matrix %lld x %lld x %lld, %g x %g x %g mm",
            s->output, (long long)points.dim[2], app_s(points.dim[2]), (long long)points.dim[1], app_s(points.dim[1]),
            (long long)coils, app_s(coils), (long long)n[0], (long long)n[1], (long long)n[2], space.fov_mm[0],
            space.fov_mm[1], space.fov_mm[2]);
    if (!s->json) return code;
    json j = begin_report(s->kspace, s->output);
    json_text(&j, "trajectory", s->traj);
    end_report(&j, (const int64_t[]){points.dim[1], points.dim[2], coils}, n, space.fov_mm);
    return code;
}

/* ---- from a scan of another format ---- */

enum { MOST_REPORTED = 64 }; /* measurements, as many as a TWIX file has */

static void print_warnings(const larmor_raw_info *info)
{
    char warnings[sizeof info->warnings];
    fputs(app_in_options(info->warnings, warnings, sizeof warnings), stderr);
}

/* last: NULL of a measurement alone; else receives the number of the file's last one. acquisitions: how many were
 * copied. */
static int copy_measurement(const settings *s, const char *from, const char *measurement, const char *to, int *last,
                            int64_t *acquisitions)
{
    const larmor_raw_opts opts = {.group = measurement, .as_stored = 1};
    APP_OWNED(larmor_output) *out = NULL;
    APP_OWNED(larmor_raw) *raw = NULL;
    if (last) /* a name that follows from the output's */
        APP_TRY(APP_RUN, app_outputs_open(&to, 1, s->force, &out));
    else
        APP_TRY(APP_RUN, app_output_open(to, s->force, &out));
    APP_TRY(APP_INPUT, larmor_raw_open(from, &opts, &raw));
    const larmor_raw_info info = larmor_raw_describe(raw);
    print_warnings(&info);
    APP_TRY(APP_RUN, larmor_raw_copy(raw, s->anonymous, out));
    app_log("wrote %s: %lld acquisition%s", to, (long long)info.acquisitions, app_s(info.acquisitions));
    *acquisitions = info.acquisitions;
    if (last) *last = info.measurements;
    return APP_DONE;
}

/* acquisitions: of each measurement, count 0: of the one. */
static void report_copies(const settings *s, const char *from, const char *to, const int64_t *acquisitions, int count)
{
    if (!s->json) return;
    json j = begin_report(from, to);
    if (count)
        json_integers(&j, "acquisitions", acquisitions, count);
    else
        json_integer(&j, "acquisitions", acquisitions[0]);
    json_close(&j, '}');
}

static int copy_scan(const settings *s, const char *from, const char *to)
{
    char name[4096], number[16];
    int last = 1, code = APP_DONE, count = 0;
    int64_t acquisitions[MOST_REPORTED];
    const int all = s->measurement && !strcmp(s->measurement, "all");
    if (!all) code = copy_measurement(s, from, s->measurement, to, NULL, acquisitions);
    for (int i = 0; all && i < last && !code; i++) {
        int64_t copied = 0;
        APP_TRY(APP_RUN, larmor_divided_name(to, i, name, sizeof name));
        snprintf(number, sizeof number, "%d", i + 1);
        code = copy_measurement(s, from, number, name, &last, &copied);
        if (!code && count < MOST_REPORTED) acquisitions[count++] = copied;
    }
    if (!code) report_copies(s, from, to, acquisitions, count);
    return code;
}

/* ---- from a scan to arrays ---- */

static int saves(const settings *s)
{
    return s->save_kspace || s->save_traj || s->save_density || s->save_noise;
}

static int check_array_name(const char *option, const char *path)
{
    if (!path || larmor_format_of(path).saves) return APP_DONE;
    return app_refuse(APP_USAGE, "--%s \"%s\": a name that ends in .npy or .cfl expected.", option, path);
}

static int check_array_names(const settings *s)
{
    int code = check_array_name("save-kspace", s->save_kspace);
    if (!code) code = check_array_name("save-traj", s->save_traj);
    if (!code) code = check_array_name("save-density", s->save_density);
    if (!code) code = check_array_name("save-noise", s->save_noise);
    return code;
}

static int write_array(const settings *s, const char *path, const larmor_array *array, larmor_shape shape)
{
    APP_OWNED(larmor_output) *out = NULL;
    APP_OWNED(larmor_array) *shaped = NULL;
    if (!path) return APP_DONE;
    APP_TRY(APP_RUN, app_output_open(path, s->force, &out));
    APP_TRY(APP_RUN, larmor_array_reshape(array, shape, &shaped));
    APP_TRY(APP_RUN, larmor_array_save(out, shaped));
    app_log("wrote %s", path);
    return APP_DONE;
}

static int write_trajectory(const settings *s, const larmor_array *traj)
{
    APP_OWNED(larmor_output) *out = NULL;
    if (!s->save_traj) return APP_DONE;
    APP_TRY(APP_RUN, app_output_open(s->save_traj, s->force, &out));
    APP_TRY(APP_RUN, larmor_traj_save(out, traj));
    app_log("wrote %s", s->save_traj);
    return APP_DONE;
}

static void print_name(json *j, const char *name, const char *path)
{
    if (path) json_text(j, name, path);
}

static int save_arrays(const settings *s, const char *from)
{
    const larmor_raw_opts opts = {.group = s->measurement, .multiband_left_out = 1};
    const larmor_grid_opts grid_opts = {.oversample = {1}};
    APP_OWNED(larmor_device) *dev = NULL;
    APP_OWNED(larmor_raw) *raw = NULL;
    APP_OWNED(larmor_source) *source = NULL;
    APP_OWNED(larmor_array) *noise = NULL;
    APP_FREED_BY(larmor_samples_free) larmor_samples x = {0};
    larmor_grid grid;
    if (check_array_names(s)) return APP_USAGE;
    APP_TRY(APP_INPUT, larmor_device_open("cpu", &dev));
    APP_TRY(APP_INPUT, larmor_raw_open(from, &opts, &raw));
    APP_TRY(APP_INPUT, larmor_source_of_raw(raw, from, &source));
    APP_TRY(APP_INPUT, larmor_source_samples(source, (int)s->image, &grid_opts, dev, &grid, &x));
    APP_TRY(APP_INPUT, larmor_raw_noise(raw, dev, &noise));
    const larmor_raw_info info = larmor_raw_describe(raw);
    print_warnings(&info);
    const larmor_shape k = larmor_array_shape(x.kspace);
    if (s->save_density && !x.density)
        return app_fail_in(APP_INPUT, larmor_fail(LARMOR_ERR_FORMAT, "stores no density; larmor dcf makes one."),
                           from);
    if (s->save_noise && !noise)
        return app_fail_in(APP_INPUT, larmor_fail(LARMOR_ERR_FORMAT, "has no noise scan."), from);
    int code = write_array(s, s->save_kspace, x.kspace, LARMOR_SHAPE(1, k.dim[0], k.dim[1], k.dim[2]));
    if (!code) code = write_trajectory(s, x.traj);
    if (!code) code = write_array(s, s->save_density, x.density, LARMOR_SHAPE(1, k.dim[0], k.dim[1]));
    if (!code) code = write_array(s, s->save_noise, noise, noise ? larmor_array_shape(noise) : k);
    if (code) return code;
    app_log("%s: %lld sample%s x %lld readout%s, %lld coil%s; --matrix %lld,%lld,%lld --fov %.9g,%.9g,%.9g", from,
            (long long)k.dim[0], app_s(k.dim[0]), (long long)k.dim[1], app_s(k.dim[1]), (long long)k.dim[2],
            app_s(k.dim[2]), (long long)grid.matrix[0], (long long)grid.matrix[1], (long long)grid.matrix[2],
            grid.fov_mm[0], grid.fov_mm[1], grid.fov_mm[2]);
    if (!s->json) return APP_DONE;
    json j = begin_report(from, NULL);
    print_name(&j, "kspace", s->save_kspace);
    print_name(&j, "trajectory", s->save_traj);
    print_name(&j, "density", s->save_density);
    print_name(&j, "noise", s->save_noise);
    end_report(&j, k.dim, grid.matrix, grid.fov_mm);
    return APP_DONE;
}

/* Scans have a name that is not one of an image. */
static int is_scan_name(const char *path)
{
    return !larmor_format_of(path).suffix && !strstr(path, ".h5:/");
}

static int run(const void *given, const app_files *files)
{
    const settings *s = given;
    const char *second = files->count > 1 ? files->name[1] : NULL;
    const char *to = s->output ? s->output : second;
    if (app_check_window(&s->window)) return APP_USAGE;
    if (s->window.count && to && !app_has_window(to))
        return app_refuse(
            APP_USAGE, "--window: has no effect with %s; it is an option of a .png, a .gif, a .dcm or a .dcm/.", to);
    const int from_scan = files->count == 1 + !s->output && is_scan_name(files->name[0]);
    if (saves(s) && files->count == 1 && !s->output && !s->traj && !s->kspace) return save_arrays(s, files->name[0]);
    if (saves(s))
        return app_refuse(
            APP_USAGE,
            "convert: --save-kspace, --save-traj, --save-density and --save-noise take one scan, and no other "
            "output.");
    if (s->measurement && !from_scan)
        return app_refuse(APP_USAGE, "--measurement: has no effect without a TWIX file.");
    if (s->dicom_phase && to && !app_is_dicom(to))
        return app_refuse(APP_USAGE, "--dicom-phase: has no effect with %s; it is an option of a .dcm or a .dcm/.",
                          to);
    if (s->anonymous && !from_scan && to && !app_is_dicom(to))
        return app_refuse(APP_USAGE, "--anonymous: has no effect with %s; it is an option of a .dcm or a .dcm/.", to);
    if ((s->planes || s->color) && to && !larmor_format_of(to).is_picture)
        return app_refuse(APP_USAGE, "--%s: has no effect with %s; it is an option of a .png or a .gif.",
                          s->planes ? "planes" : "color", to);
    if (s->fps > 0 && to && !app_is_film(to))
        return app_refuse(APP_USAGE, "--fps: has no effect with %s; it is an option of a .gif.", to);
    if (s->bids && to && !larmor_format_of(to).has_sidecar)
        return app_refuse(APP_USAGE, "--bids: has no effect with %s; it is an option of a .nii or a .nii.gz.", to);
    if (from_scan && to && !s->traj && !s->kspace) {
        if (!strcasecmp(app_suffix(to), ".h5")) return copy_scan(s, files->name[0], to);
        return app_refuse(APP_USAGE, "%s: is a scan; the name to write ends in .h5.", files->name[0]);
    }
    if (!s->traj && !s->kspace && to && files->count == 1 + !s->output) return convert_image(s, files->name[0], to);
    if (s->traj && s->kspace && s->output && !files->count && !strcasecmp(app_suffix(s->output), ".h5"))
        return convert_scan(s);
    return app_refuse(APP_USAGE, "convert: FROM and TO, SCAN --save-kspace K.npy, or --traj T.cfl --kspace K.cfl -o "
                                 "SCAN.h5 expected; 'larmor convert --help' says more.");
}

const app_command cmd_convert = {
    .name = "convert",
    .usage = "FROM TO | MEAS.dat -o SCAN.h5 | SCAN --save-kspace K | --traj T.cfl --kspace K.cfl -o SCAN.h5",
    .summary = "between image formats, scans of Siemens TWIX and ISMRMRD, and arrays of samples",
    .details = "Formats follow the suffixes: from .h5, .nii, .nii.gz, .cfl and .npy to the same, .png, .gif, "
               ".dcm and .dcm/, a folder. Images go one by one\n"
               "with their geometry and counters, so that a .nii is that which recon would have written; .npy has "
               "neither, and\n"
               ".cfl has counters. Of a .npy the first three axes are an image, with voxels of 1 mm.",
    .max_files = 2,
    .written_files = 1u << 1,
    APP_OWN_PARTS,
};
