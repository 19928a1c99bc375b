/* Images and the report of a reconstruction. SPDX-License-Identifier: Apache-2.0 */
#include "recon_report.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "json.h"
#include "recon_doubt.h"

/* Of a weight, by recon_origin. */
static const char *const origins[] = {"user", "data", "scan", "noise"};

/* ---- provenance ---- */

enum { MOST_NOTES = 10, DOUBT_ROOM = 512, MOST_DOUBTS = 4 };

/* Keys and values of one image, and the texts that they point to. */
typedef struct note {
    const char *keys[MOST_NOTES], *values[MOST_NOTES];
    char lambda[32], iters[32], residual[32], noise[32], grid[80], doubts[MOST_DOUBTS * DOUBT_ROOM];
    int count;
} note;

static void add_note(note *n, const char *key, const char *value)
{
    n->keys[n->count] = key, n->values[n->count++] = value;
}

/* All doubts as one text. */
static void add_doubts(const recon_result *result, note *n)
{
    size_t length = 0;
    char line[DOUBT_ROOM];
    for (int i = 0; i < MOST_DOUBTS && recon_doubt(result, i, line, sizeof line); i++)
        length += (size_t)snprintf(n->doubts + length, sizeof n->doubts - length, "%s%s", i ? " " : "", line);
    if (length) add_note(n, "LarmorWarning", n->doubts);
}

static void describe_image(const recon_run *r, const recon_result *result, note *n)
{
    *n = (note){.count = 0};
    if (r->job.method != RECON_GRID) {
        snprintf(n->lambda, sizeof n->lambda, "%g", result->lambda);
        snprintf(n->iters, sizeof n->iters, "%d", result->report.iters);
        snprintf(n->residual, sizeof n->residual, "%.3e", result->report.residual);
        add_note(n, "LarmorLambda", n->lambda);
        add_note(n, "LarmorLambdaFrom", origins[result->origin]);
        snprintf(n->noise, sizeof n->noise, "%g", result->noise);
        add_note(n, "LarmorNoise", n->noise);
        add_note(n, "LarmorIterations", n->iters);
        add_note(n, "LarmorResidual", n->residual);
    }
    snprintf(n->grid, sizeof n->grid, "%lldx%lldx%lld", (long long)result->grid[0], (long long)result->grid[1],
             (long long)result->grid[2]);
    add_note(n, "LarmorGrid", n->grid);
    add_doubts(result, n);
    if (result->interrupted) add_note(n, "LarmorInterrupted", "1");
    if (result->doubtful) add_note(n, "LarmorDoubtful", "1");
}

/* What holds for all images. */
typedef struct common_notes {
    char history[32], series[32];
    const char *values[5];
} common_notes;

static larmor_notes describe_run(const recon_run *r, common_notes *n)
{
    static const char *const keys[] = {"DataRole", "ImageProcessingHistory", "SeriesDescription", "LarmorVersion",
                                       "LarmorCommand"};
    const char *method = r->s->method;
    const char *name = r->job.method == RECON_CG ? "CG-SENSE" : r->job.method == RECON_GRID ? "GRIDDING" : method;
    snprintf(n->history, sizeof n->history, "LARMOR:%s", name);
    for (char *c = n->history; *c; c++) *c = (char)toupper((unsigned char)*c);
    snprintf(n->series, sizeof n->series, "larmor %s", method);
    n->values[0] = "Image", n->values[1] = n->history, n->values[2] = n->series;
    n->values[3] = larmor_version(), n->values[4] = app_command_line();
    return (larmor_notes){keys, n->values, 5};
}

/* ---- images ---- */

static int write_images(const recon_run *r, larmor_output *out, const larmor_write_opts *opts)
{
    const char *path = larmor_output_path(out);
    const larmor_status st = larmor_image_write(out, r->image, r->images, opts);
    if (st) return app_fail(APP_RUN, st);
    app_log("wrote %s (%d image%s%s%s)", path, r->images, app_s(r->images),
            r->last.interrupted ? ", interrupted" : "",
            app_describe_window(path, r->image, r->images, &r->s->window).s);
    return APP_DONE;
}

