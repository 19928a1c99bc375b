/* The device that counts: operators. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "core/device.h"
#include "core/measure/measure.h"
#include "core/measure/tables.h"
#include "core/status.h"

typedef struct taken {
    larmor_device *dev; /* not a reference: the operator has one */
    void *memory;
} taken;

static larmor_status do_nothing(void *self, const larmor_array *x, larmor_array *y)
{
    (void)self;
    (void)x;
    (void)y;
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
    taken *t = calloc(1, sizeof *t);
    if (!t) return LMR_NO_MEMORY();
    t->dev = dev;
    larmor_status st = lmr_measure_plan(dev->ctx, bytes, &t->memory);
    if (!st) st = larmor_op_create(dev, &impl, t, dtype, in, out, A);
    if (st) destroy(t);
    return st;
}
