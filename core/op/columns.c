/* Operators beside each other, diagonal ones, and those with another normal map.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "core/op/inside.h"
#include "core/owned.h"

/* ---- columns ---- */

typedef struct columns {
    int count;
    larmor_op **op;
    larmor_array *more; /* an output, in memory that others may use between calls */
} columns;

static void free_columns(void *self)
{
    columns *p = self;
    for (int i = 0; p->op && i < p->count; i++) larmor_op_free(p->op[i]);
    LMR_FREE(p->more, p->op, p);
}

static larmor_status columns_forward(void *self, const larmor_array *x, larmor_array *y)
{
    const columns *p = self;
    for (int i = 0; i < p->count; i++) {
        LMR_OWN(larmor_array, part, larmor_array_part(x, i, 1, p->op[i]->in, &part));
        LMR_TRY(larmor_op_forward(p->op[i], part, i ? p->more : y));
        if (i) LMR_TRY(larmor_axpby(1, p->more, 1, y));
    }
    return LARMOR_OK;
}

static larmor_status columns_adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    const columns *p = self;
    for (int i = 0; i < p->count; i++) {
        LMR_OWN(larmor_array, part, larmor_array_part(x, i, 1, p->op[i]->in, &part));
        LMR_TRY(larmor_op_adjoint(p->op[i], y, part));
    }
    return LARMOR_OK;
}

larmor_status lmr_op_columns(larmor_op *const *ops, int count, larmor_array *more, larmor_op **op)
{
    static const larmor_op_impl impl = {"columns", columns_forward, columns_adjoint, NULL, free_columns};
    *op = NULL;
    for (int i = 0; i < count; i++) {
        LMR_TRY(lmr_op_expect_compatible("columns", ops[0], ops[i]));
        LMR_TRY(lmr_op_expect_shapes("columns", "input of a column", ops[0], ops[i]->in, ops[0]->in));
        LMR_TRY(lmr_op_expect_shapes("columns", "output of a column", ops[0], ops[i]->out, ops[0]->out));
    }
    LMR_MAKE(columns, p, free_columns);
    LMR_ALLOCATE_ZEROS(p->op, count);
    for (p->count = 0; p->count < count; p->count++) p->op[p->count] = larmor_op_ref(ops[p->count]);
    if (count > 1) LMR_TRY(lmr_op_leading(more, ops[0]->out, &p->more));
    return lmr_hand_on(&p_made, larmor_op_create(ops[0]->dev, &impl, p, ops[0]->dtype,
                                                 larmor_shape_append(ops[0]->in, count), ops[0]->out, op));
}

/* ---- diagonal ---- */

static larmor_status diag_forward(void *self, const larmor_array *x, larmor_array *y)
{
    const larmor_array *d = self;
    return lmr_vec_of(x)->mul(x->dev->ctx, larmor_array_count(x), 1, d->data, x->data, 0, y->data);
}

static larmor_status diag_adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    const larmor_array *d = self;
    return lmr_vec_of(y)->mul(y->dev->ctx, larmor_array_count(y), 1, d->data, y->data, 1, x->data);
}

static void diag_destroy(void *self)
{
    larmor_array_free(self);
}

larmor_status larmor_op_diag(larmor_array *d, larmor_op **D)
{
    static const larmor_op_impl impl = {"diag", diag_forward, diag_adjoint, NULL, diag_destroy};
    LMR_NEED_OUT(D);
    LMR_REFUSE(!d, LARMOR_ERR_ARG, "diag: d is NULL");
    LMR_TRY(larmor_op_create(d->dev, &impl, d, d->dtype, d->shape, d->shape, D));
    lmr_op_serve_several(*D);
    larmor_array_ref(d);
    return LARMOR_OK;
}

/* ---- another normal map ---- */

typedef struct with_normal {
    larmor_op *A, *N;
} with_normal;

LMR_DESTROYS(free_with_normal, with_normal, A, N)

static larmor_status kept_forward(void *self, const larmor_array *x, larmor_array *y)
{
    return larmor_op_forward(((with_normal *)self)->A, x, y);
}

static larmor_status kept_adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    return larmor_op_adjoint(((with_normal *)self)->A, y, x);
}

static larmor_status replaced_normal(void *self, const larmor_array *x, larmor_array *z)
{
    return larmor_op_forward(((with_normal *)self)->N, x, z);
}

larmor_status larmor_op_with_normal(larmor_op *A, larmor_op *N, larmor_op **A2)
{
    static const larmor_op_impl impl = {"with_normal", kept_forward, kept_adjoint, replaced_normal, free_with_normal};
    LMR_NEED_OUT(A2);
    LMR_TRY(lmr_op_expect_compatible("with_normal", A, N));
    LMR_TRY(lmr_op_expect_shapes("with_normal", "input of the normal", A, N->in, A->in));
    LMR_TRY(lmr_op_expect_shapes("with_normal", "output of the normal", A, N->out, A->in));
    LMR_NEW(with_normal, p, 1);
    *p = (with_normal){larmor_op_ref(A), larmor_op_ref(N)};
    const larmor_status st = larmor_op_create(A->dev, &impl, p, A->dtype, A->in, A->out, A2);
    if (st) free_with_normal(p);
    return st;
}
