/* larmor-bench planner: what the planner's efforts choose, timed beside each other and beside fixed factors.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"
#include "commands.h"
#include "common.h"
#include "lines.h"

enum { PLANNER_FACTORS = 8 };

typedef struct planner_result {
    bench_case c;
    double seconds[3]; /* of an execute, by effort; the least of the rounds */
    double setting[3]; /* of the set_points that chose */
    larmor_nufft_info info[3];
    double fixed[PLANNER_FACTORS]; /* with these factors; 0: the tolerance is out of reach */
} planner_result;

static const double planner_factors[PLANNER_FACTORS] = {1.15, 1.25, 1.35, 1.5, 1.65, 1.8, 2, 2.25};
static const char *const efforts[3] = {"estimate", "measure", "exhaustive"};
enum { PLANS = 3 + PLANNER_FACTORS };

static const struct {
    int ndim, is_double;
    double tol, density; /* points over modes */
    int batch, type;
} list[] = {
    {1, 0, 1e-3, 0.05, 1, 1}, {1, 0, 1e-5, 1, 8, 2},    {1, 0, 1e-3, 10, 1, 2},   {1, 1, 1e-6, 10, 1, 1},
    {1, 1, 1e-9, 1, 1, 2},    {1, 1, 1e-9, 0.2, 8, 1},  {2, 0, 1e-3, 0.05, 1, 2}, {2, 0, 1e-5, 1, 1, 1},
    {2, 0, 1e-4, 5, 8, 1},    {2, 1, 1e-6, 0.2, 1, 1},  {2, 1, 1e-9, 1, 8, 2},    {2, 1, 1e-9, 10, 1, 1},
    {2, 1, 1e-7, 3, 1, 2},    {3, 0, 1e-3, 0.05, 1, 1}, {3, 0, 1e-5, 0.5, 8, 2},  {3, 0, 1e-3, 10, 1, 1},
    {3, 1, 1e-6, 0.2, 1, 2},  {3, 1, 1e-9, 1, 1, 1},    {3, 1, 1e-6, 10, 1, 2},   {3, 1, 1e-9, 0.05, 8, 1},
};

static bench_case case_of(int i, int gpu, double scale)
{
    static const double modes[2][3] = {{50000, 160, 30}, {1e6, 700, 80}};
    bench_case c = {.type = list[i].type,
                    .ndim = list[i].ndim,
                    .is_double = list[i].is_double,
                    .modes = {1, 1, 1},
                    .batch = list[i].batch,
                    .tol = list[i].tol,
                    .distribution = "uniform"};
    for (int d = 0; d < c.ndim; d++) c.modes[d] = (int64_t)fmax(8, round(scale * modes[gpu][c.ndim - 1]));
    c.points = (int64_t)fmax(16, list[i].density * (double)bench_case_modes(&c));
    return c;
}

/* One case: its plans, NULL for those that cannot be or are the same as an earlier one. */
typedef struct comparison {
    planner_result *result;
    bench_data data;
    larmor_timer *timer;
    larmor_nufft *plan[PLANS];
    int as[PLANS]; /* the plan of the same choice whose time counts: itself or an earlier one */
} comparison;

static int same_choice(const larmor_nufft *a, const larmor_nufft *b)
{
    const larmor_nufft_info x = larmor_nufft_describe(a), y = larmor_nufft_describe(b);
    return x.grid[0] == y.grid[0] && x.grid[1] == y.grid[1] && x.grid[2] == y.grid[2] && x.width == y.width &&
           x.per_pass == y.per_pass && x.tiles == y.tiles && x.spread_method == y.spread_method &&
           x.interp_method == y.interp_method && x.precompute == y.precompute;
}

/* One plan for each choice: where arrays happen to lie makes a difference of some percent between two of the same. */
static void keep_one_of_a_choice(comparison *t, int i)
{
    for (int k = 0; k < i && t->as[i] == i; k++)
        if (t->plan[k] && same_choice(t->plan[k], t->plan[i])) t->as[i] = k;
    if (t->as[i] == i) return;
    larmor_nufft_free(t->plan[i]);
    t->plan[i] = NULL;
}

