/* larmor info: what is in a scan, and what recon would make of it; or what an image is. SPDX-License-Identifier:
 * Apache-2.0 */
#include "choices.h"
#include "commands.h"
#include "common.h"
#include "given.h"
#include "in_options.h"
#include "info_image.h"
#include "json.h"

typedef struct settings {
    larmor_raw_opts raw;
    scan_given given;
    int json;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    GIVEN_OPTIONS(settings),
    SCAN_OPTIONS(settings),
    PHASE_ROWS_OPTION(settings),
    OPTION(APP_FLAG, json, 0, "json", "", "print a JSON object"),
    {0},
};

typedef long long ll;

static void print_matrix(const char *what, const int64_t n[3], const double fov[3])
{
    printf("  %-14s%lld x %lld x %lld, %g x %g x %g mm, voxels %.4g x %.4g x %.4g mm\n", what, (ll)n[0], (ll)n[1],
           (ll)n[2], fov[0], fov[1], fov[2], fov[0] / (double)n[0], fov[1] / (double)n[1], fov[2] / (double)n[2]);
}

/* Slices that were excited together, as the header has them; what is made of it stands with the images. */
static void print_bands(const larmor_multiband_header *m)
{
    if (!m->factor) return;
    char factor[32] = "that is no number of slices";
    if (m->factor > 0) snprintf(factor, sizeof factor, "%d", m->factor);
    printf("  %-14sfactor %s, dZ", "multiband:", factor);
    for (int s = 0; s < m->offsets && s < LARMOR_MOST_BANDS; s++) printf("%s%g", s ? ", " : " ", m->offset_mm[s]);
    printf(" mm, deltaKz %g, calibration %s by encoding %d\n", m->delta_kz, *m->calibration ? m->calibration : "none",
           m->calibration_encoding);
}

static larmor_status print_encoding(const larmor_raw *raw, int index)
{
    larmor_encoding e;
    larmor_grid grid;
    TRY(larmor_raw_encoding(raw, index, &e));
    TRY(larmor_raw_grid(raw, index, NULL, &grid));
    printf("encoding %d: %s, %dD\n", index, e.trajectory, e.ndim);
    print_matrix("encodedSpace:", e.matrix, e.fov_mm);
    print_matrix("reconSpace:", e.recon_matrix, e.recon_fov_mm);
    printf("  %-14sgrid %lld x %lld x %lld, cropped to %lld x %lld x %lld\n", "recon:", (ll)grid.matrix[0],
           (ll)grid.matrix[1], (ll)grid.matrix[2], (ll)grid.crop[0], (ll)grid.crop[1], (ll)grid.crop[2]);
    print_bands(&e.multiband);
    return LARMOR_OK;
}

/* ---- groups: equal ones that follow each other are one line ---- */

enum { COUNTERS = 6, FEWEST = 4 }; /* a run of fewer groups is printed one by one */

static const char *const counter_names[COUNTERS] = {"encoding", "slice", "contrast", "phase", "repetition", "set"};

static void counters_of(const larmor_group *g, int counter[COUNTERS])
{
    const int values[COUNTERS] = {g->encoding, g->slice, g->contrast, g->phase, g->repetition, g->set};
    memcpy(counter, values, sizeof values);
}

static int alike(const larmor_group *a, const larmor_group *b)
{
    return a->encoding == b->encoding && a->readouts == b->readouts && a->samples == b->samples &&
           a->total == b->total && a->averages == b->averages;
}

