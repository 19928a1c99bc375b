/* The report of `larmor bench nufft`. SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "plot.h"
#include "plot_panels.h"

/* Points of all transforms of the batch per second of execute. */
static double rate(const bench_case *c, const bench_timing *timing)
{
    return (double)c->points * (double)c->batch / bench_seconds(timing, BENCH_ONE_EXECUTE);
}

static int has_peer(const bench_report *report)
{
    for (int i = 0; i < report->count; i++)
        if (report->result[i].peers) return 1;
    return report->peer_library != NULL;
}

/* ---- the table ---- */

void bench_print_head(const bench_report *report)
{
    printf("%s\n", report->title);
    if (report->peer_library) printf("peer: %s, %s\n", report->peer, report->peer_library);
    printf("\n%-56s %9s %9s %9s %9s %9s %9s %8s", "times in ms: median of the repeats", "plan", "points", "execute",
           "both", "least", "Mpoint/s", "error");
    if (has_peer(report))
        printf(" | %9s %9s %9s %8s %6s %6s  %s", "points", "execute", "both", "error", "ratio", "both", "its best");
    putchar('\n');
}

static void print_peer(const bench_result *r)
{
    const bench_timing *base = &r->peer[0], *best = bench_best_peer(r);
    if (base->failure[0])
        printf(" | default: %s;", base->failure);
    else
        printf(" | %9.3f %9.3f %9.3f %8.1e %6.2f %6.2f", 1e3 * base->times[BENCH_POINTS].median,
               1e3 * bench_seconds(base, BENCH_ONE_EXECUTE), 1e3 * bench_seconds(base, BENCH_BOTH), base->error,
               bench_ratio(r, BENCH_ONE_EXECUTE), bench_ratio(r, BENCH_BOTH));
    if (best && best != base)
        printf("  %.3f %.2f %s", 1e3 * bench_seconds(best, BENCH_ONE_EXECUTE),
               bench_seconds(best, BENCH_ONE_EXECUTE) / bench_seconds(&r->ours, BENCH_ONE_EXECUTE), best->name);
}

void bench_print_case(const bench_result *r)
{
    const bench_timing *t = &r->ours;
    printf("%-56s ", r->label);
    if (t->failure[0]) {
        printf("failed: %s\n", t->failure);
        return;
    }
    printf("%9.3f %9.3f %9.3f %9.3f %9.3f %9.2f %8.1e", 1e3 * t->times[BENCH_PLAN].median,
           1e3 * t->times[BENCH_POINTS].median, 1e3 * bench_seconds(t, BENCH_ONE_EXECUTE),
           1e3 * bench_seconds(t, BENCH_BOTH), 1e3 * bench_seconds(t, BENCH_ONE_LEAST), 1e-6 * rate(&r->c, t),
           t->error);
    if (r->peers) print_peer(r);
    putchar('\n');
    fflush(stdout);
}

/* ---- ratios to the peer ---- */

static double execute_ratio(const bench_result *r)
{
    return bench_ratio(r, BENCH_ONE_EXECUTE);
}

static double both_ratio(const bench_result *r)
{
    return bench_ratio(r, BENCH_BOTH);
}

static double least_execute_ratio(const bench_result *r)
{
    return bench_ratio(r, BENCH_ONE_LEAST);
}

static double least_both_ratio(const bench_result *r)
{
    return bench_ratio(r, BENCH_BOTH_LEAST);
}

static double best_ratio(const bench_result *r)
{
    const bench_timing *best = r->ours.failure[0] ? NULL : bench_best_peer(r);
    return best ? bench_seconds(best, BENCH_ONE_EXECUTE) / bench_seconds(&r->ours, BENCH_ONE_EXECUTE) : 0;
}

const char *const bench_ratio_names[BENCH_RATIOS] = {"execute", "points_and_execute", "execute_least",
                                                     "points_and_execute_least", "execute_best"};
static const struct {
    const char *text;
    double (*of)(const bench_result *);
} ratios[BENCH_RATIOS] = {
    {"the peer's default, execute", execute_ratio},
    {"the peer's default, set_points and execute", both_ratio},
    {"the peer's default, execute, least times", least_execute_ratio},
    {"the peer's default, set_points and execute, least times", least_both_ratio},
    {"the peer's best, execute", best_ratio},
};