static larmor_status make_plan(comparison *t, int i, const bench_case *c)
{
    double seconds;
    t->as[i] = i;
    larmor_nufft_opts opts = {.type = c->type,
                              .ndim = c->ndim,
                              .modes = {c->modes[0], c->modes[1], c->modes[2]},
                              .batch = c->batch,
                              .tol = c->tol,
                              .dtype = c->is_double ? LARMOR_C128 : LARMOR_C64};
    if (i < 3)
        opts.effort = (larmor_plan_effort)i;
    else
        opts.upsample = planner_factors[i - 3];
    const larmor_status st = larmor_nufft_create(t->data.dev, &opts, &t->plan[i]);
    if (st == LARMOR_ERR_NUMERIC && i >= 3) return LARMOR_OK; /* and no plan */
    TRY(st);
    TRY(larmor_timer_start(t->timer));
    TRY(larmor_nufft_set_points(t->plan[i], t->data.traj, NULL));
    TRY(larmor_timer_stop(t->timer, &seconds));
    if (i < 3) {
        t->result->setting[i] = seconds;
        t->result->info[i] = larmor_nufft_describe(t->plan[i]);
    }
    keep_one_of_a_choice(t, i);
    return LARMOR_OK;
}

/* A run is as many executes as take 2 ms. */
static larmor_status time_plan(comparison *t, int i, double *least)
{
    const int repeats = *least > 0 ? (int)fmin(200, ceil(2e-3 / *least)) : 1;
    double seconds;
    TRY(larmor_timer_start(t->timer));
    for (int k = 0; k < repeats; k++) TRY(larmor_nufft_execute(t->plan[i], t->data.in, t->data.out));
    TRY(larmor_timer_stop(t->timer, &seconds));
    if (*least <= 0 || seconds / repeats < *least) *least = seconds / repeats;
    return LARMOR_OK;
}

static larmor_status time_plans(comparison *t, int rounds)
{
    double least[PLANS] = {0};
    for (int round = 0; round <= rounds; round++)
        for (int i = 0; i < PLANS; i++) {
            if (round == 1) least[i] = 0; /* the first one was cold */
            if (app_stopped()) return LARMOR_STOPPED;
            if (t->plan[i]) TRY(time_plan(t, i, &least[i]));
        }
    for (int i = 0; i < PLANS; i++) *(i < 3 ? &t->result->seconds[i] : &t->result->fixed[i - 3]) = least[t->as[i]];
    return LARMOR_OK;
}

static void free_comparison(comparison *t)
{
    for (int i = 0; i < PLANS; i++) larmor_nufft_free(t->plan[i]);
    larmor_timer_free(t->timer);
    bench_data_free(&t->data);
}

static larmor_status run_case(larmor_device *dev, int rounds, bench_case c, planner_result *result)
{
    APP_FREED_BY(free_comparison) comparison t = {.result = result};
    *result = (planner_result){.c = c};
    larmor_wisdom_forget(dev); /* so that the time to choose is that of a case that was never seen */
    TRY(bench_data_draw(dev, &result->c, &t.data));
    TRY(larmor_timer_create(dev, &t.timer));
    for (int i = 0; i < PLANS; i++) TRY(app_stopped() ? LARMOR_STOPPED : make_plan(&t, i, &result->c));
    return time_plans(&t, rounds);
}

/* ---- the table and the JSON line ---- */

static void print_case(const planner_result *r, const char *label)
{
    printf("%-66s", label);
    for (int e = 0; e < 3; e++)
        printf(" %9.3f %4.2f w%-2d", 1e3 * r->seconds[e], r->info[e].upsample, r->info[e].width);
    printf(" %8.3f %8.3f\n", 1e3 * r->setting[1], 1e3 * r->setting[2]);
    fflush(stdout);
}

static larmor_status write_case(bench_lines *lines, const planner_result *r, const char *label)
{
    json *j;
    TRY(bench_line_begin(lines, label, &r->c, &j));
    for (int e = 0; e < 3; e++) {
        json_open(j, efforts[e], '{');
        json_number(j, "seconds", r->seconds[e]);
        json_number(j, "set_points_seconds", r->setting[e]);
        json_number(j, "upsample", r->info[e].upsample);
        json_integers(j, "grid", r->info[e].grid, r->c.ndim);
        JSON_MEMBERS(j, r->info[e], width, tiles, per_pass, spread_method, interp_method, tried);
        json_close(j, '}');
    }
    json_numbers(j, "factors", planner_factors, PLANNER_FACTORS);
    json_numbers(j, "fixed_seconds", r->fixed, PLANNER_FACTORS);
    return bench_line_end(lines);
}

