/* larmor bench: how fast the NUFFT is, alone or beside another one. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "bench_report.h"
#include "commands.h"
#include "common.h"

typedef struct settings {
    const char *device;
    int64_t threads;
    const char *type, *precision, *distribution, *matrix;
    int64_t dims, points, batch, repeats;
    app_list modes;
    double tol, scale;
    const char *peer, *peer_library;
    const char *json, *output;
    int force;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    APP_DEVICE_OPTIONS(settings),
    OPTION(APP_TEXT, type, 0, "type", "T", "of transform (default: both)", .choices = "1|2|both"),
    OPTION(APP_INTEGER, dims, 0, "dims", "D", "dimensions (default: as --modes has, else 2)", .low = 1, .high = 3),
    OPTION(APP_SIZES, modes, 0, "modes", "X[,Y[,Z]]",
           "modes; one number is for all dimensions (default: 65536 in 1D, 256 in 2D, 64 in 3D)", .low = 1,
           .high = 1 << 28),
    OPTION(APP_INTEGER, points, 0, "points", "M", "points (default: 1000000); spokes are whole", .low = 1,
           .high = 1LL << 40),
    OPTION(APP_INTEGER, batch, 0, "batch", "B", "transforms over the same points (default: 1)", .low = 1,
           .high = 1 << 16),
    OPTION(APP_NUMBER, tol, 0, "tol", "X", "relative l2 error asked for (default: 1e-5)", .low = 1e-16, .high = 0.5),
    OPTION(APP_TEXT, precision, 0, "precision", "P", "of the values (default: single)", .choices = "single|double"),
    OPTION(APP_TEXT, distribution, 0, "distribution", "NAME", "of the points (default: uniform)",
           .choices = "uniform|cluster|radial|stars|koosh"),
    OPTION(APP_TEXT, matrix, 0, "matrix", "NAME", "run a set of cases instead of one", .choices = "paper|mri"),
    OPTION(APP_NUMBER, scale, 0, "scale", "F", "multiplies the number of points of every case", .preset = "1",
           .low = 1e-9, .high = 1000),
    OPTION(APP_INTEGER, repeats, 0, "repeats", "N", "of each measurement", .preset = "7", .low = 1, .high = 1000),
    OPTION(APP_TEXT, peer, 0, "peer", "NAME", "time another library too", .choices = "cufinufft"),
    OPTION(APP_TEXT, peer_library, 0, "peer-library", "FILE", "its shared library, e.g. /opt/libcufinufft.so"),
    OPTION(APP_TEXT, json, 0, "json", "FILE", "write all numbers as JSON"),
    OPTION(APP_TEXT, output, 'o', "output", "FILE.png", "plot the points per second of every case"),
    OPTION(APP_FLAG, force, 0, "force", "", "replace files that exist"),
    {0},
};

#define MOST_CASES 64
typedef struct case_list {
    int count;
    bench_case c[MOST_CASES];
} case_list;

/* Both types of a case, unless the options exclude it. */
static void add_case(const settings *s, case_list *cases, bench_case c)
{
    const int filters = s->matrix != NULL;
    if (filters && s->dims && s->dims != c.ndim) return;
    if (filters && s->precision && strcmp(s->precision, c.is_double ? "double" : "single")) return;
    if (filters && s->distribution && strcmp(s->distribution, c.distribution)) return;
    if (filters && s->tol > 0 && fabs(s->tol - c.tol) > 1e-3 * c.tol) return;
    c.points = (int64_t)fmax(1, rint((double)c.points * s->scale));
    for (c.type = 1; c.type <= 2; c.type++) {
        if (s->type && strcmp(s->type, "both") && s->type[0] != '0' + c.type) continue;
        cases->c[cases->count++] = c;
    }
}

