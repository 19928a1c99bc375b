/* Coil sensitivity maps from the centre of the data themselves. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/bytes.h"
#include "recon/density/gridder.h"
#include "recon/inputs.h"
#include "recon/maps/maps.h"
#include "recon/ops/ops.h"

typedef struct calibration {
    lmr_centre centre;
    int64_t n[3];          /* side of the calibration region, 1 in unused dimensions */
    larmor_array *weights; /* f64 [m], times the apodisation */
} calibration;

static void calibration_free(calibration *c)
{
    lmr_centre_free(&c->centre);
    larmor_array_free(c->weights);
}

static larmor_status expect_samples(const calibration *c)
{
    if (c->centre.m) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_NUMERIC,
                    "coils: no samples within %g/FOV of the centre of k-space; give maps, or raise calibration",
                    (double)c->n[0] / 2);
}

/* Pipe-Menon's weights of the selected samples, or those that were found so before. */
static larmor_status find_density(const larmor_array *known, calibration *cal)
{
    const lmr_centre *c = &cal->centre;
    if (!known)
        return lmr_density_pipe(c->points, larmor_shape_of(c->nd, cal->n), 0, LMR_MAPS_DENSITY_TOL, &cal->weights);
    LMR_TRY(lmr_expect("coils", "density array", known, c->dev, LARMOR_F64, LARMOR_SHAPE(c->m)));
    LMR_TRY(larmor_array_create(c->dev, LARMOR_F64, LARMOR_SHAPE(c->m), &cal->weights));
    return larmor_copy(known, cal->weights);
}

/* Weights of the selected samples: the caller's, or by their density; then Hann's window against ringing. */
static larmor_status weigh(const larmor_array *weights, const larmor_array *density, larmor_shape shape,
                           calibration *cal)
{
    const lmr_centre *c = &cal->centre;
    LMR_OWNED(larmor_array) *all = NULL;
    if (weights) {
        LMR_TRY(lmr_input_real("coils", "weights", weights, &all));
        LMR_TRY(lmr_expect("coils", "weight array", weights, c->dev, weights->dtype, shape));
        LMR_TRY(larmor_array_create(c->dev, LARMOR_F64, LARMOR_SHAPE(c->m), &cal->weights));
        LMR_TRY(c->kernels->pick(c->dev->ctx, 1, c->m, c->index->data, 1, all->data, cal->weights->data));
    } else {
        LMR_TRY(find_density(density, cal));
    }
    return c->kernels->taper(c->dev->ctx, c->nd, c->m, c->points->data, c->radius, cal->weights->data);
}

/* The NUFFT of the fine grid. */
static larmor_nufft_opts grid_nufft(int nd, const int64_t n[3], int64_t coils, larmor_dtype dtype)
{
    larmor_nufft_opts opts = {.type = 2, .ndim = nd, .batch = coils, .dtype = dtype};
    for (int d = 0; d < nd; d++) opts.modes[d] = lmr_fine_size(n[d]);
    return opts;
}

/* Coil images on the fine grid, c128 [lmr_fine_size(n)..., coils]. */
static larmor_status grid_images(const larmor_array *kspace, int64_t coils, const calibration *cal,
                                 larmor_array **images)
{
    *images = NULL;
    const lmr_centre *c = &cal->centre;
    const larmor_nufft_opts opts = grid_nufft(c->nd, cal->n, coils, kspace->dtype);
    LMR_OWNED(larmor_array) *values = NULL, *grid = NULL, *line = NULL;
    LMR_TRY(lmr_centre_gather(c, cal->weights, kspace, coils, &values));
    LMR_OWN(larmor_op, F, lmr_op_fourier(c->dev, &opts, c->points, &F));
    LMR_TRY(larmor_array_create(c->dev, kspace->dtype, larmor_op_in_shape(F), &grid));
    LMR_TRY(larmor_op_adjoint(F, values, grid));
    LMR_TRY(larmor_array_reshape(grid, LARMOR_SHAPE(larmor_array_count(grid) / coils, coils), &line));
    return larmor_array_convert(line, LARMOR_C128, images);
}

