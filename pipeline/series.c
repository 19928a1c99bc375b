/* One series after the other. SPDX-License-Identifier: Apache-2.0 */
#include "series.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recon_log.h"

int recon_wanted(const void *given, const larmor_group *g)
{
    const recon_settings *s = given;
    return (s->slice < 0 || s->slice == g->slice) && (s->contrast < 0 || s->contrast == g->contrast) &&
           (s->phase < 0 || s->phase == g->phase) && (s->repetition < 0 || s->repetition == g->repetition) &&
           (s->set < 0 || s->set == g->set);
}

void recon_series_free(recon_series *l)
{
    free(l->group), free(l->first);
}

int recon_series_gather(recon_run *r, recon_series *l)
{
    const size_t room = (size_t)r->info.groups + 1;
    *l = (recon_series){calloc(room, sizeof *l->group), calloc(room, sizeof *l->first), 0, 0};
    char *taken = calloc(room, 1);
    int code = APP_DONE;
    larmor_group g, other;
    if (!l->group || !l->first || !taken) {
        code = app_fail(APP_RUN, larmor_fail(LARMOR_ERR_MEMORY, "out of host memory"));
        goto done;
    }
    for (int i = 0; i < r->info.groups; i++) {
        APP_OR(done, APP_INPUT, larmor_raw_group(r->job.raw, i, &g));
        if (taken[i] || !recon_wanted(r->s, &g)) continue;
        l->group[l->groups++] = i;
        for (int j = i + 1; j < r->info.groups; j++) {
            APP_OR(done, APP_INPUT, larmor_raw_group(r->job.raw, j, &other));
            if (taken[j] || !recon_wanted(r->s, &other) || !recon_joint(&r->job, &g, &other)) continue;
            l->group[l->groups++] = j, taken[j] = 1;
        }
        l->first[++l->series] = l->groups;
    }
    if (!l->groups) {
        app_error("%s: no image has the slice, contrast, phase, repetition and set asked for; see larmor info.",
                  r->input);
        code = APP_USAGE;
    }
done:
    free(taken);
    return code;
}

int recon_series_check(const recon_run *r, const recon_series *l)
{
    if (strcmp(r->s->method, "llr") != 0) return APP_DONE;
    for (int i = 0; i < l->series; i++)
        if (l->first[i + 1] - l->first[i] < 2) {
            app_error(
                "--method llr: %s has one frame of a slice, llr needs several repetitions, phases or contrasts; "
                "use tv or wavelet.",
                r->input);
            return APP_USAGE;
        }
    return APP_DONE;
}

static void add_number(recon_numbers *n, int number)
{
    const size_t used = strlen(n->text), room = sizeof n->text - used;
    n->count++;
    if (room > 24)
        snprintf(n->text + used, room, "%s%d", used ? ", " : "", number);
    else if (n->text[used - 1] != '.')
        snprintf(n->text + used, room, " ...");
}

/* Note it; only the first reason is kept. */
static void note(recon_run *r, recon_numbers *n, int s, const char *what, const char *consequence)
{
    if (!r->reason[0]) snprintf(r->reason, sizeof r->reason, "%s", larmor_last_error());
    add_number(n, s + 1);
    app_log("warning: %s: %s; %s", what, larmor_last_error(), consequence);
}

int recon_series_judge(const recon_run *r, const recon_series *l)
{
    const char *word = l->groups > l->series ? "series" : "image", *is = r->doubtful.count > 1 ? "are" : "is";
    const char *many = l->groups > l->series ? "" : app_s(r->doubtful.count);
    char doubtful[192] = "";
    if (!r->failed.count && !r->doubtful.count) return APP_DONE;
    if (r->doubtful.count)
        snprintf(doubtful, sizeof doubtful, "%s%s %s of %d %s doubtful", word, many, r->doubtful.text, l->series, is);
    if (!r->failed.count)
        app_error("%s: %s: %s", r->input, doubtful, r->reason);
    else if (l->series == 1)
        app_error("%s: %s", r->input, r->reason);
    else
        app_error("%s: no %s %s of %d%s%s: %s", r->input, word, r->failed.text, l->series,
                  doubtful[0] ? ", and " : "", doubtful, r->reason);
    return APP_FAILED;
}

