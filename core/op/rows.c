/* Rows of products below each other: chains, stacks and blocks. SPDX-License-Identifier: Apache-2.0 */
#include "core/op/inside.h"
#include "core/owned.h"

/* A row is A B, or A where B is NULL. Rows take turns in the same memory, which is as large as the largest needs
 * it. */
typedef struct row {
    larmor_op *A, *B;
    larmor_array *between, *after; /* B x, and A^H A B x of a normal map: the leading part of the rows' memory */
} row;

typedef struct rows {
    int count;
    row *row;
    larmor_op *N;                  /* A^H A of every row's A, or NULL: each row's own */
    larmor_op *largest;            /* the A with the largest input */
    larmor_array *between, *after; /* the second is made where it is needed */
    larmor_array *one;             /* what a row adds to the sum over several */
    lmr_op_fused fused;            /* or NULL */
} rows;

static void free_rows(void *self)
{
    rows *p = self;
    for (int i = 0; p->row && i < p->count; i++)
        LMR_FREE(p->row[i].A, p->row[i].B, p->row[i].between, p->row[i].after);
    LMR_FREE(p->N, p->between, p->after, p->one, p->row, p);
}

static larmor_status row_forward(const row *r, const larmor_array *x, larmor_array *y)
{
    if (!r->B) return larmor_op_forward(r->A, x, y);
    LMR_TRY(larmor_op_forward(r->B, x, r->between));
    return larmor_op_forward(r->A, r->between, y);
}

static larmor_status row_adjoint(const row *r, const larmor_array *y, larmor_array *x)
{
    if (!r->B) return larmor_op_adjoint(r->A, y, x);
    LMR_TRY(larmor_op_adjoint(r->A, y, r->between));
    return larmor_op_adjoint(r->B, r->between, x);
}

static larmor_status need_after(rows *p)
{
    if (!p->between || p->after) return LARMOR_OK;
    LMR_TRY(lmr_op_work(&p->after, p->largest, p->largest->in));
    for (int i = 0; i < p->count; i++)
        if (p->row[i].B) LMR_TRY(lmr_op_leading(p->after, p->row[i].A->in, &p->row[i].after));
    return LARMOR_OK;
}

/* B^H (A^H A) B, so that the left factor's own normal is used. N takes all of the memory always: a smaller row leaves
 * behind it what was there. */
static larmor_status row_normal(rows *p, const row *r, const larmor_array *x, larmor_array *z)
{
    int done = 0;
    if (!r->B) return larmor_op_normal(r->A, x, z);
    if (p->fused) LMR_TRY(p->fused(p->N, r->B, x, r->between, z, &done));
    if (done) return LARMOR_OK;
    LMR_TRY(need_after(p));
    LMR_TRY(larmor_op_forward(r->B, x, r->between));
    if (p->N)
        LMR_TRY(larmor_op_forward(p->N, p->between, p->after));
    else
        LMR_TRY(larmor_op_normal(r->A, r->between, r->after));
    return larmor_op_adjoint(r->B, r->after, z);
}

/* The part of y that belongs to a row, which begins at *first; then *first is where the next begins. The view is
 * written only where the caller owns y. */
static larmor_status part_of(const row *r, const larmor_array *y, int64_t *first, larmor_array **part)
{
    const larmor_shape shape = r->A->out;
    const int64_t count = shape.dim[shape.ndim - 1];
    LMR_TRY(larmor_array_slice(y, *first, count, part));
    *first += count;
    return LARMOR_OK;
}

static larmor_status rows_forward(void *self, const larmor_array *x, larmor_array *y)
{
    const rows *p = self;
    if (p->count == 1) return row_forward(p->row, x, y);
    int64_t first = 0;
    for (int i = 0; i < p->count; i++) {
        LMR_OWN(larmor_array, part, part_of(&p->row[i], y, &first, &part));
        LMR_TRY(row_forward(&p->row[i], x, part));
    }
    return LARMOR_OK;
}

static larmor_status rows_adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    const rows *p = self;
    if (p->count == 1) return row_adjoint(p->row, y, x);
    LMR_TRY(larmor_zero(x));
    int64_t first = 0;
    for (int i = 0; i < p->count; i++) {
        LMR_OWN(larmor_array, part, part_of(&p->row[i], y, &first, &part));
        LMR_TRY(row_adjoint(&p->row[i], part, p->one));
        LMR_TRY(larmor_axpby(1, p->one, 1, x));
    }
    return LARMOR_OK;
}

