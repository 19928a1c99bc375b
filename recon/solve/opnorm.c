/* The largest eigenvalue of A^H A by the power method. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"

enum { DEFAULT_ITERS = 15 };

larmor_status larmor_opnorm(larmor_op *A, int iters, double *largest)
{
    LMR_NEED(largest);
    *largest = 0;
    LMR_REFUSE(!A, LARMOR_ERR_ARG, "opnorm: no operator given");
    LMR_REFUSE(iters < 0, LARMOR_ERR_ARG, "opnorm: %d iterations asked for, expected at least 0", iters);
    if (iters == 0) iters = DEFAULT_ITERS;
    double norm, value = 0;
    LMR_OWN(larmor_array, x, larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &x));
    LMR_OWN(larmor_array, y, larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &y));
    LMR_TRY(lmr_random_fill(x, 1));
    LMR_TRY(larmor_nrm2(x, &norm));
    for (int i = 0; i < iters && norm > 0; i++) {
        LMR_TRY(lmr_go_on());
        LMR_TRY(larmor_axpby(1 / norm, x, 0, y));
        LMR_TRY(larmor_op_normal(A, y, x));
        LMR_TRY(larmor_nrm2(x, &norm));
        value = norm;
    }
    if (isfinite(value))
        *largest = value;
    else
        return LMR_FAIL(LARMOR_ERR_NUMERIC, "opnorm: |A^H A x| is %g, expected a finite number", value);
    return LARMOR_OK;
}
