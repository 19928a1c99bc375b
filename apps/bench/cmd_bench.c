/* larmor bench: how fast the NUFFT is, alone or beside another one. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cases.h"
#include "file.h"
#include "planner.h"
#include "commands.h"
#include "common.h"

typedef struct settings {
    const char *device;
    int64_t threads;
    bench_wish wish;
    int64_t repeats;
    double budget;
    const char *peer, *peer_library;
    const char *json, *output;
    const char *plan;
    int report, calibrate, force;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    APP_DEVICE_OPTIONS(settings),
    OPTION(APP_SIZES, wish.types, 0, "type", "T[,T]", "of transform (default: 1,2, with --matrix cpu 1,2,3)",
           .low = 1, .high = 3),
    OPTION(APP_SIZES, wish.dims, 0, "dims", "D[,D]", "dimensions (default: as --modes has, else 2)", .low = 1,
           .high = 3),
    OPTION(APP_SIZES, wish.modes, 0, "modes", "X[,Y[,Z]]",
           "modes; one number is for all dimensions (default: 65536 in 1D, 256 in 2D, 64 in 3D)", .low = 1,
           .high = 1 << 28),
    OPTION(APP_INTEGER, wish.points, 0, "points", "M", "points (default: 1000000); readouts are whole", .low = 1,
           .high = 1LL << 40),
    OPTION(APP_INTEGER, wish.batch, 0, "batch", "B", "transforms over the same points (default: 1)", .low = 1,
           .high = 1 << 16),
    OPTION(APP_NUMBER, wish.tol, 0, "tol", "X", "relative l2 error asked for (default: 1e-5)", .low = 1e-16,
           .high = 0.5),
    OPTION(APP_NUMBERS, wish.upsample, 0, "upsample", "F[,F]", "upsampling factors (default: chosen)", .low = 1.15,
           .high = 2.5),
    OPTION(APP_TEXT, wish.precompute, 0, "precompute", "FORM",
           "of the plan: made once for all executes (default: auto)", .choices = BENCH_PRECOMPUTES),
    OPTION(APP_TEXT, wish.precision, 0, "precision", "P", "of the values (default: single)",
           .choices = "single|double"),
    OPTION(APP_TEXT, wish.distribution, 0, "distribution", "NAME", "of the points (default: uniform)",
           .choices = BENCH_DISTRIBUTIONS),
    OPTION(APP_TEXT, wish.matrix, 0, "matrix", "NAME", "run a set of cases, from which the options above choose",
           .choices = BENCH_MATRICES),
    OPTION(APP_NUMBER, wish.undersampling, 0, "undersampling", "R", "choose from --matrix gnufftw: 1, 4 or 16",
           .low = 1, .high = 16),
    OPTION(APP_NUMBER, wish.scale, 0, "scale", "F", "multiplies the number of points of every case", .preset = "1",
           .low = 1e-9, .high = 1000),
    OPTION(APP_INTEGER, repeats, 0, "repeats", "N", "of each measurement", .preset = "7", .low = 1, .high = 1000),
    OPTION(APP_NUMBER, budget, 0, "budget", "SECONDS", "of measuring in each case, by fewer repeats", .preset = "30",
           .low = 0, .high = 1e6),
    OPTION(APP_TEXT, plan, 0, "plan", "EFFORT",
           "how the grid is chosen; measurements are remembered in a file (default: estimate, without the file)",
           .choices = "estimate|measure|exhaustive"),
    OPTION(APP_FLAG, calibrate, 0, "calibrate", "", "fit the estimates to this device first, and remember that"),
    OPTION(APP_TEXT, peer, 0, "peer", "NAME", "time another library too", .choices = "finufft|cufinufft"),
    OPTION(APP_TEXT, peer_library, 0, "peer-library", "FILE", "its shared library, e.g. /opt/libcufinufft.so"),
    OPTION(APP_TEXT, json, 0, "json", "FILE",
           "write all numbers as JSON; to a FILE.jsonl a line for each case, those it has already are left out"),
    OPTION(APP_FLAG, report, 0, "report", "",
           "run nothing: table, ratios and plot of what the FILE.jsonl has and the options above choose"),
    OPTION(APP_TEXT, output, 'o', "output", "FILE.png",
           "plot the points per second of every case, or the seconds against the upsampling factors"),
    OPTION(APP_FLAG, force, 0, "force", "", "replace files that exist"),
    {0},
};

static int has_lines(const settings *s)
{
    return s->json && !strcasecmp(app_suffix(s->json), ".jsonl");
}

static int check_usage(const settings *s, const app_files *files)
{
    if (files->count && strcmp(files->name[0], "nufft") && strcmp(files->name[0], "planner")) {
        app_error("bench: \"%s\" is nothing to measure; expected nufft or planner.", files->name[0]);
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
    if (s->wish.undersampling > 0 && (!s->wish.matrix || strcmp(s->wish.matrix, "gnufftw"))) {
        app_error("bench: --undersampling is for --matrix gnufftw.");
        return APP_USAGE;
    }
    if (s->report && !has_lines(s)) {
        app_error("bench: --report needs --json with a name ending in .jsonl.");
        return APP_USAGE;
    }
    return APP_DONE;
}

/* ---- a file of lines ---- */

