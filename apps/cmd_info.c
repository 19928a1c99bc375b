/* larmor info: what is in a scan, and what recon would make of it. SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "commands.h"
#include "common.h"
#include "json.h"

typedef struct settings {
    const char *group, *units;
    int drop_nonfinite, json;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    OPTION(APP_TEXT, group, 0, "group", "NAME", "the HDF5 group of the scan", .preset = "dataset"),
    OPTION(APP_TEXT, units, 0, "traj-units", "U", "units of the stored trajectory", .preset = "auto",
           .choices = "auto|1/fov|norm|pm1|rad|1/m|rad/m|1/mm"),
    OPTION(APP_FLAG, drop_nonfinite, 0, "drop-nonfinite", "", "leave out acquisitions with NaN or Inf"),
    OPTION(APP_FLAG, json, 0, "json", "", "print a JSON object"),
    {0},
};

typedef long long ll;

static void print_matrix(const char *what, const int64_t n[3], const double fov[3])
{
    printf("  %-14s%lld x %lld x %lld, %g x %g x %g mm, voxels %.4g x %.4g x %.4g mm\n", what, (ll)n[0], (ll)n[1],
           (ll)n[2], fov[0], fov[1], fov[2], fov[0] / (double)n[0], fov[1] / (double)n[1], fov[2] / (double)n[2]);
}

static larmor_status print_encoding(const larmor_raw *raw, int index)
{
    larmor_encoding e;
    larmor_grid grid;
    larmor_status st = larmor_raw_encoding(raw, index, &e);
    if (!st) st = larmor_raw_grid(raw, index, NULL, &grid);
    if (st) return st;
    printf("encoding %d: %s, %dD\n", index, e.trajectory, e.ndim);
    print_matrix("encodedSpace:", e.matrix, e.fov_mm);
    print_matrix("reconSpace:", e.recon_matrix, e.recon_fov_mm);
    printf("  %-14sgrid %lld x %lld x %lld, cropped to %lld x %lld x %lld\n", "recon:", (ll)grid.matrix[0],
           (ll)grid.matrix[1], (ll)grid.matrix[2], (ll)grid.crop[0], (ll)grid.crop[1], (ll)grid.crop[2]);
    return LARMOR_OK;
}

static larmor_status print_group(const larmor_raw *raw, int index)
{
    larmor_group g;
    const larmor_status st = larmor_raw_group(raw, index, &g);
    if (st) return st;
    printf("group %d: encoding %d, slice %d, contrast %d, phase %d, repetition %d, set %d: %lld readouts x %s%lld "
           "samples",
           index, g.encoding, g.slice, g.contrast, g.phase, g.repetition, g.set, (ll)g.readouts,
           g.regular ? "" : "up to ", (ll)g.samples);
    if (g.averages > 1) printf(", %d averages", g.averages);
    putchar('\n');
    return LARMOR_OK;
}

static void print_counts(const char *path, const larmor_raw_info *r)
{
    printf("%s: %lld acquisitions: %lld imaging, %lld calibration, %lld noise, %lld left out by flags", path,
           (ll)r->acquisitions, (ll)r->imaging, (ll)r->calibration, (ll)r->noise, (ll)r->dropped);
    if (r->nonfinite) printf(", %lld left out as not finite", (ll)r->nonfinite);
    printf("\ncoils: %d", r->coils);
    if (r->dead_coils) printf(" (%d without signal left out)", r->dead_coils);
    printf("\nnoise: ");
    if (r->noise)
        printf("%lld samples, dwell %g us (data %g us), bandwidth ratio %g", (ll)r->noise_samples, r->noise_dwell_us,
               r->dwell_us, r->noise_bandwidth);
    else
        printf("no noise scan");
    printf("\ntrajectory: %s%s\n", r->traj_stored ? r->traj_report : "not stored",
           r->density_stored ? ", with density weights" : "");
}

static larmor_status print_text(const char *path, const larmor_raw *raw)
{
    const larmor_raw_info r = larmor_raw_describe(raw);
    print_counts(path, &r);
    larmor_status st = LARMOR_OK;
    for (int i = 0; !st && i < r.encodings; i++) st = print_encoding(raw, i);
    for (int i = 0; !st && i < r.groups; i++) st = print_group(raw, i);
    printf("recon would make %d image%s, %s\n", r.groups, r.groups == 1 ? "" : "s",
           r.noise ? "whitening the coils first" : "without whitening");
    return st;
}

static larmor_status write_encodings(json *j, const larmor_raw *raw, int count)
{
    larmor_status st = LARMOR_OK;
    json_open(j, "encodings", '[');
    for (int i = 0; !st && i < count; i++) {
        larmor_encoding e;
        larmor_grid grid;
        st = larmor_raw_encoding(raw, i, &e);
        if (!st) st = larmor_raw_grid(raw, i, NULL, &grid);
        if (st) break;
        json_open(j, NULL, '{');
        json_text(j, "trajectory", e.trajectory);
        json_integer(j, "dimensions", e.ndim);
        json_integers(j, "encoded_matrix", e.matrix, 3);
        json_numbers(j, "encoded_fov_mm", e.fov_mm, 3);
        json_integers(j, "recon_matrix", e.recon_matrix, 3);
        json_numbers(j, "recon_fov_mm", e.recon_fov_mm, 3);
        json_integers(j, "grid", grid.matrix, 3);
        json_integers(j, "crop", grid.crop, 3);
        json_close(j, '}');
    }
    json_close(j, ']');
    return st;
}

static larmor_status write_groups(json *j, const larmor_raw *raw, int count)
{
    larmor_status st = LARMOR_OK;
    json_open(j, "groups", '[');
    for (int i = 0; !st && i < count; i++) {
        larmor_group g;
        st = larmor_raw_group(raw, i, &g);
        if (st) break;
        json_open(j, NULL, '{');
        json_integer(j, "encoding", g.encoding);
        json_integer(j, "slice", g.slice);
        json_integer(j, "contrast", g.contrast);
        json_integer(j, "phase", g.phase);
        json_integer(j, "repetition", g.repetition);
        json_integer(j, "set", g.set);
        json_integer(j, "averages", g.averages);
        json_integer(j, "readouts", g.readouts);
        json_integer(j, "samples", g.samples);
        json_integer(j, "total", g.total);
        json_close(j, '}');
    }
    json_close(j, ']');
    return st;
}

static larmor_status write_json(const char *path, const larmor_raw *raw)
{
    const larmor_raw_info r = larmor_raw_describe(raw);
    json j = {stdout, 0, 0};
    json_open(&j, NULL, '{');
    json_text(&j, "file", path);
    json_integer(&j, "acquisitions", r.acquisitions);
    json_integer(&j, "imaging", r.imaging);
    json_integer(&j, "calibration", r.calibration);
    json_integer(&j, "noise", r.noise);
    json_integer(&j, "dropped", r.dropped);
    json_integer(&j, "nonfinite", r.nonfinite);
    json_integer(&j, "coils", r.coils);
    json_integer(&j, "dead_coils", r.dead_coils);
    json_integer(&j, "noise_samples", r.noise_samples);
    json_number(&j, "dwell_us", r.dwell_us);
    json_number(&j, "noise_dwell_us", r.noise_dwell_us);
    json_number(&j, "noise_bandwidth", r.noise_bandwidth);
    json_flag(&j, "trajectory_stored", r.traj_stored);
    json_text(&j, "trajectory_units", r.traj_units);
    json_text(&j, "trajectory_report", r.traj_report);
    json_flag(&j, "density_stored", r.density_stored);
    json_text(&j, "warnings", r.warnings);
    larmor_status st = write_encodings(&j, raw, r.encodings);
    if (!st) st = write_groups(&j, raw, r.groups);
    json_close(&j, '}');
    return st;
}

static int run(const void *given, const app_files *files)
{
    const settings *s = given;
    const char *path = files->name[0];
    larmor_raw *raw = NULL;
    int code = APP_DONE;
    const larmor_raw_opts opts = {.group = s->group, .traj_units = s->units, .drop_nonfinite = s->drop_nonfinite};
    APP_OR(done, APP_INPUT, larmor_raw_open(path, &opts, &raw));
    const larmor_raw_info r = larmor_raw_describe(raw);
    if (r.warnings[0] && !app_is_quiet()) fputs(r.warnings, stderr);
    APP_OR(done, APP_INPUT, s->json ? write_json(path, raw) : print_text(path, raw));
done:
    larmor_raw_free(raw);
    return code;
}

const app_command cmd_info = {
    .name = "info",
    .usage = "SCAN.h5 [options]",
    .summary = "what is in a scan, and what recon would make of it",
    .min_files = 1,
    .max_files = 1,
    .options = options,
    .settings = sizeof(settings),
    .run = run,
};