static larmor_status check(const larmor_array *kspace, const larmor_array *traj, larmor_shape image,
                           const larmor_coils_opts *o)
{
    LMR_REFUSE(!kspace || !lmr_is_complex(kspace->dtype) || kspace->shape.ndim < 2, LARMOR_ERR_SHAPE,
               "coils: k-space is %s, expected complex [samples, readouts, coils]", lmr_describe(kspace).s);
    const int64_t coils = kspace->shape.dim[kspace->shape.ndim - 1];
    LMR_TRY(lmr_expect("coils", "k-space", kspace, traj->dev, kspace->dtype,
                       larmor_shape_append(lmr_weights_shape(traj), coils)));
    LMR_REFUSE(coils < 1, LARMOR_ERR_SHAPE, "coils: k-space has no coils, expected at least 1");
    for (int d = 0; d < 3; d++)
        LMR_REFUSE(!(o->encoded[d] >= 0 && o->encoded[d] < 1e3), LARMOR_ERR_ARG,
                   "coils: encoded field of view %g along axis %d, expected 0 to 1000", o->encoded[d], d);
    const int64_t last = image.dim[image.ndim - 1];
    LMR_REFUSE(o->first < 0 || o->planes < 0 || o->first > last || o->planes > last - o->first ||
                   (o->first && !o->planes),
               LARMOR_ERR_ARG, "coils: %lld planes from %lld on, expected some of %lld", (long long)o->planes,
               (long long)o->first, (long long)last);
    LMR_REFUSE(o->calibration < 0 || o->window < 0, LARMOR_ERR_ARG,
               "coils: calibration %lld and window %lld, expected at least 0", (long long)o->calibration,
               (long long)o->window);
    return LARMOR_OK;
}

enum { DEFAULT_CALIBRATION = 32, DEFAULT_WINDOW = 3 };

/* The side of the centre of k-space along each axis. */
static void calibration_side(const larmor_coils_opts *o, larmor_shape image, int64_t n[3])
{
    for (int d = 0; d < image.ndim; d++) {
        n[d] = o && o->calibration > 0 ? o->calibration : DEFAULT_CALIBRATION;
        if (n[d] > image.dim[d]) n[d] = image.dim[d];
    }
}

static larmor_status take_centre(const larmor_array *k, larmor_dtype dtype, larmor_shape image,
                                 const larmor_coils_opts *o, calibration *c)
{
    double radius[3] = {0.5, 0.5, 0.5};
    calibration_side(o, image, c->n);
    for (int d = 0; d < image.ndim; d++) radius[d] = (double)c->n[d] / 2;
    LMR_TRY(lmr_centre_select(k, dtype, radius, &c->centre));
    return expect_samples(c);
}

larmor_status larmor_coils_density(const larmor_array *traj, larmor_shape image, const larmor_coils_opts *opts,
                                   larmor_array **density)
{
    LMR_NEED_OUT(density);
    LMR_REFUSE(opts && opts->calibration < 0, LARMOR_ERR_ARG, "coils: calibration %lld, expected at least 0",
               (long long)opts->calibration);
    LMR_OWN(larmor_array, k, lmr_input_traj("coils", traj, image, &k));
    LMR_FREED_BY(calibration_free) calibration c = {.n = {1, 1, 1}};
    LMR_TRY(take_centre(k, LARMOR_C64, image, opts, &c));
    LMR_TRY(find_density(NULL, &c));
    *density = larmor_array_ref(c.weights);
    return LARMOR_OK;
}

/* Below these, maps were off by more than the image's noise or undersampling explains, over simulated scans of all
 * trajectories. */
static const double min_sampled = 0.53, min_dominance = 0.65;

static larmor_maps_warning warning_of(const larmor_coils_report *r)
{
    if (r->sampled < min_sampled) return LARMOR_MAPS_UNDERSAMPLED;
    return r->dominance < min_dominance ? LARMOR_MAPS_AMBIGUOUS : LARMOR_MAPS_TRUSTED;
}