static void add_to(bench_summary *s, double ratio, const bench_result *r)
{
    if (!(ratio > 0) || !isfinite(ratio)) return;
    s->mean += log(ratio), s->count++;
    if (ratio < s->least) s->least = ratio, s->least_result = r;
}

bench_summary bench_summarise(const bench_report *report, int ratio)
{
    bench_summary s = {.least = INFINITY};
    for (int i = 0; i < report->count; i++) add_to(&s, ratios[ratio].of(&report->result[i]), &report->result[i]);
    s.mean = exp(s.mean / s.count);
    return s;
}

static void print_summary(const char *text, const bench_summary *s)
{
    if (s->count)
        printf("against %s: geometric mean %.3f, least %.3f (%s), %d case%s\n", text, s->mean, s->least,
               s->least_result->label, s->count, app_s(s->count));
    else
        printf("against %s: no case ran\n", text);
}

/* ---- the chosen upsampling factor against fixed ones ---- */

double bench_gain(const bench_report *report, const bench_result *chosen, double factor)
{
    double seconds = INFINITY;
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->result[i];
        if (r->ours.failure[0] || r->c.upsample == 0 || (factor > 0 && fabs(r->c.upsample - factor) > 1e-9) ||
            !bench_same_problem(&r->c, &chosen->c))
            continue;
        seconds = fmin(seconds, bench_seconds(&r->ours, BENCH_ONE_LEAST));
    }
    return isfinite(seconds) && !chosen->ours.failure[0] ? seconds / bench_seconds(&chosen->ours, BENCH_ONE_LEAST)
                                                         : 0;
}

static int has_factors(const bench_report *report)
{
    for (int i = 0; i < report->count; i++)
        if (report->result[i].c.upsample > 0) return 1;
    return 0;
}

static void print_gains(const bench_report *report)
{
    static const struct {
        double factor;
        const char *text;
    } against[] = {{1.25, "a fixed upsampling of 1.25"}, {2, "a fixed upsampling of 2"}, {0, "the best fixed one"}};
    for (int k = 0; k < 3; k++) {
        bench_summary s = {.least = INFINITY};
        for (int i = 0; i < report->count; i++)
            if (report->result[i].c.upsample == 0)
                add_to(&s, bench_gain(report, &report->result[i], against[k].factor), &report->result[i]);
        s.mean = exp(s.mean / s.count);
        print_summary(against[k].text, &s);
    }
}

void bench_print_summary(const bench_report *report)
{
    if (has_peer(report) || has_factors(report)) putchar('\n');
    for (int i = 0; i < BENCH_RATIOS && has_peer(report); i++) {
        const bench_summary s = bench_summarise(report, i);
        print_summary(ratios[i].text, &s);
    }
    if (has_factors(report)) print_gains(report);
}

/* ---- plots ---- */

static larmor_status plot_rates(const bench_report *report, larmor_output *out)
{
    plot_row *rows = calloc((size_t)report->count + 1, sizeof *rows);
    if (!rows) return larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
    int peers = 0;
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->result[i];
        const bench_timing *best = bench_best_peer(r);
        memcpy(rows[i].label, r->label, sizeof rows[i].label);
        if (!r->ours.failure[0]) rows[i].value[0] = rate(&r->c, &r->ours);
        if (r->peers && !r->peer[0].failure[0]) rows[i].value[1] = rate(&r->c, &r->peer[0]);
        if (best && r->peers > 1) rows[i].value[2] = rate(&r->c, best);
        peers = r->peers > peers ? r->peers : peers;
    }
    const plot p = {
        .title = report->title,
        .axis = "points per second of execute",
        .series = {"larmor", peers ? "peer, default" : NULL, peers > 1 ? "peer, best" : NULL},
        .rows = rows,
        .count = report->count,
    };
    const larmor_status st = plot_write(&p, out);
    free(rows);
    return st;
}

/* Cases that differ in nothing but the number of modes share a panel; readouts are whole, so density is rounded.
 * Panels are ordered by distribution, density, type and tolerance. */
