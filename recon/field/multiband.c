/* Slices that are excited together: the sum of their operators, each readout with a phase for each of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "larmor/multiband.h"

#include "core/core.h"

/* ---- a phase for each readout ---- */

typedef struct turn {
    larmor_array *factor; /* [samples, readouts] */
} turn;

static larmor_status turn_forward(void *self, const larmor_array *x, larmor_array *y)
{
    const turn *t = self;
    LMR_TRY(larmor_copy(x, y));
    return larmor_mul(t->factor, 0, y);
}

static larmor_status turn_adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    const turn *t = self;
    LMR_TRY(larmor_copy(y, x));
    return larmor_mul(t->factor, 1, x);
}

static larmor_status turn_normal(void *self LMR_UNUSED, const larmor_array *x, larmor_array *z)
{
    return larmor_copy(x, z);
}

LMR_DESTROYS(turn_destroy, turn, factor)

static larmor_status op_turn(larmor_op *A, const double *phase, larmor_op **op)
{
    static const larmor_op_impl impl = {"phases of readouts", turn_forward, turn_adjoint, turn_normal, turn_destroy};
    const larmor_shape samples = larmor_op_out_shape(A), shape = larmor_shape_of(2, samples.dim);
    larmor_device *dev = larmor_op_device(A);
    const int64_t count = larmor_shape_count(shape);
    LMR_HEAP double *factor = lmr_new(count, 2 * sizeof *factor);
    turn *t = calloc(1, sizeof *t);
    larmor_status st = factor && t ? LARMOR_OK : LMR_NO_MEMORY();
    for (int64_t i = 0; i < count && !st; i++) {
        factor[2 * i] = cos(phase[i / shape.dim[0]]);
        factor[2 * i + 1] = sin(phase[i / shape.dim[0]]);
    }
    if (!st) st = larmor_array_upload(dev, larmor_op_dtype(A), shape, LARMOR_C128, factor, &t->factor);
    if (!st) st = larmor_op_create(dev, &impl, t, larmor_op_dtype(A), samples, samples, op);
    if (st && t) turn_destroy(t);
    return st;
}

/* ---- the sum ---- */

static larmor_status check(larmor_op *const *A, int bands, const larmor_array *phase)
{
    LMR_REFUSE(bands < 1 || bands > LARMOR_MOST_BANDS, LARMOR_ERR_ARG, "multiband: got %d bands, expected 1 to %d",
               bands, LARMOR_MOST_BANDS);
    for (int s = 0; s < bands; s++) LMR_NEED(A[s]);
    const larmor_shape out = larmor_op_out_shape(A[0]);
    LMR_REFUSE(out.ndim != 3, LARMOR_ERR_SHAPE,
               "multiband: %s has outputs in %d dimensions, expected [samples, readouts, coils]",
               larmor_op_name(A[0]), out.ndim);
    const larmor_shape p = larmor_array_shape(phase);
    LMR_REFUSE(lmr_is_complex(larmor_array_dtype(phase)) || p.ndim != 2 || p.dim[0] != out.dim[1] ||
                   p.dim[1] != bands,
               LARMOR_ERR_SHAPE, "multiband: phases are %s, expected real [%lld readouts, %d bands]",
               lmr_describe(phase).s, (long long)out.dim[1], bands);
    return LARMOR_OK;
}

static larmor_status add_turns(larmor_op *const *A, int bands, const double *phase, larmor_op **turned)
{
    const int64_t readouts = larmor_op_out_shape(A[0]).dim[1];
    for (int64_t i = 0; i < readouts * bands; i++)
        LMR_REFUSE(!isfinite(phase[i]), LARMOR_ERR_NUMERIC, "multiband: the phase of readout %lld is not finite",
                   (long long)(i % readouts));
    for (int s = 0; s < bands; s++) {
        LMR_OWN(larmor_op, P, op_turn(A[s], phase + readouts * s, &P));
        LMR_TRY(larmor_op_chain(P, A[s], &turned[s]));
    }
    return LARMOR_OK;
}

larmor_status larmor_op_multiband(larmor_op *const *A, int bands, const larmor_array *phase, larmor_op **op)
{
    LMR_NEED_OUT(op, A, phase);
    LMR_TRY(check(A, bands, phase));
    larmor_op *turned[LARMOR_MOST_BANDS] = {NULL};
    LMR_OWNED(larmor_array) *more = NULL;
    LMR_OWN_MEMORY(double, angle, larmor_array_download(phase, LARMOR_F64, &angle));
    LMR_TRY(larmor_array_create(larmor_op_device(A[0]), larmor_op_dtype(A[0]), larmor_op_out_shape(A[0]), &more));
    larmor_status st = add_turns(A, bands, angle, turned);
    if (!st) st = lmr_op_columns(turned, bands, more, op);
    for (int s = 0; s < bands; s++) larmor_op_free(turned[s]);
    return st;
}