/* ---- the command ---- */

typedef struct settings {
    const char *device;
    int64_t threads;
    bench_wish wish;
    int64_t repeats;
    const char *json;
    int calibrate;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    APP_DEVICE_OPTIONS(settings),
    OPTION(APP_SIZES, wish.types, 0, "type", "T[,T]", "of transform: choose from the cases", .low = 1, .high = 2),
    OPTION(APP_SIZES, wish.dims, 0, "dims", "D[,D[,D]]", "dimensions: choose from the cases", .low = 1, .high = 3),
    OPTION(APP_INTEGER, wish.batch, 0, "batch", "B", "transforms over the same points: choose from the cases",
           .low = 1, .high = 8),
    OPTION(APP_NUMBER, wish.tol, 0, "tol", "X", "relative l2 error: choose from the cases", .low = 1e-16,
           .high = 0.5),
    OPTION(APP_TEXT, wish.precision, 0, "precision", "P", "of the values: choose from the cases",
           .choices = "single|double"),
    OPTION(APP_NUMBER, wish.scale, 0, "scale", "F", "multiplies the modes in each dimension", .preset = "1",
           .low = 1e-9, .high = 1000),
    OPTION(APP_INTEGER, repeats, 0, "repeats", "N", "rounds, each of which times every plan once", .preset = "7",
           .low = 1, .high = 1000),
    OPTION(APP_FLAG, calibrate, 0, "calibrate", "", "fit the estimates to this device first"),
    OPTION(APP_WRITTEN_FILE, json, 0, "json", "FILE",
           "write a line of JSON for each case; those that the FILE has already are left out"),
    {0},
};

static larmor_status run_cases(const settings *s, larmor_device *dev, bench_lines *lines)
{
    const int gpu = strncmp(larmor_device_spec(dev), "cpu", 3) != 0;
    larmor_status st = LARMOR_OK;
    int fitting = 0;
    printf("%-66s %18s %18s %18s %17s\n", "milliseconds, factor and width", "estimate", "measure", "exhaustive",
           "choosing the last");
    for (size_t i = 0; i < sizeof list / sizeof *list && !st; i++) {
        const bench_case c = case_of((int)i, gpu, s->wish.scale);
        char text[BENCH_LABEL], label[BENCH_LABEL + 16];
        planner_result result;
        if (!bench_is_wanted(&s->wish, &c)) continue;
        fitting++;
        snprintf(label, sizeof label, "planner %s", bench_case_label(&c, text));
        if (bench_lines_have(lines, label)) continue;
        st = run_case(dev, (int)s->repeats, c, &result);
        if (!st) print_case(&result, label);
        if (!st && lines) st = write_case(lines, &result, label);
    }
    return st || fitting ? st : larmor_fail(LARMOR_ERR_ARG, "planner: no case fits the options");
}

static int run(const void *given, const app_files *files APP_UNUSED)
{
    const settings *s = given;
    APP_OWNED(larmor_device) *dev = NULL;
    APP_OWNED(bench_lines) *lines = NULL;
    APP_TRY(APP_INPUT, app_open_device(s->device, s->threads, &dev));
    if (s->json) APP_TRY(APP_RUN, bench_lines_open(s->json, dev, NULL, &lines));
    if (s->calibrate) APP_TRY(APP_RUN, larmor_nufft_calibrate(dev));
    APP_TRY(APP_RUN, run_cases(s, dev, lines));
    return APP_DONE;
}

const app_command cmd_planner = {
    .name = "planner",
    .usage = "[options]",
    .summary = "time what the planner's efforts choose",
    .details = "20 cases, with what estimate, measure and exhaustive choose and with fixed upsampling factors.\n"
               "scripts/measure/bench_report.py summarises and draws what --json wrote.",
    .computes = 1,
    APP_OWN_PARTS,
};
