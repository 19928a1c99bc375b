/* Density compensation: the analytic ramp of radial readouts, and Pipe-Menon iterations for any trajectory.
 * SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "larmor/recon.h"
#include "recon/host.h"

/* ---- ramp ---- */

/* A readout as positions along its line, t[i] = u . k_i with u the direction of its farthest sample. */
typedef struct line {
    double low, high; /* the outer edges of its outer cells; low is 0 for a readout that starts in the centre */
    int rising;       /* 1 if t grows along the readout */
} line;

static larmor_status not_a_line(int64_t readout, const char *why)
{
    return LMR_FAIL(LARMOR_ERR_ARG,
                    "density ramp: readout %lld %s, expected a straight line through or from the centre "
                    "of k-space; use larmor_density_pipe",
                    (long long)readout, why);
}

/* Positions t of one readout's samples k [nd, n]. Lines may miss the centre by half a sample of 1/FOV, as those of
 * scanners with gradient delays do. */
static larmor_status project(const double *k, int nd, int64_t n, int64_t readout, double *t, line *l)
{
    double u[3] = {0}, farthest = 0, nearest = INFINITY, step = 0;
    for (int64_t i = 0; i < n; i++) {
        double square = 0;
        for (int d = 0; d < nd; d++) square += k[i * nd + d] * k[i * nd + d];
        const double radius = sqrt(square);
        nearest = fmin(nearest, radius);
        if (radius <= farthest) continue;
        farthest = radius;
        for (int d = 0; d < nd; d++) u[d] = k[i * nd + d] / radius;
    }
    if (n < 2 || !(farthest > 0)) return not_a_line(readout, "has no extent");
    for (int64_t i = 0; i < n; i++) {
        double off = 0;
        t[i] = 0;
        for (int d = 0; d < nd; d++) t[i] += u[d] * k[i * nd + d];
        for (int d = 0; d < nd; d++) off += pow(k[i * nd + d] - t[i] * u[d], 2);
        if (off > 0.25) return not_a_line(readout, "leaves its line by more than 0.5/FOV");
        if (i > 0) step = fmax(step, fabs(t[i] - t[i - 1]));
    }
    if (nearest > step + 0.5) return not_a_line(readout, "keeps away from the centre");
    l->rising = t[n - 1] > t[0];
    const double sign = l->rising ? 1 : -1;
    for (int64_t i = 1; i < n; i++)
        if (sign * (t[i] - t[i - 1]) < 0) return not_a_line(readout, "turns back");
    const double first = t[0] - (t[1] - t[0]) / 2, last = t[n - 1] + (t[n - 1] - t[n - 2]) / 2;
    l->low = fmin(first, last), l->high = fmax(first, last);
    /* a readout that starts in the centre has at most its first cell on the other side */
    if (-l->low < 1.01 * fabs(l->rising ? t[1] - t[0] : t[n - 1] - t[n - 2])) l->low = 0;
    return LARMOR_OK;
}

/* The antiderivative of |t|^(nd-1). */
static double antiderivative(double t, int nd)
{
    return copysign(pow(fabs(t), nd) / nd, t);
}

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* How many of the rays, sorted by falling length, are longer than radius; at least 1. */
static int64_t rays_at(const double *ray, int64_t rays, double radius)
{
    int64_t low = 0, high = rays;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (ray[middle] >= radius)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? low : 1;
}

/* t <- weights. Every sample stands for its cell, up to half way to its neighbours, swept over the angle of one ray:
 * the cell that holds the centre gets the centre's share by the same integral. */
static void ramp_weights(double *t, int64_t n, int nd, const line *l, const double *ray, int64_t rays)
{
    static const double sphere[] = {0, 2, 2 * M_PI, 4 * M_PI};
    double from = antiderivative(l->rising ? l->low : l->high, nd);
    for (int64_t i = 0; i < n; i++) {
        const double edge = i + 1 < n ? (t[i] + t[i + 1]) / 2 : l->rising ? l->high : l->low;
        const double to = antiderivative(edge, nd);
        t[i] = sphere[nd] / (double)rays_at(ray, rays, fabs(t[i])) * fabs(to - from);
        from = to;
    }
}

larmor_status larmor_density_ramp(const larmor_array *traj, larmor_shape image, larmor_array **w)
{
    *w = NULL;
    double *k, *t = NULL, *ray = NULL;
    line *lines = NULL;
    LMR_TRY(lmr_host_traj("density ramp", traj, image, &k));
    const int nd = image.ndim;
    const int64_t n = traj->shape.dim[1], samples = larmor_array_count(traj) / nd, readouts = n ? samples / n : 0;
    larmor_status st = LARMOR_OK;
    t = malloc((size_t)(samples + 1) * sizeof *t);
    ray = malloc((size_t)(2 * readouts + 1) * sizeof *ray);
    lines = malloc((size_t)(readouts + 1) * sizeof *lines);
    if (!t || !ray || !lines) {
        st = LMR_NO_MEMORY();
        goto done;
    }
    int64_t rays = 0;
    for (int64_t r = 0; r < readouts; r++) {
        LMR_OR(done, project(k + r * n * nd, nd, n, r, t + r * n, &lines[r]));
        ray[rays++] = lines[r].high;
        if (lines[r].low < 0) ray[rays++] = -lines[r].low;
    }
    qsort(ray, (size_t)rays, sizeof *ray, descending);
    for (int64_t r = 0; r < readouts; r++) ramp_weights(t + r * n, n, nd, &lines[r], ray, rays);
    st = lmr_array_of_real(traj->dev, traj->dtype, lmr_weights_shape(traj), t, w);
done:
    free(lines), free(ray), free(t), free(k);
    return st;
}

