/* larmor-bench normal: the normal map of SENSE, which an iteration is made of, by Toeplitz and by two NUFFTs, and
 * a step of conjugate gradients with the quicker one. SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "common.h"
#include "lines.h"

typedef struct normal_result {
    bench_case c;
    double seconds[2]; /* of a normal map: by Toeplitz, by NUFFTs */
    double step;       /* of conjugate gradients, Toeplitz */
    double difference; /* between both maps, relative */
} normal_result;

typedef struct normal_run {
    normal_result *result;
    bench_data data;
    larmor_array *maps, *x, *y[2];
    larmor_op *A[2];
    larmor_timer *timer;
} normal_run;

/* Maps without structure: nothing is quicker because of it. */
static larmor_status make_arrays(normal_run *r, larmor_device *dev)
{
    const bench_case *c = &r->result->c;
    const larmor_dtype dtype = c->is_double ? LARMOR_C128 : LARMOR_C64;
    const larmor_shape image = larmor_shape_of(c->ndim, c->modes);
    TRY(larmor_array_create(dev, dtype, larmor_shape_append(image, c->batch), &r->maps));
    TRY(larmor_noise_fill(r->maps, 1, 1));
    TRY(larmor_array_create(dev, dtype, image, &r->x));
    TRY(larmor_noise_fill(r->x, 1, 2));
    for (int i = 0; i < 2; i++) TRY(larmor_array_create(dev, dtype, image, &r->y[i]));
    return LARMOR_OK;
}

static larmor_status make_operators(normal_run *r)
{
    for (int i = 0; i < 2; i++) {
        const larmor_sense_opts opts = {.traj = r->data.traj, .nufft_tol = r->result->c.tol, .toeplitz = i ? -1 : 1};
        TRY(larmor_op_sense(r->maps, &opts, &r->A[i]));
    }
    return LARMOR_OK;
}

static larmor_status time_map(normal_run *r, int i, int calls, double *seconds)
{
    TRY(larmor_timer_start(r->timer));
    for (int k = 0; k < calls; k++) TRY(larmor_op_normal(r->A[i], r->x, r->y[i]));
    TRY(larmor_timer_stop(r->timer, seconds));
    *seconds /= calls;
    return LARMOR_OK;
}

/* The difference of two runs of unequal length: what is done once does not count. */
static larmor_status time_steps(normal_run *r, const larmor_array *b, double *seconds)
{
    enum { SHORT = 2, LONG = 12 };
    const int steps[2] = {SHORT, LONG};
    double taken[2];
    for (int i = 0; i < 2; i++) {
        const larmor_solve_opts opts = {.max_iter = steps[i], .tol = -1, .lambda = 1e-3};
        larmor_report report;
        TRY(larmor_fill(r->y[1], 0));
        TRY(larmor_timer_start(r->timer));
        TRY(larmor_cg(r->A[0], b, r->y[1], &opts, &report));
        TRY(larmor_timer_stop(r->timer, &taken[i]));
    }
    *seconds = (taken[1] - taken[0]) / (LONG - SHORT);
    return LARMOR_OK;
}

static larmor_status measure(normal_run *r, int repeats)
{
    normal_result *result = r->result;
    APP_OWNED(larmor_array) *b = NULL;
    double seconds, size;
    for (int round = 0; round <= repeats; round++) /* the first one is cold */
        for (int i = 0; i < 2; i++) {
            if (app_stopped()) return LARMOR_STOPPED;
            const int calls = round ? (int)fmin(200, fmax(1, ceil(0.02 / result->seconds[i]))) : 1;
            TRY(time_map(r, i, calls, &seconds));
            if (round < 2 || seconds < result->seconds[i]) result->seconds[i] = seconds;
        }
    TRY(larmor_nrm2(r->y[1], &size));
    TRY(larmor_axpby(-1, r->y[0], 1, r->y[1]));
    TRY(larmor_nrm2(r->y[1], &result->difference));
    result->difference /= size;
    TRY(larmor_array_create(r->data.dev, larmor_array_dtype(r->x), larmor_op_out_shape(r->A[0]), &b));
    TRY(larmor_noise_fill(b, 1, 3));
    for (int round = 0; round <= repeats; round++) {
        TRY(time_steps(r, b, &seconds));
        if (round < 2 || seconds < result->step) result->step = seconds;
    }
    return LARMOR_OK;
}

static void free_run(normal_run *r)
{
    for (int i = 0; i < 2; i++) {
        larmor_op_free(r->A[i]);
        larmor_array_free(r->y[i]);
    }
    larmor_array_free(r->x);
    larmor_array_free(r->maps);
    larmor_timer_free(r->timer);
    bench_data_free(&r->data);
}

