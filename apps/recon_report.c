/* Images and the report of a reconstruction. SPDX-License-Identifier: Apache-2.0 */
#include "recon_report.h"

#include <ctype.h>
#include <stdio.h>

#include "json.h"

int recon_write(recon_run *r)
{
    const recon_settings *s = r->s;
    char lambda[32], iters[32], residual[32], history[32], series[32];
    snprintf(lambda, sizeof lambda, "%g", r->last.lambda);
    snprintf(iters, sizeof iters, "%d", r->last.report.iters);
    snprintf(residual, sizeof residual, "%.3e", r->last.report.residual);
    const char *name = r->job.method == RECON_CG ? "CG-SENSE" : r->job.method == RECON_GRID ? "GRIDDING" : s->method;
    snprintf(history, sizeof history, "LARMOR:%s", name);
    for (char *c = history; *c; c++) *c = (char)toupper((unsigned char)*c);
    snprintf(series, sizeof series, "larmor %s", s->method);
    const char *keys[10] = {"DataRole", "ImageProcessingHistory", "SeriesDescription", "LarmorVersion",
                            "LarmorCommand"};
    const char *values[10] = {"Image", history, series, larmor_version(), app_command_line()};
    int count = 5;
    if (r->job.method != RECON_GRID) {
        keys[count] = "LarmorLambda", values[count++] = lambda;
        keys[count] = "LarmorIterations", values[count++] = iters;
        keys[count] = "LarmorResidual", values[count++] = residual;
    }
    if (r->last.interrupted) keys[count] = "LarmorInterrupted", values[count++] = "1";
    const larmor_write_opts opts = {.magnitude = s->magnitude,
                                    .header = larmor_raw_xml(r->job.raw),
                                    .keys = keys,
                                    .values = values,
                                    .count = count,
                                    .window = {s->window.value[0], s->window.value[1]}};
    for (int i = 0; i < s->outputs.count; i++) {
        const larmor_status st = larmor_image_write(r->output[i], r->image, r->images, &opts);
        if (st) return app_fail(APP_RUN, st);
        app_log("wrote %s (%d image%s%s%s)", larmor_output_path(r->output[i]), r->images, app_s(r->images),
                r->last.interrupted ? ", interrupted" : "",
                app_describe_window(larmor_output_path(r->output[i]), r->image, r->images, &s->window).s);
    }
    return APP_DONE;
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
    if (r->job.method != RECON_GRID) {
        json_integer(&j, "iterations", r->last.report.iters);
        json_number(&j, "residual", r->last.report.residual);
        json_flag(&j, "toeplitz", r->last.toeplitz);
        json_flag(&j, "preconditioned", r->job.precondition >= 0);
        json_number(&j, "lambda", r->last.lambda);
        json_number(&j, "lambda_absolute", r->last.weight);
        if (r->job.method == RECON_CG)
            json_number(&j, "largest_eigenvalue", r->last.largest);
        else
            json_number(&j, "objective", r->last.report.objective);
    }
    json_flag(&j, "interrupted", r->last.interrupted);
    json_number(&j, "seconds", seconds);
    json_close(&j, '}');
}
