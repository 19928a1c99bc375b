/* The cases of `larmor bench nufft`: random points and trajectories, random data. The cluster is that of Shih et al.,
 * "cuFINUFFT: a load-balanced GPU library for general-purpose nonuniform FFTs", IPDPSW (2021): uniform in a cube of
 * eight cells of a fine grid with twice the modes. SPDX-License-Identifier: Apache-2.0 */
#include "bench_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_POINTS = 1, STREAM_INPUT = 2 };

double bench_random(uint64_t stream, int64_t i)
{
    uint64_t x = stream * UINT64_C(0xd1342543de82ef95) + (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9); /* the finaliser of SplitMix64 */
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

const char *bench_case_label(const bench_case *c, char text[BENCH_LABEL])
{
    size_t used = (size_t)snprintf(text, BENCH_LABEL, "%dD ", c->ndim);
    for (int d = 0; d < c->ndim; d++)
        used += (size_t)snprintf(text + used, BENCH_LABEL - used, "%s%lld", d ? "x" : "", (long long)c->modes[d]);
    used += (size_t)snprintf(text + used, BENCH_LABEL - used, " %s M=%.3g", c->distribution, (double)c->points);
    if (c->batch > 1) used += (size_t)snprintf(text + used, BENCH_LABEL - used, " x%lld", (long long)c->batch);
    snprintf(text + used, BENCH_LABEL - used, " type %d %s %.0e", c->type, c->is_double ? "double" : "single",
             c->tol);
    return text;
}

int64_t bench_case_modes(const bench_case *c)
{
    return c->modes[0] * c->modes[1] * c->modes[2];
}

larmor_status bench_reals(larmor_device *dev, int is_double, larmor_shape shape, const double *host,
                          larmor_array **out)
{
    const int64_t count = larmor_shape_count(shape);
    larmor_status st = larmor_array_create(dev, is_double ? LARMOR_F64 : LARMOR_F32, shape, out);
    if (st) return st;
    if (is_double) {
        st = larmor_array_write(*out, host, larmor_array_bytes(*out));
    } else {
        float *rounded = malloc((size_t)count * sizeof *rounded + 1);
        if (!rounded) st = larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
        for (int64_t i = 0; rounded && i < count; i++) rounded[i] = (float)host[i];
        if (rounded) st = larmor_array_write(*out, rounded, larmor_array_bytes(*out));
        free(rounded);
    }
    if (st) {
        larmor_array_free(*out);
        *out = NULL;
    }
    return st;
}

static larmor_status draw_points(const bench_case *c, double **points)
{
    const int is_cluster = !strcmp(c->distribution, "cluster");
    double *k = malloc((size_t)(c->ndim * c->points) * sizeof *k + 1);
    if (!k) return larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
#pragma omp parallel for
    for (int64_t i = 0; i < c->points; i++)
        for (int d = 0; d < c->ndim; d++) {
            const double u = bench_random(STREAM_POINTS, c->ndim * i + d);
            k[c->ndim * i + d] = is_cluster ? 4 * u : (double)c->modes[d] * (u - 0.5);
        }
    *points = k;
    return LARMOR_OK;
}

static larmor_status take_trajectory(bench_case *c, double **points)
{
    const int is_stars = !strcmp(c->distribution, "stars");
    if (c->ndim != (strcmp(c->distribution, "radial") ? 3 : 2))
        return larmor_fail(LARMOR_ERR_ARG, "--distribution %s: got %d dimensions, expected %d", c->distribution,
                           c->ndim, c->ndim == 3 ? 2 : 3);
    larmor_traj_opts opts = {.samples = 2 * c->modes[0], .matrix = {c->modes[0], c->modes[1], c->modes[2]}};
    const int64_t unit = opts.samples * (is_stars ? c->modes[2] : 1);
    opts.readouts = c->points / unit > 1 ? c->points / unit : 1;
    larmor_device *cpu = NULL;
    larmor_array *traj = NULL;
    larmor_status st = larmor_device_open("cpu", &cpu);
    if (!st) st = larmor_traj_create(cpu, c->distribution, &opts, &traj);
    if (!st) {
        *points = malloc(larmor_array_bytes(traj) + 1);
        st = *points ? larmor_array_read(traj, *points, larmor_array_bytes(traj))
                     : larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
        c->points = larmor_array_count(traj) / c->ndim;
    }
    larmor_array_free(traj);
    larmor_device_free(cpu);
    return st;
}

/* Random parts in [-1, 1). */
static larmor_status draw_input(const bench_case *c, bench_data *data)
{
    const int64_t reals = 2 * larmor_array_count(data->in);
    data->host_in = malloc(larmor_array_bytes(data->in) + 1);
    data->host_out = malloc(larmor_array_bytes(data->out) + 1);
    if (!data->host_in || !data->host_out) return larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
    float *x32 = data->host_in;
    double *x64 = data->host_in;
#pragma omp parallel for
    for (int64_t i = 0; i < reals; i++) {
        const double u = 2 * bench_random(STREAM_INPUT, i) - 1;
        if (c->is_double)
            x64[i] = u;
        else
            x32[i] = (float)u;
    }
    return larmor_array_write(data->in, data->host_in, larmor_array_bytes(data->in));
}

larmor_status bench_data_create(larmor_device *dev, bench_case *c, bench_data *data)
{
    *data = (bench_data){.dev = dev};
    const int is_random = !strcmp(c->distribution, "uniform") || !strcmp(c->distribution, "cluster");
    const larmor_dtype dtype = c->is_double ? LARMOR_C128 : LARMOR_C64;
    larmor_status st = is_random ? draw_points(c, &data->points) : take_trajectory(c, &data->points);
    if (!st && !c->is_double)
        for (int64_t i = 0; i < c->ndim * c->points; i++) data->points[i] = (float)data->points[i];
    if (!st) st = bench_reals(dev, c->is_double, LARMOR_SHAPE(c->ndim, c->points), data->points, &data->traj);
    const larmor_shape values = LARMOR_SHAPE(c->points, c->batch),
                       modes = LARMOR_SHAPE(bench_case_modes(c), c->batch);
    if (!st) st = larmor_array_create(dev, dtype, c->type == 1 ? values : modes, &data->in);
    if (!st) st = larmor_array_create(dev, dtype, c->type == 1 ? modes : values, &data->out);
    if (!st) st = draw_input(c, data);
    return st;
}

void bench_data_free(bench_data *data)
{
    larmor_array_free(data->traj);
    larmor_array_free(data->in);
    larmor_array_free(data->out);
    free(data->points);
    free(data->host_in);
    free(data->host_out);
    *data = (bench_data){0};
}