static int compare_panels(const bench_case *a, const bench_case *b)
{
    const double denser =
        log((double)a->points / (double)bench_case_modes(a)) - log((double)b->points / (double)bench_case_modes(b));
    const int other_name = strcmp(a->distribution, b->distribution);
    if (a->ndim != b->ndim) return a->ndim - b->ndim;
    if (other_name) return other_name;
    if (fabs(denser) >= 0.2) return denser > 0 ? -1 : 1;
    if (a->batch != b->batch) return a->batch < b->batch ? -1 : 1;
    if (a->is_double != b->is_double) return a->is_double - b->is_double;
    if (a->type != b->type) return a->type - b->type;
    return (a->tol < b->tol) - (a->tol > b->tol);
}

static void add_sample(plot_curve *curve, const bench_result *r)
{
    const double seconds = bench_seconds(&r->ours, BENCH_ONE_LEAST);
    if (r->c.upsample == 0) {
        curve->mark_x = r->info.upsample, curve->mark_y = seconds;
        return;
    }
    if (curve->count == PLOT_CURVE_POINTS) return;
    int at = curve->count++;
    for (; at && curve->x[at - 1] > r->c.upsample; at--)
        curve->x[at] = curve->x[at - 1], curve->y[at] = curve->y[at - 1];
    curve->x[at] = r->c.upsample, curve->y[at] = seconds;
}

typedef struct sweep {
    int panels, curves;
    char (*title)[64];           /* [panels] */
    const bench_case **of_panel; /* a case of each */
    const bench_case **of_curve;
    plot_curve *curve;
} sweep;

static void insert_panel(sweep *s, int panel, const bench_case *c)
{
    const size_t behind = (size_t)(s->panels++ - panel);
    memmove(&s->title[panel + 1], &s->title[panel], behind * sizeof *s->title);
    memmove(&s->of_panel[panel + 1], &s->of_panel[panel], behind * sizeof *s->of_panel);
    for (int i = 0; i < s->curves; i++) s->curve[i].panel += s->curve[i].panel >= panel;
    s->of_panel[panel] = c;
    snprintf(s->title[panel], sizeof *s->title, "%s type %d %.0e M/N=%.2g", c->distribution, c->type, c->tol,
             (double)c->points / (double)bench_case_modes(c));
}

static void add_result(sweep *s, const bench_result *r)
{
    int panel = 0, curve = 0;
    if (r->ours.failure[0]) return;
    while (panel < s->panels && compare_panels(s->of_panel[panel], &r->c) < 0) panel++;
    if (panel == s->panels || compare_panels(s->of_panel[panel], &r->c)) insert_panel(s, panel, &r->c);
    while (curve < s->curves && !bench_same_problem(s->of_curve[curve], &r->c)) curve++;
    if (curve == s->curves) {
        s->of_curve[s->curves] = &r->c;
        s->curve[s->curves].panel = panel;
        snprintf(s->curve[s->curves++].label, sizeof s->curve->label, "%lld", (long long)r->c.modes[0]);
    }
    add_sample(&s->curve[curve], r);
}

static larmor_status plot_factors(const bench_report *report, larmor_output *out)
{
    static const double ticks[] = {1.25, 1.5, 2, 2.5};
    const size_t room = (size_t)report->count;
    sweep s = {.title = calloc(room, sizeof *s.title),
               .of_panel = calloc(room, sizeof(const bench_case *)),
               .of_curve = calloc(room, sizeof(const bench_case *)),
               .curve = calloc(room, sizeof *s.curve)};
    larmor_status st = LARMOR_OK;
    if (!s.title || !s.of_panel || !s.of_curve || !s.curve) st = larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
    for (int i = 0; i < report->count && !st; i++) add_result(&s, &report->result[i]);
    const plot_panels p = {
        .title = report->title,
        .x_axis = "against the upsampling factor, square: as chosen, numbers: N",
        .y_axis = "seconds of execute, least of the repeats,",
        .low = 1.1,
        .high = 2.55,
        .ticks = ticks,
        .tick_count = sizeof ticks / sizeof *ticks,
        .panel = (const char(*)[64])s.title,
        .panel_count = s.panels,
        .curves = s.curve,
        .curve_count = s.curves,
    };
    if (!st && !s.panels) st = larmor_fail(LARMOR_ERR_ARG, "bench: no case ran, so there is nothing to plot");
    if (!st) st = plot_panels_write(&p, out);
    free(s.title), free(s.of_panel), free(s.of_curve), free(s.curve);
    return st;
}

larmor_status bench_write_plot(const bench_report *report, larmor_output *out)
{
    return has_factors(report) ? plot_factors(report, out) : plot_rates(report, out);
}
