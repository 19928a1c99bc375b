/* All that comes before the first image. SPDX-License-Identifier: Apache-2.0 */
#include "recon_prepare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "recon_grid.h"
#include "recon_log.h"
#include "recon_plan.h"
#include "recon_series.h"
#include "recon_solve.h"

/* An output whose path is neither the scan's nor one of those before it. */
static int open_output(const recon_run *r, const char *const *paths, int at, larmor_output **out)
{
    const char *path = paths[at];
    if (app_same_file(path, r->input)) {
        app_error("%s: is also the output; choose another name.", path);
        return APP_USAGE;
    }
    for (int j = 0; j < at; j++) {
        if (!app_same_file(path, paths[j])) continue;
        app_error("%s: is given twice as an output; once is enough.", path);
        return APP_USAGE;
    }
    const larmor_status st = larmor_output_open(path, r->s->force, out);
    return st ? app_fail(APP_RUN, st) : APP_DONE;
}

int recon_open_outputs(recon_run *r)
{
    const recon_settings *s = r->s;
    const char *paths[APP_MAX_TEXTS + 2];
    larmor_output **outputs[APP_MAX_TEXTS + 2];
    int count = 0, code = APP_DONE;
    for (; count < s->outputs.count; count++)
        paths[count] = s->outputs.text[count], outputs[count] = &r->output[count];
    if (s->save_maps) paths[count] = s->save_maps, outputs[count++] = &r->maps_output;
    if (s->save_density) paths[count] = s->save_density, outputs[count++] = &r->density_output;
    for (int i = 0; i < count && !code; i++) code = open_output(r, paths, i, outputs[i]);
    return code;
}

/* The matrix that whitens the coils, with the noise's bandwidth matched to the data's. */
static larmor_status make_whitening(recon_run *r)
{
    const larmor_raw_info *info = &r->info;
    larmor_array *noise;
    if (!info->noise || !strcmp(r->s->whiten, "off")) return LARMOR_OK;
    const larmor_status read = larmor_raw_noise(r->job.raw, r->job.dev, &noise);
    if (read || !noise) return read;
    const int known = info->dwell_us > 0 && info->noise_dwell_us > 0;
    const double ratio = known ? info->dwell_us / info->noise_dwell_us * info->noise_bandwidth : 1;
    const larmor_status st = larmor_noise_whitening(noise, sqrt(ratio), &r->job.whitening);
    if (!st)
        app_log("whitening: %lld noise sample%s, dwell %.3g/%.3g us, bandwidth ratio %.3g",
                (long long)info->noise_samples, app_s(info->noise_samples), info->noise_dwell_us, info->dwell_us,
                info->noise_bandwidth);
    larmor_array_free(noise);
    return st;
}

static int all_zero(const larmor_array *x)
{
    double size = 0;
    return !larmor_nrm2(x, &size) && size == 0;
}

/* Maps of all channels become those of the coils that the scan keeps. */
static larmor_status keep_coils(recon_run *r, int64_t got[5])
{
    larmor_array *all = NULL, *kept = NULL;
    const larmor_shape shape = larmor_shape_of(5, got);
    larmor_status st = larmor_array_reshape(r->job.given, shape, &all);
    if (!st) st = larmor_raw_keep_coils(r->job.raw, all, 3, &kept);
    larmor_array_free(all);
    if (st) return st;
    larmor_array_free(r->job.given);
    r->job.given = kept, got[3] = r->info.coils;
    return LARMOR_OK;
}

/* [x, y, z, coils, sets] of maps that may be without z in 2D, and without sets. */
static void map_sizes(larmor_shape shape, int ndim, int64_t got[5])
{
    const int flat = ndim == 2 && shape.ndim > 2 && shape.ndim < 5 && shape.dim[2] != 1; /* [x, y, coils(, sets)] */
    for (int d = 0; d < 5; d++) got[d] = 1;
    for (int d = 0; d < shape.ndim; d++) {
        const int to = d + (flat && d > 1);
        got[to < 4 ? to : 4] *= shape.dim[d];
    }
}

static int check_maps(recon_run *r, larmor_shape shape, const larmor_grid *grid)
{
    const char *path = r->s->maps, *method = r->s->method;
    const int64_t need[4] = {grid->matrix[0], grid->matrix[1], grid->ndim > 2 ? grid->matrix[2] : 1, r->info.coils};
    int64_t got[5];
    map_sizes(shape, grid->ndim, got);
    if (got[3] == r->info.channels && got[3] != need[3]) {
        const larmor_status st = keep_coils(r, got);
        if (st) return app_fail(APP_INPUT, st);
    }
    if (!recon_grids_fit_maps(r, got)) {
        app_error("%s: %lldx%lldx%lldx%lld, data needs %lldx%lldx%lldx%lld.", path, (long long)got[0],
                  (long long)got[1], (long long)got[2], (long long)(got[3] * got[4]), (long long)need[0],
                  (long long)need[1], (long long)need[2], (long long)need[3]);
        return APP_REFUSED;
    }
    if (all_zero(r->job.given)) {
        app_error("%s: maps are zero at all pixels.", path);
        return APP_REFUSED;
    }
    if (got[4] == 1) return APP_DONE;
    if (r->job.joint || (r->job.method == RECON_REGULARISED && strcmp(method, "tv") != 0)) {
        app_error("%s: several sets of maps are for --method cg, grid and tv, without --joint; got %s.", path,
                  method);
        return APP_USAGE;
    }
    if (r->job.precondition > 0) {
        app_error("--precond circulant: is not for several sets of maps, and %s has %lld.", path, (long long)got[4]);
        return APP_USAGE;
    }
    r->job.sets = (int)got[4], r->job.precondition = -1;
    return APP_DONE;
}

