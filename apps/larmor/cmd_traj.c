/* larmor traj: write a trajectory. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common.h"
#include "scan.h"

typedef struct settings {
    scan_trajectory trajectory;
    const char *output;
    int64_t repetition;
    int force;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    OPTION(APP_WRITTEN_FILE, output, 'o', "output", "FILE", "the .cfl (with .hdr) or .npy file to write"),
    SCAN_TRAJECTORY_OPTIONS(settings),
    OPTION(APP_INTEGER, repetition, 0, "repetition", "N",
           "of a series whose angles continue, as in larmor phantom --repetitions; from 0", .preset = "0", .low = 0,
           .high = 65535),
    OPTION(APP_FLAG, force, 0, "force", "", "replace files that exist"),
    {0},
};

/* [nd, samples, readouts] to [3, samples, readouts]: 2D trajectories get zeros along z. */
static larmor_status with_three_components(larmor_array *traj, larmor_array **out)
{
    const larmor_shape shape = larmor_array_shape(traj);
    const int64_t nd = shape.dim[0], points = shape.dim[1] * shape.dim[2];
    double *k = NULL, *padded = calloc((size_t)(3 * points) + 1, sizeof *padded);
    larmor_status st =
        padded ? larmor_array_download(traj, LARMOR_F64, &k) : larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
    for (int64_t i = 0; !st && i < points; i++) memcpy(padded + 3 * i, k + nd * i, (size_t)nd * sizeof *k);
    *out = NULL;
    const larmor_shape three = LARMOR_SHAPE(3, shape.dim[1], shape.dim[2]);
    if (!st) st = larmor_array_upload(larmor_array_device(traj), LARMOR_F64, three, LARMOR_F64, padded, out);
    free(k);
    free(padded);
    return st;
}

static int run(const void *given, const app_files *files)
{
    (void)files;
    const settings *s = given;
    int64_t matrix[3];
    larmor_device *dev = NULL;
    larmor_array *traj = NULL, *padded = NULL;
    larmor_output *out = NULL;
    int code = APP_DONE;
    if (!larmor_format_of(s->output).saves) {
        app_error("traj: --output FILE is needed, ending in .cfl or .npy; 'larmor traj --help' says more.");
        return APP_USAGE;
    }
    APP_OR(done, APP_RUN, app_output_open(s->output, s->force, &out));
    APP_OR(done, APP_INPUT, larmor_device_open("cpu", &dev));
    APP_OR(done, APP_INPUT, scan_trajectory_create(&s->trajectory, dev, s->repetition, matrix, &traj));
    APP_OR(done, APP_RUN, with_three_components(traj, &padded));
    APP_OR(done, APP_RUN, larmor_array_save(out, padded));
    const larmor_shape shape = larmor_array_shape(padded);
    app_log("wrote %s: %s, 3 x %lld sample%s x %lld readout%s, in 1/FOV", s->output, s->trajectory.name,
            (long long)shape.dim[1], app_s(shape.dim[1]), (long long)shape.dim[2], app_s(shape.dim[2]));
done:
    larmor_array_free(padded);
    larmor_array_free(traj);
    larmor_device_free(dev);
    larmor_output_free(out);
    return code;
}

const app_command cmd_traj = {
    .name = "traj",
    .usage = "-o FILE [options]",
    .summary = "write a trajectory",
    .details = "The array is [3, samples, readouts] in cycles per field of view (1/FOV), as in BART; z is 0 in 2D.",
    .options = options,
    .settings = sizeof(settings),
    .run = run,
};
