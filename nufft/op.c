/* The NUFFT as an operator from an image to k-space. SPDX-License-Identifier: Apache-2.0 */
#include "nufft/op.h"

#include "core/core.h"
#include "nufft/options.h"

LMR_OWNS(larmor_nufft, larmor_nufft_free)

static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    return larmor_nufft_execute(self, x, y);
}

static larmor_status adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    return larmor_nufft_execute_adjoint(self, y, x);
}

static void destroy(void *self)
{
    larmor_nufft_free(self);
}

static const larmor_op_impl impl = {"nufft", forward, adjoint, NULL, destroy};

static const larmor_op_impl displaced = {"nufft-displaced", forward, adjoint, NULL, destroy};

/* What callers leave out, and the type of values. */
static larmor_status read_options(const larmor_nufft_opts *opts, larmor_nufft_opts *o)
{
    LMR_TRY(lmr_nufft_read_options(opts, o));
    if (o->dtype == LARMOR_F32) o->dtype = LARMOR_C64;
    if (o->dtype == LARMOR_F64) o->dtype = LARMOR_C128;
    return LARMOR_OK;
}

static larmor_status expect_traj(const larmor_array *traj, int ndim)
{
    const larmor_shape points = larmor_array_shape(traj);
    if (points.ndim >= 2 && points.ndim < LARMOR_MAX_DIMS && points.dim[0] == ndim) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE, "nufft: traj is %s, expected [%d, samples, readouts] or [%d, points]",
                    lmr_describe(traj).s, ndim, ndim);
}

/* The operator of a plan with its points; the plan is the operator's, or the caller's after an error. */
static larmor_status op_of_plan(larmor_device *dev, const larmor_op_impl *kind, const larmor_nufft_opts *o,
                                const larmor_array *traj, larmor_nufft *plan, larmor_op **A)
{
    const larmor_shape points = larmor_array_shape(traj);
    larmor_shape in = larmor_shape_of(o->ndim, o->modes), out = larmor_shape_of(points.ndim - 1, points.dim + 1);
    if (o->batch) {
        in = larmor_shape_append(in, o->batch);
        out = larmor_shape_append(out, o->batch);
    }
    LMR_TRY(larmor_op_create(dev, kind, plan, o->dtype, in, out, A));
    lmr_op_serve_several(*A); /* a plan does */
    return LARMOR_OK;
}

static larmor_status op_of(larmor_device *dev, const larmor_nufft_opts *opts, const larmor_array *traj, int both,
                           larmor_op **A)
{
    LMR_REFUSE(!A, LARMOR_ERR_ARG, "larmor_op_nufft: A is NULL");
    *A = NULL;
    LMR_REFUSE(!dev || !opts || !traj, LARMOR_ERR_ARG, "larmor_op_nufft: a device, options and traj are needed");
    larmor_nufft_opts o;
    LMR_TRY(read_options(opts, &o));
    LMR_TRY(expect_traj(traj, o.ndim));
    o.type = 2;
    o.both_directions = both || dev->repeatable; /* an operator has an adjoint, whatever is asked of it most */
    LMR_OWN(larmor_nufft, plan, larmor_nufft_create(dev, &o, &plan));
    LMR_TRY(larmor_nufft_set_points(plan, traj, NULL));
    LMR_TRY(op_of_plan(dev, &impl, &o, traj, plan, A));
    plan = NULL;
    return LARMOR_OK;
}

larmor_status larmor_op_nufft(larmor_device *dev, const larmor_nufft_opts *opts, const larmor_array *traj,
                              larmor_op **A)
{
    return op_of(dev, opts, traj, 1, A);
}

larmor_status lmr_op_nufft_forward(larmor_device *dev, const larmor_nufft_opts *opts, const larmor_array *traj,
                                   larmor_op **A)
{
    return op_of(dev, opts, traj, 0, A);
}

/* ---- displaced voxels ---- */

/* [ndim, voxels] <- (r + d(r)) / N, so that the trajectory is that of targets as it is. */
static larmor_status displaced_points(larmor_device *dev, const larmor_nufft_opts *o, const larmor_array *d,
                                      larmor_array **points)
{
    const larmor_shape image = larmor_shape_of(o->ndim, o->modes);
    const int64_t voxels = larmor_shape_count(image), nd = o->ndim;
    LMR_HEAP LMR_NEW(double, at, nd *voxels);
    LMR_OWN_MEMORY(double, given, larmor_array_download(d, LARMOR_F64, &given));
    for (int64_t i = 0; i < voxels; i++) {
        int64_t rest = i;
        for (int64_t a = 0; a < nd; a++) {
            const int64_t n = image.dim[a];
            LMR_REFUSE(!isfinite(given[i + voxels * a]), LARMOR_ERR_NUMERIC,
                       "displacement: of voxel %lld it is not finite", (long long)i);
            if (fabs(given[i + voxels * a]) > (double)n) /* the grid of such a transform has no end */
                return LMR_FAIL(
                    LARMOR_ERR_ARG,
                    "displacement: voxel %lld is moved by %.3g voxels along axis %d, farther than the image "
                    "of %lld; check coefficients and units.",
                    (long long)i, given[i + voxels * a], (int)a, (long long)n);
            at[a + nd * i] = ((double)(rest % n - n / 2) + given[i + voxels * a]) / (double)n;
            rest /= n;
        }
    }
    return larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(nd, voxels), LARMOR_F64, at, points);
}

static larmor_status expect_displacement(const larmor_nufft_opts *o, const larmor_array *d)
{
    const larmor_shape need = larmor_shape_append(larmor_shape_of(o->ndim, o->modes), o->ndim);
    const larmor_shape have = larmor_array_shape(d);
    LMR_REFUSE(lmr_is_complex(larmor_array_dtype(d)), LARMOR_ERR_ARG, "displacement: it is %s, expected real numbers",
               lmr_describe(d).s);
    if (have.ndim == need.ndim && !memcmp(have.dim, need.dim, sizeof *need.dim * (size_t)need.ndim)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE,
                    "displacement: it is %s, expected that of an image of %d dimensions in voxels, [modes..., %d]",
                    lmr_describe(d).s, o->ndim, o->ndim);
}

larmor_status larmor_op_nufft_displaced(larmor_device *dev, const larmor_nufft_opts *opts, const larmor_array *traj,
                                        const larmor_array *displacement, larmor_op **A)
{
    LMR_REFUSE(!A, LARMOR_ERR_ARG, "larmor_op_nufft_displaced: A is NULL");
    *A = NULL;
    LMR_REFUSE(!dev || !opts || !traj || !displacement, LARMOR_ERR_ARG,
               "larmor_op_nufft_displaced: a device, options, traj and a displacement are needed");
    larmor_nufft_opts o;
    LMR_TRY(read_options(opts, &o));
    LMR_TRY(expect_traj(traj, o.ndim));
    LMR_TRY(expect_displacement(&o, displacement));
    LMR_OWN(larmor_array, points, displaced_points(dev, &o, displacement, &points));
    if (!o.sign) o.sign = -1;
    o.type = 3;
    LMR_OWN(larmor_nufft, plan, larmor_nufft_create(dev, &o, &plan));
    LMR_TRY(larmor_nufft_set_points(plan, points, traj));
    LMR_TRY(op_of_plan(dev, &displaced, &o, traj, plan, A));
    plan = NULL;
    return LARMOR_OK;
}
