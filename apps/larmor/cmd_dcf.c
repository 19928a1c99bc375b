/* larmor dcf: density compensation, of a scan or of a trajectory. SPDX-License-Identifier: Apache-2.0 */
#include "choices.h"
#include "commands.h"
#include "common.h"
#include "json.h"

typedef struct settings {
    const char *output, *method, *trajectory, *device;
    larmor_raw_opts raw;
    app_list matrix;
    int64_t index, threads;
    int force, json;
} settings;

/* ---- the methods ---- */

static larmor_status make_pipe(const larmor_array *traj, larmor_shape image, larmor_array **w)
{
    return larmor_density_pipe(traj, image, 0, w);
}

static const struct method {
    const char *name, *help;
    larmor_status (*make)(const larmor_array *traj, larmor_shape image, larmor_array **w); /* NULL: auto */
} methods[] = {{"auto", "ramp where readouts are straight and it is good, else pipe", NULL},
               {"ramp", "straight readouts through or from the centre: |k|, |k|^2 in 3D", larmor_density_ramp},
               {"voronoi", "2D and partitions: the area of each sample's cell", larmor_density_voronoi},
               {"spiral", "2D arms that are rotated copies: r dr/dt", larmor_density_spiral},
               {"pipe", "any trajectory: iterations of Pipe and Menon", make_pipe},
               {NULL, NULL, NULL}};

static const char *choose_dcf(int i, const char **help)
{
    *help = methods[i].help;
    return methods[i].name;
}

/* *taken: the method that makes them. */
static larmor_status make_weights(const char *name, const larmor_array *traj, larmor_shape image, const char **taken,
                                  larmor_array **w)
{
    const struct method *m = methods;
    while (m[1].name && strcmp(m->name, name) != 0) m++;
    *taken = m->name;
    if (m->make) return m->make(traj, image, w);
    const larmor_status st = larmor_density_auto(traj, image, taken, w);
    if (!st) app_log("dcf: auto takes %s", *taken);
    return st;
}

/* ---- options ---- */

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    OPTION(APP_WRITTEN_FILE, output, 'o', "output", "FILE", "the .cfl (with .hdr) or .npy file to write",
           .needed = 1),
    OPTION(APP_TEXT, method, 'm', "method", "M", "how to compute the weights", .preset = "auto",
           .choice = choose_dcf),
    OPTION(APP_READ_FILE, trajectory, 0, "traj", "FILE",
           "of this trajectory instead of a scan's: .cfl or .npy [3, samples, readouts] in 1/FOV, as larmor traj "
           "writes it"),
    OPTION(APP_SIZES, matrix, 0, "matrix", "X[,Y[,Z]]",
           "voxels of the image; needed with --traj, where Y defaults to X and Z to 1 (default: the scan's)",
           .low = 1, .high = 65535),
    OPTION(APP_INTEGER, index, 0, "image", "N", "of this image of the scan, as larmor info counts them",
           .preset = "0", .low = 0, .high = 1 << 30),
    SCAN_OPTIONS(settings),
    PHASE_ROWS_OPTION(settings),
    OPTION(APP_FLAG, force, 'f', "force", "", "replace files that exist"),
    APP_DEVICE_OPTIONS(settings),
    OPTION(APP_FLAG, json, 0, "json", "", "print what was written as a JSON object on stdout"),
    {0},
};

/* ---- inputs ---- */

static larmor_status read_scan(const settings *s, const char *path, larmor_device *dev, larmor_shape *image,
                               larmor_array **traj)
{
    larmor_grid_opts grid_opts = {.oversample = {0}};
    APP_FREED_BY(larmor_samples_free) larmor_samples samples = {0};
    larmor_grid grid;
    for (int d = 0; d < s->matrix.count; d++) grid_opts.matrix[d] = (int64_t)s->matrix.value[d];
    APP_OWN(larmor_raw, raw, larmor_raw_open(path, &s->raw, &raw));
    APP_OWN(larmor_source, source, larmor_source_of_raw(raw, path, &source));
    TRY(larmor_source_samples(source, (int)s->index, &grid_opts, dev, &grid, &samples));
    *image = larmor_shape_of(grid.ndim, grid.matrix);
    *traj = larmor_array_ref(samples.traj);
    return LARMOR_OK;
}

