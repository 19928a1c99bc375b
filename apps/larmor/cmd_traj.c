/* larmor traj: write a trajectory, made or that of a scan; find the delays of a scan's gradients.
 * SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "common.h"
#include "given.h"
#include "json.h"
#include "scan.h"

typedef struct settings {
    scan_trajectory trajectory;
    scan_given given;
    const char *output, *from, *times;
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
    SEQ_OPTIONS(settings),
    OPTION(
        APP_WRITTEN_FILE, times, 0, "times", "FILE",
        "with --seq: also write the times of the samples in s since the last excitation [samples, readouts]: .cfl or "
        ".npy"),
    OPTION(APP_FLAG, delays, 0, "delays", "",
           "with --from: find the delays of the gradients from the samples, print them as recon --delays takes them, "
           "and correct the trajectory"),
    OPTION(APP_FLAG, json, 0, "json", "", "with --delays or --seq: print a JSON object"),
    OPTION(APP_FLAG, force, 'f', "force", "", "replace files that exist"),
    {0},
};

/* ---- of a scan ---- */

/* The samples of the first image, and the grid that their trajectory counts in. */
static larmor_status read_scan(const settings *s, larmor_device *dev, larmor_grid *grid, larmor_samples *samples)
{
    larmor_group group;
    *samples = (larmor_samples){0};
    APP_OWN(larmor_raw, raw, larmor_raw_open(s->from, NULL, &raw));
    TRY(larmor_raw_group(raw, 0, &group));
    TRY(larmor_raw_grid(raw, group.encoding, NULL, grid));
    TRY(larmor_raw_samples(raw, 0, grid, 0, dev, samples));
    if (!samples->traj) return larmor_fail(LARMOR_ERR_FORMAT, "%s: stores no trajectory.", s->from);
    return LARMOR_OK;
}

static void print_delays(const settings *s, const larmor_grid *grid, const larmor_delays *found)
{
    const scan_delays_text text = scan_describe_delays(grid->ndim, found->delay);
    const scan_delays_text deviation = scan_describe_delays(grid->ndim, found->deviation);
    if (s->json) {
        json j = json_begin();
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
    APP_FREED_BY(larmor_samples_free) larmor_samples samples = {0};
    larmor_delays found;
    larmor_delays_opts opts = {{0}};
    *traj = NULL;
    TRY(read_scan(s, dev, &grid, &samples));
    for (int d = 0; d < grid.ndim; d++) opts.fov[d] = grid.fov_mm[d];
    if (!s->delays) *traj = larmor_array_ref(samples.traj);
    APP_OWNED(larmor_array) *kspace = NULL, *aligned = NULL;
    if (s->delays) TRY(larmor_samples_align(&samples, &kspace, &aligned));
    if (s->delays) TRY(larmor_delays_estimate(kspace, aligned, &opts, &found));
    if (s->delays) print_delays(s, &grid, &found);
    if (s->delays) TRY(larmor_samples_delay(&samples, found.delay, opts.fov, traj));
    return LARMOR_OK;
}

/* ---- of a sequence ---- */

static void print_labels(json *j, const larmor_pulseq *sequence, int64_t readouts)
{
    const char *name;
    json_open(j, "labels", '{');
    for (int l = 0; (name = larmor_pulseq_label(l)); l++) {
        larmor_pulseq_readout r;
        int32_t low = 0, high = 0;
        for (int64_t i = 0; i < readouts; i++) {
            if (larmor_pulseq_readout_at(sequence, i, &r)) break;
            low = r.label[l] < low ? r.label[l] : low;
            high = r.label[l] > high ? r.label[l] : high;
        }
        if (low == high && !low) continue;
        json_open(j, name, '[');
        json_integer(j, NULL, low);
        json_integer(j, NULL, high);
        json_close(j, ']');
    }
    json_close(j, '}');
}

static void print_sequence(const settings *s, const larmor_pulseq *sequence)
{
    const larmor_pulseq_info info = larmor_pulseq_describe(sequence);
    char version[40];
    json j = json_begin();
    snprintf(version, sizeof version, "%d.%d.%d", info.version[0], info.version[1], info.version[2]);
    json_text(&j, "input", s->given.seq);
    json_text(&j, "pulseq", version);
    JSON_MEMBERS(&j, info, name, blocks, readouts, samples, excitations, refocusings, duration_s);
    json_numbers(&j, "fov_mm", info.fov_mm, 3);
    json_numbers(&j, "kmax", info.kmax, 3);
    json_numbers(&j, "shift_mm", info.shift_mm, 3);
    print_labels(&j, sequence, info.readouts);
    json_text(&j, "warnings", info.warnings);
    json_close(&j, '}');
}

/* Readouts of one length, or one readout of all samples. In 1/FOV where the sequence states it, else in 1/m. */
static larmor_status arrays_of(const larmor_trajectory *t, larmor_device *dev, larmor_array **traj,
                               larmor_array **times)
{
    const int64_t all = t->first[t->readouts], one = t->first[1];
    int regular = 1, stated = 1;
    for (int64_t r = 0; r < t->readouts; r++) regular &= t->first[r + 1] - t->first[r] == one;
    for (int d = 0; d < t->dims; d++) stated &= t->fov_mm[d] > 0;
    const int64_t samples = regular ? one : all;
    const int64_t readouts = regular ? t->readouts : 1;
    for (int64_t i = 0; stated && i < all * t->dims; i++) t->k[i] *= 1e-3 * t->fov_mm[i % t->dims];
    TRY(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(t->dims, samples, readouts), LARMOR_F64, t->k, traj));
    TRY(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(samples, readouts), LARMOR_F64, t->time_s, times));
    app_log("%s: %lld readout%s of %s, in %s", t->name, (long long)t->readouts, app_s(t->readouts),
            regular ? "one length" : "different lengths, which are written as one",
            stated ? "1/FOV of the sequence" : "1/m: the sequence states no field of view");
    return LARMOR_OK;
}

