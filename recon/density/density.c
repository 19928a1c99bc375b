/* Density compensation: the analytic ramp of radial readouts, and Pipe-Menon iterations for any trajectory.
 * SPDX-License-Identifier: Apache-2.0 */
#include "recon/density/density.h"
#include "core/core.h"
#include "recon/bytes.h"
#include "recon/density/gridder.h"
#include "recon/inputs.h"
#include "recon/measure.h"

/* ---- on the host ---- */

larmor_status lmr_density_by(const char *who, const larmor_array *traj, larmor_shape image, lmr_weigh weigh,
                             larmor_array **w)
{
    *w = NULL;
    LMR_OWNED(larmor_array) *in_double = NULL, *result = NULL;
    LMR_TRY(lmr_input_traj(who, traj, image, &in_double));
    const int64_t samples = larmor_array_count(in_double) / image.ndim, n = traj->shape.dim[1];
    LMR_OWN_MEMORY(double, k, larmor_array_download(in_double, LARMOR_F64, &k));
    LMR_HEAP LMR_NEW(double, weights, samples);
    LMR_TRY(weigh(image, n, n ? samples / n : 0, k, weights));
    LMR_TRY(larmor_array_upload(traj->dev, LARMOR_F64, lmr_weights_shape(traj), LARMOR_F64, weights, &result));
    return larmor_array_convert(result, traj->dtype, w);
}

/* ---- ramp ---- */

static larmor_status not_a_line(int64_t readout, double fault)
{
    static const char *const why[] = {"", "has no extent", "leaves its line by more than 0.5/FOV",
                                      "keeps away from the centre", "reverses"};
    return LMR_FAIL(LARMOR_ERR_ARG,
                    "density ramp: readout %lld %s, expected a straight line through or from the centre "
                    "of k-space; use larmor_density_pipe",
                    (long long)readout, why[(int)fault]);
}

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The lengths of all rays, sorted by falling length: two for a line through the centre. */
static larmor_status collect_rays(const larmor_array *lines, int64_t readouts, larmor_array **rays)
{
    *rays = NULL;
    LMR_HEAP lmr_line *line = malloc((size_t)(readouts + 1) * sizeof *line);
    LMR_HEAP double *ray = malloc((size_t)(2 * readouts + 1) * sizeof *ray);
    int64_t count = 0;
    if (!line || !ray) return LMR_NO_MEMORY();
    LMR_TRY(larmor_array_read(lines, line, larmor_array_bytes(lines)));
    for (int64_t r = 0; r < readouts; r++) {
        if (line[r].fault != LMR_LINE_GOOD) {
            return not_a_line(r, line[r].fault);
        }
        ray[count++] = line[r].high;
        if (line[r].low < 0) ray[count++] = -line[r].low;
    }
    qsort(ray, (size_t)count, sizeof *ray, descending);
    return larmor_array_upload(lines->dev, LARMOR_F64, LARMOR_SHAPE(count), LARMOR_F64, ray, rays);
}

larmor_status larmor_density_ramp(const larmor_array *traj, larmor_shape image, larmor_array **w)
{
    LMR_NEED_OUT(w);
    const lmr_recon_kernels *kernels;
    LMR_OWN(larmor_array, k, lmr_input_traj("density ramp", traj, image, &k));
    larmor_device *dev = traj->dev;
    const int nd = image.ndim;
    const int64_t n = traj->shape.dim[1];
    const int64_t samples = larmor_array_count(traj) / nd;
    const int64_t readouts = n ? samples / n : 0;
    LMR_TRY(lmr_recon_kernels_of(dev, LARMOR_F64, &kernels));
    LMR_OWN(larmor_array, t, larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(samples), &t));
    LMR_OWN(larmor_array, lines,
            larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE((int64_t)(sizeof(lmr_line) / sizeof(double)), readouts),
                                &lines));
    LMR_TRY(kernels->lines(dev->ctx, nd, n, readouts, k->data, t->data, lines->data));
    LMR_OWN(larmor_array, rays, collect_rays(lines, readouts, &rays));
    LMR_OWN(larmor_array, in_double, larmor_array_create(dev, LARMOR_F64, lmr_weights_shape(traj), &in_double));
    LMR_TRY(kernels->ramp(dev->ctx, nd, n, readouts, t->data, lines->data, larmor_array_count(rays), rays->data,
                          in_double->data));
    return larmor_array_convert(in_double, traj->dtype, w);
}

/* ---- Pipe-Menon ---- */

enum { DEFAULT_ITERS = 15 };

/* w <- w / |G w|; the samples are w before and after. The kernel is not negative, so that G w is 0 only where w is.
 */
static larmor_status pipe_step(lmr_gridder *g, larmor_array *w)
{
    LMR_TRY(larmor_op_adjoint(g->F, g->samples, g->image));
    LMR_TRY(larmor_mul(g->window, 0, g->image));
    LMR_TRY(larmor_op_forward(g->F, g->image, g->samples));
    return g->kernels->balance(w->dev->ctx, larmor_array_count(w), w->data, g->samples->data);
}

larmor_status larmor_density_pipe(const larmor_array *traj, larmor_shape image, int iters, larmor_array **w)
{
    return lmr_density_pipe(traj, image, iters, LMR_DENSITY_TOL, w);
}

larmor_status lmr_density_pipe(const larmor_array *traj, larmor_shape image, int iters, double tol, larmor_array **w)
{
    LMR_NEED_OUT(w);
    LMR_REFUSE(iters < 0, LARMOR_ERR_ARG, "density pipe: %d iterations, expected at least 0", iters);
    LMR_OWN(larmor_array, k, lmr_input_traj("density pipe", traj, image, &k));
    LMR_FREED_BY(lmr_gridder_free) lmr_gridder g = {0};
    LMR_TRY(lmr_gridder_create(k, image, tol, &g));
    LMR_OWN(larmor_array, weights, larmor_array_create(traj->dev, LARMOR_F64, lmr_weights_shape(traj), &weights));
    LMR_TRY(larmor_fill(weights, 1));
    LMR_TRY(larmor_fill(g.samples, 1));
    for (int i = 0; i < (iters ? iters : DEFAULT_ITERS); i++) LMR_TRY(pipe_step(&g, weights));
    return larmor_array_convert(weights, traj->dtype, w);
}

larmor_status larmor_density_memory(const larmor_device *dev, const larmor_problem *p, int64_t *bytes)
{
    return lmr_density_memory(dev, p, LMR_DENSITY_TOL, bytes);
}

larmor_status lmr_density_memory(const larmor_device *dev, const larmor_problem *p, double tol, int64_t *bytes)
{
    LMR_FREED_BY(lmr_measure_scan_free) lmr_measure_scan s = {.dev = NULL};
    LMR_NEED(bytes);
    LMR_TRY(lmr_bytes_begin(dev, p, bytes));
    LMR_TRY(lmr_measure_scan_create(dev, p, &s));
    LMR_OWN(larmor_array, w, lmr_density_pipe(s.traj, p->image, 1, tol, &w));
    return lmr_bytes_store(lmr_measure_peak(s.dev), bytes);
}
