/* The report of `larmor-bench nufft`. SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <math.h>
#include <stdio.h>

/* ---- the table ---- */

void bench_print_head(const char *title, int has_peer)
{
    printf("%s\n\n%-56s %9s %9s %9s %9s %9s %9s %8s", title, "times in ms: median of the repeats", "plan", "points",
           "execute", "both", "least", "Mpoint/s", "error");
    if (has_peer)
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
    const double rate = (double)r->c.points * (double)r->c.batch / bench_seconds(t, BENCH_ONE_EXECUTE);
    printf("%-56s ", r->label);
    if (t->failure[0]) {
        printf("failed: %s\n", t->failure);
        return;
    }
    printf("%9.3f %9.3f %9.3f %9.3f %9.3f %9.2f %8.1e", 1e3 * t->times[BENCH_PLAN].median,
           1e3 * t->times[BENCH_POINTS].median, 1e3 * bench_seconds(t, BENCH_ONE_EXECUTE),
           1e3 * bench_seconds(t, BENCH_BOTH), 1e3 * bench_seconds(t, BENCH_ONE_LEAST), 1e-6 * rate, t->error);
    if (r->peers) print_peer(r);
    putchar('\n');
    fflush(stdout);
}

/* ---- JSON ---- */

static void put_times(json *j, const char *name, const bench_times *t)
{
    json_open(j, name, '{');
    JSON_MEMBERS(j, *t, median, minimum, repeats, calls);
    json_close(j, '}');
}

static void put_timing(json *j, const char *name, const bench_timing *t)
{
    json_open(j, name, '{');
    json_text(j, "name", t->name);
    if (t->failure[0]) {
        json_text(j, "failure", t->failure);
    } else {
        put_times(j, "plan", &t->times[BENCH_PLAN]);
        put_times(j, "set_points", &t->times[BENCH_POINTS]);
        put_times(j, "execute", &t->times[BENCH_EXECUTE]);
        json_number(j, "error", t->error);
    }
    json_close(j, '}');
}

larmor_status bench_write_result(bench_lines *lines, const bench_result *r)
{
    json *j;
    TRY(bench_line_begin(lines, r->label, &r->c, &j));
    json_number(j, "upsample_asked", r->c.upsample > 0 ? r->c.upsample : NAN);
    json_text(j, "precompute_asked", bench_precompute_name(r->c.precompute));
    json_integers(j, "grid", r->info.grid, r->c.ndim);
    JSON_MEMBERS(j, r->info, width, upsample);
    json_text(j, "precompute", bench_precompute_name(r->info.precompute));
    json_integer(j, "precompute_bytes", r->info.precompute_bytes);
    put_timing(j, "larmor", &r->ours);
    if (r->peers) {
        json_open(j, "peer", '[');
        for (int i = 0; i < r->peers; i++) put_timing(j, NULL, &r->peer[i]);
        json_close(j, ']');
    }
    return bench_line_end(lines);
}
