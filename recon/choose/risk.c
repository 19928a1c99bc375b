/* The estimate of the error. SPDX-License-Identifier: Apache-2.0 */
#include "recon/choose/risk.h"

#include <math.h>

#include "recon/solve/regularised.h"

static larmor_status make_inverse(const larmor_circulant *c, larmor_shape shape, larmor_op **M)
{
    larmor_op *one;
    LMR_TRY(lmr_circulant_inverse(c, 0, NULL, 0, LMR_RISK_FLOOR, &one));
    larmor_status st = LARMOR_OK;
    if (larmor_op_in_shape(one).ndim < shape.ndim)
        st = lmr_op_each(one, (int)shape.dim[shape.ndim - 1], M);
    else
        *M = larmor_op_ref(one);
    larmor_op_free(one);
    return st;
}

static larmor_status fill(lmr_risk *r, const larmor_array *b, const larmor_array *noise)
{
    double norm;
    LMR_TRY(larmor_nrm2(b, &norm));
    r->square = norm * norm;
    LMR_TRY(larmor_op_adjoint(r->A, b, r->rhs));
    LMR_TRY(larmor_nrm2(r->rhs, &norm));
    if (!isfinite(norm) || !isfinite(r->square))
        return LMR_FAIL(LARMOR_ERR_NUMERIC,
                        "choose: |b|^2 is %g and |A^H b| is %g, expected finite numbers; look for NaN or Inf in the "
                        "data and the maps",
                        r->square, norm);
    LMR_TRY(larmor_op_adjoint(r->A, noise, r->noise));
    LMR_TRY(larmor_op_forward(r->M, r->noise, r->work[0]));
    LMR_TRY(larmor_nrm2(r->work[0], &norm));
    r->noise_square = norm * norm;
    LMR_TRY(larmor_op_forward(r->M, r->work[0], r->twice));
    return larmor_op_normal(r->A, r->twice, r->trace);
}

larmor_status lmr_risk_create(larmor_op *A, const larmor_array *b, const larmor_array *noise,
                              const larmor_circulant *c, lmr_risk *r)
{
    const larmor_shape shape = larmor_op_in_shape(A);
    *r = (lmr_risk){.A = A};
    larmor_array **arrays[] = {&r->rhs, &r->noise, &r->twice, &r->trace, &r->work[0], &r->work[1]};
    larmor_status st = make_inverse(c, shape, &r->M);
    if (!st) st = lmr_arrays_create(A, shape, 6, arrays);
    if (!st) st = fill(r, b, noise);
    if (st) lmr_risk_free(r);
    return st;
}

void lmr_risk_free(lmr_risk *r)
{
    larmor_array_free(r->rhs), larmor_array_free(r->noise);
    larmor_array_free(r->twice), larmor_array_free(r->trace);
    larmor_array_free(r->work[0]), larmor_array_free(r->work[1]);
    larmor_op_free(r->M);
    *r = (lmr_risk){0};
}

larmor_status lmr_risk_scale(lmr_risk *r, double factor)
{
    larmor_array *all[] = {r->noise, r->twice, r->trace};
    for (int i = 0; i < 3; i++) LMR_TRY(larmor_axpby(factor, all[i], 0, all[i]));
    r->noise_square *= factor * factor;
    return LARMOR_OK;
}

larmor_status lmr_risk_value(lmr_risk *r, const larmor_array *x, const larmor_array *Je, double *value)
{
    double misfit, trace;
    LMR_TRY(larmor_op_normal(r->A, x, r->work[0]));
    LMR_TRY(larmor_axpby(1, r->rhs, -1, r->work[0]));
    LMR_TRY(larmor_op_forward(r->M, r->work[0], r->work[1]));
    LMR_TRY(larmor_nrm2(r->work[1], &misfit));
    LMR_TRY(lmr_real_dot(r->trace, Je, &trace));
    *value = misfit * misfit + 2 * trace;
    return LARMOR_OK;
}