static larmor_status trajectory_of_sequence(const settings *s, larmor_device *dev, larmor_array **traj,
                                            larmor_array **times)
{
    APP_FREED_BY(larmor_trajectory_free) larmor_trajectory t = {0};
    APP_OWN(larmor_pulseq, sequence, given_sequence(&s->given, &sequence));
    if (s->json) print_sequence(s, sequence);
    TRY(larmor_pulseq_trajectory(sequence, &t));
    return arrays_of(&t, dev, traj, times);
}

/* ---- the command ---- */

static int check_sequence(const settings *s)
{
    if (s->from && s->given.seq)
        return app_refuse(APP_USAGE, "--from and --seq exclude each other; give one of them.");
    if (s->given.seq || (!s->given.soft_delays && !s->times)) return APP_DONE;
    return app_refuse(APP_USAGE, "--%s: has no effect without --seq.", s->times ? "times" : "soft-delays");
}

static int check(const settings *s)
{
    static const char *const made[] = {"traj",       "matrix", "readouts",     "samples",           "undersampling",
                                       "density",    "tiny",   "acceleration", "calibration-lines", "partial-fourier",
                                       "repetition", NULL};
    const int taken = s->from || s->given.seq;
    for (int i = 0; taken && made[i]; i++)
        if (app_differs(&cmd_traj, s, made[i]))
            return app_refuse(APP_USAGE, "--%s: has no effect with --%s; the trajectory is the %s.", made[i],
                              s->from ? "from" : "seq", s->from ? "scan's" : "sequence's");
    if (check_sequence(s)) return APP_USAGE;
    if ((s->delays && !s->from) || (s->json && !s->delays && !s->given.seq))
        return app_refuse(APP_USAGE, "--%s: has no effect without --%s.", s->delays ? "delays" : "json",
                          s->delays ? "from" : "delays");
    if (larmor_format_of(s->output ? s->output : "").saves || ((s->delays || s->json) && !s->output)) return APP_DONE;
    return app_refuse(APP_USAGE,
                      "traj: --output FILE is needed, ending in .cfl or .npy; 'larmor traj --help' says more.");
}

static int run(const void *given, const app_files *files APP_UNUSED)
{
    const settings *s = given;
    larmor_traj_opts opts = scan_trajectory_opts(&s->trajectory);
    APP_OWNED(larmor_device) *dev = NULL;
    APP_OWNED(larmor_array) *traj = NULL, *times = NULL;
    APP_OWNED(larmor_output) *out = NULL, *times_out = NULL;
    int code = check(s);
    if (code) return code;
    opts.repetition = s->repetition;
    if (s->output) APP_TRY(APP_RUN, app_output_open(s->output, s->force, &out));
    if (s->times) APP_TRY(APP_RUN, app_output_open(s->times, s->force, &times_out));
    APP_TRY(APP_INPUT, larmor_device_open("cpu", &dev));
    if (s->from)
        APP_TRY(APP_INPUT, trajectory_of_scan(s, dev, &traj));
    else if (s->given.seq)
        APP_TRY(APP_INPUT, trajectory_of_sequence(s, dev, &traj, &times));
    else
        APP_TRY(APP_INPUT, larmor_traj_create(dev, s->trajectory.name, &opts, &traj));
    if (times_out) APP_TRY(APP_RUN, larmor_array_save(times_out, times));
    if (!out) return APP_DONE;
    APP_TRY(APP_RUN, larmor_traj_save(out, traj));
    const larmor_shape shape = larmor_array_shape(traj);
    const char *of = s->from ? s->from : s->trajectory.name;
    app_log("wrote %s: %s, 3 x %lld sample%s x %lld readout%s%s", s->output, s->given.seq ? s->given.seq : of,
            (long long)shape.dim[1], app_s(shape.dim[1]), (long long)shape.dim[2], app_s(shape.dim[2]),
            s->given.seq ? "" : ", in 1/FOV");
    return code;
}

const app_command cmd_traj = {
    .name = "traj",
    .usage = "-o FILE [options]",
    .summary = "write a trajectory, also of a Pulseq sequence, or find the delays of a scan's gradients",
    .details = "The array is [3, samples, readouts] in cycles per field of view (1/FOV), as in BART; z is 0 in 2D.\n"
               "larmor traj --from scan.h5 --delays prints delays alone. Of --seq it is in 1/FOV of the sequence's "
               "definition.",
    APP_OWN_PARTS,
};
