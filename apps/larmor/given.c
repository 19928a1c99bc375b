/* A trajectory that is given in the place of a scan's. SPDX-License-Identifier: Apache-2.0 */
#include "given.h"

#include <unistd.h>

#include "common.h"

int given_are_delays(const char *text)
{
    enum { LONGEST_S = 1000000, MOST_BYTES = 255 };
    if (strlen(text) > MOST_BYTES) return 0;
    for (const char *p = text; p; p = *p == ',' ? p + 1 : NULL) {
        const size_t name = strcspn(p, "=,");
        char *end = NULL;
        const double value = name && p[name] == '=' ? strtod(p + name + 1, &end) : -1;
        if (!end || end == p + name + 1 || (*end && *end != ',') || !(value >= 0 && value < LONGEST_S)) return 0;
        p = end;
    }
    return 1;
}

/* An option that says more about another one, which is not there; NULL: none. */
static const char *lonely(const scan_given *given, const char **of)
{
    *of = "traj";
    if (!given->traj && given->times) return "traj-times";
    if (!given->traj && given->weights) return "traj-weights";
    *of = "seq";
    if (!given->seq && given->soft_delays) return "soft-delays";
    return !given->seq && given->adc_phases && strcmp(given->adc_phases, "shape") != 0 ? "adc-phases" : NULL;
}

larmor_status given_sequence(const scan_given *given, larmor_pulseq **sequence)
{
    larmor_pulseq_opts opts = {.soft_delays = given->soft_delays};
    const char *phases = given->adc_phases ? given->adc_phases : "shape";
    if (!strcmp(phases, "none")) opts.adc_phases = LARMOR_PHASES_NONE;
    if (!strcmp(phases, "all")) opts.adc_phases = LARMOR_PHASES_ALL;
    TRY(larmor_pulseq_read(given->seq, &opts, sequence));
    const larmor_pulseq_info info = larmor_pulseq_describe(*sequence);
    app_log("%s: Pulseq %d.%d.%d, %lld ADC event%s of %lld samples, %lld excitations, %lld refocusing pulses, %.6g s",
            given->seq, info.version[0], info.version[1], info.version[2], (long long)info.readouts,
            app_s(info.readouts), (long long)info.samples, (long long)info.excitations, (long long)info.refocusings,
            info.duration_s);
    if (info.shift_mm[0] != 0 || info.shift_mm[1] != 0 || info.shift_mm[2] != 0)
        app_log("%s: frequencies of ADC events move the field of view by %.4g, %.4g, %.4g mm along x, y, z",
                given->seq, info.shift_mm[0], info.shift_mm[1], info.shift_mm[2]);
    for (const char *line = info.warnings; *line; line += strcspn(line, "\n") + 1)
        app_log("warning: %s: %.*s", given->seq, (int)strcspn(line, "\n"), line);
    return LARMOR_OK;
}

static larmor_status read_sequence(const scan_given *given, larmor_trajectory *to)
{
    APP_OWN(larmor_pulseq, sequence, given_sequence(given, &sequence));
    return larmor_pulseq_trajectory(sequence, to);
}

int given_read(const scan_given *given, larmor_raw_opts *opts, larmor_trajectory *to)
{
    *to = (larmor_trajectory){0};
    const char *of, *option = lonely(given, &of);
    if (option) return app_refuse(APP_USAGE, "--%s: has no effect without --%s.", option, of);
    if (given->traj && given->seq)
        return app_refuse(APP_USAGE, "--traj and --seq exclude each other; give one of them.");
    if (given->seq && opts->traj_units && strcmp(opts->traj_units, "auto") != 0)
        return app_refuse(APP_USAGE, "--traj-units: has no effect with --seq, whose trajectory is in 1/m.");
    if (!given->traj && !given->seq) return APP_DONE;
    const larmor_trajectory_opts how = {given->times, given->weights, opts->traj_units};
    const larmor_status st = given->seq ? read_sequence(given, to) : larmor_trajectory_read(given->traj, &how, to);
    opts->trajectory = to;
    return st ? app_fail(APP_INPUT, st) : APP_DONE;
}

static larmor_status open_scan(const char *path, const larmor_raw_opts *opts, larmor_raw **raw)
{
    const larmor_stream_opts how = {.keep_open = 1, .name = "standard input"};
    if (strcmp(path, "-") != 0) return larmor_raw_open(path, opts, raw);
    APP_OWN(larmor_stream, stream, larmor_stream_create(STDIN_FILENO, STDOUT_FILENO, &how, &stream));
    return larmor_stream_take_scan(stream, 0, opts, raw);
}

int given_open(const char *path, const larmor_raw_opts *opts, const scan_given *given, larmor_raw **raw)
{
    larmor_raw_opts all = *opts;
    APP_FREED_BY(larmor_trajectory_free) larmor_trajectory trajectory = {0};
    int code = given_read(given, &all, &trajectory);
    const larmor_status st = code ? LARMOR_OK : open_scan(path, &all, raw);
    if (st) code = app_fail(APP_INPUT, st);
    return code;
}