/* Groups first .. end-1, which are alike: each counter's range. */
static larmor_status print_run(const larmor_raw *raw, int first, int end)
{
    int low[COUNTERS], high[COUNTERS], counter[COUNTERS];
    larmor_group g;
    larmor_status st = larmor_raw_group(raw, first, &g);
    counters_of(&g, low);
    counters_of(&g, high);
    for (int i = first; i < end && !st; i++) {
        st = larmor_raw_group(raw, i, &g);
        counters_of(&g, counter);
        for (int k = 0; k < COUNTERS; k++) {
            if (counter[k] < low[k]) low[k] = counter[k];
            if (counter[k] > high[k]) high[k] = counter[k];
        }
    }
    if (st) return st;
    if (end - first > 1)
        printf("groups %d to %d:", first, end - 1);
    else
        printf("group %d:", first);
    for (int k = 0; k < COUNTERS; k++) {
        printf("%s%s %d", k ? ", " : " ", counter_names[k], low[k]);
        if (high[k] > low[k]) printf(" to %d", high[k]);
    }
    printf(": %s%lld readout%s x %s%lld samples", end - first > 1 ? "each " : "", (ll)g.readouts, app_s(g.readouts),
           g.regular ? "" : "up to ", (ll)g.samples);
    if (g.averages > 1) printf(", %d averages", g.averages);
    putchar('\n');
    return LARMOR_OK;
}

static larmor_status print_groups(const larmor_raw *raw, int count)
{
    larmor_status st = LARMOR_OK;
    for (int first = 0, end; first < count && !st; first = end) {
        larmor_group g, other;
        st = larmor_raw_group(raw, first, &g);
        for (end = first + 1; end < count && !st; end++) {
            st = larmor_raw_group(raw, end, &other);
            if (!alike(&g, &other)) break;
        }
        if (st) break;
        if (end - first >= FEWEST)
            st = print_run(raw, first, end);
        else
            for (int i = first; i < end && !st; i++) st = print_run(raw, i, i + 1);
    }
    return st;
}

/* ---- what recon would do ---- */

/* A reconstruction with the usual options, which is never run. Samples are not looked at: where the object is
 * wider than the field of view, recon's grid is larger. */
static larmor_status plan_recon(const char *path, larmor_raw *raw, larmor_recon **recon)
{
    const larmor_recon_opts opts = {.size = sizeof opts, .oversample = {1}};
    *recon = NULL;
    APP_OWN(larmor_device, dev, larmor_device_open("cpu", &dev));
    APP_OWN(larmor_source, source, larmor_source_of_raw(raw, path, &source));
    return larmor_recon_create(source, dev, &opts, recon);
}

/* The scan as recon takes it: slices that were excited together are volumes. If recon refuses it, as it is. */
static larmor_raw_info describe(const char *path, larmor_raw *raw)
{
    APP_OWNED(larmor_source) *source = NULL;
    const larmor_status st = larmor_source_of_raw(raw, path, &source);
    return st ? larmor_raw_describe(raw) : larmor_source_describe(source);
}

static int same_plan(const larmor_recon_plan *a, const larmor_recon_plan *b)
{
    int same = a->first.encoding == b->first.encoding && a->bytes == b->bytes;
    for (int d = 0; d < 3; d++) same &= a->grid.matrix[d] == b->grid.matrix[d];
    return same;
}

/* Series first .. end-1, which are done alike. */
static void print_plan(const larmor_recon_plan *plan, int first, int end)
{
    const int64_t *n = plan->grid.matrix;
    if (end - first > 1)
        printf("images %d to %d: ", first + 1, end);
    else
        printf("image %d: ", first + 1);
    printf("%s on a grid of %lld x %lld x %lld, %s, lambda from the data, %.3g MB on a processor\n", plan->method,
           (ll)n[0], (ll)n[1], (ll)n[2], plan->coils > 1 ? "maps from the data" : "one coil",
           (double)plan->bytes / 1e6);
}

static larmor_status print_plans(const char *path, larmor_raw *raw)
{
    APP_OWNED(larmor_recon) *recon = NULL;
    larmor_recon_plan plan, other;
    if (plan_recon(path, raw, &recon)) {
        printf("recon would refuse it: %s\n", app_line_in_options(larmor_last_error()).s);
        return LARMOR_OK;
    }
    const int count = larmor_recon_series(recon);
    for (int first = 0, end; first < count; first = end) {
        TRY(larmor_recon_describe(recon, first, &plan));
        for (end = first + 1; end < count; end++) {
            TRY(larmor_recon_describe(recon, end, &other));
            if (!same_plan(&plan, &other)) break;
        }
        print_plan(&plan, first, end);
    }
    return LARMOR_OK;
}

/* ---- text ---- */