static larmor_status run_case(larmor_device *dev, int repeats, const bench_case *c, normal_result *result)
{
    APP_FREED_BY(free_run) normal_run r = {.result = result};
    *result = (normal_result){.c = *c};
    TRY(bench_data_draw(dev, &result->c, &r.data));
    TRY(larmor_timer_create(dev, &r.timer));
    TRY(make_arrays(&r, dev));
    TRY(make_operators(&r));
    return measure(&r, repeats);
}

/* ---- the command ---- */

typedef struct settings {
    const char *device;
    int64_t threads;
    app_list modes;
    int64_t dims, coils, points, repeats;
    const char *precision, *distribution;
    double tol;
    const char *json;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    APP_DEVICE_OPTIONS(settings),
    OPTION(APP_INTEGER, dims, 0, "dims", "D", "dimensions, where --modes is one number", .preset = "2", .low = 1,
           .high = 3),
    OPTION(APP_SIZES, modes, 0, "modes", "N[,N[,N]]", "voxels", .preset = "256", .low = 2, .high = 1 << 20),
    OPTION(APP_INTEGER, coils, 0, "coils", "N", "coils", .preset = "8", .low = 1, .high = 1024),
    OPTION(APP_INTEGER, points, 0, "points", "M", "samples of a coil (default: one for each voxel)", .low = 1,
           .high = INT64_C(1) << 40),
    OPTION(APP_TEXT, distribution, 0, "distribution", "NAME", "of the samples", .preset = "uniform",
           .choices = BENCH_DISTRIBUTIONS),
    OPTION(APP_TEXT, precision, 0, "precision", "P", "of the values", .preset = "single", .choices = "single|double"),
    OPTION(APP_NUMBER, tol, 0, "tol", "X", "relative l2 error", .preset = "1e-5", .low = 1e-16, .high = 0.5),
    OPTION(APP_INTEGER, repeats, 0, "repeats", "N", "rounds, of which the quickest counts", .preset = "5", .low = 1,
           .high = 1000),
    OPTION(APP_WRITTEN_FILE, json, 0, "json", "FILE", "add a line of JSON"),
    {0},
};

static bench_case case_of(const settings *s)
{
    bench_case c = {.type = 1,
                    .ndim = s->modes.count > 1 ? s->modes.count : (int)s->dims,
                    .is_double = s->precision[0] == 'd',
                    .modes = {1, 1, 1},
                    .batch = s->coils,
                    .tol = s->tol,
                    .distribution = s->distribution};
    for (int d = 0; d < c.ndim; d++) c.modes[d] = (int64_t)s->modes.value[s->modes.count > 1 ? d : 0];
    c.points = s->points ? s->points : bench_case_modes(&c);
    return c;
}

static larmor_status write_case(bench_lines *lines, const normal_result *r, const char *label)
{
    json *j;
    TRY(bench_line_begin(lines, label, &r->c, &j));
    json_number(j, "toeplitz_seconds", r->seconds[0]);
    json_number(j, "nufft_seconds", r->seconds[1]);
    json_number(j, "step_seconds", r->step);
    json_number(j, "difference", r->difference);
    return bench_line_end(lines);
}

static int run(const void *given, const app_files *files APP_UNUSED)
{
    const settings *s = given;
    APP_OWNED(larmor_device) *dev = NULL;
    APP_OWNED(bench_lines) *lines = NULL;
    normal_result result;
    char text[BENCH_LABEL], label[BENCH_LABEL + 16];
    const bench_case c = case_of(s);
    snprintf(label, sizeof label, "normal %s", bench_case_label(&c, text));
    APP_TRY(APP_INPUT, app_open_device(s->device, s->threads, &dev));
    if (s->json) APP_TRY(APP_RUN, bench_lines_open(s->json, dev, NULL, &lines));
    if (bench_lines_have(lines, label)) {
        app_log("%s: had this case already", s->json);
        return APP_DONE;
    }
    APP_TRY(APP_RUN, run_case(dev, (int)s->repeats, &c, &result));
    printf("%s: Toeplitz %.3f ms, NUFFTs %.3f ms, difference %.1e; a step of conjugate gradients %.3f ms\n", label,
           1e3 * result.seconds[0], 1e3 * result.seconds[1], result.difference, 1e3 * result.step);
    if (lines) APP_TRY(APP_RUN, write_case(lines, &result, label));
    return APP_DONE;
}

const app_command cmd_normal = {
    .name = "normal",
    .usage = "[options]",
    .summary = "time the normal map of SENSE, which an iteration is made of",
    .details = "By Toeplitz and by two NUFFTs, with a step of conjugate gradients by Toeplitz.",
    .computes = 1,
    APP_OWN_PARTS,
};