static larmor_status rows_normal(void *self, const larmor_array *x, larmor_array *z)
{
    rows *p = self;
    if (p->count == 1) return row_normal(p, p->row, x, z);
    LMR_TRY(larmor_zero(z));
    for (int i = 0; i < p->count; i++) {
        LMR_TRY(row_normal(p, &p->row[i], x, p->one));
        LMR_TRY(larmor_axpby(1, p->one, 1, z));
    }
    return LARMOR_OK;
}

/* References to all, and the memory between. */
static larmor_status fill_rows(rows *p, larmor_op *const *A, larmor_op *const *B, larmor_op *N)
{
    LMR_ALLOCATE_ZEROS(p->row, p->count);
    p->N = larmor_op_ref(N);
    p->largest = A[0];
    for (int i = 0; i < p->count; i++) {
        p->row[i] = (row){.A = larmor_op_ref(A[i]), .B = B ? larmor_op_ref(B[i]) : NULL};
        if (larmor_shape_count(A[i]->in) > larmor_shape_count(p->largest->in)) p->largest = A[i];
    }
    const larmor_shape in = B ? B[0]->in : A[0]->in;
    if (p->count > 1) LMR_TRY(lmr_op_work(&p->one, A[0], in));
    if (!B) return LARMOR_OK;
    LMR_TRY(lmr_op_work(&p->between, p->largest, p->largest->in));
    for (int i = 0; i < p->count; i++) LMR_TRY(lmr_op_leading(p->between, A[i]->in, &p->row[i].between));
    return LARMOR_OK;
}

/* The output of the rows below each other. */
static larmor_status stacked(const char *who, larmor_op *const *A, int count, larmor_shape *out)
{
    *out = A[0]->out;
    if (count == 1) return LARMOR_OK;
    LMR_REFUSE(!out->ndim, LARMOR_ERR_SHAPE, "%s: the rows' output has no dimension to stack along", who);
    const int last = out->ndim - 1;
    int64_t total = 0;
    for (int i = 0; i < count; i++) {
        larmor_shape shape = A[i]->out;
        const int64_t own = shape.ndim == out->ndim ? shape.dim[last] : 0;
        if (shape.ndim == out->ndim) shape.dim[last] = out->dim[last];
        LMR_TRY(lmr_op_expect_shapes(who, "output of a row but for its last dimension", A[0], shape, *out));
        LMR_REFUSE(__builtin_add_overflow(total, own, &total), LARMOR_ERR_SHAPE, "%s: too many rows", who);
    }
    out->dim[last] = total;
    return LARMOR_OK;
}

static larmor_status make_rows(const char *name, larmor_op *const *A, larmor_op *const *B, int count, larmor_op *N,
                               larmor_op **op)
{
    const larmor_op_impl impl = {name, rows_forward, rows_adjoint, rows_normal, free_rows};
    larmor_shape out;
    LMR_TRY(stacked(name, A, count, &out));
    LMR_MAKE(rows, p, free_rows);
    p->count = count;
    LMR_TRY(fill_rows(p, A, B, N));
    return lmr_hand_on(&p_made, larmor_op_create(A[0]->dev, &impl, p, A[0]->dtype, B ? B[0]->in : A[0]->in, out, op));
}

larmor_status larmor_op_chain(larmor_op *A, larmor_op *B, larmor_op **AB)
{
    LMR_NEED_OUT(AB);
    return lmr_op_blocks("chain", &A, &B, 1, NULL, AB);
}

larmor_status lmr_op_blocks(const char *name, larmor_op *const *A, larmor_op *const *B, int count, larmor_op *N,
                            larmor_op **op)
{
    *op = NULL;
    for (int i = 0; i < count; i++) {
        LMR_TRY(lmr_op_expect_compatible(name, A[0], A[i]));
        LMR_TRY(lmr_op_expect_compatible(name, A[0], B[i]));
        LMR_TRY(lmr_op_expect_shapes(name, "output of the right factor", A[0], B[i]->out, A[i]->in));
        LMR_TRY(lmr_op_expect_shapes(name, "input of a row", A[0], B[i]->in, B[0]->in));
    }
    return make_rows(name, A, B, count, N, op);
}

static rows *blocks_of(const larmor_op *op)
{
    rows *p = op && op->impl.forward == rows_forward ? op->self : NULL;
    return p && p->between ? p : NULL;
}

void lmr_op_blocks_fuse(larmor_op *op, lmr_op_fused fused)
{
    rows *p = blocks_of(op);
    if (p->N) p->fused = fused;
}

int lmr_op_blocks_count(const larmor_op *op)
{
    const rows *p = blocks_of(op);
    return p ? p->count : 0;
}

