/* The result of a reconstruction: the exit code, and the report as a JSON object. SPDX-License-Identifier: Apache-2.0
 * */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "in_options.h"
#include "json.h"
#include "recon.h"

/* ---- the verdict ---- */

static void add_number(recon_numbers *n, int number)
{
    const size_t used = strlen(n->text), room = sizeof n->text - used;
    n->count++;
    if (room > 24)
        snprintf(n->text + used, room, "%s%d", used ? ", " : "", number);
    else if (n->text[used - 1] != '.')
        snprintf(n->text + used, room, " ...");
}

void recon_note(recon_run *r, int series)
{
    if (!r->reason[0]) snprintf(r->reason, sizeof r->reason, "%s", r->last.message);
    add_number(r->last.is_suspect ? &r->suspect : &r->failed, series + 1);
}

int recon_judge(const recon_run *r)
{
    const char *word = r->wanted > r->series ? "series" : "image";
    const char *is = r->suspect.count > 1 ? "are" : "is";
    const char *many = r->wanted > r->series ? "" : app_s(r->suspect.count);
    char suspect[192] = "";
    if (!r->failed.count && !r->suspect.count) return APP_DONE;
    if (r->suspect.count)
        snprintf(suspect, sizeof suspect, "%s%s %s of %d %s suspect", word, many, r->suspect.text, r->series, is);
    if (!r->failed.count)
        app_error("%s: %s: %s", r->input, suspect, r->reason);
    else if (r->series == 1)
        app_error("%s: %s", r->input, r->reason);
    else
        app_error("%s: no %s %s of %d%s%s: %s", r->input, word, r->failed.text, r->series, suspect[0] ? ", and " : "",
                  suspect, r->reason);
    return APP_FAILED;
}

/* ---- the report ---- */

/* The method that made the image, why, and what the methods that were compared leave of what is held out. */
static void report_method(json *j, const larmor_recon_report *result)
{
    const larmor_method_choice *m = &result->method;
    json_text(j, "method", m->name);
    json_text(j, "method_from", recon_method_origin(result));
    if (!m->compared) return;
    json_open(j, "method_sums", '{');
    for (int i = 0; i < m->compared; i++) json_number(j, m->trial[i].name, m->trial[i].misfit);
    json_close(j, '}');
}

/* What is known of the solver, at the top of the report for the last image, and in `results` for each. */
static void report_solver(json *j, const recon_run *r, const larmor_recon_report *result, int interrupted)
{
    report_method(j, result);
    json_text(j, "fourier", result->ffts ? "fft" : "nufft");
    if (strcmp(recon_method(r->s), "grid") != 0) {
        json_integer(j, "iterations", result->solver.iters);
        json_number(j, "residual", result->solver.residual);
        json_flag(j, "toeplitz", result->toeplitz);
        json_flag(j, "direct", result->direct);
        json_text(j, "partial_fourier", recon_partial(result));
        if (result->partial_fourier) {
            JSON_MEMBERS(j, *result, off_phase, phase_misfit, phase_misfit_noise);
        }
        if (r->s->b0) json_integer(j, "segments", result->segments);
        if (r->s->b0) json_integer(j, "terms", result->terms);
        if (r->s->motion || r->s->opts.motion_states) {
            JSON_MEMBERS(j, *result, motion_states, motion_mm, motion_deg);
            if (result->motion_misfit > 0) json_number(j, "motion_misfit", result->motion_misfit);
            if (result->motion_misfit > 0) json_number(j, "motion_misfit_still", result->motion_misfit_still);
        }
        json_flag(j, "preconditioned", result->preconditioned);
        json_number(j, "lambda", result->lambda);
        json_number(j, "lambda_absolute", result->weight);
        json_text(j, "lambda_from", recon_origin(result));
        if (result->choice.intensity > 0) json_number(j, "intensity", result->choice.intensity);
        if (result->choice.time_weight > 0) json_number(j, "time_weight", result->choice.time_weight);
        if (result->choice.ratios[0] > 0) json_numbers(j, "ratios", result->choice.ratios, LARMOR_MOST_PENALTIES);
        json_number(j, "noise", result->noise);
        if (result->image_noise > 0) {
            json_number(j, "image_noise", result->image_noise);
            json_number(j, "left", result->solver.left / result->image_noise);
        }
        if (!strcmp(result->method.name, "cg"))
            json_number(j, "largest_eigenvalue", result->largest);
        else
            json_number(j, "objective", result->solver.objective);
    }
    json_flag(j, "interrupted", interrupted);
}

/* Null: of root sums of squares, of images that were interrupted, or without memory for it. */
static void report_misfit(json *j, const larmor_misfit *m)
{
    if (!m->measured) {
        json_number(j, "misfit", NAN);
        return;
    }
    json_open(j, "misfit", '{');
    JSON_MEMBERS(j, *m, relative, beyond_noise, beyond_model);
    json_number(j, "chi2_per_freedom", m->chi2 > 0 ? m->chi2 : NAN);
    JSON_MEMBERS(j, *m, freedom, samples);
    json_flag(j, "fitted", m->fitted);
    json_numbers(j, "by_radius", m->by_radius, LARMOR_MISFIT_RINGS);
    json_integer(j, "bad_readouts", m->bad_readouts);
    if (m->bad_readouts) json_integer(j, "worst_readout", m->worst_readout);
    json_integer(j, "noisier_coils", m->noisier_coils);
    if (m->noisier_coils) json_number(j, "noise_ratio", m->noise_ratio);
    if (m->noise_excess > 0) json_number(j, "noise_excess", m->noise_excess);
    json_integer(j, "bad_coils", m->bad_coils);
    if (m->bad_coils) json_integer(j, "worst_coil", m->worst_coil);
    json_close(j, '}');
}