larmor_status larmor_coils_estimate(const larmor_array *kspace, const larmor_array *traj, const larmor_array *weights,
                                    larmor_shape image, const larmor_coils_opts *opts, larmor_array **maps,
                                    larmor_coils_report *report)
{
    LMR_NEED_OUT(maps);
    if (report) *report = (larmor_coils_report){0};
    const larmor_coils_opts o = opts ? *opts : (larmor_coils_opts){0};
    LMR_OWNED(larmor_array) *k = NULL, *images = NULL, *low = NULL, *out = NULL;
    LMR_TRY(lmr_input_traj("coils", traj, image, &k));
    LMR_FREED_BY(calibration_free) calibration c = {.n = {1, 1, 1}};
    larmor_coils_report judged = {0};
    LMR_TRY(check(kspace, traj, image, &o));
    const larmor_shape shape = lmr_weights_shape(traj);
    const int64_t coils = kspace->shape.dim[shape.ndim];
    LMR_TRY(take_centre(k, kspace->dtype, image, &o, &c));
    LMR_TRY(weigh(weights, o.density, shape, &c));
    LMR_TRY(lmr_part_sampled(&c.centre, o.encoded, &judged.sampled));
    LMR_TRY(grid_images(kspace, coils, &c, &images));
    LMR_TRY(lmr_walsh(images, c.n, coils, o.window ? o.window : DEFAULT_WINDOW, &judged.dominance, &low));
    larmor_shape part = image;
    if (o.planes) part.dim[image.ndim - 1] = o.planes;
    LMR_TRY(larmor_array_create(kspace->dev, kspace->dtype, larmor_shape_append(part, coils), &out));
    LMR_TRY(lmr_maps_interpolate_planes(low, c.n, o.first, image.dim[image.ndim - 1], out));
    judged.warning = warning_of(&judged);
    if (report) *report = judged;
    return LMR_HAND_ON(*maps, out);
}

larmor_status larmor_coils_memory(const larmor_device *dev, const larmor_problem *p, const larmor_coils_opts *opts,
                                  int64_t *bytes)
{
    LMR_NEED(bytes);
    LMR_TRY(lmr_bytes_begin(dev, p, bytes));
    int64_t n[3] = {1, 1, 1}, weights;
    calibration_side(opts, p->image, n);
    larmor_problem low = *p;
    low.image = larmor_shape_of(p->image.ndim, n);
    LMR_TRY(lmr_density_memory(dev, &low, LMR_MAPS_DENSITY_TOL, &weights));
    const larmor_nufft_opts fine = grid_nufft(p->image.ndim, n, p->coils, p->dtype);
    const larmor_shape grid = larmor_shape_append(larmor_shape_of(fine.ndim, fine.modes), p->coils);
    const double images = lmr_bytes_of(LARMOR_C128, grid), low_maps = lmr_bytes_of(LARMOR_C128, low.image);
    double gridding = lmr_bytes_of(p->dtype, LARMOR_SHAPE(p->samples, p->coils)) + lmr_bytes_of(p->dtype, grid);
    if (p->repeats) {
        double of_grid;
        LMR_TRY(lmr_cartesian_bytes(dev, &fine, p->samples, p->repeats, &of_grid));
        gridding += of_grid;
    } else {
        LMR_TRY(lmr_bytes_add_nufft(dev, &fine, p->samples, &gridding));
    }
    const int64_t all = p->image.dim[p->image.ndim - 1];
    const double interpolation =
        lmr_maps_interpolate_planes_bytes(p->dtype, n, p->image, opts && opts->planes ? opts->planes : all);
    const double maps = fmax(lmr_walsh_bytes(dev, n, p->coils), low_maps * (double)p->coils + interpolation);
    const double chosen = (8 + 8.0 * p->image.ndim + 8) * (double)p->samples; /* indices, points, weights */
    return lmr_bytes_store(chosen + fmax((double)weights, images + fmax(gridding, maps)), bytes);
}
