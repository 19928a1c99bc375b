/* larmor traj: write a trajectory, made or that of a scan; find the delays of a scan's gradients.
 * SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "common.h"
#include "json.h"
#include "scan.h"

typedef struct settings {
    scan_trajectory trajectory;
    const char *output, *from;
    int64_t repetition;
    int delays, json, force;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    OPTION(APP_WRITTEN_FILE, output, 'o', "output", "FILE", "the .cfl (with .hdr) or .npy file to write"),
    SCAN_TRAJECTORY_OPTIONS(settings),
    OPTION(APP_INTEGER, repetition, 0, "repetition", "N",
           "of a series whose angles continue, as in larmor phantom --repetitions; from 0", .preset = "0", .low = 0,
           .high = 65535),
    OPTION(APP_READ_FILE, from, 0, "from", "SCAN.h5", "the trajectory of a scan's first image instead"),
    OPTION(APP_FLAG, delays, 0, "delays", "",
           "with --from: find the delays of the gradients from the samples, print them as recon --delays takes them, "
           "and "
           "correct the trajectory"),
    OPTION(APP_FLAG, json, 0, "json", "", "with --delays: print a JSON object"),
    OPTION(APP_FLAG, force, 0, "force", "", "replace files that exist"),
    {0},
};

/* ---- of a scan ---- */

/* The samples of the first image, and the grid that their trajectory counts in. */
static larmor_status read_scan(const settings *s, larmor_device *dev, larmor_grid *grid, larmor_samples *samples)
{
    larmor_raw *raw = NULL;
    larmor_group group;
    *samples = (larmor_samples){0};
    larmor_status st = larmor_raw_open(s->from, NULL, &raw);
    if (!st) st = larmor_raw_group(raw, 0, &group);
    if (!st) st = larmor_raw_grid(raw, group.encoding, NULL, grid);
    if (!st) st = larmor_raw_samples(raw, 0, grid, 0, dev, samples);
    if (!st && !samples->traj) st = larmor_fail(LARMOR_ERR_FORMAT, "%s: stores no trajectory.", s->from);
    larmor_raw_free(raw);
    return st;
}

static void print_delays(const settings *s, const larmor_grid *grid, const larmor_delays *found)
{
    const scan_delays_text text = scan_describe_delays(grid->ndim, found->delay);
    const scan_delays_text deviation = scan_describe_delays(grid->ndim, found->deviation);
    if (s->json) {
        json j = {stdout, 0, 0};
        json_open(&j, NULL, '{');
        json_text(&j, "input", s->from);
        json_numbers(&j, "delays", found->delay, 6);
        json_numbers(&j, "deviations", found->deviation, 6);
        json_flag(&j, "significant", found->significant);
        json_number(&j, "shift", found->shift);
        json_number(&j, "unexplained_before", found->before);
        json_number(&j, "unexplained_after", found->after);
        json_integer(&j, "readouts", found->readouts);
        json_close(&j, '}');
    } else
        printf("%s\n", text.s);
    app_log("%s: delays %s samples, standard deviations %s, from %lld readouts: %s", s->from, text.s, deviation.s,
            (long long)found->readouts, found->significant ? "significant" : "not significant");
    app_log("%s: neighbouring samples leave %.2g %% of each other unexplained, %.2g %% with these delays", s->from,
            100 * found->before, 100 * found->after);
}

/* The trajectory of the scan, with its delays if they are asked for. */
static larmor_status trajectory_of_scan(const settings *s, larmor_device *dev, larmor_array **traj)
{
    larmor_grid grid;
    larmor_samples samples;
    larmor_delays found;
    larmor_delays_opts opts = {{0}};
    *traj = NULL;
    larmor_status st = read_scan(s, dev, &grid, &samples);
    for (int d = 0; !st && d < grid.ndim; d++) opts.fov[d] = grid.fov_mm[d];
    if (!st && !s->delays) *traj = larmor_array_ref(samples.traj);
    larmor_array *kspace = NULL, *aligned = NULL;
    if (!st && s->delays) st = larmor_samples_align(&samples, &kspace, &aligned);
    if (!st && s->delays) st = larmor_delays_estimate(kspace, aligned, &opts, &found);
    if (!st && s->delays) print_delays(s, &grid, &found);
    if (!st && s->delays) st = larmor_samples_delay(&samples, found.delay, opts.fov, traj);
    larmor_array_free(aligned);
    larmor_array_free(kspace);
    larmor_samples_free(&samples);
    return st;
}

/* ---- the command ---- */

static int check(const settings *s)
{
    static const char *const made[] = {"traj",       "matrix", "readouts",     "samples",           "undersampling",
                                       "density",    "tiny",   "acceleration", "calibration-lines", "partial-fourier",
                                       "repetition", NULL};
    for (int i = 0; s->from && made[i]; i++)
        if (app_differs(&cmd_traj, s, made[i])) {
            app_error("--%s: has no effect with --from; the trajectory is the scan's.", made[i]);
            return APP_USAGE;
        }
    if ((s->delays && !s->from) || (s->json && !s->delays)) {
        app_error("--%s: has no effect without --%s.", s->delays ? "delays" : "json", s->delays ? "from" : "delays");
        return APP_USAGE;
    }
    if (larmor_format_of(s->output ? s->output : "").saves || (s->delays && !s->output)) return APP_DONE;
    app_error("traj: --output FILE is needed, ending in .cfl or .npy; 'larmor traj --help' says more.");
    return APP_USAGE;
}

static int run(const void *given, const app_files *files)
{
    (void)files;
    const settings *s = given;
    larmor_traj_opts opts = scan_trajectory_opts(&s->trajectory);
    larmor_device *dev = NULL;
    larmor_array *traj = NULL;
    larmor_output *out = NULL;
    int code = check(s);
    if (code) return code;
    opts.repetition = s->repetition;
    if (s->output) APP_OR(done, APP_RUN, app_output_open(s->output, s->force, &out));
    APP_OR(done, APP_INPUT, larmor_device_open("cpu", &dev));
    if (s->from)
        APP_OR(done, APP_INPUT, trajectory_of_scan(s, dev, &traj));
    else
        APP_OR(done, APP_INPUT, larmor_traj_create(dev, s->trajectory.name, &opts, &traj));
    if (!out) goto done;
    APP_OR(done, APP_RUN, larmor_traj_save(out, traj));
    const larmor_shape shape = larmor_array_shape(traj);
    app_log("wrote %s: %s, 3 x %lld sample%s x %lld readout%s, in 1/FOV", s->output,
            s->from ? s->from : s->trajectory.name, (long long)shape.dim[1], app_s(shape.dim[1]),
            (long long)shape.dim[2], app_s(shape.dim[2]));
done:
    larmor_array_free(traj);
    larmor_device_free(dev);
    larmor_output_free(out);
    return code;
}

const app_command cmd_traj = {
    .name = "traj",
    .usage = "-o FILE [options]",
    .summary = "write a trajectory, or find the delays of a scan's gradients",
    .details = "The array is [3, samples, readouts] in cycles per field of view (1/FOV), as in BART; z is 0 in 2D.\n"
               "larmor traj --from scan.h5 --delays prints delays alone.",
    .options = options,
    .settings = sizeof(settings),
    .run = run,
};