/* ---- Pipe-Menon ---- */

enum { DEFAULT_ITERS = 15 };

/* The part of a ball that it shares with itself moved by rho diameters. */
static double overlap(double rho, int nd)
{
    if (rho >= 1) return 0;
    if (nd == 1) return 1 - rho;
    if (nd == 2) return 2 / M_PI * (acos(rho) - rho * sqrt(1 - rho * rho));
    return (1 - rho) * (1 - rho) * (1 + rho / 2);
}

/* The window on the doubled grid whose transform is the kernel of G: the autocorrelation of the field of view's disc
 * or ball. So G's kernel is nowhere negative, its reach is that of the object in the data, 1/FOV, and its integral is
 * 1. */
static larmor_status kernel_window(larmor_device *dev, larmor_shape grid, larmor_array **window)
{
    const int last = grid.ndim - 1;
    const int64_t slab = larmor_shape_count(larmor_shape_of(last, grid.dim));
    double cells = 1; /* of the image: the integral of the kernel without scaling */
    for (int d = 0; d < grid.ndim; d++) cells *= (double)grid.dim[d] / 2;
    LMR_TRY(larmor_array_create(dev, LARMOR_C64, grid, window));
    double complex *values = malloc((size_t)slab * sizeof *values);
    if (!values) return LMR_NO_MEMORY();
    larmor_status st = LARMOR_OK;
    for (int64_t z = 0; z < grid.dim[last] && !st; z++) {
        for (int64_t i = 0; i < slab; i++) {
            double square = 0;
            int64_t rest = i + slab * z;
            for (int d = 0; d < grid.ndim; d++) {
                const int64_t half = grid.dim[d] / 2, r = rest % grid.dim[d] - half;
                rest /= grid.dim[d];
                square += (double)(r * r) / (double)(half * half);
            }
            values[i] = overlap(sqrt(square), grid.ndim) / cells;
        }
        st = lmr_write_complex(*window, slab * z, slab, values);
    }
    free(values);
    return st;
}

typedef struct gridder {
    larmor_nufft *plan;
    larmor_array *window, *image, *samples;
} gridder;

static void gridder_free(gridder *g)
{
    larmor_nufft_free(g->plan);
    larmor_array_free(g->window), larmor_array_free(g->image), larmor_array_free(g->samples);
}

static larmor_status gridder_create(larmor_device *dev, const double *traj, int64_t m, larmor_shape image, gridder *g)
{
    larmor_nufft_opts opts = {.type = 2, .ndim = image.ndim, .tol = 1e-3};
    larmor_shape grid = image;
    for (int d = 0; d < image.ndim; d++) opts.modes[d] = grid.dim[d] = 2 * image.dim[d];
    double *doubled = malloc((size_t)(m * image.ndim + 1) * sizeof *doubled);
    if (!doubled) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < m * image.ndim; i++) doubled[i] = 2 * traj[i]; /* cycles per doubled field of view */
    larmor_array *points = NULL;
    larmor_status st;
    LMR_OR(done, lmr_array_of_real(dev, LARMOR_F64, LARMOR_SHAPE(image.ndim, m), doubled, &points));
    LMR_OR(done, larmor_nufft_create(dev, &opts, &g->plan));
    LMR_OR(done, larmor_nufft_set_points(g->plan, points, NULL));
    LMR_OR(done, larmor_array_create(dev, LARMOR_C64, grid, &g->image));
    LMR_OR(done, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(m), &g->samples));
    LMR_OR(done, kernel_window(dev, grid, &g->window));
done:
    larmor_array_free(points);
    free(doubled);
    return st;
}

/* w <- w / |G w|. The kernel is not negative, so that G w is 0 only where w is. */
static larmor_status pipe_step(gridder *g, int64_t m, double *w, double complex *values)
{
    for (int64_t j = 0; j < m; j++) values[j] = w[j];
    LMR_TRY(lmr_write_complex(g->samples, 0, m, values));
    LMR_TRY(larmor_nufft_execute_adjoint(g->plan, g->samples, g->image));
    LMR_TRY(larmor_mul(g->window, 0, g->image));
    LMR_TRY(larmor_nufft_execute(g->plan, g->image, g->samples));
    LMR_TRY(lmr_host_complex(g->samples, 0, m, values));
    for (int64_t j = 0; j < m; j++) {
        const double density = cabs(values[j]);
        if (density > 0) w[j] /= density;
    }
    return LARMOR_OK;
}

larmor_status larmor_density_pipe(const larmor_array *traj, larmor_shape image, int iters, larmor_array **w)
{
    *w = NULL;
    if (iters < 0) return LMR_FAIL(LARMOR_ERR_ARG, "density pipe: %d iterations, expected at least 0", iters);
    double *k;
    LMR_TRY(lmr_host_traj("density pipe", traj, image, &k));
    const int64_t m = larmor_array_count(traj) / image.ndim;
    gridder g = {0};
    double *weights = malloc((size_t)(m + 1) * sizeof *weights);
    double complex *values = malloc((size_t)(m + 1) * sizeof *values);
    larmor_status st = LARMOR_OK;
    if (!weights || !values) {
        st = LMR_NO_MEMORY();
        goto done;
    }
    LMR_OR(done, gridder_create(traj->dev, k, m, image, &g));
    for (int64_t j = 0; j < m; j++) weights[j] = 1;
    for (int i = 0; i < (iters ? iters : DEFAULT_ITERS); i++) LMR_OR(done, pipe_step(&g, m, weights, values));
    st = lmr_array_of_real(traj->dev, traj->dtype, lmr_weights_shape(traj), weights, w);
done:
    gridder_free(&g);
    free(values), free(weights), free(k);
    return st;
}
