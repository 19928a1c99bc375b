/* Trajectories by options, and readouts on their way into an ISMRMRD file. SPDX-License-Identifier: Apache-2.0 */
#include "scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

larmor_traj_opts scan_trajectory_opts(const scan_trajectory *options, const int64_t matrix[3])
{
    larmor_traj_opts opts = {.matrix = {matrix[0], matrix[1], matrix[2]},
                             .readouts = options->readouts,
                             .samples = options->samples,
                             .tiny = options->tiny,
                             .density = options->density,
                             .undersampling = options->undersampling,
                             .partial_fourier = options->partial_fourier};
    for (int d = 0; d < 2; d++) {
        if (d < options->acceleration.count) opts.acceleration[d] = (int64_t)options->acceleration.value[d];
        if (d < options->calibration.count) opts.calibration[d] = (int64_t)options->calibration.value[d];
    }
    return opts;
}

larmor_traj_info scan_trajectory_info(const char *name)
{
    larmor_traj_info info;
    for (int i = 0; (info = larmor_traj_entry(i)).name && strcmp(name, info.name) != 0;) i++;
    return info;
}

larmor_status scan_trajectory_create(const scan_trajectory *options, larmor_device *dev, int64_t repetition,
                                     int64_t matrix[3], larmor_array **traj)
{
    const app_list *given = &options->matrix;
    matrix[0] = (int64_t)given->value[0];
    matrix[1] = given->count > 1 ? (int64_t)given->value[1] : matrix[0];
    matrix[2] = scan_trajectory_info(options->name).solid ? matrix[0] : 1;
    if (given->count > 2) matrix[2] = (int64_t)given->value[2];
    larmor_traj_opts opts = scan_trajectory_opts(options, matrix);
    larmor_status st = larmor_traj_create(dev, options->name, &opts, traj);
    if (st || !repetition) return st;
    opts.first = repetition * larmor_array_shape(*traj).dim[2];
    larmor_array_free(*traj);
    return larmor_traj_create(dev, options->name, &opts, traj);
}

int scan_delays(int ndim, const app_list *list, double delay[6])
{
    static const int flat[] = {0, 1, 3};
    memset(delay, 0, 6 * sizeof *delay);
    if (list->count > (ndim > 2 ? 6 : 3) || (list->count > 3 && list->count < 6)) return 0;
    for (int i = 0; i < list->count; i++) delay[ndim > 2 ? i : flat[i]] = list->value[i];
    return 1;
}

const char *scan_delays_expected(int ndim)
{
    return ndim > 2 ? "X,Y,Z or X,Y,Z,XY,XZ,YZ expected, because the scan is 3D"
                    : "X,Y or X,Y,XY expected, because the scan is 2D";
}

scan_delays_text scan_describe_delays(int ndim, const double delay[6])
{
    static const int flat[] = {0, 1, 3};
    scan_delays_text text = {""};
    size_t used = 0;
    for (int i = 0; i < (ndim > 2 ? 6 : 3); i++)
        used += (size_t)snprintf(text.s + used, sizeof text.s - used, "%s%.4f", i ? "," : "",
                                 delay[ndim > 2 ? i : flat[i]]);
    return text;
}

double scan_unit(const char *unit, double n, double fov_mm)
{
    larmor_traj_unit u;
    for (int i = 0; (u = larmor_traj_unit_entry(i)).name && strcmp(unit, u.name) != 0;) i++;
    return 1 / (u.fixed + u.per_voxel * n + u.per_mm * fov_mm);
}

/* ISMRMRD keeps the coils of a readout together, larmor the readouts of a coil. */
static void gather(const scan_source *s, int64_t readout, float *data, float *traj)
{
    const size_t bytes = 2 * sizeof(float) * (size_t)s->samples;
    for (int c = 0; c < s->coils; c++)
        memcpy(data + 2 * c * s->samples, s->data + 2 * (readout + c * s->readouts) * s->samples, bytes);
    const double *k = s->traj + readout * s->samples * s->ndim;
    for (int64_t i = 0; !s->lines && i < s->samples; i++)
        for (int d = 0; d < s->ndim; d++) traj[i * s->ndim + d] = (float)(k[i * s->ndim + d] * s->unit[d]);
}

static int line_of(const scan_source *s, int64_t readout, int d)
{
    if (d >= s->ndim) return 0;
    return (int)lround(s->traj[readout * s->samples * s->ndim + d]) + (int)(s->lines[d] / 2);
}

/* Stamps in the usual ticks of 2.5 ms, the clock's of a scan that begins at noon. */
static void stamp(const scan_source *s, int64_t readout, larmor_acquisition *a)
{
    const double tick_ms = 2.5, noon_ms = 12 * 3600 * 1000.0, ms = s->start_ms + s->tr_ms * (double)readout;
    if (!(s->tr_ms > 0)) return;
    a->time_stamp = (uint32_t)((noon_ms + ms) / tick_ms);
    if (s->cycle_ms > 0) a->physiology_stamp[0] = (uint32_t)(fmod(ms, s->cycle_ms) / tick_ms);
}

larmor_status scan_append(larmor_raw_writer *writer, const scan_source *s)
{
    float *data = malloc(2 * sizeof(float) * (size_t)s->samples * (size_t)s->coils + 1);
    float *traj = malloc(3 * sizeof(float) * (size_t)s->samples + 1);
    larmor_status st = data && traj ? LARMOR_OK : larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
    larmor_acquisition a = {.samples = (int)s->samples,
                            .coils = s->coils,
                            .traj_dims = s->lines ? 0 : s->ndim,
                            .center_sample = (int)s->centre,
                            .dwell_us = s->dwell_us,
                            .slice = s->geometry.slice,
                            .contrast = s->geometry.contrast,
                            .repetition = s->geometry.repetition,
                            .data = data,
                            .traj = traj};
    memcpy(a.position_mm, s->geometry.position_mm, sizeof a.position_mm);
    memcpy(a.read_dir, s->geometry.read_dir, sizeof a.read_dir);
    memcpy(a.phase_dir, s->geometry.phase_dir, sizeof a.phase_dir);
    memcpy(a.slice_dir, s->geometry.slice_dir, sizeof a.slice_dir);
    int64_t last = s->readouts - 1;
    while (s->flags && last > 0 && s->flags[last] == SCAN_LEFT_OUT) last--;
    for (int64_t i = 0; !st && i < s->readouts; i++) {
        if (s->flags && s->flags[i] == SCAN_LEFT_OUT) continue;
        a.flags = s->flags ? s->flags[i] : 0;
        gather(s, i, data, traj);
        stamp(s, i, &a);
        a.step1 = s->lines ? line_of(s, i, 1) : (int)(i % 65536); /* the counter has 16 bits */
        a.step2 = s->lines ? line_of(s, i, 2) : 0;
        if (s->last && i == last) a.flags |= LARMOR_ACQ_LAST_IN_MEASUREMENT;
        st = larmor_raw_append(writer, &a);
    }
    free(traj);
    free(data);
    return st;
}