int recon_write(recon_run *r)
{
    const recon_settings *s = r->s;
    common_notes common;
    note *notes = calloc((size_t)r->images, sizeof *notes);
    larmor_notes *each = calloc((size_t)r->images, sizeof *each);
    int code = notes && each ? APP_DONE : app_fail(APP_RUN, larmor_fail(LARMOR_ERR_MEMORY, "out of host memory"));
    for (int i = 0; i < r->images && !code; i++) {
        describe_image(r, &r->result[i], &notes[i]);
        each[i] = (larmor_notes){notes[i].keys, notes[i].values, notes[i].count};
    }
    const larmor_write_opts opts = {.magnitude = s->magnitude,
                                    .header = larmor_raw_xml(r->job.raw),
                                    .notes = describe_run(r, &common),
                                    .each = each,
                                    .window = {s->window.value[0], s->window.value[1]}};
    app_progress_begin(&r->progress, "writing");
    for (int i = 0; i < s->outputs.count && !code; i++) code = write_images(r, r->output[i], &opts);
    app_progress_end(&r->progress);
    free(each), free(notes);
    return code;
}

/* ---- the report ---- */

/* What is known of the solver, at the top of the report for the last image, and in `results` for each. */
static void report_solver(json *j, const recon_run *r, const recon_result *result)
{
    if (r->job.method != RECON_GRID) {
        json_integer(j, "iterations", result->report.iters);
        json_number(j, "residual", result->report.residual);
        json_flag(j, "toeplitz", result->toeplitz);
        json_flag(j, "preconditioned", r->job.precondition >= 0);
        json_number(j, "lambda", result->lambda);
        json_number(j, "lambda_absolute", result->weight);
        json_text(j, "lambda_from", origins[result->origin]);
        json_number(j, "noise", result->noise);
        if (r->job.method == RECON_CG)
            json_number(j, "largest_eigenvalue", result->largest);
        else
            json_number(j, "objective", result->report.objective);
    }
    json_flag(j, "interrupted", result->interrupted);
}

static void report_doubts(json *j, const recon_result *result)
{
    char line[DOUBT_ROOM];
    json_open(j, "warnings", '[');
    for (int i = 0; recon_doubt(result, i, line, sizeof line); i++) json_text(j, NULL, line);
    json_close(j, ']');
}

static const char *status_of(const recon_result *result)
{
    if (result->doubtful) return "doubtful";
    return result->interrupted ? "interrupted" : "done";
}

static void report_image(json *j, const recon_run *r, int i)
{
    const larmor_image_meta *m = &r->image[i].meta;
    json_open(j, NULL, '{');
    json_integer(j, "encoding", m->encoding);
    json_integer(j, "slice", m->slice);
    json_integer(j, "contrast", m->contrast);
    json_integer(j, "phase", m->phase);
    json_integer(j, "repetition", m->repetition);
    json_integer(j, "set", m->set);
    json_text(j, "status", status_of(&r->result[i]));
    json_integers(j, "grid", r->result[i].grid, 3);
    report_doubts(j, &r->result[i]);
    report_solver(j, r, &r->result[i]);
    json_number(j, "seconds", r->result[i].seconds);
    json_close(j, '}');
}

void recon_report(const recon_run *r, double seconds)
{
    json j = {stdout, 0, 0};
    json_open(&j, NULL, '{');
    json_text(&j, "input", r->input);
    json_open(&j, "outputs", '[');
    for (int i = 0; i < r->s->outputs.count; i++) json_text(&j, NULL, r->s->outputs.text[i]);
    json_close(&j, ']');
    json_text(&j, "method", r->s->method);
    json_text(&j, "device", larmor_device_spec(r->job.dev));
    json_text(&j, "trajectory", r->info.traj_report);
    json_integer(&j, "images", r->images);
    json_integer(&j, "failed", r->failed.count);
    json_integer(&j, "doubtful", r->doubtful.count);
    report_solver(&j, r, &r->last);
    json_open(&j, "results", '[');
    for (int i = 0; i < r->images; i++) report_image(&j, r, i);
    json_close(&j, ']');
    json_number(&j, "seconds", seconds);
    json_close(&j, '}');
}