typedef struct result_list {
    int count, room;
    bench_result *result;
} result_list;

static bench_result *add_result(result_list *list)
{
    if (list->count == list->room) {
        const int room = list->room ? 2 * list->room : 16;
        bench_result *more = realloc(list->result, (size_t)room * sizeof *more);
        if (!more) return NULL;
        list->result = more, list->room = room;
    }
    return &list->result[list->count++];
}

/* What earlier runs wrote; none if there is no file. Lines that are damaged are said and left out. */
static larmor_status read_lines(const char *path, result_list *list)
{
    FILE *f = fopen(path, "r");
    if (!f && errno == ENOENT) return LARMOR_OK;
    if (!f) return larmor_fail(LARMOR_ERR_IO, "%s: cannot be read: %s", path, strerror(errno));
    char *line = NULL;
    size_t room = 0;
    larmor_status st = LARMOR_OK;
    for (int number = 1; !st && getline(&line, &room, f) >= 0; number++) {
        bench_result *result = add_result(list);
        if (!result) {
            st = larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
        } else if (!bench_read_line(line, result)) {
            app_log("%s: line %d is no case and is left out", path, number);
            list->count--;
        }
    }
    free(line);
    fclose(f);
    return st;
}

static const bench_result *find_result(const result_list *list, const char *label)
{
    for (int i = list->count - 1; i >= 0; i--)
        if (!strcmp(list->result[i].label, label)) return &list->result[i];
    return NULL;
}

/* ---- files ---- */

/* The JSON file is made beside its name and renamed in the end; one of lines grows as cases are done. */
typedef struct json_file {
    char part[4096];
    int has_lines;
    FILE *out;
} json_file;

static int open_json(const settings *s, json_file *file)
{
    file->has_lines = has_lines(s);
    if (!file->has_lines && !s->force && !access(s->json, F_OK)) {
        app_error("%s: exists; give --force to replace it.", s->json);
        return APP_FAILED;
    }
    if (file->has_lines)
        file->out = fopen(s->json, "a");
    else if ((size_t)snprintf(file->part, sizeof file->part, "%s.part", s->json) < sizeof file->part)
        file->out = fopen(file->part, "w");
    if (file->out) return APP_DONE;
    app_error("%s: cannot be made: %s.", s->json, strerror(errno));
    return APP_FAILED;
}

static int close_json(const settings *s, json_file *file)
{
    const int failed = ferror(file->out) | fclose(file->out);
    file->out = NULL;
    if (!failed && file->has_lines) return APP_DONE;
    if (!failed && !rename(file->part, s->json)) return APP_DONE;
    app_error("%s: cannot be written: %s.", s->json, strerror(errno));
    remove(file->part);
    return APP_FAILED;
}

/* ---- the run ---- */

