/* The report of `larmor bench nufft`. SPDX-License-Identifier: Apache-2.0 */
#include "bench_report.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "common.h"
#include "json.h"
#include "plot.h"

/* Points of all transforms of the batch per second of execute. */
static double rate(const bench_case *c, const bench_timing *timing)
{
    return (double)c->points * (double)c->batch / timing->times[BENCH_EXECUTE].median;
}

/* The default peer's seconds over larmor's for set_points and one execute together. */
static double total_ratio(const bench_result *r)
{
    const bench_times *a = r->ours.times, *b = r->peer[0].times;
    return (b[BENCH_POINTS].median + b[BENCH_EXECUTE].median) / (a[BENCH_POINTS].median + a[BENCH_EXECUTE].median);
}

void bench_print_head(const bench_report *report)
{
    printf("%s\n", larmor_device_reason(report->dev));
    if (report->peer_library) printf("peer: %s\n", report->peer_library);
    printf("\n%-56s %9s %9s %9s %9s %9s %8s", "times in ms: median of the repeats", "plan", "points", "execute",
           "least", "Mpoint/s", "error");
    if (report->peer_library)
        printf(" | %9s %9s %8s %6s %9s %6s  %s", "points", "execute", "error", "ratio", "best", "ratio", "which");
    putchar('\n');
}

static void print_peer(const bench_result *r)
{
    const bench_timing *base = &r->peer[0], *best = bench_best_peer(r);
    if (base->failure[0])
        printf(" | default: %s;", base->failure);
    else
        printf(" | %9.3f %9.3f %8.1e %6.2f", 1e3 * base->times[BENCH_POINTS].median,
               1e3 * base->times[BENCH_EXECUTE].median, base->error, bench_ratio(r));
    if (best)
        printf(" %9.3f %6.2f  %s", 1e3 * best->times[BENCH_EXECUTE].median,
               best->times[BENCH_EXECUTE].median / r->ours.times[BENCH_EXECUTE].median, best->name);
}

void bench_print_case(const bench_report *report, const bench_result *r)
{
    char label[BENCH_LABEL];
    const bench_times *t = r->ours.times;
    printf("%-56s ", bench_case_label(&r->c, label));
    if (r->ours.failure[0]) {
        printf("failed: %s\n", r->ours.failure);
        return;
    }
    printf("%9.3f %9.3f %9.3f %9.3f %9.2f %8.1e", 1e3 * t[BENCH_PLAN].median, 1e3 * t[BENCH_POINTS].median,
           1e3 * t[BENCH_EXECUTE].median, 1e3 * t[BENCH_EXECUTE].minimum, 1e-6 * rate(&r->c, &r->ours),
           r->ours.error);
    if (report->peer_library) print_peer(r);
    putchar('\n');
    fflush(stdout);
}

typedef struct summary {
    int count;
    double mean, least; /* of the ratios */
    const bench_case *least_case;
} summary;

static double ratio_to_best(const bench_result *r)
{
    const bench_timing *best = bench_best_peer(r);
    return best ? best->times[BENCH_EXECUTE].median / r->ours.times[BENCH_EXECUTE].median : 0;
}

static double ratio_of_totals(const bench_result *r)
{
    return bench_ratio(r) > 0 ? total_ratio(r) : 0;
}

/* Over the cases that both ran. */
static summary summarise(const bench_report *report, double (*ratio)(const bench_result *))
{
    summary s = {.least = INFINITY};
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->result[i];
        const double x = r->ours.failure[0] ? 0 : ratio(r);
        if (!(x > 0)) continue;
        s.mean += log(x), s.count++;
        if (x < s.least) s.least = x, s.least_case = &r->c;
    }
    s.mean = exp(s.mean / s.count);
    return s;
}

static const struct {
    const char *name, *text;
    double (*ratio)(const bench_result *);
} ratios[] = {
    {"execute", "the peer's default, execute", bench_ratio},
    {"points_and_execute", "the peer's default, set_points and execute", ratio_of_totals},
    {"execute_best", "the peer's best, execute", ratio_to_best},
};
enum { RATIOS = sizeof ratios / sizeof *ratios };

void bench_print_summary(const bench_report *report)
{
    if (!report->peer_library) return;
    putchar('\n');
    for (int i = 0; i < RATIOS; i++) {
        const summary s = summarise(report, ratios[i].ratio);
        char label[BENCH_LABEL];
        if (s.count)
            printf("against %s: geometric mean %.3f, least %.3f (%s), %d cases\n", ratios[i].text, s.mean, s.least,
                   bench_case_label(s.least_case, label), s.count);
        else
            printf("against %s: no case ran\n", ratios[i].text);
    }
}