/* Shih et al. (2021): two sizes, 1e7 points spread out or crowded. */
static void add_paper(const settings *s, case_list *cases)
{
    static const struct {
        int is_double;
        double tol;
    } accuracy[] = {{0, 1e-2}, {0, 1e-5}, {1, 1e-5}, {1, 1e-9}, {1, 1e-12}};
    for (int ndim = 2; ndim <= 3; ndim++)
        for (int crowded = 0; crowded < 2; crowded++)
            for (size_t a = 0; a < sizeof accuracy / sizeof *accuracy; a++) {
                const int64_t n = ndim == 2 ? 1000 : 100;
                add_case(s, cases,
                         (bench_case){.ndim = ndim,
                                      .modes = {n, n, ndim == 2 ? 1 : n},
                                      .points = 10000000,
                                      .batch = 1,
                                      .distribution = crowded ? "cluster" : "uniform",
                                      .is_double = accuracy[a].is_double,
                                      .tol = accuracy[a].tol});
            }
}

/* Coils over spokes: 402 spokes of 512 samples in 2D; in 3D as many spokes of 384 samples as Nyquist asks of a stack.
 */
static void add_mri(const settings *s, case_list *cases)
{
    const bench_case geometry[] = {
        {.ndim = 2, .modes = {256, 256, 1}, .points = 402 * 512, .batch = 32, .distribution = "radial"},
        {.ndim = 3, .modes = {192, 192, 192}, .points = 302 * 384 * 192, .batch = 8, .distribution = "stars"},
        {.ndim = 3, .modes = {192, 192, 192}, .points = 302 * 384 * 192, .batch = 8, .distribution = "koosh"},
    };
    for (size_t g = 0; g < sizeof geometry / sizeof *geometry; g++)
        for (int fine = 0; fine < 2; fine++) {
            bench_case c = geometry[g];
            c.tol = fine ? 1e-5 : 1e-3;
            add_case(s, cases, c);
        }
}

static void add_single(const settings *s, case_list *cases)
{
    static const int64_t usual[4] = {0, 65536, 256, 64};
    bench_case c = {.modes = {1, 1, 1}, .points = s->points ? s->points : 1000000, .batch = s->batch ? s->batch : 1};
    c.ndim = s->dims ? (int)s->dims : s->modes.count > 1 ? s->modes.count : 2;
    for (int d = 0; d < c.ndim; d++)
        c.modes[d] = s->modes.count ? (int64_t)s->modes.value[s->modes.count > 1 ? d : 0] : usual[c.ndim];
    c.tol = s->tol > 0 ? s->tol : 1e-5;
    c.is_double = s->precision && !strcmp(s->precision, "double");
    c.distribution = s->distribution ? s->distribution : "uniform";
    add_case(s, cases, c);
}

static int list_cases(const settings *s, case_list *cases)
{
    if (s->matrix && (s->modes.count || s->points || s->batch)) {
        app_error("bench: --modes, --points and --batch are for one case; leave them out with --matrix.");
        return APP_USAGE;
    }
    if (s->dims && s->modes.count > 1 && s->dims != s->modes.count) {
        app_error("bench: --dims %d, but --modes has %d numbers.", (int)s->dims, s->modes.count);
        return APP_USAGE;
    }
    if (!s->matrix)
        add_single(s, cases);
    else if (!strcmp(s->matrix, "paper"))
        add_paper(s, cases);
    else
        add_mri(s, cases);
    if (cases->count) return APP_DONE;
    app_error("bench: no case of --matrix %s fits the other options.", s->matrix);
    return APP_USAGE;
}

static int check_usage(const settings *s, const app_files *files)
{
    if (files->count && strcmp(files->name[0], "nufft")) {
        app_error("bench: \"%s\" is nothing to measure; expected nufft.", files->name[0]);
        return APP_USAGE;
    }
    if (!s->peer != !s->peer_library) {
        app_error("bench: --peer and --peer-library belong together.");
        return APP_USAGE;
    }
    if (s->output && strcasecmp(app_suffix(s->output), ".png")) {
        app_error("%s: expected a name ending in .png.", s->output);
        return APP_USAGE;
    }
    return APP_DONE;
}

