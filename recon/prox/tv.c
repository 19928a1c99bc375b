/* Isotropic total variation (Rudin, Osher, Fatemi 1992). SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "recon/ops/ops.h"
#include "recon/prox/regulariser.h"

void lmr_regulariser_spacing(const larmor_regulariser_opts *o, int axes, double spacing[LARMOR_MAX_DIMS])
{
    double shortest = INFINITY;
    for (int d = 0; d < LARMOR_MAX_DIMS; d++) spacing[d] = 1;
    for (int d = 0; d < axes && d < 3; d++) shortest = fmin(shortest, o->voxel[d]);
    for (int d = 0; d < axes && d < 3 && shortest > 0; d++) spacing[d] = o->voxel[d] / shortest;
}

/* Where the differences go: every axis, of a series along time with a weight of its own, or not at all; or the axes
 * that are asked for. Along time alone there is nothing to weigh it against. */
static int series_dims(const larmor_regulariser_opts *o)
{
    if (!o->series) return 0;
    return o->frames[0] ? 3 : 1;
}

static unsigned axes_of(const larmor_regulariser_opts *o, larmor_shape shape, double spacing[LARMOR_MAX_DIMS])
{
    const int images = shape.ndim - series_dims(o);
    const unsigned axes = o->axes ? o->axes : (1u << shape.ndim) - 1;
    const unsigned space = (1u << images) - 1;
    lmr_regulariser_spacing(o, images, spacing);
    for (int d = images; d < shape.ndim && o->time > 0 && axes & space; d++) spacing[d] = 1 / o->time;
    return o->series && o->time < 0 ? axes & space : axes;
}

static larmor_status make(larmor_device *dev, const larmor_regulariser_opts *o, larmor_dtype dtype,
                          larmor_shape shape, larmor_penalty *made)
{
    double spacing[LARMOR_MAX_DIMS];
    const unsigned axes = axes_of(o, shape, spacing);
    LMR_REFUSE(!axes, LARMOR_ERR_SHAPE, "tv: got %s, expected at least one dimension to take differences along",
               lmr_describe_as(dev, dtype, shape).s);
    unsigned cyclic = 0;
    for (int d = 0; d < 3 && o->frames[0]; d++)
        if (o->letter[d] == 'h') cyclic |= 1u << (shape.ndim - 3 + d);
    LMR_TRY(lmr_op_gradient_cyclic(dev, dtype, shape, axes, cyclic, spacing, &made->K));
    return larmor_prox_group_l1(dev, 1, dtype, larmor_op_out_shape(made->K), &made->g);
}

const lmr_regulariser_kind lmr_regulariser_tv = {
    .name = "tv",
    .help = "total variation: piecewise constant images",
    .takes = LARMOR_TAKES_SERIES | LARMOR_TAKES_TIME | LARMOR_TAKES_AXES,
    .strength = 1.2,
    .curvature = 2,
    .make = make,
};
