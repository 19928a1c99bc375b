/* Sparsity of a Fourier transform, of a series along time: k-t sparsity (Jung et al., Magn. Reson. Med. 61, 103
 * (2009)). SPDX-License-Identifier: Apache-2.0 */
#include "recon/prox/regulariser.h"

static larmor_status make(larmor_device *dev, const larmor_regulariser_opts *o, larmor_dtype dtype,
                          larmor_shape shape, larmor_penalty *made)
{
    LMR_REFUSE(shape.ndim < 1, LARMOR_ERR_SHAPE, "fft: the image has no dimensions");
    const larmor_fft_opts unitary = {.unitary = 1};
    const unsigned last = 1u << (shape.ndim - 1), every = 2 * last - 1;
    unsigned axes = o->axes ? o->axes : every;
    if (o->series && !o->axes && o->time >= 0) axes = last;
    if (o->series && o->time < 0) axes &= ~last; /* images that nothing couples */
    LMR_REFUSE(!axes, LARMOR_ERR_SHAPE, "fft: got %s, expected a dimension to transform along",
               lmr_describe_as(dev, dtype, shape).s);
    LMR_TRY(larmor_op_fft(dev, dtype, shape, axes, &unitary, &made->K));
    return larmor_prox_l1(dev, 1, dtype, shape, &made->g);
}

const lmr_regulariser_kind lmr_regulariser_fft = {
    .name = "fft",
    .help = "l1 norm of Fourier coefficients, of a series along time",
    .takes = LARMOR_TAKES_SERIES | LARMOR_TAKES_AXES,
    .strength = 2,
    .curvature = 1,
    .make = make,
};
