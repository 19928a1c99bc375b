/* Samples of one image in several states: y_m = A_m x, the readouts of all states one after the other in each coil.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/op.h"
#include "core/owned.h"
#include "larmor/operators.h"

typedef struct states {
    int count;
    larmor_op **op;
    larmor_array **own; /* [count] samples of each, of its output's shape */
    larmor_array *one;  /* [image...], of one state */
    int64_t coils, samples;
} states;

static void destroy(void *self)
{
    states *s = self;
    for (int m = 0; m < s->count; m++) {
        larmor_op_free(s->op[m]);
        if (s->own) larmor_array_free(s->own[m]);
    }
    larmor_array_free(s->one);
    free(s->op);
    free(s->own);
    free(s);
}

/* The samples of a state to their places in y, or from there. */
static larmor_status move(const states *s, int m, int64_t first, const larmor_array *y, int to_all)
{
    const int64_t own = larmor_array_count(s->own[m]) / s->coils;
    LMR_OWNED(larmor_array) *all = NULL, *part = NULL;
    LMR_TRY(larmor_array_reshape(y, LARMOR_SHAPE(s->samples * s->coils), &all));
    LMR_TRY(larmor_array_reshape(s->own[m], LARMOR_SHAPE(own * s->coils), &part));
    for (int64_t c = 0; c < s->coils; c++) {
        LMR_OWNED(larmor_array) *there = NULL, *here = NULL;
        LMR_TRY(larmor_array_slice(all, c * s->samples + first, own, &there));
        LMR_TRY(larmor_array_slice(part, c * own, own, &here));
        LMR_TRY(to_all ? larmor_copy(here, there) : larmor_copy(there, here));
    }
    return LARMOR_OK;
}

static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    const states *s = self;
    int64_t first = 0;
    for (int m = 0; m < s->count; m++) {
        LMR_TRY(larmor_op_forward(s->op[m], x, s->own[m]));
        LMR_TRY(move(s, m, first, y, 1));
        first += larmor_array_count(s->own[m]) / s->coils;
    }
    return LARMOR_OK;
}

static larmor_status adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    const states *s = self;
    int64_t first = 0;
    for (int m = 0; m < s->count; m++) {
        LMR_TRY(move(s, m, first, y, 0));
        LMR_TRY(larmor_op_adjoint(s->op[m], s->own[m], m ? s->one : x));
        if (m) LMR_TRY(larmor_axpby(1, s->one, 1, x));
        first += larmor_array_count(s->own[m]) / s->coils;
    }
    return LARMOR_OK;
}

static larmor_status normal(void *self, const larmor_array *x, larmor_array *z)
{
    const states *s = self;
    for (int m = 0; m < s->count; m++) {
        LMR_TRY(larmor_op_normal(s->op[m], x, m ? s->one : z));
        if (m) LMR_TRY(larmor_axpby(1, s->one, 1, z));
    }
    return LARMOR_OK;
}

/* [samples, readouts, coils] of operators that agree in all but their readouts, and in samples where they can. */
static larmor_status check_states(larmor_op *const *ops, int count, larmor_shape *out, int64_t *total)
{
    int64_t readouts = 0;
    int regular = 1;
    *total = 0;
    for (int m = 0; m < count; m++) {
        if (!ops[m]) return LMR_FAIL(LARMOR_ERR_ARG, "states: operator %d is missing", m);
        const larmor_shape a = larmor_op_out_shape(ops[m]), first = larmor_op_out_shape(ops[0]);
        if (a.ndim != 3 || a.dim[2] != first.dim[2] || larmor_op_dtype(ops[m]) != larmor_op_dtype(ops[0]) ||
            larmor_op_device(ops[m]) != larmor_op_device(ops[0]) ||
            !larmor_shape_equal(larmor_op_in_shape(ops[m]), larmor_op_in_shape(ops[0])))
            return LMR_FAIL(
                LARMOR_ERR_SHAPE,
                "states: operator %d is of another device, type, image or number of coils than the first, "
                "or does not give [samples, readouts, coils]",
                m);
        regular &= a.dim[0] == first.dim[0];
        readouts += a.dim[1];
        *total += a.dim[0] * a.dim[1];
    }
    const larmor_shape one = larmor_op_out_shape(ops[0]);
    *out = regular ? LARMOR_SHAPE(one.dim[0], readouts, one.dim[2]) : LARMOR_SHAPE(*total, 1, one.dim[2]);
    return LARMOR_OK;
}

larmor_status larmor_op_states(larmor_op *const *ops, int count, larmor_op **A)
{
    static const larmor_op_impl impl = {"states", forward, adjoint, normal, destroy};
    LMR_NEED(A);
    *A = NULL;
    if (!ops || count < 1) return LMR_FAIL(LARMOR_ERR_ARG, "states: got %d operators, expected at least 1", count);
    larmor_shape out;
    int64_t total;
    LMR_TRY(check_states(ops, count, &out, &total));
    larmor_device *dev = larmor_op_device(ops[0]);
    const larmor_shape image = larmor_op_in_shape(ops[0]);
    const larmor_dtype dtype = larmor_op_dtype(ops[0]);
    larmor_status st;
    states *s = calloc(1, sizeof *s);
    if (!s) return LMR_NO_MEMORY();
    s->op = calloc((size_t)count, sizeof *s->op);
    s->own = calloc((size_t)count, sizeof *s->own);
    if (!s->op || !s->own) LMR_OR(fail, LMR_NO_MEMORY());
    s->coils = out.dim[2];
    s->samples = total;
    for (; s->count < count; s->count++) {
        s->op[s->count] = larmor_op_ref(ops[s->count]);
        const larmor_shape own = larmor_op_out_shape(ops[s->count]);
        st = larmor_array_create(dev, dtype, own, &s->own[s->count]);
        if (!st) continue;
        larmor_op_free(s->op[s->count]);
        goto fail;
    }
    LMR_OR(fail, larmor_array_create(dev, dtype, image, &s->one));
    LMR_OR(fail, larmor_op_create(dev, &impl, s, dtype, image, out, A));
    return LARMOR_OK;
fail:
    destroy(s);
    return st;
}
