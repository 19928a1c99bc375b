/* The cases of larmor-bench: random points and trajectories, random data. The cluster is that of Shih et al.,
 * "cuFINUFFT: a load-balanced GPU library for general-purpose nonuniform FFTs", IPDPSW (2021): uniform in a cube of
 * eight cells of a fine grid with twice the modes. Cones are those of Irarrazabal and Nishimura, Magn. Reson. Med.
 * 33, 656 (1995), with the same winding on each. SPDX-License-Identifier: Apache-2.0 */
#include "case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "try.h"

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

/* Type 3 divides the points. */
static int same_points(const bench_case *a, const bench_case *b)
{
    return (a->type == 3) == (b->type == 3) && a->ndim == b->ndim && a->is_double == b->is_double &&
           !memcmp(a->modes, b->modes, sizeof a->modes) && a->points == b->points &&
           !strcmp(a->distribution, b->distribution);
}

int bench_same_data(const bench_case *a, const bench_case *b)
{
    return same_points(a, b) && a->type == b->type && a->batch == b->batch;
}

int64_t bench_case_modes(const bench_case *c)
{
    return c->modes[0] * c->modes[1] * c->modes[2];
}

static larmor_status put(larmor_device *dev, const larmor_array *host, larmor_array **out)
{
    const larmor_dtype dtype = larmor_array_dtype(host);
    return larmor_array_upload(dev, dtype, larmor_array_shape(host), dtype, larmor_array_data(host), out);
}

larmor_status bench_reals(larmor_device *dev, int is_double, larmor_array *host, larmor_array **out)
{
    *out = NULL;
    APP_OWN(larmor_array, x, larmor_array_convert(host, is_double ? LARMOR_F64 : LARMOR_F32, &x));
    return put(dev, x, out);
}

static larmor_status make_room(larmor_device *host, int ndim, int64_t points, larmor_array **out)
{
    return larmor_array_create(host, LARMOR_F64, LARMOR_SHAPE(ndim, points), out);
}

/* Uniform in a box about the centre. */
static larmor_status draw_uniform(const bench_case *c, larmor_device *host, uint64_t stream, int64_t count,
                                  larmor_array **points)
{
    TRY(make_room(host, c->ndim, count, points));
    double *k = larmor_array_data(*points);
#pragma omp parallel for
    for (int64_t i = 0; i < count; i++)
        for (int d = 0; d < c->ndim; d++)
            k[c->ndim * i + d] = (double)c->modes[d] * (bench_random(stream, c->ndim * i + d) - 0.5);
    return LARMOR_OK;
}

static larmor_status draw_cluster(bench_case *c, larmor_device *host, larmor_array **points)
{
    TRY(make_room(host, c->ndim, c->points, points));
    double *k = larmor_array_data(*points);
#pragma omp parallel for
    for (int64_t i = 0; i < c->ndim * c->points; i++) k[i] = 4 * bench_random(STREAM_POINTS, i);
    return LARMOR_OK;
}

static larmor_status draw_points(bench_case *c, larmor_device *host, larmor_array **points)
{
    return draw_uniform(c, host, STREAM_POINTS, c->points, points);
}

static larmor_status expect_dimensions(const bench_case *c, int ndim)
{
    if (c->ndim == ndim) return LARMOR_OK;
    return larmor_fail(LARMOR_ERR_ARG, "--distribution %s: got %d dimensions, expected %d", c->distribution, c->ndim,
                       ndim);
}

/* Readouts from the centre outwards, 2 N_x samples each, that wind CONE_TURNS times around a cone about z; the cones
 * are spread uniformly over the sphere, the readouts rotated by the golden angle. */
