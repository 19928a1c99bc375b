/* The cases of `larmor bench nufft`: random points and trajectories, random data. The cluster is that of Shih et al.,
 * "cuFINUFFT: a load-balanced GPU library for general-purpose nonuniform FFTs", IPDPSW (2021): uniform in a cube of
 * eight cells of a fine grid with twice the modes. Cones are those of Irarrazabal and Nishimura, Magn. Reson. Med.
 * 33, 656 (1995), with the same winding on each. SPDX-License-Identifier: Apache-2.0 */
#include "bench_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_POINTS = 1, STREAM_INPUT = 2, STREAM_TARGETS = 4 };
#define CONE_TURNS 2

double bench_random(uint64_t stream, int64_t i)
{
    uint64_t x = stream * UINT64_C(0xd1342543de82ef95) + (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9); /* the finaliser of SplitMix64 */
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

static const char *const precomputes[] = {"auto", "none", "partial", "full"};

int bench_precompute_named(const char *name)
{
    for (int i = 0; i < (int)(sizeof precomputes / sizeof *precomputes); i++)
        if (!strcmp(name, precomputes[i])) return i;
    return -1;
}

const char *bench_precompute_name(larmor_precompute form)
{
    return precomputes[form];
}

const char *bench_case_label(const bench_case *c, char text[BENCH_LABEL])
{
    size_t used = (size_t)snprintf(text, BENCH_LABEL, "%dD ", c->ndim);
    for (int d = 0; d < c->ndim; d++)
        used += (size_t)snprintf(text + used, BENCH_LABEL - used, "%s%lld", d ? "x" : "", (long long)c->modes[d]);
    used += (size_t)snprintf(text + used, BENCH_LABEL - used, " %s M=%.3g", c->distribution, (double)c->points);
    if (c->batch > 1) used += (size_t)snprintf(text + used, BENCH_LABEL - used, " x%lld", (long long)c->batch);
    used += (size_t)snprintf(text + used, BENCH_LABEL - used, " type %d %s %.0e", c->type,
                             c->is_double ? "double" : "single", c->tol);
    if (c->upsample > 0) used += (size_t)snprintf(text + used, BENCH_LABEL - used, " at %.4g", c->upsample);
    if (c->precompute) snprintf(text + used, BENCH_LABEL - used, " precomputed %s", precomputes[c->precompute]);
    return text;
}

int bench_same_problem(const bench_case *a, const bench_case *b)
{
    return a->type == b->type && a->ndim == b->ndim && a->is_double == b->is_double &&
           !memcmp(a->modes, b->modes, sizeof a->modes) && a->points == b->points && a->batch == b->batch &&
           a->tol == b->tol && !strcmp(a->distribution, b->distribution);
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

static larmor_status make_room(int ndim, int64_t points, double **out)
{
    *out = malloc((size_t)(ndim * points) * sizeof **out + 1);
    return *out ? LARMOR_OK : larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
}

/* Uniform in a box about the centre. */
static larmor_status draw_uniform(const bench_case *c, uint64_t stream, int64_t count, double **points)
{
    const larmor_status st = make_room(c->ndim, count, points);
    if (st) return st;
    double *k = *points;
#pragma omp parallel for
    for (int64_t i = 0; i < count; i++)
        for (int d = 0; d < c->ndim; d++)
            k[c->ndim * i + d] = (double)c->modes[d] * (bench_random(stream, c->ndim * i + d) - 0.5);
    return LARMOR_OK;
}

static larmor_status draw_cluster(bench_case *c, double **points)
{
    const larmor_status st = make_room(c->ndim, c->points, points);
    if (st) return st;
    double *k = *points;
#pragma omp parallel for
    for (int64_t i = 0; i < c->ndim * c->points; i++) k[i] = 4 * bench_random(STREAM_POINTS, i);
    return LARMOR_OK;
}

static larmor_status draw_points(bench_case *c, double **points)
{
    return draw_uniform(c, STREAM_POINTS, c->points, points);
}

static larmor_status expect_dimensions(const bench_case *c, int ndim)
{
    if (c->ndim == ndim) return LARMOR_OK;
    return larmor_fail(LARMOR_ERR_ARG, "--distribution %s: got %d dimensions, expected %d", c->distribution, c->ndim,
                       ndim);
}

/* Readouts from the centre outwards, 2 N_x samples each, that wind CONE_TURNS times around a cone about z; the cones
 * are spread uniformly over the sphere, the readouts turned by the golden angle. */
static larmor_status wind_cones(bench_case *c, double **points)
{
    const int64_t samples = 2 * c->modes[0], readouts = c->points > samples ? c->points / samples : 1;
    larmor_status st = expect_dimensions(c, 3);
    if (!st) st = make_room(3, samples * readouts, points);
    if (st) return st;
    c->points = samples * readouts;
    double *k = *points;
#pragma omp parallel for
    for (int64_t j = 0; j < readouts; j++) {
        const double height = 1 - (2 * (double)j + 1) / (double)readouts, across = sqrt(1 - height * height);
        const double start = fmod((double)j * M_PI * (3 - sqrt(5)), 2 * M_PI);
        for (int64_t i = 0; i < samples; i++) {
            const double u = (double)i / (double)samples, angle = start + 2 * M_PI * CONE_TURNS * u;
            const double direction[3] = {across * cos(angle), across * sin(angle), height};
            for (int d = 0; d < 3; d++) k[3 * (samples * j + i) + d] = u * direction[d] * (double)c->modes[d] / 2;
        }
    }
    return LARMOR_OK;
}

/* The trajectories of larmor traj. Samples of a spiral arm are as many as of a spoke. */
static larmor_status take_trajectory(bench_case *c, double **points)
{
    const int is_stars = !strcmp(c->distribution, "stars");
    const int is_flat = !strcmp(c->distribution, "radial") || !strcmp(c->distribution, "spiral");
    larmor_traj_opts opts = {.samples = 2 * c->modes[0], .matrix = {c->modes[0], c->modes[1], c->modes[2]}};
    const int64_t unit = opts.samples * (is_stars ? c->modes[2] : 1);
    opts.readouts = c->points / unit > 1 ? c->points / unit : 1;
    larmor_device *cpu = NULL;
    larmor_array *traj = NULL;
    larmor_status st = expect_dimensions(c, is_flat ? 2 : 3);
    if (!st) st = larmor_device_open("cpu", &cpu);
    if (!st) st = larmor_traj_create(cpu, c->distribution, &opts, &traj);
    if (!st) st = make_room(c->ndim, larmor_array_count(traj) / c->ndim, points);
    if (!st) st = larmor_array_read(traj, *points, larmor_array_bytes(traj));
    if (!st) c->points = larmor_array_count(traj) / c->ndim;
    larmor_array_free(traj);
    larmor_device_free(cpu);
    return st;
}

static larmor_status choose_points(bench_case *c, double **points)
{
    static const struct {
        const char *name;
        larmor_status (*make)(bench_case *c, double **points);
    } ways[] = {{"uniform", draw_points}, {"cluster", draw_cluster}, {"cones", wind_cones}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (!strcmp(c->distribution, ways[i].name)) return ways[i].make(c, points);
    return take_trajectory(c, points);
}

static void round_to_single(double *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) x[i] = (float)x[i];
}

/* On the device, and the host's copy as the device has it. */
static larmor_status put_points(larmor_device *dev, bench_case *c, bench_data *data)
{
    larmor_status st = choose_points(c, &data->points);
    if (st) return st;
    for (int64_t i = 0; i < c->ndim * c->points && c->type == 3; i++)
        data->points[i] /= (double)c->modes[i % c->ndim];
    if (!c->is_double) round_to_single(data->points, c->ndim * c->points);
    st = bench_reals(dev, c->is_double, LARMOR_SHAPE(c->ndim, c->points), data->points, &data->traj);
    if (st || c->type != 3) return st;
    const int64_t targets = bench_case_modes(c);
    st = draw_uniform(c, STREAM_TARGETS, targets, &data->targets);
    if (st) return st;
    if (!c->is_double) round_to_single(data->targets, c->ndim * targets);
    return bench_reals(dev, c->is_double, LARMOR_SHAPE(c->ndim, targets), data->targets, &data->aims);
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
    const larmor_dtype dtype = c->is_double ? LARMOR_C128 : LARMOR_C64;
    larmor_status st = put_points(dev, c, data);
    const larmor_shape values = LARMOR_SHAPE(c->points, c->batch),
                       modes = LARMOR_SHAPE(bench_case_modes(c), c->batch);
    if (!st) st = larmor_array_create(dev, dtype, c->type == 2 ? modes : values, &data->in);
    if (!st) st = larmor_array_create(dev, dtype, c->type == 2 ? values : modes, &data->out);
    if (!st) st = draw_input(c, data);
    return st;
}

void bench_data_free(bench_data *data)
{
    larmor_array_free(data->traj);
    larmor_array_free(data->aims);
    larmor_array_free(data->in);
    larmor_array_free(data->out);
    free(data->points);
    free(data->targets);
    free(data->host_in);
    free(data->host_out);
    *data = (bench_data){0};
}
