/* Differences of images, and of vector fields. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/ops/ops.h"
#include "recon/sparse.h"

typedef struct gradient {
    const lmr_sparse_kernels *kernels;
    int64_t n, row;
    lmr_axes axes;
} gradient;

static larmor_status gradient_forward(void *self, const larmor_array *x, larmor_array *y)
{
    const gradient *g = self;
    return g->kernels->gradient(x->dev->ctx, g->n, g->row, &g->axes, 0, x->data, y->data);
}

static larmor_status gradient_adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    const gradient *g = self;
    return g->kernels->gradient(x->dev->ctx, g->n, g->row, &g->axes, 1, y->data, x->data);
}

static larmor_status gradient_normal(void *self, const larmor_array *x, larmor_array *z)
{
    const gradient *g = self;
    return g->kernels->gradient_normal(x->dev->ctx, g->n, g->row, &g->axes, x->data, z->data);
}

static larmor_status symmetrised_forward(void *self, const larmor_array *x, larmor_array *y)
{
    const gradient *g = self;
    return g->kernels->symmetrised(x->dev->ctx, g->n, g->row, &g->axes, 0, x->data, y->data);
}

static larmor_status symmetrised_adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    const gradient *g = self;
    return g->kernels->symmetrised(x->dev->ctx, g->n, g->row, &g->axes, 1, y->data, x->data);
}

static const larmor_op_impl gradient_impl = {"gradient", gradient_forward, gradient_adjoint, gradient_normal, free};
static const larmor_op_impl symmetrised_impl = {"symmetrised gradient", symmetrised_forward, symmetrised_adjoint,
                                                NULL, free};

/* The first dimension longer than 1 is the row, of 1 at least: loops of the kernels step by it. */
static larmor_status find_axes(const char *who, larmor_shape shape, unsigned axes, unsigned cyclic,
                               const double *spacing, gradient *g)
{
    int64_t step = 1;
    g->n = larmor_shape_count(shape);
    g->row = 1;
    for (int d = 0; d < shape.ndim; d++) {
        const int64_t length = shape.dim[d];
        if (g->row == 1 && length > 1) g->row = length;
        if (lmr_has_axis(axes, d)) {
            const double h = spacing ? spacing[d] : 1;
            LMR_REFUSE(!(h > 0) || !isfinite(h), LARMOR_ERR_ARG,
                       "%s: spacing is %g along axis %d, expected a finite number > 0", who, h, d);
            const int a = g->axes.count++;
            g->axes.step[a] = length == 1 ? g->n : step; /* one place has no neighbour, wherever */
            g->axes.length[a] = length;
            g->axes.weight[a] = 1 / h;
            g->axes.cyclic[a] = lmr_has_axis(cyclic, d) && length > 2;
            LMR_REFUSE(g->axes.cyclic[a] && step == 1, LARMOR_ERR_UNSUPPORTED,
                       "%s: axis %d is cyclic, expected a longer one before it", who, d);
        }
        step *= length;
    }
    return LARMOR_OK;
}

static larmor_status create(const larmor_op_impl *impl, larmor_device *dev, larmor_dtype dtype, larmor_shape shape,
                            unsigned axes, unsigned cyclic, const double *spacing, larmor_op **op)
{
    *op = NULL;
    LMR_TRY(lmr_check_axes(impl->name, dev, dtype, shape, axes));
    LMR_REFUSE(!axes, LARMOR_ERR_ARG, "%s: no axes given, expected at least one", impl->name);
    LMR_REFUSE(shape.ndim == LARMOR_MAX_DIMS, LARMOR_ERR_SHAPE,
               "%s: the image has %d dimensions, expected at most %d", impl->name, shape.ndim, LARMOR_MAX_DIMS - 1);
    LMR_MAKE(gradient, g, free);
    LMR_TRY(find_axes(impl->name, shape, axes, cyclic, spacing, g));
    LMR_TRY(lmr_sparse_kernels_of(dev, dtype, &g->kernels));
    const int d = g->axes.count;
    const larmor_shape field = larmor_shape_append(shape, d), tensor = larmor_shape_append(shape, d * (d + 1) / 2);
    if (impl == &gradient_impl)
        LMR_TRY(larmor_op_create(dev, impl, g, dtype, shape, field, op));
    else
        LMR_TRY(larmor_op_create(dev, impl, g, dtype, field, tensor, op));
    return lmr_hand_on(&g_made, LARMOR_OK);
}

larmor_status larmor_op_gradient(larmor_device *dev, larmor_dtype dtype, larmor_shape shape, unsigned axes,
                                 const double *spacing, larmor_op **G)
{
    LMR_NEED(G);
    return create(&gradient_impl, dev, dtype, shape, axes, 0, spacing, G);
}

larmor_status lmr_op_gradient_cyclic(larmor_device *dev, larmor_dtype dtype, larmor_shape shape, unsigned axes,
                                     unsigned cyclic, const double *spacing, larmor_op **G)
{
    return create(&gradient_impl, dev, dtype, shape, axes, cyclic, spacing, G);
}

larmor_status larmor_op_symmetrised_gradient(larmor_device *dev, larmor_dtype dtype, larmor_shape shape,
                                             unsigned axes, const double *spacing, larmor_op **E)
{
    LMR_NEED(E);
    return create(&symmetrised_impl, dev, dtype, shape, axes, 0, spacing, E);
}
