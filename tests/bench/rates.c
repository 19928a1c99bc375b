/* Times what the planner's model of cost is made of, on LARMOR_TEST_DEVICE: spreading and interpolation for every
 * width, and the grid (zeros or padding, FFT, cropping) for every good size. Lines of numbers for
 * tests/bench/rates.py. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "larmor/array.h"
#include "larmor/device.h"
#include "larmor/nufft.h"
#include "larmor/status.h"

enum { RUNS = 4, WIDEST = 16, MOST_CALLS = 200 };
static const double least_run = 1e-3, /* seconds: shorter executes are repeated */
    longest_run = 0.25;               /* longer ones are run twice only */

static larmor_device *dev;
static int gpu;

static void check(larmor_status st)
{
    if (!st) return;
    fprintf(stderr, "rates: %s\n", larmor_last_error());
    exit(1);
}

static larmor_array *ones(larmor_dtype dtype, larmor_shape shape)
{
    larmor_array *a;
    check(larmor_array_create(dev, dtype, shape, &a));
    check(larmor_fill(a, 1));
    return a;
}

/* Uniform over the grid. */
static larmor_array *random_points(int ndim, int64_t m, int64_t side)
{
    larmor_array *a;
    float *host = malloc((size_t)(ndim * m) * sizeof *host);
    uint64_t state = 1;
    if (!host) exit(1);
    for (int64_t i = 0; i < ndim * m; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        host[i] = (float)(0.5 * (double)side * (double)(int64_t)state * 0x1p-63);
    }
    check(larmor_array_create(dev, LARMOR_F32, LARMOR_SHAPE(ndim, m), &a));
    check(larmor_array_write(a, host, larmor_array_bytes(a)));
    free(host);
    return a;
}

/* The least mean time of an execute, in seconds. */
static double time_execute(larmor_nufft *plan, larmor_array *in, larmor_array *out)
{
    larmor_timer *timer;
    double least = INFINITY, seconds;
    int calls = 1;
    check(larmor_timer_create(dev, &timer));
    for (int run = -2; run < RUNS; run++) {
        check(larmor_timer_start(timer));
        for (int i = 0; i < calls; i++) check(larmor_nufft_execute(plan, in, out));
        check(larmor_timer_stop(timer, &seconds));
        seconds /= calls;
        calls = (int)fmin(MOST_CALLS, ceil(least_run / seconds));
        if (run >= 0) least = fmin(least, seconds);
        if (run >= 0 && seconds > longest_run) break;
    }
    larmor_timer_free(timer);
    return least;
}

/* ---- points ---- */

/* The largest tolerance whose window has this width, or 0. */
static double tol_of_width(larmor_nufft_opts opts, int width, double from)
{
    for (opts.tol = from; opts.tol > 1e-15; opts.tol *= 0.8) {
        larmor_nufft *plan;
        if (larmor_nufft_create(dev, &opts, &plan)) return 0;
        const int got = larmor_nufft_describe(plan).width;
        larmor_nufft_free(plan);
        if (got == width) return opts.tol;
        if (got > width) return 0;
    }
    return 0;
}

static void time_points(larmor_nufft_opts opts, const larmor_array *points, int64_t m)
{
    larmor_nufft *plan;
    int64_t cells = 1;
    for (int d = 0; d < opts.ndim; d++) cells *= opts.modes[d];
    larmor_array *values = ones(opts.dtype, LARMOR_SHAPE(m, opts.batch)),
                 *grid = ones(opts.dtype, LARMOR_SHAPE(cells, opts.batch));
    check(larmor_nufft_create(dev, &opts, &plan));
    if (!larmor_nufft_set_points(plan, points, NULL)) {
        const larmor_nufft_info info = larmor_nufft_describe(plan);
        const int one = opts.type == 1;
        const double seconds = time_execute(plan, one ? values : grid, one ? grid : values);
        printf("points %d %s %d %d %lld %lld %lld %lld %d %d %.4e\n", opts.type,
               opts.dtype == LARMOR_C128 ? "double" : "single", opts.ndim, info.width, (long long)opts.modes[0],
               (long long)m, (long long)opts.batch, (long long)info.per_pass, (int)opts.method,
               (int)(one ? info.spread_method : info.interp_method), seconds);
    }
    larmor_nufft_free(plan);
    larmor_array_free(values);
    larmor_array_free(grid);
}