static void put_times(json *j, const char *name, const bench_times *t)
{
    json_open(j, name, '{');
    json_number(j, "median", t->median);
    json_number(j, "minimum", t->minimum);
    json_integer(j, "repeats", t->repeats);
    json_integer(j, "calls", t->calls);
    json_close(j, '}');
}

static void put_timing(json *j, const char *name, const bench_case *c, const bench_timing *t)
{
    json_open(j, name, '{');
    json_text(j, "name", t->name);
    if (t->failure[0]) {
        json_text(j, "failure", t->failure);
    } else {
        put_times(j, "plan", &t->times[BENCH_PLAN]);
        put_times(j, "set_points", &t->times[BENCH_POINTS]);
        put_times(j, "execute", &t->times[BENCH_EXECUTE]);
        json_number(j, "points_per_second", rate(c, t));
        json_number(j, "error", t->error);
    }
    json_close(j, '}');
}

static void put_case(json *j, const bench_result *r)
{
    const bench_case *c = &r->c;
    json_open(j, NULL, '{');
    json_integer(j, "type", c->type);
    json_integers(j, "modes", c->modes, c->ndim);
    json_integer(j, "points", c->points);
    json_integer(j, "batch", c->batch);
    json_text(j, "distribution", c->distribution);
    json_text(j, "precision", c->is_double ? "double" : "single");
    json_number(j, "tol", c->tol);
    if (!r->ours.failure[0]) {
        json_integers(j, "grid", r->info.grid, c->ndim);
        json_integer(j, "width", r->info.width);
        json_number(j, "upsample", r->info.upsample);
    }
    put_timing(j, "larmor", c, &r->ours);
    if (r->peers) {
        json_open(j, "peer", '[');
        for (int i = 0; i < r->peers; i++) put_timing(j, NULL, c, &r->peer[i]);
        json_close(j, ']');
        if (!r->ours.failure[0]) json_number(j, "ratio", bench_ratio(r) > 0 ? bench_ratio(r) : NAN);
    }
    json_close(j, '}');
}

void bench_write_json(const bench_report *report, FILE *out)
{
    char date[32] = "";
    const time_t seconds = time(NULL);
    struct tm utc;
    if (gmtime_r(&seconds, &utc)) strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    json j = {out, 0, 0};
    json_open(&j, NULL, '{');
    json_text(&j, "larmor", larmor_version());
    json_text(&j, "command", app_command_line());
    json_text(&j, "date", date);
    json_text(&j, "device", larmor_device_spec(report->dev));
    json_text(&j, "device_reason", larmor_device_reason(report->dev));
    if (report->peer_library) json_text(&j, "peer_library", report->peer_library);
    json_open(&j, "cases", '[');
    for (int i = 0; i < report->count; i++) put_case(&j, &report->result[i]);
    json_close(&j, ']');
    for (int i = 0; i < RATIOS && report->peer_library; i++) {
        const summary s = summarise(report, ratios[i].ratio);
        json_open(&j, ratios[i].name, '{');
        json_integer(&j, "cases", s.count);
        json_number(&j, "geometric_mean", s.mean);
        json_number(&j, "least", s.least);
        json_close(&j, '}');
    }
    json_close(&j, '}');
}

larmor_status bench_write_plot(const bench_report *report, larmor_output *out)
{
    plot_row *rows = calloc((size_t)report->count + 1, sizeof *rows);
    if (!rows) return larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->result[i];
        const bench_timing *best = bench_best_peer(r);
        bench_case_label(&r->c, rows[i].label);
        if (!r->ours.failure[0]) rows[i].value[0] = rate(&r->c, &r->ours);
        if (r->peers && !r->peer[0].failure[0]) rows[i].value[1] = rate(&r->c, &r->peer[0]);
        if (best) rows[i].value[2] = rate(&r->c, best);
    }
    const plot p = {
        .title = larmor_device_reason(report->dev),
        .axis = "points per second of execute",
        .series = {"larmor", report->peer_library ? "peer, default" : NULL,
                   report->peer_library ? "peer, best" : NULL},
        .rows = rows,
        .count = report->count,
    };
    const larmor_status st = plot_write(&p, out);
    free(rows);
    return st;
}
