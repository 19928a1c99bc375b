/* Trajectories of scans that store none, and what late gradients make of those of all. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/trajectory.h"

#include <stdlib.h>
#include <string.h>

#include "core/status.h"

/* Spoke `step` of all that the counters number, for files of a radial type that store no trajectory. `all` is on the
 * host, so that what goes to the device does so once. */
static larmor_status pick_spokes(larmor_device *dev, const larmor_array *all, const int *step,
                                 const larmor_encoding *enc, const larmor_grid *grid, int64_t samples,
                                 int64_t readouts, larmor_array **traj)
{
    double *from, *to = malloc(sizeof *to * (size_t)(2 * samples * readouts) + 1);
    larmor_status st;
    LMR_OR(done, larmor_array_download(all, LARMOR_F64, &from));
    if (!to) LMR_OR(done, LMR_NO_MEMORY());
    for (int64_t r = 0; r < readouts; r++)
        for (int64_t i = 0; i < 2 * samples; i++)
            to[2 * samples * r + i] = from[2 * samples * step[r] + i] * grid->fov_mm[i % 2] / enc->fov_mm[i % 2];
    st = larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, samples, readouts), LARMOR_F64, to, traj);
done:
    free(to);
    free(from);
    return st;
}

larmor_status lmr_make_trajectory(larmor_device *dev, const larmor_group *group, const larmor_encoding *enc,
                                  const larmor_grid *grid, const larmor_samples *samples, larmor_array **traj)
{
    const int golden = !strcmp(enc->trajectory, "goldenangle"), uniform = !strcmp(enc->trajectory, "radial");
    *traj = NULL;
    if ((!golden && !uniform) || grid->ndim != 2 || !group->regular)
        return LMR_FAIL(
            LARMOR_ERR_FORMAT,
            "the file stores no trajectory, and counters alone do not define a %dD %s one. Store it in the "
            "acquisitions.",
            grid->ndim, enc->trajectory);
    const larmor_shape shape = larmor_array_shape(samples->kspace);
    int64_t spokes = 0;
    for (int64_t r = 0; r < shape.dim[1]; r++)
        if (samples->step1[r] >= spokes) spokes = samples->step1[r] + 1;
    const larmor_traj_opts opts = {
        .matrix = {enc->matrix[0], enc->matrix[1], 1}, .readouts = spokes, .samples = shape.dim[0]};
    larmor_device *host = NULL;
    larmor_array *all = NULL;
    larmor_status st;
    LMR_OR(done, larmor_device_open("cpu", &host));
    LMR_OR(done, larmor_traj_create(host, golden ? "golden" : "radial", &opts, &all));
    LMR_OR(done, pick_spokes(dev, all, samples->step1, enc, grid, shape.dim[0], shape.dim[1], traj));
done:
    larmor_array_free(all);
    larmor_device_free(host);
    return st;
}

larmor_delays_opts lmr_delays_opts(const larmor_grid *grid)
{
    larmor_delays_opts opts = {{0}};
    for (int d = 0; d < grid->ndim; d++) opts.fov[d] = grid->fov_mm[d];
    return opts;
}

larmor_status lmr_delay_trajectory(const lmr_job *job, int encoding, const larmor_grid *grid, larmor_samples *samples)
{
    const double *delay = job->delays ? job->delays[encoding].delay : NULL;
    int late = 0;
    for (int e = 0; e < 6 && delay; e++) late |= delay[e] != 0;
    if (!late || !samples->traj) return LARMOR_OK;
    const larmor_delays_opts opts = lmr_delays_opts(grid);
    larmor_array *delayed = NULL, *alike = NULL;
    larmor_status st;
    LMR_OR(done, larmor_traj_delay(samples->traj, delay, opts.fov, &delayed));
    LMR_OR(done, larmor_array_convert(delayed, larmor_array_dtype(samples->traj), &alike));
    larmor_array_free(samples->traj);
    samples->traj = alike;
done:
    larmor_array_free(delayed);
    return st;
}

larmor_status larmor_source_samples(larmor_source *source, int group, const larmor_grid_opts *opts,
                                    larmor_device *dev, larmor_grid *grid, larmor_samples *out)
{
    larmor_group g;
    larmor_encoding encoding;
    larmor_status st;
    LMR_NEED(out);
    *out = (larmor_samples){0};
    LMR_NEED(source);
    LMR_NEED(dev);
    LMR_NEED(grid);
    LMR_OR(fail, lmr_source_group(source, group, &g));
    LMR_OR(fail, lmr_source_encoding(source, g.encoding, &encoding));
    LMR_OR(fail, lmr_source_grid(source, g.encoding, opts, grid));
    LMR_OR(fail, lmr_source_samples(source, group, grid, 0, larmor_source_describe(source).coils, dev, out));
    if (!out->traj) LMR_OR(fail, lmr_make_trajectory(dev, &g, &encoding, grid, out, &out->traj));
    return LARMOR_OK;
fail:
    larmor_samples_free(out);
    return lmr_fail_in(st, lmr_source_name(source));
}