/* Null: there is no map of it. */
static void report_snr(json *j, const recon_run *r, int image)
{
    const recon_snr *s = r->noise.snr && r->images ? &r->noise.snr[r->group[image]] : NULL;
    if (!s || !(s->median > 0)) {
        json_number(j, "snr", NAN);
        return;
    }
    json_open(j, "snr", '{');
    JSON_MEMBERS(j, *s, median, samples);
    json_number(j, "window_voxels", s->width);
    json_close(j, '}');
}

static void report_warnings(json *j, const larmor_recon_report *result)
{
    char line[512];
    json_open(j, "warnings", '[');
    for (int i = 0; larmor_recon_warning(result, i, line, sizeof line); i++)
        json_text(j, NULL, app_line_in_options(line).s);
    json_close(j, ']');
}

static const char *status_of(const larmor_recon_report *result)
{
    if (result->is_suspect) return "suspect";
    return result->interrupted ? "interrupted" : "done";
}

static void report_image(json *j, const recon_run *r, int i)
{
    const larmor_image_meta *m = &r->image[i].meta;
    json_open(j, NULL, '{');
    JSON_MEMBERS(j, *m, encoding, slice, contrast, phase, repetition, set);
    json_text(j, "status", status_of(&r->report[i]));
    json_text(j, "device", r->report[i].device);
    json_integers(j, "grid", r->report[i].grid, 3);
    report_warnings(j, &r->report[i]);
    report_solver(j, r, &r->report[i], r->report[i].interrupted);
    report_misfit(j, &r->report[i].misfit);
    report_snr(j, r, i);
    json_number(j, "seconds", r->report[i].seconds);
    json_close(j, '}');
}

/* Virtual coils are in `coils`, as many as they were made from in `coils_compressed_from`. */
static void report_coils(json *j, const recon_run *r)
{
    larmor_recon_plan plan;
    if (larmor_recon_describe(r->recon, 0, &plan)) return;
    json_integer(j, "coils", plan.coils);
    if (!plan.compressed_from) return;
    json_integer(j, "coils_compressed_from", plan.compressed_from);
    json_number(j, "coils_energy", plan.compressed_energy);
    json_text(j, "coils_method", plan.compressed_along ? "geometric" : "svd");
}

/* Images that the log warns of: of what is wrong with the scan each of them. */
static int count_warned(const recon_run *r)
{
    int count = 0;
    for (int i = 0; i < r->images; i++) count += r->warned[i];
    return count;
}

static void report_rhythm(json *j, const char *name, const char *from, double rate, double reliability,
                          int64_t unknown)
{
    if (!*from || (rate == 0 && reliability == 1)) return; /* there are no bins of it, or it was given */
    json_open(j, name, '{');
    json_text(j, "from", from);
    json_number(j, "rate", rate);
    json_number(j, "reliability", reliability);
    json_integer(j, "readouts_left_out", unknown);
    json_close(j, '}');
}

/* Rates are a minute. */
static void report_bins(json *j, const larmor_bins_found *f)
{
    if (!f->bins) return;
    json_open(j, "bins", '{');
    json_integer(j, "count", f->bins);
    json_integer(j, "empty", f->empty);
    json_integer(j, "fewest_readouts", f->fewest);
    json_integer(j, "most_readouts", f->most);
    report_rhythm(j, "heart", f->heart_report, f->heart_rate, f->heart_reliable, f->heart_unknown);
    report_rhythm(j, "breath", f->breath_report, f->breath_rate, f->breath_reliable, f->breath_unknown);
    json_close(j, '}');
}

void recon_report(const recon_run *r, double seconds)
{
    const larmor_raw_info info = larmor_raw_describe(r->raw);
    json j = json_begin();
    json_text(&j, "input", r->input);
    json_open(&j, "outputs", '[');
    for (int i = 0; i < r->s->outputs.count; i++)
        for (int f = 0; f < r->output[i].count; f++) json_text(&j, NULL, larmor_output_path(r->output[i].out[f]));
    json_close(&j, ']');
    json_text(&j, "device", r->last.device);
    json_text(&j, "trajectory", info.traj_report);
    if (*info.traj_given) json_text(&j, "trajectory_given", info.traj_given);
    report_coils(&j, r);
    larmor_recon_plan plan;
    if (!larmor_recon_describe(r->recon, 0, &plan)) json_numbers(&j, "delays", plan.delay, 6);
    report_bins(&j, &r->bins);
    json_integer(&j, "images", r->images);
    json_integer(&j, "failed", r->failed.count);
    json_integer(&j, "suspect", count_warned(r));
    json_open(&j, "warnings", '[');
    for (int i = 0; i < r->warnings; i++) json_text(&j, NULL, r->warning[i]);
    json_close(&j, ']');
    report_solver(&j, r, &r->last, r->interrupted);
    report_misfit(&j, &r->last.misfit);
    report_snr(&j, r, r->images - 1);
    json_open(&j, "results", '[');
    for (int i = 0; i < r->images; i++) report_image(&j, r, i);
    json_close(&j, ']');
    json_number(&j, "seconds", seconds);
    json_close(&j, '}');
}