typedef struct work {
    const settings *s;
    bench_case *cases;
    int count;
    result_list old; /* of the file of lines */
    bench_place place;
    bench_report report;
    json_file json;
    larmor_output *plot;
} work;

/* One case into the next result; its status is told there unless all has to end. */
static larmor_status run_case(work *w, const bench_case *c, int *failed)
{
    char label[BENCH_LABEL];
    bench_result *result = &w->report.result[w->report.count];
    const bench_result *old = find_result(&w->old, bench_case_label(c, label));
    if (old) {
        *result = *old;
    } else {
        larmor_status st = bench_run(&w->place, c, result);
        if (st == LARMOR_STOPPED || (st && !w->s->wish.matrix)) return st;
        if (st) snprintf(result->ours.failure, sizeof result->ours.failure, "%s", larmor_last_error());
        *failed += st != LARMOR_OK;
        if (!st && w->json.out && w->json.has_lines) st = bench_write_line(&w->report, result, w->json.out);
        if (st && !result->ours.failure[0]) return st;
    }
    w->report.count++;
    bench_print_case(result);
    return LARMOR_OK;
}

static int run_cases(work *w)
{
    int failed = 0;
    bench_print_head(&w->report);
    for (int i = 0; i < w->count; i++) {
        const larmor_status st = run_case(w, &w->cases[i], &failed);
        if (st) return app_fail(APP_RUN, st);
    }
    bench_print_summary(&w->report);
    if (failed) app_error("bench: %d of %d case%s failed.", failed, w->count, app_s(w->count));
    return failed ? APP_FAILED : APP_DONE;
}

/* Everything that can be refused before the first case. */
static int prepare(work *w)
{
    const settings *s = w->s;
    int code = APP_DONE;
    APP_OR(done, APP_INPUT, bench_list_cases(&s->wish, &w->cases, &w->count));
    APP_OR(done, APP_INPUT, app_open_device(s->device, s->threads, &w->place.dev));
    if (s->output) APP_OR(done, APP_RUN, larmor_output_open(s->output, s->force, &w->plot));
    if (s->peer) APP_OR(done, APP_INPUT, bench_peer_open(s->peer, s->peer_library, w->place.dev, &w->place.peer));
    if (has_lines(s)) APP_OR(done, APP_INPUT, read_lines(s->json, &w->old));
    w->report.result = calloc((size_t)w->count, sizeof *w->report.result);
    if (!w->report.result) APP_OR(done, APP_RUN, larmor_fail(LARMOR_ERR_MEMORY, "out of host memory"));
    if (s->json) code = open_json(s, &w->json);
    APP_OR(done, APP_RUN, app_use_wisdom(w->place.dev, s->plan, s->calibrate, &w->place.effort));
    w->place.repeats = (int)s->repeats, w->place.budget = s->budget;
    w->report.dev = w->place.dev, w->report.title = larmor_device_reason(w->place.dev);
done:
    return code;
}

static int measure(work *w)
{
    int code = prepare(w);
    if (code) return code;
    code = run_cases(w);
    app_keep_wisdom(w->place.dev, w->s->plan, w->s->calibrate);
    if (!w->report.count) return code;
    if (w->json.out && !w->json.has_lines) bench_write_json(&w->report, w->json.out);
    if (w->json.out) {
        const int closed = close_json(w->s, &w->json);
        if (!code) code = closed;
    }
    if (w->plot) APP_OR(done, APP_RUN, bench_write_plot(&w->report, w->plot));
done:
    return code;
}

/* Those that the options ask for; points are as many as whole readouts have, and not asked for. */
static int keep_wanted(const settings *s, result_list *list)
{
    bench_wish wish = s->wish;
    wish.points = 0;
    int kept = 0;
    for (int i = 0; i < list->count; i++)
        if (bench_is_wanted(&wish, &list->result[i].c)) list->result[kept++] = list->result[i];
    return list->count = kept;
}