larmor_shape lmr_op_blocks_between(const larmor_op *op, int i)
{
    return blocks_of(op)->row[i].A->in;
}

static larmor_status replace(larmor_op *op, larmor_op *const *B)
{
    rows *p = blocks_of(op);
    for (int i = 0; i < p->count; i++) {
        LMR_TRY(lmr_op_expect_compatible(op->impl.name, op, B[i]));
        LMR_TRY(lmr_op_expect_shapes(op->impl.name, "output of the right factor", op, B[i]->out, p->row[i].A->in));
        LMR_TRY(lmr_op_expect_shapes(op->impl.name, "input of a row", op, B[i]->in, op->in));
    }
    for (int i = 0; i < p->count; i++) {
        larmor_op_free(p->row[i].B);
        p->row[i].B = larmor_op_ref(B[i]);
    }
    return LARMOR_OK;
}

larmor_status lmr_op_blocks_replace(larmor_op *op, larmor_op *const *B)
{
    LMR_TRY(lmr_gate_enter(&op->gate));
    const larmor_status st = replace(op, B);
    lmr_gate_leave(&op->gate);
    return st;
}

/* What all rows have between their factors, below each other. */
static larmor_status expect_between(const larmor_op *op, const larmor_array *between)
{
    const rows *p = blocks_of(op);
    larmor_shape shape = p->row[0].A->in;
    int64_t *all = &shape.dim[shape.ndim - 1];
    for (int i = 1; i < p->count; i++) *all += p->row[i].A->in.dim[shape.ndim - 1];
    return lmr_expect(op->impl.name, "array between", between, op->dev, op->dtype, shape);
}

/* Row i's part, which begins at *first; then *first is where the next begins. */
static larmor_status part_between(const rows *p, int i, const larmor_array *between, int64_t *first,
                                  larmor_array **part)
{
    const larmor_shape shape = p->row[i].A->in;
    const int64_t count = shape.dim[shape.ndim - 1];
    LMR_TRY(larmor_array_slice(between, *first, count, part));
    *first += count;
    return LARMOR_OK;
}

larmor_status lmr_op_blocks_left(larmor_op *op, const larmor_array *y, larmor_array *between)
{
    const rows *p = blocks_of(op);
    int64_t first = 0, first_out = 0;
    LMR_TRY(expect_between(op, between));
    LMR_TRY(lmr_expect(op->impl.name, "y", y, op->dev, op->dtype, op->out));
    if (p->count == 1) return larmor_op_adjoint(p->row->A, y, between);
    for (int i = 0; i < p->count; i++) {
        LMR_OWN(larmor_array, in, part_between(p, i, between, &first, &in));
        LMR_OWN(larmor_array, out, part_of(&p->row[i], y, &first_out, &out));
        LMR_TRY(larmor_op_adjoint(p->row[i].A, out, in));
    }
    return LARMOR_OK;
}

static larmor_status right(larmor_op *op, const larmor_array *between, larmor_array *x)
{
    const rows *p = blocks_of(op);
    int64_t first = 0;
    LMR_TRY(expect_between(op, between));
    LMR_TRY(lmr_expect(op->impl.name, "x", x, op->dev, op->dtype, op->in));
    if (p->count == 1) return larmor_op_adjoint(p->row->B, between, x);
    LMR_TRY(larmor_zero(x));
    for (int i = 0; i < p->count; i++) {
        LMR_OWN(larmor_array, part, part_between(p, i, between, &first, &part));
        LMR_TRY(larmor_op_adjoint(p->row[i].B, part, p->one));
        LMR_TRY(larmor_axpby(1, p->one, 1, x));
    }
    return LARMOR_OK;
}

larmor_status lmr_op_blocks_right(larmor_op *op, const larmor_array *between, larmor_array *x)
{
    LMR_TRY(lmr_gate_enter(&op->gate));
    const larmor_status st = right(op, between, x);
    lmr_gate_leave(&op->gate);
    return st;
}

larmor_status larmor_op_stack(larmor_op *const *ops, int count, larmor_op **stack)
{
    LMR_NEED_OUT(stack);
    LMR_REFUSE(count < 1 || !ops || !ops[0], LARMOR_ERR_ARG, "stack: got %d operators, expected at least 1", count);
    for (int i = 0; i < count; i++) {
        LMR_TRY(lmr_op_expect_compatible("stack", ops[0], ops[i]));
        LMR_TRY(lmr_op_expect_shapes("stack", "input of a row", ops[0], ops[i]->in, ops[0]->in));
    }
    return make_rows("stack", ops, NULL, count, NULL, stack);
}