/* The image that --matrix names. */
static larmor_shape image_of(const app_list *matrix)
{
    int64_t n[3] = {(int64_t)matrix->value[0], 0, 1};
    n[1] = matrix->count > 1 ? (int64_t)matrix->value[1] : n[0];
    if (matrix->count > 2) n[2] = (int64_t)matrix->value[2];
    return larmor_shape_of(n[2] > 1 ? 3 : 2, n);
}

static int check(const settings *s, const app_files *files)
{
    if (!larmor_format_of(s->output).saves)
        app_error("dcf: --output %s: a name that ends in .cfl or .npy expected.", s->output);
    else if (!files->count == !s->trajectory)
        app_error("dcf: a scan or --traj FILE is needed, and not both.");
    else if (s->trajectory && !s->matrix.count)
        app_error("dcf: --traj needs --matrix, the voxels of the image.");
    else
        return APP_DONE;
    return APP_USAGE;
}

static double sum_of(const larmor_array *w)
{
    double *values, sum = 0;
    if (larmor_array_download(w, LARMOR_F64, &values)) return 0;
    for (int64_t i = 0; i < larmor_array_count(w); i++) sum += values[i];
    free(values);
    return sum;
}

static void print_report(const settings *s, const char *input, const char *taken, larmor_shape image,
                         larmor_shape weights, double sum)
{
    json j = json_begin();
    json_text(&j, "input", input);
    json_text(&j, "output", s->output);
    json_text(&j, "method", taken);
    json_integers(&j, "matrix", image.dim, image.ndim);
    json_integer(&j, "samples", weights.dim[0]);
    json_integer(&j, "readouts", weights.dim[1]);
    json_number(&j, "sum", sum);
    json_close(&j, '}');
}

static int run(const void *given, const app_files *files)
{
    const settings *s = given;
    const char *taken;
    APP_OWNED(larmor_device) *dev = NULL;
    APP_OWNED(larmor_array) *traj = NULL, *w = NULL, *three = NULL;
    APP_OWNED(larmor_output) *out = NULL;
    larmor_shape image = {0};
    int code = check(s, files);
    if (code) return code;
    APP_TRY(APP_RUN, app_output_open(s->output, s->force, &out));
    APP_TRY(APP_RUN, app_open_device(s->device, s->threads, &dev));
    if (s->trajectory) {
        image = image_of(&s->matrix);
        APP_TRY(APP_INPUT, larmor_traj_read(s->trajectory, image.ndim, dev, &traj));
    } else {
        APP_TRY(APP_INPUT, read_scan(s, files->name[0], dev, &image, &traj));
    }
    APP_TRY(APP_INPUT, make_weights(s->method, traj, image, &taken, &w));
    const larmor_shape shape = larmor_array_shape(w);
    APP_TRY(APP_RUN, larmor_array_reshape(w, LARMOR_SHAPE(1, shape.dim[0], shape.dim[1]), &three));
    APP_TRY(APP_RUN, larmor_array_save(out, three));
    const double sum = sum_of(w);
    app_log("wrote %s: weights of %lld x %lld samples, their sum is %.5g cells of 1/FOV^%d", s->output,
            (long long)shape.dim[0], (long long)shape.dim[1], sum, image.ndim);
    if (s->json) print_report(s, s->trajectory ? s->trajectory : files->name[0], taken, image, shape, sum);
    return code;
}

const app_command cmd_dcf = {
    .name = "dcf",
    .usage = "[SCAN.h5] -o FILE [options]",
    .summary = "write the density compensation of a scan or of a trajectory",
    .details = "The array is [1, samples, readouts], as BART takes it for a pattern, and as recon --save-density "
               "writes it.\n"
               "Weights are areas of k-space in 1/FOV^2, volumes in 1/FOV^3.",
    .max_files = 1,
    .computes = 1,
    APP_OWN_PARTS,
};
