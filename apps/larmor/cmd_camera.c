/* larmor camera: a field camera's log as phase terms and a trajectory. SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "common.h"

typedef struct settings {
    const char *output, *traj;
    app_list fov;
    int64_t order;
    int relative, force;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    OPTION(APP_WRITTEN_FILE, output, 'o', "output", "FILE",
           "the terms to write, as recon --phase-terms takes them: .npy or .cfl, [samples, readouts, 9 or 16]",
           .needed = 1),
    OPTION(APP_WRITTEN_FILE, traj, 0, "save-traj", "FILE",
           "also write the trajectory of the terms of first order, as recon --traj takes it: .npy or .cfl"),
    OPTION(APP_NUMBERS, fov, 0, "fov", "X,Y[,Z]", "--save-traj: field of view of x, y and z in mm", .low = 1e-3,
           .high = 1e5),
    OPTION(APP_INTEGER, order, 0, "order", "N",
           "of the solid harmonics (default: the highest that the probes determine)", .low = 1, .high = 3),
    OPTION(APP_FLAG, relative, 0, "relative", "", "phases count from the first sample of each readout"),
    OPTION(APP_FLAG, force, 'f', "force", "", "replace files that exist"),
    {0},
};

/* A last dimension of 1 stays, as of one readout. */
static larmor_status read_three(const char *path, larmor_device *dev, int64_t probes, larmor_array **x)
{
    APP_OWN(larmor_array, read, app_read_array(path, dev, &read));
    larmor_shape shape = larmor_array_shape(read);
    if (shape.ndim == 2 && shape.dim[1] == probes) shape = LARMOR_SHAPE(shape.dim[0], 1, probes);
    return larmor_array_reshape(read, shape, x);
}

static larmor_status save_traj(const settings *s, const larmor_array *terms, larmor_output *out)
{
    double fov[3] = {0};
    for (int d = 0; d < s->fov.count; d++) fov[d] = 1e-3 * s->fov.value[d];
    APP_OWN(larmor_array, traj, larmor_camera_traj(terms, NULL, fov, s->fov.count, &traj));
    return larmor_traj_save(out, traj);
}

static int run(const void *given, const app_files *files)
{
    const settings *s = given;
    APP_OWNED(larmor_device) *dev = NULL;
    APP_OWNED(larmor_output) *out = NULL, *traj_out = NULL;
    APP_OWNED(larmor_array) *phase = NULL, *position = NULL, *terms = NULL;
    const larmor_camera_opts opts = {.order = (int)s->order, .relative = s->relative};
    larmor_camera_report report;
    if (!s->traj == (s->fov.count >= 2 && s->fov.count <= 3))
        return app_refuse(APP_USAGE,
                          "camera: --save-traj FILE and --fov X,Y[,Z] belong together; give both or none.");
    APP_TRY(APP_RUN, app_output_open(s->output, s->force, &out));
    if (s->traj) APP_TRY(APP_RUN, app_output_open(s->traj, s->force, &traj_out));
    APP_TRY(APP_INPUT, larmor_device_open("cpu", &dev));
    APP_TRY(APP_INPUT, app_read_array(files->name[1], dev, &position));
    APP_TRY(APP_INPUT, read_three(files->name[0], dev, larmor_array_shape(position).dim[1], &phase));
    const larmor_status st = larmor_field_camera(phase, position, &opts, &terms, &report);
    if (st) return app_fail_in(APP_INPUT, st, files->name[0]);
    if (report.largest > LARMOR_CAMERA_RESIDUAL)
        app_log(
            "warning: the harmonics leave up to %.2g rad of a readout's phases: steps of half a turn and more from a "
            "sample to the next, wrong places of probes or a higher order may be why; do not use these terms "
            "before that is clear",
            report.largest);
    printf("order %d\nresidual %.3g\ncondition %.3g\n", report.order, report.residual, report.condition);
    APP_TRY(APP_RUN, larmor_array_save(out, terms));
    if (s->traj) APP_TRY(APP_RUN, save_traj(s, terms, traj_out));
    app_log("wrote %s%s%s", s->output, s->traj ? " and " : "", s->traj ? s->traj : "");
    return APP_DONE;
}

const app_command cmd_camera = {
    .name = "camera",
    .usage = "PHASES POSITIONS -o TERMS.npy [options]",
    .summary = "a field camera's log as phase terms and a trajectory",
    .details =
        "PHASES are those of signals exp(-i phase), or these signals, [samples, readouts, probes], and POSITIONS\n"
        "those of the probes in m, [3, probes], along the patient's axes (LPS) from the isocentre: .npy or .cfl.",
    .lacking = "phases and positions are needed; larmor camera --help says more",
    .min_files = 2,
    .max_files = 2,
    APP_OWN_PARTS,
};