static int report_file(work *w)
{
    const settings *s = w->s;
    int code = APP_DONE;
    APP_OR(done, APP_INPUT, read_lines(s->json, &w->old));
    if (!w->old.count) APP_OR(done, APP_INPUT, larmor_fail(LARMOR_ERR_FORMAT, "%s: no case is in it", s->json));
    if (!keep_wanted(s, &w->old))
        APP_OR(done, APP_INPUT, larmor_fail(LARMOR_ERR_ARG, "%s: no case in it fits the other options", s->json));
    if (s->output) APP_OR(done, APP_RUN, larmor_output_open(s->output, s->force, &w->plot));
    w->report.title = s->json;
    w->report.count = w->old.count, w->report.result = w->old.result;
    w->old = (result_list){0};
    bench_print_head(&w->report);
    for (int i = 0; i < w->report.count; i++) bench_print_case(&w->report.result[i]);
    bench_print_summary(&w->report);
    if (w->plot) APP_OR(done, APP_RUN, bench_write_plot(&w->report, w->plot));
done:
    return code;
}

/* `larmor bench planner`: its own cases, from which the options choose. */
static int run_planner(work *w)
{
    const settings *s = w->s;
    int code = APP_DONE, count = 0;
    planner_result *results = calloc(PLANNER_CASES, sizeof *results);
    if (!results) APP_OR(done, APP_RUN, larmor_fail(LARMOR_ERR_MEMORY, "out of host memory"));
    APP_OR(done, APP_INPUT, app_open_device(s->device, s->threads, &w->place.dev));
    if (s->output) APP_OR(done, APP_RUN, larmor_output_open(s->output, s->force, &w->plot));
    if (s->json) code = open_json(s, &w->json);
    if (code) goto done;
    if (s->calibrate) APP_OR(done, APP_RUN, larmor_nufft_calibrate(w->place.dev));
    APP_OR(done, APP_RUN, bench_planner_run(w->place.dev, (int)s->repeats, &s->wish, results, &count));
    if (w->json.out) {
        bench_planner_write_json(w->place.dev, results, count, w->json.out);
        code = close_json(s, &w->json);
    }
    if (w->plot) APP_OR(done, APP_RUN, bench_planner_plot(w->place.dev, results, count, w->plot));
done:
    free(results);
    return code;
}

static int run(const void *given, const app_files *files)
{
    const settings *s = given;
    work w = {.s = s, .report = {.peer = s->peer, .peer_library = s->peer_library}};
    int code = check_usage(s, files);
    if (code) return code;
    const int planner = files->count && !strcmp(files->name[0], "planner");
    code = planner ? run_planner(&w) : s->report ? report_file(&w) : measure(&w);
    if (w.json.out) {
        fclose(w.json.out);
        if (!w.json.has_lines) remove(w.json.part);
    }
    larmor_output_free(w.plot);
    bench_place_clear(&w.place);
    bench_peer_close(w.place.peer);
    free(w.cases);
    free(w.old.result);
    free(w.report.result);
    larmor_device_free(w.place.dev);
    return code;
}

const app_command cmd_bench = {
    .name = "bench",
    .usage = "[nufft|planner] [options]",
    .summary = "time the NUFFT on this machine",
    .details =
        "One case, or the cases of --matrix that fit the other options. paper: 2D 1000^2 and 3D 100^3, 1e7 points,\n"
        "uniform and cluster. mri: 2D 256^2 radial with 32 coils, 3D 192^3 stars and koosh with 8. cpu: 1D 1e4, 2D\n"
        "320^2, 3D 100^3, 1e6 and 1e7 points, batches of 1 and 8. gnufftw: 3D 62^3 to 254^3, undersampling 1, 4 and\n"
        "16, ten upsampling factors each. Errors are measured against direct sums for random outputs.\n"
        "planner: 20 cases of its own, with what estimate, measure and exhaustive choose and with fixed factors;\n"
        "--dims, --type, --precision, --tol and --batch choose from them, and --scale multiplies their modes. Of "
        "the\n"
        "other options it heeds the device, --repeats, --calibrate and the files.",
    .max_files = 1,
    .options = options,
    .computes = 1,
    .settings = sizeof(settings),
    .run = run,
};
