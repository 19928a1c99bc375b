/* The log of a reconstruction. SPDX-License-Identifier: Apache-2.0 */
#include "recon_log.h"
#include "recon_doubt.h"

#include <math.h>
#include <string.h>

void recon_log_input(const recon_run *r)
{
    const larmor_raw_info *info = &r->info;
    larmor_group first;
    larmor_encoding enc;
    if (larmor_raw_group(r->job.raw, 0, &first) || larmor_raw_encoding(r->job.raw, first.encoding, &enc)) return;
    app_log("%s: %lld %s readout%s x %lld, %d coil%s, %d image%s", r->input, (long long)first.readouts,
            enc.trajectory, app_s(first.readouts), (long long)first.samples, info->coils, app_s(info->coils),
            info->groups, app_s(info->groups));
    if (info->noise || info->calibration || info->dropped || info->nonfinite)
        app_log("readouts: %lld image, %lld noise, %lld calibration, %lld navigator or dummy, %lld non-finite",
                (long long)info->imaging, (long long)info->noise, (long long)info->calibration,
                (long long)info->dropped, (long long)info->nonfinite);
    if (info->completing)
        app_log("calibration: %lld of its readouts complete images that lack them", (long long)info->completing);
    if (info->traj_stored) app_log("trajectory: %s", info->traj_report);
    for (const char *line = info->warnings; *line;) {
        const size_t length = strcspn(line, "\n");
        app_log("warning: %.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

void recon_log_grid(const recon_run *r)
{
    const larmor_grid *g = &r->job.grid[0];
    double voxel[3];
    for (int d = 0; d < 3; d++) voxel[d] = g->fov_mm[d] / (double)g->matrix[d];
    app_log("image: %lldx%lldx%lld, %.3gx%.3gx%.3g mm; grid %lldx%lldx%lld", (long long)g->crop[0],
            (long long)g->crop[1], (long long)g->crop[2], voxel[0], voxel[1], voxel[2], (long long)g->matrix[0],
            (long long)g->matrix[1], (long long)g->matrix[2]);
}

void recon_log_method(const recon_run *r)
{
    const recon_settings *s = r->s;
    const char *maps = r->job.no_maps       ? "root sum of squares"
                       : r->job.given       ? s->maps
                       : r->info.coils == 1 ? "one coil, no maps"
                                            : "maps from the data's centre (Walsh)";
    char sets[32] = "";
    if (r->job.sets) snprintf(sets, sizeof sets, ", %d sets", r->job.sets);
    const char *spec = larmor_device_spec(r->job.dev);
    if (r->job.method == RECON_GRID)
        app_log("gridding on %s: density %s; %s%s", spec, s->dcf, maps, sets);
    else
        app_log("%s on %s: lambda %s; %s%s", r->job.method == RECON_CG ? "cg-sense" : s->method, spec,
                r->job.choose == CHOOSE_AUTO ? "from the data" : s->lambda, maps, sets);
}

/* What the weight was chosen from. */
static void log_noise(const recon_run *r, const char *what, const recon_result *before)
{
    const recon_result *last = &r->last;
    if (last->origin == ORIGIN_SCAN) {
        if (!before || before->origin != ORIGIN_SCAN)
            app_log("%s: lambda %.2e, as chosen before: the images of a scan share it", what, last->lambda);
        return;
    }
    if (r->job.whitening)
        app_log("%s: noise as in the noise scan", what);
    else
        app_log("%s: noise %.3g a sample, measured from the rim of k-space", what, last->noise);
    if (last->origin == ORIGIN_DATA)
        app_log("%s: lambda %.2e, chosen by samples held out, in %d step%s, %.2f s", what, last->lambda, last->choice.tried,
                last->choice.tried == 1 ? "" : "s", last->choice.seconds);
    else if (last->origin == ORIGIN_NOISE && !last->interrupted)
        app_log("%s: lambda %.2e, expected from the noise; no memory to choose it from the data", what, last->lambda);
}

/* Each doubt once, with the image that it came up with. */
static void log_doubts(const recon_run *r, const char *what, const recon_result *before)
{
    char line[512], known[512];
    int kind, other;
    for (int i = 0; (kind = recon_doubt(&r->last, i, line, sizeof line)) != 0; i++) {
        int said = 0;
        for (int j = 0; before && (other = recon_doubt(before, j, known, sizeof known)) != 0; j++)
            said |= kind == other;
        if (!said) app_log("warning: %s: %s", what, line);
    }
}

void recon_log_result(const recon_run *r, const char *what, const recon_result *before)
{
    const recon_result *last = &r->last;
    const int first = !before;
    log_doubts(r, what, before);
    if (last->made_traj && first)
        app_log("warning: the file stores no trajectory; it was made from the counters, without any gradient delay");
    if (last->outside)
        app_log("%s: %lld sample%s beyond the resolution of reconSpace left out", what, (long long)last->outside,
                app_s(last->outside));
    if (r->job.method == RECON_GRID) return;
    log_noise(r, what, before);
    if (last->report.end == LARMOR_END_ITERATIONS)
        app_log("%s: the limit of iterations was reached first; --iters allows for more", what);
    if (last->report.end == LARMOR_END_PRECISION)
        app_log("warning: %s: ended at the rounding of its numbers; --eps 1e-7 takes double precision", what);
    if (r->job.method == RECON_CG)
        app_log("%s: %d iteration%s by %s, residual %.2e, %.2f s", what, last->report.iters,
                app_s(last->report.iters), last->toeplitz ? "Toeplitz" : "NUFFTs", last->report.residual,
                last->report.seconds);
    if (r->job.method == RECON_REGULARISED)
        app_log("%s: %d iteration%s, change %.2e, objective %.4e, lambda %.3e absolute, %.2f s", what,
                last->report.iters, app_s(last->report.iters), last->report.residual, last->report.objective,
                last->weight, last->report.seconds);
}
