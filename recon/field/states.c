/* Samples of one image in several states: y_m = A_m x, the readouts of all states one after the other in each coil.
 * SPDX-License-Identifier: Apache-2.0 */
#include "recon/field/states.h"

#include "core/core.h"

typedef struct states {
    int count;
    larmor_op **op;
    larmor_array **own; /* [count] samples of each, of its output's shape */
    larmor_array *one;  /* [image...], of one state */
    lmr_runs runs;
    int64_t row, coils;
} states;

static void destroy(void *self)
{
    states *s = self;
    for (int m = 0; m < s->count; m++) {
        if (s->op) larmor_op_free(s->op[m]);
        if (s->own) larmor_array_free(s->own[m]);
    }
    LMR_FREE(s->one, s->op, s->own, s->runs.run, s);
}

larmor_status lmr_runs_copy(const lmr_runs *runs, int state, int to_all, int64_t planes, size_t bytes,
                            const larmor_array *all, const larmor_array *part)
{
    const larmor_device *dev = all->dev;
    const size_t pitch[2] = {larmor_array_bytes(part) / (size_t)planes, larmor_array_bytes(all) / (size_t)planes};
    for (int64_t i = 0; i < runs->count; i++) {
        const lmr_run *r = &runs->run[i];
        if (r->state != state) continue;
        char *place[2] = {(char *)part->data + bytes * (size_t)r->own, (char *)all->data + bytes * (size_t)r->first};
        LMR_TRY(dev->be->copy_rows(dev->ctx, place[to_all], pitch[to_all], place[!to_all], pitch[!to_all],
                                   bytes * (size_t)r->count, planes));
    }
    return LARMOR_OK;
}

static larmor_status move(const states *s, int m, int to_all, const larmor_array *y)
{
    const size_t bytes = larmor_dtype_size(y->dtype) * (size_t)s->row;
    return lmr_runs_copy(&s->runs, m, to_all, s->coils, bytes, y, s->own[m]);
}

static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    const states *s = self;
    for (int m = 0; m < s->count; m++) {
        LMR_TRY(larmor_op_forward(s->op[m], x, s->own[m]));
        LMR_TRY(move(s, m, 1, y));
    }
    return LARMOR_OK;
}

static larmor_status adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    const states *s = self;
    for (int m = 0; m < s->count; m++) {
        LMR_TRY(move(s, m, 0, y));
        LMR_TRY(larmor_op_adjoint(s->op[m], s->own[m], m ? s->one : x));
        if (m) LMR_TRY(larmor_axpby(1, s->one, 1, x));
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

larmor_status lmr_op_states(const char *name, larmor_op *const *ops, int count, lmr_runs runs, int64_t row,
                            larmor_shape out, larmor_op **A)
{
    const larmor_op_impl impl = {name, forward, adjoint, normal, destroy};
    larmor_device *dev = larmor_op_device(ops[0]);
    const larmor_shape image = larmor_op_in_shape(ops[0]);
    const larmor_dtype dtype = larmor_op_dtype(ops[0]);
    larmor_status st;
    states *s = calloc(1, sizeof *s);
    if (!s) {
        free(runs.run);
        return LMR_NO_MEMORY();
    }
    *s = (states){.count = count,
                  .op = calloc((size_t)count, sizeof *s->op),
                  .own = calloc((size_t)count, sizeof *s->own),
                  .runs = runs,
                  .row = row,
                  .coils = out.dim[2]};
    if (!s->op || !s->own) LMR_OR(fail, LMR_NO_MEMORY());
    for (int m = 0; m < count; m++) {
        s->op[m] = larmor_op_ref(ops[m]);
        LMR_OR(fail, larmor_array_create(dev, dtype, larmor_op_out_shape(ops[m]), &s->own[m]));
    }
    LMR_OR(fail, larmor_array_create(dev, dtype, image, &s->one));
    LMR_OR(fail, larmor_op_create(dev, &impl, s, dtype, image, out, A));
    return LARMOR_OK;
fail:
    destroy(s);
    return st;
}

/* [samples, readouts, coils] of operators that agree in all but their readouts, and in samples where they can. */
static larmor_status check_states(larmor_op *const *ops, int count, larmor_shape *out, int64_t *row)
{
    int64_t readouts = 0, total = 0;
    int regular = 1;
    for (int m = 0; m < count; m++) {
        LMR_REFUSE(!ops[m], LARMOR_ERR_ARG, "states: operator %d is missing", m);
        const larmor_shape a = larmor_op_out_shape(ops[m]), first = larmor_op_out_shape(ops[0]);
        LMR_REFUSE(a.ndim != 3 || a.dim[2] != first.dim[2] || larmor_op_dtype(ops[m]) != larmor_op_dtype(ops[0]) ||
                       larmor_op_device(ops[m]) != larmor_op_device(ops[0]) ||
                       !larmor_shape_equal(larmor_op_in_shape(ops[m]), larmor_op_in_shape(ops[0])),
                   LARMOR_ERR_SHAPE,
                   "states: operator %d is of another device, type, image or number of coils than the first, "
                   "or does not give [samples, readouts, coils]",
                   m);
        regular &= a.dim[0] == first.dim[0];
        readouts += a.dim[1];
        total += a.dim[0] * a.dim[1];
    }
    const larmor_shape one = larmor_op_out_shape(ops[0]);
    *out = regular ? LARMOR_SHAPE(one.dim[0], readouts, one.dim[2]) : LARMOR_SHAPE(total, 1, one.dim[2]);
    *row = regular ? one.dim[0] : 1;
    return LARMOR_OK;
}

larmor_status larmor_op_states(larmor_op *const *ops, int count, larmor_op **A)
{
    LMR_NEED_OUT(A);
    LMR_REFUSE(!ops || count < 1, LARMOR_ERR_ARG, "states: got %d operators, expected at least 1", count);
    larmor_shape out;
    int64_t row = 1, first = 0;
    LMR_TRY(check_states(ops, count, &out, &row));
    const lmr_runs runs = {lmr_new(count, sizeof *runs.run), count};
    if (!runs.run) return LMR_NO_MEMORY();
    for (int m = 0; m < count; m++) {
        const larmor_shape own = larmor_op_out_shape(ops[m]);
        runs.run[m] = (lmr_run){.state = m, .first = first, .count = own.dim[1]};
        if (row != own.dim[0]) runs.run[m].count *= own.dim[0];
        first += runs.run[m].count;
    }
    return lmr_op_states("states", ops, count, runs, row, out, A);
}
