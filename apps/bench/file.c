/* Results to JSON and, of what bench_write_line wrote, back. SPDX-License-Identifier: Apache-2.0 */
#include "file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common.h"
#include "json.h"
#include "json_read.h"

/* ---- writing ---- */

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
        json_number(j, "points_per_second",
                    (double)c->points * (double)c->batch / bench_seconds(t, BENCH_ONE_EXECUTE));
        json_number(j, "error", t->error);
    }
    json_close(j, '}');
}

static void put_ratio(json *j, const char *name, const bench_result *r, bench_span span)
{
    const double ratio = bench_ratio(r, span);
    json_number(j, name, ratio > 0 ? ratio : NAN);
}

/* The members of a case's object. */
static void put_case(json *j, const bench_result *r)
{
    const bench_case *c = &r->c;
    json_text(j, "case", r->label);
    json_integer(j, "type", c->type);
    json_integers(j, "modes", c->modes, c->ndim);
    json_integer(j, "points", c->points);
    json_integer(j, "batch", c->batch);
    json_text(j, "distribution", c->distribution);
    json_text(j, "precision", c->is_double ? "double" : "single");
    json_number(j, "tol", c->tol);
    json_number(j, "upsample_asked", c->upsample > 0 ? c->upsample : NAN);
    json_text(j, "precompute_asked", bench_precompute_name(c->precompute));
    if (!r->ours.failure[0]) {
        json_integers(j, "grid", r->info.grid, c->ndim);
        json_integer(j, "width", r->info.width);
        json_number(j, "upsample", r->info.upsample);
        json_text(j, "precompute", bench_precompute_name(r->info.precompute));
        json_integer(j, "precompute_bytes", r->info.precompute_bytes);
    }
    put_timing(j, "larmor", c, &r->ours);
    if (!r->peers) return;
    json_open(j, "peer", '[');
    for (int i = 0; i < r->peers; i++) put_timing(j, NULL, c, &r->peer[i]);
    json_close(j, ']');
    put_ratio(j, "ratio", r, BENCH_ONE_EXECUTE);
    put_ratio(j, "ratio_points_and_execute", r, BENCH_BOTH);
}

/* What holds for all cases of a run. */
static void put_run(json *j, const bench_report *report)
{
    char date[32] = "";
    const time_t seconds = time(NULL);
    struct tm utc;
    if (gmtime_r(&seconds, &utc)) strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    json_text(j, "version", larmor_version());
    json_text(j, "command", app_command_line());
    json_text(j, "date", date);
    json_text(j, "device", larmor_device_spec(report->dev));
    json_text(j, "device_reason", larmor_device_reason(report->dev));
    if (report->peer_library) json_text(j, "peer_library", report->peer_library);
}

