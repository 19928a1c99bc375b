/* Images whose phase is known: what is left of them is real. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "core/array.h"
#include "larmor/cartesian.h"

static larmor_status forward(void *phase, const larmor_array *x, larmor_array *y)
{
    LMR_TRY(larmor_real(x, y));
    return larmor_mul(phase, 0, y);
}

static larmor_status adjoint(void *phase, const larmor_array *y, larmor_array *x)
{
    LMR_TRY(larmor_copy(y, x));
    LMR_TRY(larmor_mul(phase, 1, x));
    return larmor_real(x, x);
}

static void destroy(void *phase)
{
    larmor_array_free(phase);
}

larmor_status larmor_op_phase(larmor_array *phase, larmor_op **P)
{
    static const larmor_op_impl impl = {"phase", forward, adjoint, NULL, destroy};
    LMR_NEED(P);
    *P = NULL;
    if (!phase) return LMR_FAIL(LARMOR_ERR_ARG, "phase: no phase given, expected [image...]");
    LMR_TRY(larmor_op_create(phase->dev, &impl, phase, phase->dtype, phase->shape, phase->shape, P));
    larmor_array_ref(phase);
    return LARMOR_OK;
}
