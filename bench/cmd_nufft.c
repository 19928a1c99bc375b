/* larmor-bench nufft: how fast the NUFFT is, alone or beside another one. SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"
#include "commands.h"
#include "common.h"
#include "report.h"

typedef struct settings {
    const char *device;
    int64_t threads;
    bench_wish wish;
    int64_t repeats;
    double budget;
    const char *peer, *peer_library;
    const char *json;
    const char *plan;
    int calibrate;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    APP_DEVICE_OPTIONS(settings),
    OPTION(APP_SIZES, wish.types, 0, "type", "T[,T[,T]]", "of transform (default: 1,2, with --matrix cpu 1,2,3)",
           .low = 1, .high = 3),
    OPTION(APP_SIZES, wish.dims, 0, "dims", "D[,D[,D]]", "dimensions (default: as --modes has, else 2)", .low = 1,
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
    OPTION(APP_FLAG, wish.equal_error, 0, "equal-error", "",
           "each case at tolerances of a decade to both sides, for times at the same error by bench_report.py"),
    OPTION(APP_NUMBERS, wish.upsample, 0, "upsample", "F[,F[,F]]", "upsampling factors (default: chosen)",
           .low = 1.15, .high = 2.5),
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
    OPTION(APP_READ_FILE, peer_library, 0, "peer-library", "FILE",
           "its shared library (default: libfinufft.so or libcufinufft.so, where the loader finds it)"),
    OPTION(APP_WRITTEN_FILE, json, 0, "json", "FILE",
           "write a line of JSON for each case; those that the FILE has already are left out"),
    {0},
};

static int check_usage(const settings *s)
{
    if (s->peer_library && !s->peer) return app_refuse(APP_USAGE, "nufft: --peer-library needs --peer.");
    if (s->wish.undersampling > 0 && (!s->wish.matrix || strcmp(s->wish.matrix, "gnufftw")))
        return app_refuse(APP_USAGE, "nufft: --undersampling is for --matrix gnufftw.");
    return APP_DONE;
}

typedef struct work {
    const settings *s;
    bench_case *cases;
    int count, had, failed; /* had: cases that the file has already */
    bench_place place;
    bench_lines *lines;
} work;

/* One case; of a set the others go on after a failure. */
static larmor_status run_case(work *w, const bench_case *c)
{
    char label[BENCH_LABEL];
    bench_result result;
    if (bench_lines_have(w->lines, bench_case_label(c, label))) {
        w->had++;
        return LARMOR_OK;
    }
    larmor_status st = bench_run(&w->place, c, &result);
    if (st == LARMOR_STOPPED || (st && !w->s->wish.matrix)) return st;
    if (st) snprintf(result.ours.failure, sizeof result.ours.failure, "%s", larmor_last_error());
    w->failed += st != LARMOR_OK;
    bench_print_case(&result);
    return !st && w->lines ? bench_write_result(w->lines, &result) : LARMOR_OK;
}

static int run_cases(work *w)
{
    bench_print_head(larmor_device_reason(w->place.dev), w->s->peer != NULL);
    for (int i = 0; i < w->count; i++) {
        const larmor_status st = run_case(w, &w->cases[i]);
        if (st) return app_fail(APP_RUN, st);
    }
    if (w->had) app_log("%s: had %d of %d case%s already", w->s->json, w->had, w->count, app_s(w->count));
    if (w->failed) app_error("nufft: %d of %d case%s failed.", w->failed, w->count, app_s(w->count));
    return w->failed ? APP_FAILED : APP_DONE;
}

static int measure(work *w)
{
    const settings *s = w->s;
    const char *library = s->peer_library ? s->peer_library : s->peer;
    int code = APP_DONE;
    APP_TRY(APP_INPUT, bench_list_cases(&s->wish, &w->cases, &w->count));
    APP_TRY(APP_INPUT, app_open_device(s->device, s->threads, &w->place.dev));
    if (s->peer) APP_TRY(APP_INPUT, bench_peer_open(s->peer, s->peer_library, w->place.dev, &w->place.peer));
    if (s->json) APP_TRY(APP_RUN, bench_lines_open(s->json, w->place.dev, library, &w->lines));
    APP_TRY(APP_RUN, app_use_wisdom(w->place.dev, s->plan, s->calibrate, &w->place.effort));
    w->place.repeats = (int)s->repeats;
    w->place.budget = s->budget;
    code = run_cases(w);
    app_keep_wisdom(w->place.dev, s->plan, s->calibrate);
    return code;
}

static int run(const void *given, const app_files *files APP_UNUSED)
{
    work w = {.s = given};
    int code = check_usage(w.s);
    if (!code) code = measure(&w);
    bench_lines_close(w.lines);
    bench_place_clear(&w.place);
    bench_peer_close(w.place.peer);
    free(w.cases);
    larmor_device_free(w.place.dev);
    return code;
}

const app_command cmd_nufft = {
    .name = "nufft",
    .usage = "[options]",
    .summary = "time one transform or a set of them, alone or beside a peer",
    .details =
        "One case, or the cases of --matrix that fit the other options. paper: 2D 1000^2 and 3D 100^3, 1e7 points,\n"
        "uniform and cluster. mri: 2D 256^2 radial with 32 coils, 3D 192^3 stars and koosh with 8. cpu: 1D 1e4, 2D\n"
        "320^2, 3D 100^3, 1e6 and 1e7 points, batches of 1 and 8. gnufftw: 3D 62^3 to 254^3, undersampling 1, 4 and\n"
        "16, ten upsampling factors each. Errors are measured against direct sums for random outputs.\n"
        "scripts/measure/bench_report.py summarises and draws what --json wrote.",
    .computes = 1,
    APP_OWN_PARTS,
};