void bench_write_json(const bench_report *report, FILE *out)
{
    json j = {out, 0, 0};
    json_open(&j, NULL, '{');
    put_run(&j, report);
    json_open(&j, "cases", '[');
    for (int i = 0; i < report->count; i++) {
        json_open(&j, NULL, '{');
        put_case(&j, &report->result[i]);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    for (int i = 0; i < BENCH_RATIOS && report->peer_library; i++) {
        const bench_summary s = bench_summarise(report, i);
        json_open(&j, bench_ratio_names[i], '{');
        json_integer(&j, "cases", s.count);
        json_number(&j, "geometric_mean", s.mean);
        json_number(&j, "least", s.least);
        json_close(&j, '}');
    }
    json_close(&j, '}');
}

/* Line breaks of JSON are only between its items: in texts they are escaped. */
static void put_in_one_line(const char *text, FILE *out)
{
    for (; *text; text++) {
        if (*text != '\n') {
            fputc(*text, out);
            continue;
        }
        while (text[1] == ' ') text++;
        if (text[1]) fputc(' ', out);
    }
    fputc('\n', out);
}

larmor_status bench_write_line(const bench_report *report, const bench_result *result, FILE *out)
{
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    if (!memory) return larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
    json j = {memory, 0, 0};
    json_open(&j, NULL, '{');
    put_case(&j, result);
    put_run(&j, report);
    json_close(&j, '}');
    const int failed = fclose(memory);
    if (!failed) put_in_one_line(text, out);
    free(text);
    if (failed || fflush(out) || ferror(out)) return larmor_fail(LARMOR_ERR_IO, "--json: the file cannot be written");
    return LARMOR_OK;
}

/* ---- reading ---- */

static int64_t integer_of(const char *value)
{
    const double x = json_as_number(value);
    return fabs(x) < 0x1p53 ? (int64_t)x : 0; /* NaN becomes 0 */
}

static void read_times(const char *object, bench_times *t)
{
    t->median = json_as_number(json_member(object, "median"));
    t->minimum = json_as_number(json_member(object, "minimum"));
    t->repeats = (int)integer_of(json_member(object, "repeats"));
    t->calls = integer_of(json_member(object, "calls"));
}

static void read_timing(const char *object, bench_timing *t)
{
    json_as_text(json_member(object, "name"), t->name, sizeof t->name);
    json_as_text(json_member(object, "failure"), t->failure, sizeof t->failure);
    read_times(json_member(object, "plan"), &t->times[BENCH_PLAN]);
    read_times(json_member(object, "set_points"), &t->times[BENCH_POINTS]);
    read_times(json_member(object, "execute"), &t->times[BENCH_EXECUTE]);
    t->error = json_as_number(json_member(object, "error"));
}

/* The case's constant name of a distribution, NULL for an unknown one. */
static const char *distribution_named(const char *name)
{
    static const char *const known[] = {"uniform", "cluster", "radial", "spiral", "stars", "cones", "koosh"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(name, known[i])) return known[i];
    return NULL;
}

/* Automatic where a line of an earlier version says nothing. */
static larmor_precompute read_precompute(const char *line, const char *name)
{
    char text[32];
    const int form = bench_precompute_named(json_as_text(json_member(line, name), text, sizeof text));
    return form < 0 ? LARMOR_PRECOMPUTE_AUTO : (larmor_precompute)form;
}

static int read_case(const char *line, bench_case *c)
{
    char text[32];
    *c = (bench_case){.modes = {1, 1, 1}};
    c->type = (int)integer_of(json_member(line, "type"));
    const char *modes = json_member(line, "modes");
    for (c->ndim = 0; c->ndim < 3 && json_element(modes, c->ndim); c->ndim++)
        c->modes[c->ndim] = integer_of(json_element(modes, c->ndim));
    c->points = integer_of(json_member(line, "points"));
    c->batch = integer_of(json_member(line, "batch"));
    c->distribution = distribution_named(json_as_text(json_member(line, "distribution"), text, sizeof text));
    c->is_double = !strcmp(json_as_text(json_member(line, "precision"), text, sizeof text), "double");
    c->tol = json_as_number(json_member(line, "tol"));
    const double asked = json_as_number(json_member(line, "upsample_asked"));
    c->upsample = asked > 0 ? asked : 0;
    c->precompute = read_precompute(line, "precompute_asked");
    return c->distribution && c->type >= 1 && c->type <= 3 && c->ndim && bench_case_modes(c) > 0 && c->points > 0 &&
           c->batch > 0 && c->tol > 0;
}

int bench_read_line(const char *line, bench_result *result)
{
    *result = (bench_result){0};
    json_as_text(json_member(line, "case"), result->label, sizeof result->label);
    if (!result->label[0] || !read_case(line, &result->c)) return 0;
    result->info.width = (int)integer_of(json_member(line, "width"));
    result->info.upsample = json_as_number(json_member(line, "upsample"));
    result->info.precompute = read_precompute(line, "precompute");
    result->info.precompute_bytes = integer_of(json_member(line, "precompute_bytes"));
    for (int d = 0; d < result->c.ndim; d++)
        result->info.grid[d] = integer_of(json_element(json_member(line, "grid"), d));
    const char *ours = json_member(line, "larmor"), *peer = json_member(line, "peer");
    read_timing(ours, &result->ours);
    for (; result->peers < BENCH_MOST_PEERS && json_element(peer, result->peers); result->peers++)
        read_timing(json_element(peer, result->peers), &result->peer[result->peers]);
    return result->ours.failure[0] || result->ours.times[BENCH_EXECUTE].median > 0;
}
