/* Coil sensitivity maps from the centre of the data themselves. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "larmor/recon.h"
#include "recon/calib/walsh.h"
#include "recon/host.h"

/* The samples that are used: m of those of the scan. */
typedef struct centre {
    int64_t n[3]; /* side of the calibration region, 1 in unused dimensions */
    int64_t m, *index;
    double *points, *weights; /* [nd, m]; [m] times the apodisation */
} centre;

static void centre_free(centre *c)
{
    free(c->index), free(c->points), free(c->weights);
}

/* Distance of a sample from the centre of k-space, 1 on the edge of the calibration region. */
static double radius_of(const double *k, int nd, const int64_t n[3])
{
    double square = 0;
    for (int d = 0; d < nd; d++) square += pow(2 * k[d] / (double)n[d], 2);
    return sqrt(square);
}

static larmor_status select_samples(const double *k, int nd, int64_t samples, centre *c)
{
    c->index = malloc((size_t)(samples + 1) * sizeof *c->index);
    if (!c->index) return LMR_NO_MEMORY();
    /* samples on the edge get no weight below; a margin keeps rounding of the trajectory from deciding who is in */
    for (int64_t j = 0; j < samples; j++)
        if (radius_of(k + j * nd, nd, c->n) < 1 - 1e-4) c->index[c->m++] = j;
    if (c->m == 0)
        return LMR_FAIL(LARMOR_ERR_NUMERIC,
                        "coils: no samples within %g/FOV of the centre of k-space; give maps, or "
                        "raise calibration",
                        (double)c->n[0] / 2);
    c->points = malloc((size_t)(nd * c->m) * sizeof *c->points);
    if (!c->points) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < c->m; i++)
        for (int d = 0; d < nd; d++) c->points[i * nd + d] = k[c->index[i] * nd + d];
    return LARMOR_OK;
}

/* Weights of the selected samples: the caller's, or Pipe-Menon's; then Hann's window against ringing. */
static larmor_status weigh(larmor_device *dev, const larmor_array *weights, larmor_shape shape, int nd,
                           const larmor_array *points, centre *c)
{
    double *all = NULL;
    larmor_array *own = NULL;
    larmor_status st;
    c->weights = malloc((size_t)c->m * sizeof *c->weights);
    if (!c->weights) return LMR_NO_MEMORY();
    if (weights) {
        LMR_OR(done, lmr_host_real("coils", "weights", weights, &all));
        LMR_OR(done, lmr_expect("coils", "weight array", weights, dev, weights->dtype, shape));
    } else {
        LMR_OR(done, larmor_density_pipe(points, larmor_shape_of(nd, c->n), 0, &own));
        LMR_OR(done, lmr_host_real("coils", "weights", own, &all));
    }
    for (int64_t i = 0; i < c->m; i++) {
        const double hann = pow(cos(M_PI / 2 * radius_of(c->points + i * nd, nd, c->n)), 2);
        c->weights[i] = hann * all[weights ? c->index[i] : i];
    }
done:
    larmor_array_free(own);
    free(all);
    return st;
}

/* The centre's samples, weighted: [m, coils]. */
static larmor_status gather(const larmor_array *kspace, int64_t samples, int64_t coils, const centre *c,
                            larmor_array **out)
{
    *out = NULL;
    double complex *coil = malloc((size_t)samples * sizeof *coil), *values = malloc((size_t)c->m * sizeof *values);
    larmor_status st;
    if (!coil || !values) {
        st = LMR_NO_MEMORY();
        goto done;
    }
    LMR_OR(done, larmor_array_create(kspace->dev, kspace->dtype, LARMOR_SHAPE(c->m, coils), out));
    for (int64_t i = 0; i < coils; i++) {
        LMR_OR(done, lmr_host_complex(kspace, i * samples, samples, coil));
        for (int64_t j = 0; j < c->m; j++) values[j] = c->weights[j] * coil[c->index[j]];
        LMR_OR(done, lmr_write_complex(*out, i * c->m, c->m, values));
    }
done:
    free(values), free(coil);
    return st;
}

/* Coil images on the fine grid, [lmr_fine_size(n)..., coils], on the host. */
static larmor_status grid_images(const larmor_array *values, const larmor_array *points, int nd, const int64_t n[3],
                                 int64_t coils, double complex **images)
{
    *images = NULL;
    larmor_nufft_opts opts = {.type = 1, .ndim = nd, .batch = coils, .dtype = values->dtype};
    int64_t pixels = 1;
    for (int d = 0; d < nd; d++) opts.modes[d] = lmr_fine_size(n[d]), pixels *= opts.modes[d];
    larmor_nufft *plan = NULL;
    larmor_array *grid = NULL;
    larmor_status st;
    LMR_OR(done, larmor_array_create(values->dev, values->dtype, LARMOR_SHAPE(pixels, coils), &grid));
    LMR_OR(done, larmor_nufft_create(values->dev, &opts, &plan));
    LMR_OR(done, larmor_nufft_set_points(plan, points, NULL));
    LMR_OR(done, larmor_nufft_execute(plan, values, grid));
    *images = malloc((size_t)(pixels * coils) * sizeof **images);
    st = *images ? lmr_host_complex(grid, 0, pixels * coils, *images) : LMR_NO_MEMORY();
done:
    larmor_nufft_free(plan);
    larmor_array_free(grid);
    return st;
}

