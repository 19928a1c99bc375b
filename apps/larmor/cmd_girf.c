/* larmor girf: the impulse response of gradients from pulses and what came of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "common.h"
#include "fit_inputs.h"

typedef struct settings {
    const char *output, *b0;
    double dwell, resolution, least;
    int force;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    OPTION(APP_WRITTEN_FILE, output, 'o', "output", "FILE",
           "the response to write, as recon --girf takes it: .npy or .cfl, [frequencies, axes, axes asked for]",
           .needed = 1),
    OPTION(APP_WRITTEN_FILE, b0, 0, "b0", "FILE",
           "also write that of order 0, [frequencies, axes asked for], of measurements that have it last"),
    OPTION(APP_NUMBER, dwell, 0, "dwell", "US", "from a sample to the next, in us", .preset = "10", .low = 1e-3,
           .high = 1e6),
    OPTION(APP_NUMBER, resolution, 0, "resolution", "HZ",
           "frequencies up to so far away count together, with less noise (default: each alone)", .low = 0,
           .high = 1e6),
    OPTION(APP_NUMBER, least, 0, "least", "X",
           "of an axis' strongest input, as power: the band ends where it has less", .preset = "1e-4", .low = 1e-12,
           .high = 0.5),
    OPTION(APP_FLAG, force, 'f', "force", "", "replace files that exist"),
    {0},
};

/* Real [samples, pulses, axes], a last dimension of 1 as well. */
static larmor_status read_pulses(const char *path, larmor_device *dev, larmor_array **pulses)
{
    APP_OWN(larmor_array, read, app_read_array(path, dev, &read));
    TRY(fit_make_real(&read, dev));
    larmor_shape shape = larmor_array_shape(read);
    while (shape.ndim < 3) shape = larmor_shape_append(shape, 1);
    return larmor_array_reshape(read, shape, pulses);
}

static int save(const char *path, const larmor_array *x, larmor_output *out)
{
    APP_TRY(APP_RUN, larmor_array_save(out, x));
    app_log("wrote %s", path);
    return APP_DONE;
}

static int run(const void *given, const app_files *files)
{
    const settings *s = given;
    APP_OWNED(larmor_device) *dev = NULL;
    APP_OWNED(larmor_output) *out = NULL, *b0_out = NULL;
    APP_OWNED(larmor_array) *nominal = NULL, *measured = NULL, *response = NULL, *b0 = NULL;
    const larmor_girf_opts opts = {.dwell_s = 1e-6 * s->dwell, .resolution_hz = s->resolution, .least = s->least};
    larmor_girf_report report;
    APP_TRY(APP_RUN, app_output_open(s->output, s->force, &out));
    if (s->b0) APP_TRY(APP_RUN, app_output_open(s->b0, s->force, &b0_out));
    APP_TRY(APP_INPUT, larmor_device_open("cpu", &dev));
    APP_TRY(APP_INPUT, read_pulses(files->name[0], dev, &nominal));
    APP_TRY(APP_INPUT, read_pulses(files->name[1], dev, &measured));
    const larmor_status st = larmor_girf_measure(nominal, measured, &opts, &response, s->b0 ? &b0 : NULL, &report);
    if (st) return app_fail_in(APP_INPUT, st, files->name[1]);
    printf("spacing_hz %.9g\nband_hz %.6g\nresidual %.3g\ndeviation", report.spacing_hz, report.band_hz,
           report.residual);
    for (int a = 0; a < larmor_array_shape(nominal).dim[2]; a++) printf(" %.3g", report.deviation[a]);
    printf("\n");
    const int code = save(s->output, response, out);
    return code || !b0 ? code : save(s->b0, b0, b0_out);
}

const app_command cmd_girf = {
    .name = "girf",
    .usage = "NOMINAL MEASURED -o GIRF.npy --dwell US",
    .summary = "the impulse response of gradients, from pulses",
    .details =
        "NOMINAL has the k that was asked for, the integral of chirps or triangles, [samples, pulses, axes], and\n"
        "MEASURED what came of it, in the same unit, with order 0 as a last number if it was measured: .npy or "
        ".cfl.\n"
        "recon takes the file by --girf, and spacing_hz by --girf-spacing.",
    .lacking = "the pulses and their measurements are needed; larmor girf --help says more",
    .min_files = 2,
    .max_files = 2,
    APP_OWN_PARTS,
};