static void print_counts(const char *path, const larmor_raw_info *r)
{
    printf("%s: %lld acquisitions: %lld imaging, %lld calibration, %lld noise, %lld left out by flags", path,
           (ll)r->acquisitions, (ll)r->imaging, (ll)r->calibration, (ll)r->noise, (ll)r->dropped);
    if (r->dropped_report[0]) printf(" (%s)", r->dropped_report);
    if (r->nonfinite) printf(", %lld left out as not finite", (ll)r->nonfinite);
    if (r->completing)
        printf("\ncalibration: %lld of its readouts complete images that lack them", (ll)r->completing);
    if (*r->calibration_report) printf("\ncalibration: %s", r->calibration_report);
    printf("\ncoils: %d", r->coils);
    if (r->dead_coils) printf(" (%d without signal or noise left out)", r->dead_coils);
    printf("\nnoise: ");
    if (r->noise)
        printf("%lld samples, dwell %g us (data %g us), bandwidth ratio %g", (ll)r->noise_samples, r->noise_dwell_us,
               r->dwell_us, r->noise_bandwidth);
    else
        printf("no noise scan");
    if (*r->traj_given) printf("\ntrajectory from %s", r->traj_given);
    printf("\ntrajectory: %s%s\n", *r->traj_report ? r->traj_report : "not stored",
           r->density_stored ? ", with density weights" : "");
    if (*r->phase_report) printf("phases: %s\n", r->phase_report);
}

static larmor_status print_text(const char *path, larmor_raw *raw)
{
    const larmor_raw_info r = larmor_raw_describe(raw);
    print_counts(path, &r);
    larmor_status st = LARMOR_OK;
    for (int i = 0; !st && i < r.encodings; i++) st = print_encoding(raw, i);
    if (!st) st = print_groups(raw, r.groups);
    const larmor_raw_info taken = describe(path, raw);
    if (*taken.bands_report) printf("multiband: %s\n", taken.bands_report);
    printf("recon would make %d image%s, %s\n", taken.groups, app_s(taken.groups),
           r.noise ? "whitening the coils first" : "without whitening");
    return st ? st : print_plans(path, raw);
}

static void write_bands(json *j, const larmor_multiband_header *m)
{
    if (!m->factor) return;
    json_open(j, "multiband", '{');
    json_number(j, "factor", m->factor > 0 ? (double)m->factor : (double)NAN);
    json_numbers(j, "dz_mm", m->offset_mm, m->offsets < LARMOR_MOST_BANDS ? m->offsets : LARMOR_MOST_BANDS);
    JSON_MEMBERS(j, *m, delta_kz, calibration, calibration_encoding);
    json_close(j, '}');
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
        write_bands(j, &e.multiband);
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
        JSON_MEMBERS(j, g, encoding, slice, contrast, phase, repetition, set, averages, readouts, samples, total);
        json_close(j, '}');
    }
    json_close(j, ']');
    return st;
}

static larmor_status write_plans(json *j, const char *path, larmor_raw *raw)
{
    APP_OWNED(larmor_recon) *recon = NULL;
    larmor_recon_plan plan;
    larmor_status st = LARMOR_OK;
    json_open(j, "plans", '[');
    if (plan_recon(path, raw, &recon))
        json_text(j, NULL, app_line_in_options(larmor_last_error()).s); /* why it would be refused */
    for (int i = 0; !st && i < larmor_recon_series(recon); i++) {
        st = larmor_recon_describe(recon, i, &plan);
        if (st) break;
        json_open(j, NULL, '{');
        json_text(j, "method", plan.method);
        json_integers(j, "grid", plan.grid.matrix, 3);
        json_integer(j, "coils_at_a_time", plan.block);
        json_integer(j, "bytes", plan.bytes);
        json_close(j, '}');
    }
    json_close(j, ']');
    return st;
}