/* The JSON file is made beside its name and renamed in the end. */
typedef struct json_file {
    char part[4096];
    FILE *out;
} json_file;

static int open_json(const settings *s, json_file *file)
{
    if (!s->force && !access(s->json, F_OK)) {
        app_error("%s: exists; give --force to replace it.", s->json);
        return APP_FAILED;
    }
    if ((size_t)snprintf(file->part, sizeof file->part, "%s.part", s->json) < sizeof file->part)
        file->out = fopen(file->part, "w");
    if (file->out) return APP_DONE;
    app_error("%s: cannot be made: %s.", s->json, strerror(errno));
    return APP_FAILED;
}

static int close_json(const settings *s, json_file *file)
{
    const int failed = ferror(file->out) | fclose(file->out);
    file->out = NULL;
    if (!failed && !rename(file->part, s->json)) return APP_DONE;
    app_error("%s: cannot be written: %s.", s->json, strerror(errno));
    remove(file->part);
    return APP_FAILED;
}

static int run_cases(const settings *s, const case_list *cases, bench_peer *peer, bench_report *report)
{
    int failed = 0;
    bench_print_head(report);
    for (int i = 0; i < cases->count; i++) {
        bench_result *result = &report->result[report->count];
        const larmor_status st = bench_run(report->dev, peer, &cases->c[i], (int)s->repeats, result);
        if (st == LARMOR_STOPPED || (st && !s->matrix)) return app_fail(APP_RUN, st);
        if (st) snprintf(result->ours.failure, sizeof result->ours.failure, "%s", larmor_last_error());
        failed += st != LARMOR_OK;
        bench_print_case(report, result);
        report->count++;
    }
    bench_print_summary(report);
    if (failed) app_error("bench: %d of %d cases failed.", failed, cases->count);
    return failed ? APP_FAILED : APP_DONE;
}

static int run(const void *given, const app_files *files)
{
    const settings *s = given;
    case_list cases = {0};
    bench_report report = {.peer_library = s->peer_library};
    bench_peer *peer = NULL;
    larmor_output *plot = NULL;
    json_file json = {.out = NULL};
    int code = check_usage(s, files);
    if (!code) code = list_cases(s, &cases);
    if (code) return code;
    APP_OR(done, APP_INPUT, app_open_device(s->device, s->threads, &report.dev));
    if (s->output) APP_OR(done, APP_RUN, larmor_output_open(s->output, s->force, &plot));
    if (s->peer) APP_OR(done, APP_INPUT, bench_peer_open(s->peer_library, report.dev, &peer));
    report.result = calloc((size_t)cases.count, sizeof *report.result);
    if (!report.result) APP_OR(done, APP_RUN, larmor_fail(LARMOR_ERR_MEMORY, "out of host memory"));
    if (s->json) code = open_json(s, &json);
    if (code) goto done;
    code = run_cases(s, &cases, peer, &report);
    if (report.count && json.out) {
        bench_write_json(&report, json.out);
        const int closed = close_json(s, &json);
        if (!code) code = closed;
    }
    if (report.count && plot) APP_OR(done, APP_RUN, bench_write_plot(&report, plot));
done:
    if (json.out) fclose(json.out), remove(json.part);
    larmor_output_free(plot);
    bench_peer_close(peer);
    free(report.result);
    larmor_device_free(report.dev);
    return code;
}

const app_command cmd_bench = {
    .name = "bench",
    .usage = "[nufft] [options]",
    .summary = "time the NUFFT on this machine",
    .details = "One case, or the cases of --matrix that fit --type, --dims, --precision, --distribution and --tol.\n"
               "paper: 2D 1000^2 and 3D 100^3, 1e7 points, uniform and cluster. mri: 2D 256^2 radial with 32 coils,\n"
               "3D 192^3 stars and koosh with 8. Errors are measured against direct sums for random outputs.",
    .max_files = 1,
    .options = options,
    .settings = sizeof(settings),
    .run = run,
};
