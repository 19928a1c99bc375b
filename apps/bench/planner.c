/* The planner's choices beside each other and beside fixed factors. SPDX-License-Identifier: Apache-2.0 */
#include "planner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "json.h"
#include "plot_panels.h"

const double planner_factors[PLANNER_FACTORS] = {1.15, 1.25, 1.35, 1.5, 1.65, 1.8, 2, 2.25};
static const char *const efforts[3] = {"estimate", "measure", "exhaustive"};
enum { PLANS = 3 + PLANNER_FACTORS };

static const struct {
    int ndim, is_double;
    double tol, density; /* points over modes */
    int batch, type;
} list[PLANNER_CASES] = {
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
typedef struct contest {
    planner_result *result;
    bench_data data;
    larmor_timer *timer;
    larmor_nufft *plan[PLANS];
    int as[PLANS]; /* the plan of the same choice whose time counts: itself or an earlier one */
} contest;

static int same_choice(const larmor_nufft *a, const larmor_nufft *b)
{
    const larmor_nufft_info x = larmor_nufft_describe(a), y = larmor_nufft_describe(b);
    return x.grid[0] == y.grid[0] && x.grid[1] == y.grid[1] && x.grid[2] == y.grid[2] && x.width == y.width &&
           x.together == y.together && x.tiles == y.tiles && x.spread_method == y.spread_method &&
           x.interp_method == y.interp_method && x.precompute == y.precompute;
}

/* One plan for each choice: where arrays happen to lie makes a difference of some percent between two of the same. */
static void leave_one(contest *t, int i)
{
    for (int k = 0; k < i && t->as[i] == i; k++)
        if (t->plan[k] && same_choice(t->plan[k], t->plan[i])) t->as[i] = k;
    if (t->as[i] == i) return;
    larmor_nufft_free(t->plan[i]);
    t->plan[i] = NULL;
}

static larmor_status make_plan(contest *t, int i, const bench_case *c)
{
    double *setting = i < 3 ? &t->result->setting[i] : NULL, seconds;
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
    larmor_status st = larmor_nufft_create(t->data.dev, &opts, &t->plan[i]);
    if (st == LARMOR_ERR_NUMERIC && i >= 3) return LARMOR_OK; /* and no plan */
    if (!st) st = larmor_timer_start(t->timer);
    if (!st) st = larmor_nufft_set_points(t->plan[i], t->data.traj, NULL);
    if (!st) st = larmor_timer_stop(t->timer, &seconds);
    if (st) return st;
    if (setting) *setting = seconds, t->result->info[i] = larmor_nufft_describe(t->plan[i]);
    leave_one(t, i);
    return LARMOR_OK;
}

/* A run is as many executes as take 2 ms. */
static larmor_status time_plan(contest *t, int i, double *least)
{
    const int repeats = *least > 0 ? (int)fmin(200, ceil(2e-3 / *least)) : 1;
    double seconds;
    larmor_status st = larmor_timer_start(t->timer);
    for (int k = 0; k < repeats && !st; k++) st = larmor_nufft_execute(t->plan[i], t->data.in, t->data.out);
    if (!st) st = larmor_timer_stop(t->timer, &seconds);
    if (!st && (*least <= 0 || seconds / repeats < *least)) *least = seconds / repeats;
    return st;
}

static larmor_status time_plans(contest *t, int rounds)
{
    double least[PLANS] = {0};
    larmor_status st = LARMOR_OK;
    for (int round = 0; round <= rounds && !st; round++)
        for (int i = 0; i < PLANS && !st; i++) {
            if (round == 1) least[i] = 0; /* the first one was cold */
            if (app_stopped()) return LARMOR_STOPPED;
            if (t->plan[i]) st = time_plan(t, i, &least[i]);
        }
    for (int i = 0; i < PLANS; i++) *(i < 3 ? &t->result->seconds[i] : &t->result->fixed[i - 3]) = least[t->as[i]];
    return st;
}

static larmor_status run_case(larmor_device *dev, int rounds, bench_case c, planner_result *result)
{
    contest t = {.result = result};
    *result = (planner_result){.c = c};
    larmor_status st = bench_data_draw(dev, &result->c, &t.data);
    if (!st) st = larmor_timer_create(dev, &t.timer);
    for (int i = 0; i < PLANS && !st; i++) st = app_stopped() ? LARMOR_STOPPED : make_plan(&t, i, &result->c);
    if (!st) st = time_plans(&t, rounds);
    for (int i = 0; i < PLANS; i++) larmor_nufft_free(t.plan[i]);
    larmor_timer_free(t.timer);
    bench_data_free(&t.data);
    return st;
}

/* ---- what is said ---- */

static double fixed_of(const planner_result *r, double factor)
{
    for (int i = 0; i < PLANNER_FACTORS; i++)
        if (planner_factors[i] == factor) return r->fixed[i];
    return 0;
}

/* The ratios that matter: over the exhaustive search's time, and of the fixed factors' over the measured one's; 0
 * without. */
enum { RATIOS = 4 };
static const char *const ratio_names[RATIOS] = {"estimate / exhaustive", "measure / exhaustive", "1.25 / measure",
                                                "2 / measure"};
static const char *const ratio_keys[RATIOS] = {"estimate_over_exhaustive", "measure_over_exhaustive",
                                               "1.25_over_measure", "2_over_measure"};

static double ratio_of(const planner_result *r, int ratio)
{
    switch (ratio) {
    case 0:
        return r->seconds[0] / r->seconds[2];
    case 1:
        return r->seconds[1] / r->seconds[2];
    case 2:
        return fixed_of(r, 1.25) / r->seconds[1];
    default:
        return fixed_of(r, 2) / r->seconds[1];
    }
}

static void print_case(const planner_result *r)
{
    char label[BENCH_LABEL];
    printf("%-58s", bench_case_label(&r->c, label));
    for (int e = 0; e < 3; e++)
        printf(" %9.3f %4.2f w%-2d", 1e3 * r->seconds[e], r->info[e].upsample, r->info[e].width);
    for (int k = 0; k < RATIOS; k++) printf(" %6.2f", ratio_of(r, k));
    printf(" %8.3f %8.3f\n", r->setting[1], r->setting[2]);
    fflush(stdout);
}

static void print_summary(const planner_result *results, int count)
{
    for (int k = 0; k < RATIOS; k++) {
        double sum = 0, least = INFINITY, most = 0;
        int n = 0;
        for (int i = 0; i < count; i++) {
            const double ratio = ratio_of(&results[i], k);
            if (!(ratio > 0)) continue;
            sum += log(ratio), n++, least = fmin(least, ratio), most = fmax(most, ratio);
        }
        if (n)
            printf("%-22s geometric mean %5.3f, least %5.3f, most %5.3f over %d case%s\n", ratio_names[k],
                   exp(sum / n), least, most, n, app_s(n));
    }
}

larmor_status bench_planner_run(larmor_device *dev, int rounds, const bench_wish *wish, planner_result *results,
                                int *count)
{
    const int gpu = strncmp(larmor_device_spec(dev), "cpu", 3) != 0;
    larmor_status st = LARMOR_OK;
    *count = 0;
    printf("%-58s %18s %18s %18s\n", "milliseconds, factor and width of", "estimate", "measure", "exhaustive");
    for (int i = 0; i < PLANNER_CASES && !st; i++) {
        const bench_case c = case_of(i, gpu, wish->scale);
        if (!bench_is_wanted(wish, &c)) continue;
        st = run_case(dev, rounds, c, &results[*count]);
        if (!st) print_case(&results[(*count)++]);
    }
    print_summary(results, *count);
    return st || *count ? st : larmor_fail(LARMOR_ERR_ARG, "bench: no case of planner fits the other options");
}

void bench_planner_write_json(larmor_device *dev, const planner_result *results, int count, FILE *out)
{
    json j = {.out = out};
    json_open(&j, NULL, '{');
    json_text(&j, "version", larmor_version());
    json_text(&j, "device", larmor_device_reason(dev));
    json_numbers(&j, "factors", planner_factors, PLANNER_FACTORS);
    json_open(&j, "cases", '[');
    for (int i = 0; i < count; i++) {
        const planner_result *r = &results[i];
        char label[BENCH_LABEL];
        json_open(&j, NULL, '{');
        json_text(&j, "label", bench_case_label(&r->c, label));
        for (int e = 0; e < 3; e++) {
            json_open(&j, efforts[e], '{');
            json_number(&j, "seconds", r->seconds[e]);
            json_number(&j, "set_points_seconds", r->setting[e]);
            json_integers(&j, "grid", r->info[e].grid, r->c.ndim);
            json_integer(&j, "width", r->info[e].width);
            json_integer(&j, "tiles", r->info[e].tiles);
            json_integer(&j, "together", r->info[e].together);
            json_integer(&j, "spread_method", r->info[e].spread_method);
            json_integer(&j, "interp_method", r->info[e].interp_method);
            json_integer(&j, "tried", r->info[e].tried);
            json_close(&j, '}');
        }
        json_numbers(&j, "fixed_seconds", r->fixed, PLANNER_FACTORS);
        json_open(&j, "ratios", '{');
        for (int k = 0; k < RATIOS; k++) json_number(&j, ratio_keys[k], ratio_of(r, k));
        json_close(&j, '}');
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
}

larmor_status bench_planner_plot(larmor_device *dev, const planner_result *results, int count, larmor_output *out)
{
    static const double ticks[] = {1.25, 1.5, 2};
    static char titles[6][64];
    plot_curve *curves = calloc((size_t)count + 1, sizeof *curves);
    if (!curves) return larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
    for (int panel = 0; panel < 6; panel++)
        snprintf(titles[panel], sizeof titles[panel], "%dD %s", panel / 2 + 1, panel % 2 ? "double" : "single");
    for (int i = 0; i < count; i++) {
        const planner_result *r = &results[i];
        plot_curve *curve = &curves[i];
        curve->panel = 2 * (r->c.ndim - 1) + r->c.is_double;
        snprintf(curve->label, sizeof curve->label, "%.0e", r->c.tol);
        for (int k = 0; k < PLANNER_FACTORS; k++)
            if (r->fixed[k] > 0) curve->x[curve->count] = planner_factors[k], curve->y[curve->count++] = r->fixed[k];
        curve->mark_x = r->info[1].upsample, curve->mark_y = r->seconds[1];
    }
    const plot_panels p = {.title = larmor_device_reason(dev),
                           .x_axis = "against the upsampling factor, square: as measure chose, numbers: tolerance",
                           .y_axis = "seconds of execute, least of the rounds,",
                           .low = 1.1,
                           .high = 2.55,
                           .ticks = ticks,
                           .tick_count = 3,
                           .panel = (const char(*)[64])titles,
                           .panel_count = 6,
                           .curves = curves,
                           .curve_count = count};
    const larmor_status st = plot_panels_write(&p, out);
    free(curves);
    return st;
}