static larmor_status wind_cones(bench_case *c, larmor_device *host, larmor_array **points)
{
    const int64_t samples = 2 * c->modes[0];
    const int64_t readouts = c->points > samples ? c->points / samples : 1;
    TRY(expect_dimensions(c, 3));
    TRY(make_room(host, 3, samples * readouts, points));
    c->points = samples * readouts;
    double *k = larmor_array_data(*points);
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
static larmor_status take_trajectory(bench_case *c, larmor_device *host, larmor_array **points)
{
    const int is_stars = !strcmp(c->distribution, "stars");
    const int is_flat = !strcmp(c->distribution, "radial") || !strcmp(c->distribution, "spiral");
    larmor_traj_opts opts = {.samples = 2 * c->modes[0], .matrix = {c->modes[0], c->modes[1], c->modes[2]}};
    const int64_t unit = opts.samples * (is_stars ? c->modes[2] : 1);
    opts.readouts = c->points / unit > 1 ? c->points / unit : 1;
    TRY(expect_dimensions(c, is_flat ? 2 : 3));
    TRY(larmor_traj_create(host, c->distribution, &opts, points));
    c->points = larmor_array_count(*points) / c->ndim;
    return LARMOR_OK;
}

static larmor_status choose_points(bench_case *c, larmor_device *host, larmor_array **points)
{
    static const struct {
        const char *name;
        larmor_status (*make)(bench_case *c, larmor_device *host, larmor_array **points);
    } ways[] = {{"uniform", draw_points}, {"cluster", draw_cluster}, {"cones", wind_cones}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (!strcmp(c->distribution, ways[i].name)) return ways[i].make(c, host, points);
    return take_trajectory(c, host, points);
}

/* x [ndim, count]: for type 3 points in fields of view; in single precision they are rounded. */
static void to_units_of_device(const bench_case *c, int are_points, larmor_array *host)
{
    const int64_t count = larmor_array_count(host) / c->ndim;
    double *x = larmor_array_data(host);
    double unit[3];
    for (int d = 0; d < 3; d++) unit[d] = c->type == 3 && are_points ? (double)c->modes[d] : 1;
#pragma omp parallel for
    for (int64_t j = 0; j < count; j++)
        for (int d = 0; d < c->ndim; d++) {
            double *k = x + c->ndim * j + d;
            *k /= unit[d];
            if (!c->is_double) *k = (float)*k;
        }
}

/* The host's copy as the device has it. */
static larmor_status put_points(bench_case *c, bench_data *data)
{
    TRY(choose_points(c, data->host, &data->points));
    to_units_of_device(c, 1, data->points);
    TRY(bench_reals(data->dev, c->is_double, data->points, &data->traj));
    if (c->type != 3) return LARMOR_OK;
    TRY(draw_uniform(c, data->host, STREAM_TARGETS, bench_case_modes(c), &data->targets));
    to_units_of_device(c, 0, data->targets);
    return bench_reals(data->dev, c->is_double, data->targets, &data->aims);
}

/* Random parts in [-1, 1). */
static larmor_status draw_input(const bench_case *c, larmor_dtype dtype, larmor_shape shape, bench_data *data)
{
    TRY(larmor_array_create(data->host, dtype, shape, &data->values));
    const int64_t reals = 2 * larmor_array_count(data->values);
    float *x32 = larmor_array_data(data->values);
    double *x64 = larmor_array_data(data->values);
#pragma omp parallel for
    for (int64_t i = 0; i < reals; i++) {
        const double u = 2 * bench_random(STREAM_INPUT, i) - 1;
        if (c->is_double)
            x64[i] = u;
        else
            x32[i] = (float)u;
    }
    return put(data->dev, data->values, &data->in);
}

static larmor_status put_values(const bench_case *c, bench_data *data)
{
    const larmor_dtype dtype = c->is_double ? LARMOR_C128 : LARMOR_C64;
    const larmor_shape values = LARMOR_SHAPE(c->points, c->batch),
                       modes = LARMOR_SHAPE(bench_case_modes(c), c->batch);
    TRY(draw_input(c, dtype, c->type == 2 ? modes : values, data));
    return larmor_array_create(data->dev, dtype, c->type == 2 ? values : modes, &data->out);
}

static void free_points(bench_data *data)
{
    larmor_array **const all[] = {&data->points, &data->targets, &data->traj, &data->aims};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        larmor_array_free(*all[i]);
        *all[i] = NULL;
    }
}

static void free_values(bench_data *data)
{
    larmor_array **const all[] = {&data->values, &data->in, &data->out};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        larmor_array_free(*all[i]);
        *all[i] = NULL;
    }
}

/* Whether the bytes of all arrays can be counted. */
static larmor_status check_sizes(const bench_case *c)
{
    const int64_t *n = c->modes, of_one = 4 * (int64_t)sizeof(double) * c->batch;
    int64_t bytes = of_one;
    int too_many = __builtin_mul_overflow(c->points, of_one, &bytes);
    bytes = of_one;
    for (int d = 0; d < 3; d++) too_many |= __builtin_mul_overflow(bytes, n[d], &bytes);
    if (!too_many) return LARMOR_OK;
    return larmor_fail(
        LARMOR_ERR_ARG,
        "--modes %lld,%lld,%lld, --points %lld, --batch %lld: more bytes than 63 bits count; give less",
        (long long)n[0], (long long)n[1], (long long)n[2], (long long)c->points, (long long)c->batch);
}

larmor_status bench_data_draw(larmor_device *dev, bench_case *c, bench_data *data)
{
    const bench_case asked = *c;
    larmor_status st = check_sizes(c);
    free_values(data);
    data->dev = dev;
    if (!st && !data->host) st = larmor_device_open("cpu", &data->host);
    if (!st && data->traj && same_points(&data->asked, c)) {
        c->points = larmor_array_count(data->points) / c->ndim;
    } else if (!st) {
        free_points(data);
        st = put_points(c, data);
    }
    data->asked = asked;
    if (!st) st = put_values(c, data);
    if (st) bench_data_free(data);
    return st;
}

void bench_data_free(bench_data *data)
{
    free_points(data);
    free_values(data);
    larmor_device_free(data->host);
    *data = (bench_data){0};
}
