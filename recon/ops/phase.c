/* Images whose phase is about known: what is left of them is nearly real. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"

typedef struct turned {
    larmor_array *phase, *work;
    double imaginary;
} turned;

/* y <- Re x + i imaginary Im x; y may not be x */
static larmor_status lessen(const turned *t, const larmor_array *x, larmor_array *y)
{
    LMR_TRY(larmor_real(x, y));
    return t->imaginary > 0 ? larmor_axpby(t->imaginary, x, 1 - t->imaginary, y) : LARMOR_OK;
}

static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    const turned *t = self;
    LMR_TRY(lessen(t, x, y));
    return larmor_mul(t->phase, 0, y);
}

static larmor_status adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    const turned *t = self;
    LMR_TRY(larmor_copy(y, t->work));
    LMR_TRY(larmor_mul(t->phase, 1, t->work));
    return lessen(t, t->work, x);
}

LMR_DESTROYS(destroy, turned, phase, work)

larmor_status larmor_op_phase(larmor_array *phase, double imaginary, larmor_op **P)
{
    static const larmor_op_impl impl = {"phase", forward, adjoint, NULL, destroy};
    LMR_NEED_OUT(P);
    LMR_REFUSE(!phase, LARMOR_ERR_ARG, "phase: no phase given, expected [image...]");
    LMR_REFUSE(!(imaginary >= 0 && imaginary <= 1), LARMOR_ERR_ARG, "phase: imaginary is %g, expected 0 to 1",
               imaginary);
    LMR_MAKE(turned, t, destroy);
    *t = (turned){.phase = larmor_array_ref(phase), .imaginary = imaginary};
    LMR_TRY(larmor_array_create(phase->dev, phase->dtype, phase->shape, &t->work));
    return lmr_hand_on(&t_made, larmor_op_create(phase->dev, &impl, t, phase->dtype, phase->shape, phase->shape, P));
}
