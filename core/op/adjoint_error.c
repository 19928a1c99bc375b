/* How far an operator's adjoint is from being one. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "core/array.h"
#include "core/owned.h"
#include "core/random.h"
#include "larmor/op.h"

larmor_status larmor_op_adjoint_error(larmor_op *A, uint64_t seed, double *error)
{
    LMR_OWNED(larmor_array) *x = NULL, *y = NULL, *Ax = NULL, *Ahy = NULL;
    double left[2], right[2], size_x = 0, size_y = 0, size_Ax, size_Ahy;
    LMR_NEED(error);
    *error = NAN;
    LMR_NEED(A);
    LMR_TRY(larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &x));
    LMR_TRY(larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &Ahy));
    LMR_TRY(larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_out_shape(A), &y));
    LMR_TRY(larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_out_shape(A), &Ax));
    LMR_TRY(lmr_random_fill(x, seed));
    LMR_TRY(lmr_random_fill(y, seed + 1));
    LMR_TRY(larmor_op_forward(A, x, Ax));
    LMR_TRY(larmor_op_adjoint(A, y, Ahy));
    LMR_TRY(larmor_dot(Ax, y, left));
    LMR_TRY(larmor_dot(x, Ahy, right));
    LMR_TRY(larmor_nrm2(x, &size_x));
    LMR_TRY(larmor_nrm2(y, &size_y));
    LMR_TRY(larmor_nrm2(Ax, &size_Ax));
    LMR_TRY(larmor_nrm2(Ahy, &size_Ahy));
    const double scale = size_Ax * size_y > size_x * size_Ahy ? size_Ax * size_y : size_x * size_Ahy;
    *error = scale > 0 ? hypot(left[0] - right[0], left[1] - right[1]) / scale : 0;
    return LARMOR_OK;
}