/* One series into r->image, whose places are those of the groups in the file. */
static int reconstruct(recon_run *r, const recon_series *l, int s, const int *place)
{
    const int first = l->first[s], count = l->first[s + 1] - first;
    char what[64];
    larmor_array **image = calloc((size_t)count, sizeof(larmor_array *));
    if (!image) return app_fail(APP_RUN, larmor_fail(LARMOR_ERR_MEMORY, "out of host memory"));
    int code = APP_DONE;
    if (count > 1)
        snprintf(what, sizeof what, "series %d of %d, %d image%s", s + 1, l->series, count, app_s(count));
    else
        snprintf(what, sizeof what, "image %d of %d", s + 1, l->series);
    app_progress_begin(&r->progress, what);
    const double began = app_now();
    recon_result result;
    const larmor_status st = recon_groups(&r->job, l->group + first, count, image, &result);
    app_progress_end(&r->progress);
    if (st == LARMOR_STOPPED) { /* before there was an iterate */
        r->last.interrupted = 1;
        free(image);
        return APP_DONE;
    }
    const recon_result before = r->last;
    r->last = result;
    r->last.seconds = app_now() - began;
    for (int i = 0; i < count && !st; i++) {
        const int group = l->group[first + i], to = place[group];
        r->image[to].data = image[i], r->result[to] = r->last;
        const larmor_status described = larmor_raw_image_meta(r->job.raw, group, &r->image[to].meta);
        const larmor_grid *grid = &r->job.grid[group];
        for (int d = 0; d < grid->ndim; d++)
            r->image[to].meta.fov_mm[d] = grid->fov_mm[d] * (double)grid->crop[d] / (double)grid->matrix[d];
        if (described && !code) code = app_fail(APP_RUN, described);
    }
    free(image);
    if (st == LARMOR_ERR_NUMERIC) {
        note(r, &r->failed, s, what, "it is left out");
        return APP_DONE;
    }
    if (st) {
        const int reading = st == LARMOR_ERR_FORMAT || st == LARMOR_ERR_ARG;
        return app_fail_in(reading ? APP_INPUT : APP_RUN, st, r->input);
    }
    if (!code && result.doubtful) note(r, &r->doubtful, s, what, "the best of its iterates is written");
    if (!code) recon_log_result(r, what, s ? &before : NULL);
    return code;
}

int recon_series_run(recon_run *r, const recon_series *l)
{
    int *place = calloc((size_t)r->info.groups + 1, sizeof *place), code = APP_DONE, kept = 0, before = 0;
    r->image = calloc((size_t)l->groups, sizeof *r->image);
    r->result = calloc((size_t)l->groups, sizeof *r->result);
    if (place && r->image && r->result) {
        for (int i = 0; i < l->groups; i++) place[l->group[i]] = 1;
        for (int i = 0; i < r->info.groups; i++) { /* from which are wanted to how many are before */
            const int here = place[i];
            place[i] = before, before += here;
        }
        r->images = l->groups;
        for (int s = 0; s < l->series && !r->last.interrupted && !code; s++) {
            code = reconstruct(r, l, s, place);
            if (app_stopped() && s + 1 < l->series) r->last.interrupted = 1;
        }
        for (int i = 0; i < l->groups; i++) /* what an interruption left out */
            if (r->image[i].data) r->image[kept] = r->image[i], r->result[kept++] = r->result[i];
        r->images = kept;
    } else {
        code = app_fail(APP_RUN, larmor_fail(LARMOR_ERR_MEMORY, "out of host memory"));
    }
    free(place);
    return code;
}