/* maps [image..., coils] <- low [n..., coils], interpolated and normalised to sum_c |s_c|^2 = 1. */
static larmor_status interpolate(const double complex *low, const int64_t n[3], larmor_shape image, int64_t coils,
                                 larmor_array *maps)
{
    const int64_t voxels = larmor_shape_count(image), pixels = n[0] * n[1] * n[2];
    int64_t to[3] = {1, 1, 1};
    for (int d = 0; d < image.ndim; d++) to[d] = image.dim[d];
    double *energy = calloc((size_t)voxels, sizeof *energy);
    double complex *map = NULL;
    larmor_array *scale = NULL;
    larmor_status st = energy ? LARMOR_OK : LMR_NO_MEMORY();
    for (int64_t c = 0; c < coils && !st; c++) {
        LMR_OR(done, lmr_resize(low + c * pixels, n, to, lmr_device_threads(maps->dev), &map));
        for (int64_t i = 0; i < voxels; i++) energy[i] += creal(map[i] * conj(map[i]));
        LMR_OR(done, lmr_write_complex(maps, c * voxels, voxels, map));
        free(map), map = NULL;
    }
    if (st) goto done;
    for (int64_t i = 0; i < voxels; i++) energy[i] = energy[i] > 0 ? 1 / sqrt(energy[i]) : 0;
    LMR_OR(done, lmr_array_of_real(maps->dev, maps->dtype, image, energy, &scale));
    LMR_OR(done, larmor_mul(scale, 0, maps));
done:
    larmor_array_free(scale);
    free(map), free(energy);
    return st;
}

static larmor_status check(const larmor_array *kspace, const larmor_array *traj, const larmor_coils_opts *o)
{
    if (!kspace || !lmr_is_complex(kspace->dtype) || kspace->shape.ndim < 2)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "coils: k-space is %s, expected complex [samples, readouts, coils]",
                        lmr_describe(kspace).s);
    const int64_t coils = kspace->shape.dim[kspace->shape.ndim - 1];
    LMR_TRY(lmr_expect("coils", "k-space", kspace, traj->dev, kspace->dtype,
                       larmor_shape_append(lmr_weights_shape(traj), coils)));
    if (coils < 1) return LMR_FAIL(LARMOR_ERR_SHAPE, "coils: k-space has no coils, expected at least 1");
    if (o->calibration < 0 || o->window < 0)
        return LMR_FAIL(LARMOR_ERR_ARG, "coils: calibration %lld and window %lld, expected at least 0",
                        (long long)o->calibration, (long long)o->window);
    return LARMOR_OK;
}

enum { DEFAULT_CALIBRATION = 32, DEFAULT_WINDOW = 3 };

larmor_status larmor_coils_estimate(const larmor_array *kspace, const larmor_array *traj, const larmor_array *weights,
                                    larmor_shape image, const larmor_coils_opts *opts, larmor_array **maps)
{
    *maps = NULL;
    const larmor_coils_opts o = opts ? *opts : (larmor_coils_opts){0};
    double *k = NULL;
    LMR_TRY(lmr_host_traj("coils", traj, image, &k));
    const int nd = image.ndim;
    centre c = {.n = {1, 1, 1}};
    larmor_array *points = NULL, *values = NULL, *out = NULL;
    double complex *images = NULL, *low = NULL;
    larmor_status st;
    LMR_OR(done, check(kspace, traj, &o));
    const larmor_shape shape = lmr_weights_shape(traj);
    const int64_t samples = larmor_shape_count(shape), coils = kspace->shape.dim[shape.ndim];
    for (int d = 0; d < nd; d++) {
        c.n[d] = o.calibration ? o.calibration : DEFAULT_CALIBRATION;
        if (c.n[d] > image.dim[d]) c.n[d] = image.dim[d];
    }
    LMR_OR(done, select_samples(k, nd, samples, &c));
    LMR_OR(done, lmr_array_of_real(traj->dev, LARMOR_F64, LARMOR_SHAPE(nd, c.m), c.points, &points));
    LMR_OR(done, weigh(traj->dev, weights, shape, nd, points, &c));
    LMR_OR(done, gather(kspace, samples, coils, &c, &values));
    LMR_OR(done, grid_images(values, points, nd, c.n, coils, &images));
    LMR_OR(done, lmr_walsh(traj->dev, images, c.n, coils, o.window ? o.window : DEFAULT_WINDOW, &low));
    LMR_OR(done, larmor_array_create(kspace->dev, kspace->dtype, larmor_shape_append(image, coils), &out));
    LMR_OR(done, interpolate(low, c.n, image, coils, out));
    *maps = out;
    out = NULL;
done:
    free(low), free(images);
    larmor_array_free(out), larmor_array_free(values), larmor_array_free(points);
    centre_free(&c);
    free(k);
    return st;
}
