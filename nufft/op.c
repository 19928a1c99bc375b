/* The NUFFT as an operator from an image to k-space. SPDX-License-Identifier: Apache-2.0 */
#include "nufft/op.h"

#include "core/array.h"
#include "core/op.h"
#include "nufft/options.h"

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

static larmor_status op_of(larmor_device *dev, const larmor_nufft_opts *opts, const larmor_array *traj, int both,
                           larmor_op **A)
{
    if (!A) return LMR_FAIL(LARMOR_ERR_ARG, "larmor_op_nufft: A is NULL");
    *A = NULL;
    if (!dev || !opts || !traj)
        return LMR_FAIL(LARMOR_ERR_ARG, "larmor_op_nufft: a device, options and traj are needed");
    larmor_nufft_opts o;
    LMR_TRY(lmr_nufft_read_options(opts, &o));
    o.type = 2;
    o.both_directions = both || dev->repeatable; /* an operator has an adjoint, whatever is asked of it most */
    if (o.dtype == LARMOR_F32) o.dtype = LARMOR_C64;
    if (o.dtype == LARMOR_F64) o.dtype = LARMOR_C128;
    const larmor_shape points = larmor_array_shape(traj);
    if (points.ndim < 2 || points.ndim >= LARMOR_MAX_DIMS || points.dim[0] != o.ndim)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "nufft: traj is %s, expected [%d, samples, readouts] or [%d, points]",
                        lmr_describe(traj).s, o.ndim, o.ndim);
    larmor_nufft *plan;
    LMR_TRY(larmor_nufft_create(dev, &o, &plan));
    larmor_status st;
    LMR_OR(fail, larmor_nufft_set_points(plan, traj, NULL));
    larmor_shape in = larmor_shape_of(o.ndim, o.modes), out = larmor_shape_of(points.ndim - 1, points.dim + 1);
    if (o.batch) {
        in = larmor_shape_append(in, o.batch);
        out = larmor_shape_append(out, o.batch);
    }
    LMR_OR(fail, larmor_op_create(dev, &impl, plan, o.dtype, in, out, A));
    lmr_op_serve_several(*A); /* a plan does */
    return LARMOR_OK;
fail:
    larmor_nufft_free(plan);
    return st;
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