static void time_all_points(int ndim, int64_t side, larmor_dtype dtype)
{
    static const double densities[] = {0.02, 0.2, 2, 10};
    double cells = 1;
    for (int d = 0; d < ndim; d++) cells *= (double)side;
    larmor_nufft_opts opts = {.type = 1, .ndim = ndim, .dtype = dtype, .spread_only = 1};
    for (int d = 0; d < ndim; d++) opts.modes[d] = side;
    double from = 0.3;
    for (int width = 2; width <= WIDEST; width++) {
        opts.batch = 1;
        opts.type = 1;
        opts.upsample = 0;
        opts.method = LARMOR_NUFFT_AUTO;
        double tol = tol_of_width(opts, width, from);
        if (tol == 0) {
            opts.upsample = 1.25;
            tol = tol_of_width(opts, width, 0.3);
        }
        if (tol == 0) {
            opts.upsample = 1.15;
            tol = tol_of_width(opts, width, 0.3);
        }
        if (tol == 0) continue;
        opts.tol = tol;
        if (opts.upsample == 0) from = tol;
        for (int i = 0; i < 4; i++) {
            const int64_t m = (int64_t)(densities[i] * cells);
            larmor_array *points = random_points(ndim, m, side);
            for (opts.batch = 1; opts.batch <= 8; opts.batch += 7) {
                if ((double)(m * opts.batch) * pow(width, ndim) > (gpu ? 2e10 : 4e8)) continue;
                for (opts.type = 1; opts.type <= 2; opts.type++) {
                    opts.method = LARMOR_NUFFT_AUTO;
                    time_points(opts, points, m);
                    opts.method = LARMOR_NUFFT_GM;
                    if (gpu && opts.type == 2) time_points(opts, points, m);
                }
            }
            larmor_array_free(points);
        }
        fflush(stdout);
    }
}

/* ---- grids ---- */

static int is_good(int64_t n)
{
    for (int prime = 2; prime <= 7; prime += prime == 2 ? 1 : 2)
        while (n % prime == 0) n /= prime;
    return n == 1;
}

/* Few points, so that the grid is all that takes time. */
static void time_grid(int ndim, int64_t cells, larmor_dtype dtype, int64_t batch, int type, double factor)
{
    larmor_nufft_opts opts = {.type = type, .ndim = ndim, .dtype = dtype, .batch = batch, .tol = 1e-2};
    larmor_nufft *plan;
    int64_t modes = 1;
    opts.upsample = factor;
    for (int d = 0; d < ndim; d++) {
        opts.modes[d] = (int64_t)((double)cells / factor);
        modes *= opts.modes[d];
    }
    larmor_array *points = ones(LARMOR_F32, LARMOR_SHAPE(ndim, 1)), *values = ones(dtype, LARMOR_SHAPE(1, batch)),
                 *image = ones(dtype, LARMOR_SHAPE(modes, batch));
    check(larmor_nufft_create(dev, &opts, &plan));
    check(larmor_nufft_set_points(plan, points, NULL));
    const larmor_nufft_info info = larmor_nufft_describe(plan);
    if (info.grid[0] == cells)
        printf("grid %d %s %d %lld %lld %lld %lld %.4e\n", type, dtype == LARMOR_C128 ? "double" : "single", ndim,
               (long long)cells, (long long)opts.modes[0], (long long)batch, (long long)info.per_pass,
               time_execute(plan, type == 1 ? values : image, type == 1 ? image : values));
    larmor_nufft_free(plan);
    larmor_array_free(points);
    larmor_array_free(values);
    larmor_array_free(image);
}

static void time_all_grids(int ndim, int64_t least, int64_t most, double step, larmor_dtype dtype)
{
    double next = (double)least;
    for (int64_t n = least + least % 2; n <= most; n += 2) {
        if (!is_good(n) || (double)n < next) continue;
        next = (double)n * step;
        for (int type = 1; type <= 2; type++) time_grid(ndim, n, dtype, 1, type, 1.5);
        if (pow((double)n, ndim) <= (gpu ? 5e6 : 3e5)) time_grid(ndim, n, dtype, 8, 1, 1.5);
        time_grid(ndim, n, dtype, 1, 1, 2);
    }
    fflush(stdout);
}

/* rates NDIM single|double [points|grids] */
int main(int argc, char **argv)
{
    static const int64_t side[2][3] = {{50000, 200, 64}, {1500000, 1200, 120}},
                         most[2][3] = {{1000000, 1100, 160}, {4000000, 2100, 320}};
    const char *spec = getenv("LARMOR_TEST_DEVICE");
    const int ndim = argc == 3 || argc == 4 ? atoi(argv[1]) : 0;
    const char *part = argc == 4 ? argv[3] : "";
    if (ndim < 1 || ndim > 3) return 2;
    const larmor_dtype dtype = strcmp(argv[2], "double") == 0 ? LARMOR_C128 : LARMOR_C64;
    check(larmor_device_open(spec ? spec : "cpu", &dev));
    gpu = strncmp(larmor_device_spec(dev), "cpu", 3) != 0;
    printf("# %s\n", larmor_device_reason(dev));
    if (strcmp(part, "grids") != 0) time_all_points(ndim, side[gpu][ndim - 1], dtype);
    if (strcmp(part, "points") != 0)
        time_all_grids(ndim, ndim == 1 ? 512 : 16, most[gpu][ndim - 1], ndim == 1 ? 1.04 : 1, dtype);
    larmor_device_free(dev);
    return 0;
}