static larmor_status write_json(const char *path, larmor_raw *raw)
{
    const larmor_raw_info r = larmor_raw_describe(raw);
    json j = {stdout, 0, 0};
    json_open(&j, NULL, '{');
    json_text(&j, "file", path);
    JSON_MEMBERS(&j, r, acquisitions, imaging, calibration, noise, dropped, dropped_report, nonfinite, completing,
                 channels, coils);
    JSON_MEMBERS(&j, r, dead_coils, noise_samples, dwell_us, noise_dwell_us, noise_bandwidth);
    if (*r.calibration_report) json_text(&j, "calibration_report", r.calibration_report);
    json_flag(&j, "trajectory_stored", r.traj_stored);
    json_text(&j, "trajectory_units", r.traj_units);
    json_text(&j, "trajectory_report", r.traj_report);
    if (*r.traj_given) json_text(&j, "trajectory_given", r.traj_given);
    if (r.phase_terms) json_text(&j, "phases", r.phase_report);
    json_flag(&j, "density_stored", r.density_stored);
    const larmor_raw_info taken = describe(path, raw);
    char warnings[sizeof r.warnings];
    json_text(&j, "warnings", app_in_options(taken.warnings, warnings, sizeof warnings));
    json_integer(&j, "images", taken.groups);
    json_text(&j, "multiband", taken.bands_report);
    info_sandbox_json(&j);
    larmor_status st = write_encodings(&j, raw, r.encodings);
    if (!st) st = write_groups(&j, raw, r.groups);
    if (!st) st = write_plans(&j, path, raw);
    json_close(&j, '}');
    return st;
}

/* Scans are .h5 or .mrd files, or have any other name; the suffixes of the other formats are of images alone. */
static int is_image_name(const char *path)
{
    const char *suffix = larmor_format_of(path).suffix;
    return suffix ? strcmp(suffix, ".h5") != 0 : strstr(path, ".h5:/") != NULL;
}

/* Nothing is printed if it is not an image. */
static larmor_status show_image(const char *path, int as_json)
{
    APP_HEAP larmor_image_info *image = calloc(1, sizeof *image);
    APP_OWN(larmor_device, dev, image ? larmor_device_open("cpu:1", &dev) : NO_MEMORY());
    TRY(larmor_image_describe(path, dev, image));
    if (as_json) info_image_json(path, image);
    if (!as_json) info_image_print(path, image);
    if (!as_json) info_sandbox_print();
    return LARMOR_OK;
}

static int run(const void *given, const app_files *files)
{
    const settings *s = given;
    const char *path = files->name[0];
    APP_OWNED(larmor_raw) *raw = NULL;
    larmor_raw_opts opts = s->raw;
    APP_FREED_BY(larmor_trajectory_free) larmor_trajectory trajectory;
    int code = given_read(&s->given, &opts, &trajectory);
    if (code) return code;
    if (is_image_name(path)) {
        APP_TRY(APP_INPUT, show_image(path, s->json));
        return APP_DONE;
    }
    const larmor_status st = larmor_raw_open(path, &opts, &raw);
    if (st == LARMOR_ERR_FORMAT) { /* no scan, but perhaps images */
        char why[512];
        snprintf(why, sizeof why, "%s", larmor_last_error());
        const int damaged = strstr(why, "Copy it again") != NULL; /* and not inspected any further */
        const larmor_status shown = damaged ? st : show_image(path, s->json);
        if (!shown) return APP_DONE;
        const int newer = strstr(larmor_last_error(), "newer HDF5") != NULL; /* images that are not read */
        return app_fail(APP_INPUT, shown == LARMOR_ERR_MEMORY || newer ? shown : larmor_fail(st, "%s", why));
    }
    APP_TRY(APP_INPUT, st);
    const larmor_raw_info r = describe(path, raw);
    char warnings[sizeof r.warnings];
    fputs(app_in_options(r.warnings, warnings, sizeof warnings), stderr);
    APP_TRY(APP_INPUT, s->json ? write_json(path, raw) : print_text(path, raw));
    if (!s->json) info_sandbox_print();
    return code;
}

const app_command cmd_info = {
    .name = "info",
    .usage = "SCAN.h5|IMAGE [options]",
    .summary = "what is in a scan, and what recon would make of it; or what an image is",
    .details = "Images: .h5, also FILE.h5:/group/series, .nii, .nii.gz, .png, .cfl, .npy, .dcm and folders of them.",
    .min_files = 1,
    .max_files = 1,
    APP_OWN_PARTS,
};