/* Maps from a file, of the first group's grid. */
static int read_maps(recon_run *r)
{
    larmor_array *read = NULL;
    larmor_status st = larmor_image_read(r->s->maps, r->job.dev, &read);
    if (!st) st = larmor_array_convert(read, LARMOR_C64, &r->job.given);
    larmor_array_free(read);
    return st ? app_fail(APP_INPUT, st) : check_maps(r, larmor_array_shape(r->job.given), &r->job.grid[0]);
}

/* Say what begins, or go to done with the code of a signal that was caught. */
#define ENTER(stage)                                                                                                 \
    do {                                                                                                             \
        if (app_stage(&r->progress, stage)) {                                                                        \
            code = app_stopped();                                                                                    \
            goto done;                                                                                               \
        }                                                                                                            \
    } while (0)

int recon_prepare(recon_run *r)
{
    const recon_settings *s = r->s;
    const larmor_raw_opts raw = {.group = s->group,
                                 .traj_units = s->units,
                                 .join = s->join,
                                 .drop_nonfinite = s->drop_nonfinite,
                                 .conjugate = s->conjugate};
    int code = APP_DONE;
    ENTER("reading");
    APP_OR(done, APP_INPUT, larmor_raw_open(r->input, &raw, &r->job.raw));
    r->info = larmor_raw_describe(r->job.raw);
    ENTER("opening the device");
    APP_OR(done, APP_RUN, app_open_device(s->device, s->threads, &r->job.dev));
    recon_log_input(r);
    if (!strncmp(larmor_device_reason(r->job.dev), "auto:", 5))
        app_log("device %s", larmor_device_reason(r->job.dev));
    APP_OR(done, APP_RUN, app_use_wisdom(r->job.dev, s->plan, 0, &r->job.effort));
    if (r->info.noise) ENTER("whitening");
    APP_OR(done, APP_INPUT, make_whitening(r));
    code = recon_grids_choose(r);
    if (code) goto done;
    if (!r->job.no_maps && strcmp(s->maps, "auto") != 0) {
        ENTER("reading the maps");
        code = read_maps(r);
    }
    if (!code) ENTER("field of view");
    if (!code) code = recon_grids_enlarge(r);
    if (!code) recon_log_grid(r);
    if (!code) recon_log_method(r);
done:
    return code;
}

/* "96 MB", "3.1 GB" */
typedef struct byte_text {
    char s[32];
} byte_text;

static byte_text bytes_text(int64_t bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    double value = (double)bytes;
    int unit = 0;
    while (unit < 4 && value >= 999.5) value /= 1000, unit++;
    byte_text text;
    snprintf(text.s, sizeof text.s, "%.*f %s", unit > 0 && value < 9.95 ? 1 : 0, value, units[unit]);
    return text;
}

int recon_plan_memory(recon_run *r)
{
    recon_plan plan;
    const larmor_status st = recon_plan_make(&r->job, r->s->memory, recon_wanted, r->s, &plan);
    if (st) return app_fail(APP_RUN, st);
    if (!plan.planned) return APP_DONE; /* no image is wanted, which is said elsewhere */
    const char *spec = larmor_device_spec(r->job.dev), *whose = r->s->memory ? "allowed" : "free";
    const byte_text planned = bytes_text(plan.planned), limit = bytes_text(plan.limit);
    if (plan.limit && plan.planned > plan.limit && recon_grids_shrink(r)) {
        app_log(
            "warning: memory: %s planned of %s %s on %s; the field of view is not enlarged, what is outside folds in",
            planned.s, limit.s, whose, spec);
        return recon_plan_memory(r);
    }
    if (plan.limit && plan.planned > plan.limit) {
        app_error("%s: %s needed with one coil at a time, %s %s on %s: %s missing. %s", r->input, planned.s, limit.s,
                  whose, spec, bytes_text(plan.planned - plan.limit).s,
                  r->s->memory ? "Raise --memory." : "Free some, or use another device.");
        return APP_LACKING;
    }
    if (plan.choose < 0 && recon_chooses(&r->job)) {
        app_log("memory: to choose lambda from the data does not fit; it is taken from the level of the noise");
        r->job.no_choice = 1;
    }
    if (plan.precondition < 0 && !r->job.precondition)
        app_log("memory: the preconditioner does not fit; without it more iterations are needed");
    r->job.block = plan.block, r->job.toeplitz = plan.toeplitz, r->job.precondition = plan.precondition;
    char blocks[64] = "";
    if (plan.block < plan.coils)
        snprintf(blocks, sizeof blocks, "; %lld of %lld coils at a time", (long long)plan.block,
                 (long long)plan.coils);
    if (plan.limit)
        app_log("memory: %s planned of %s %s on %s%s", planned.s, limit.s, whose, spec, blocks);
    else
        app_log("memory: %s planned on %s%s", planned.s, spec, blocks);
    return APP_DONE;
}
