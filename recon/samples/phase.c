/* The phase of images whose k-space is sampled on one side of its centre further than on the other: that of the part
 * that both sides hold, which is of low resolution (Noll, Nishimura and Macovski 1991).
 * SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "recon/inputs.h"

static larmor_status check(const larmor_array *x, const double reach[3])
{
    LMR_REFUSE(!x || !lmr_is_complex(x->dtype) || x->shape.ndim < 1 || x->shape.ndim > 3, LARMOR_ERR_SHAPE,
               "phase: image is %s, expected complex of 1 to 3 dimensions", x ? lmr_describe(x).s : "missing");
    LMR_NEED(reach);
    for (int d = 0; d < x->shape.ndim; d++)
        LMR_REFUSE(!(reach[d] >= 0), LARMOR_ERR_ARG, "phase: reach %g along axis %d, expected at least 0", reach[d],
                   d);
    return LARMOR_OK;
}

/* Of frequency k along an axis: 1 within reach, or Hann's window over it. */
static double window(double k, double reach, int taper)
{
    if (reach == 0) return 1;
    if (fabs(k) > reach + 1e-6) return 0;
    return taper ? pow(cos(M_PI / 2 * k / (reach + 1)), 2) : 1;
}

static larmor_status make_window(const larmor_array *x, const double reach[3], int taper, larmor_array **mask)
{
    const larmor_shape shape = x->shape;
    const int64_t count = larmor_shape_count(shape);
    LMR_HEAP LMR_NEW(double, w, count);
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i;
        w[i] = 1;
        for (int d = 0; d < shape.ndim; d++) {
            w[i] *= window((double)(rest % shape.dim[d] - shape.dim[d] / 2), reach[d], taper);
            rest /= shape.dim[d];
        }
    }
    return larmor_array_upload(x->dev, lmr_real_of(x->dtype), shape, LARMOR_F64, w, mask);
}

/* What a window leaves of x's centre of k-space. */
static larmor_status centre_of(const larmor_array *x, const double reach[3], int taper, larmor_array **out)
{
    const larmor_fft_opts opts = {.unitary = 1, .centred = 1};
    *out = NULL;
    LMR_OWN(larmor_array, mask, make_window(x, reach, taper, &mask));
    LMR_OWN(larmor_op, F, larmor_op_fft(x->dev, x->dtype, x->shape, (1u << x->shape.ndim) - 1, &opts, &F));
    LMR_OWN(larmor_op, M, larmor_op_mask(mask, x->dtype, &M));
    LMR_OWN(larmor_array, k, larmor_array_create(x->dev, x->dtype, x->shape, &k));
    LMR_OWN(larmor_array, kept, larmor_array_create(x->dev, x->dtype, x->shape, &kept));
    LMR_TRY(larmor_op_forward(F, x, k));
    LMR_TRY(larmor_op_forward(M, k, kept));
    LMR_TRY(larmor_op_adjoint(F, kept, k));
    return LMR_HAND_ON(*out, k);
}

larmor_status larmor_centre_phase(const larmor_array *x, const double reach[3], larmor_array **phase)
{
    LMR_NEED_OUT(phase);
    LMR_TRY(check(x, reach));
    LMR_OWN(larmor_array, low, centre_of(x, reach, 1, &low));
    LMR_OWN_MEMORY(double _Complex, p, larmor_array_download(low, LARMOR_C128, &p));
    for (int64_t i = 0; i < larmor_array_count(x); i++) {
        const double size = cabs(p[i]);
        p[i] = size > 0 && isfinite(size) ? p[i] / size : 1;
    }
    return larmor_array_upload(x->dev, x->dtype, x->shape, LARMOR_C128, p, phase);
}

larmor_status larmor_off_phase(const larmor_array *x, const double reach[3], const larmor_array *phase, double *off,
                               double *all)
{
    LMR_NEED(off, all);
    LMR_TRY(check(x, reach));
    LMR_TRY(lmr_expect("phase", "phase", phase, x->dev, x->dtype, x->shape));
    LMR_OWN(larmor_array, centre, centre_of(x, reach, 0, &centre));
    LMR_TRY(larmor_nrm2(centre, all));
    LMR_TRY(larmor_mul(phase, 1, centre));
    LMR_OWN(larmor_array, along, larmor_array_create(x->dev, x->dtype, x->shape, &along));
    LMR_TRY(larmor_real(centre, along));
    LMR_TRY(larmor_axpby(-1, along, 1, centre));
    return larmor_nrm2(centre, off);
}
