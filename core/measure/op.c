/* The device that counts: operators. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "core/device.h"
#include "core/measure/measure.h"
#include "core/measure/tables.h"
#include "core/owned.h"
#include "core/status.h"

typedef struct taken {
    larmor_device *dev; /* not a reference: the operator has one */
    void *memory;
} taken;

static larmor_status do_nothing(void *self LMR_UNUSED, const larmor_array *x LMR_UNUSED, larmor_array *y LMR_UNUSED)
{
    return LARMOR_OK;
}

static void destroy(void *self)
{
    taken *t = self;
    lmr_measure_release(t->dev->ctx, t->memory);
    free(t);
}

larmor_status lmr_measure_op(larmor_device *dev, double bytes, larmor_dtype dtype, larmor_shape in, larmor_shape out,
                             larmor_op **A)
{
    static const larmor_op_impl impl = {"measure", do_nothing, do_nothing, do_nothing, destroy};
    *A = NULL;
    LMR_MAKE(taken, t, destroy);
    t->dev = dev;
    LMR_TRY(lmr_measure_plan(dev->ctx, bytes, &t->memory));
    return lmr_hand_on(&t_made, larmor_op_create(dev, &impl, t, dtype, in, out, A));
}
