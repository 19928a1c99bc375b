/* Linear operators and their algebra. SPDX-License-Identifier: Apache-2.0 */
#include "core/op.h"

#include <math.h>
#include <stdlib.h>

#include "core/array.h"
#include "core/random.h"

struct larmor_op {
    larmor_op_impl impl;
    void *self;
    larmor_device *dev;
    larmor_dtype dtype;
    larmor_shape in, out;
    larmor_array *between; /* A x of a normal map in two steps, from the first one on */
    lmr_refs refs;
};

/* ---- life ---- */

larmor_status larmor_op_create(larmor_device *dev, const larmor_op_impl *impl, void *self, larmor_dtype dtype,
                               larmor_shape in, larmor_shape out, larmor_op **op)
{
    if (!op) return LMR_FAIL(LARMOR_ERR_ARG, "larmor_op_create: op is NULL");
    *op = NULL;
    if (!dev || !impl || !impl->forward || !impl->adjoint || !lmr_is_complex(dtype))
        return LMR_FAIL(LARMOR_ERR_ARG, "operator %s: a device, forward, adjoint and a complex type are needed",
                        impl && impl->name ? impl->name : "without a name");
    if (larmor_shape_count(in) < 0 || larmor_shape_count(out) < 0)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "operator %s: %s to %s is not possible", impl->name,
                        lmr_describe_as(dev, dtype, in).s, lmr_describe_as(dev, dtype, out).s);
    larmor_op *A = calloc(1, sizeof *A);
    if (!A) return LMR_NO_MEMORY();
    A->impl = *impl;
    A->self = self;
    A->dev = lmr_device_ref(dev);
    A->dtype = dtype;
    A->in = in;
    A->out = out;
    if (!A->impl.name) A->impl.name = "operator";
    atomic_init(&A->refs, 1);
    *op = A;
    return LARMOR_OK;
}

larmor_op *larmor_op_ref(larmor_op *A)
{
    if (A) lmr_refs_add(&A->refs);
    return A;
}

void larmor_op_free(larmor_op *A)
{
    if (!A || !lmr_refs_drop(&A->refs)) return;
    if (A->impl.destroy) A->impl.destroy(A->self);
    larmor_array_free(A->between);
    larmor_device_free(A->dev);
    free(A);
}

larmor_shape larmor_op_in_shape(const larmor_op *A)
{
    return A ? A->in : (larmor_shape){0};
}

larmor_shape larmor_op_out_shape(const larmor_op *A)
{
    return A ? A->out : (larmor_shape){0};
}

larmor_dtype larmor_op_dtype(const larmor_op *A)
{
    return A ? A->dtype : LARMOR_C64;
}

larmor_device *larmor_op_device(const larmor_op *A)
{
    return A ? A->dev : NULL;
}

const char *larmor_op_name(const larmor_op *A)
{
    return A ? A->impl.name : "";
}

void *lmr_op_self(const larmor_op *A, larmor_status (*forward)(void *self, const larmor_array *x, larmor_array *y))
{
    return A && A->impl.forward == forward ? A->self : NULL;
}

/* ---- application ---- */

static larmor_status expect_pair(const larmor_op *A, const larmor_array *x, larmor_shape in, const larmor_array *y,
                                 larmor_shape out)
{
    LMR_TRY(lmr_expect(A->impl.name, "input", x, A->dev, A->dtype, in));
    LMR_TRY(lmr_expect(A->impl.name, "output", y, A->dev, A->dtype, out));
    const uintptr_t from = (uintptr_t)x->data, to = (uintptr_t)y->data;
    if (from >= to + larmor_array_bytes(y) || to >= from + larmor_array_bytes(x)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG, "%s: input and output share memory; give the output an array of its own",
                    A->impl.name);
}

/* An array that a map works with, made by the first call that needs it: later ones allocate nothing. */
static larmor_status need(larmor_array **work, const larmor_op *A, larmor_shape shape)
{
    return *work ? LARMOR_OK : larmor_array_create(A->dev, A->dtype, shape, work);
}

larmor_status larmor_op_forward(larmor_op *A, const larmor_array *x, larmor_array *y)
{
    LMR_NEED(A);
    LMR_TRY(expect_pair(A, x, A->in, y, A->out));
    return A->impl.forward(A->self, x, y);
}

larmor_status larmor_op_adjoint(larmor_op *A, const larmor_array *y, larmor_array *x)
{
    LMR_NEED(A);
    LMR_TRY(expect_pair(A, y, A->out, x, A->in));
    return A->impl.adjoint(A->self, y, x);
}

larmor_status larmor_op_normal(larmor_op *A, const larmor_array *x, larmor_array *z)
{
    LMR_NEED(A);
    LMR_TRY(expect_pair(A, x, A->in, z, A->in));
    if (A->impl.normal) return A->impl.normal(A->self, x, z);
    LMR_TRY(need(&A->between, A, A->out));
    LMR_TRY(A->impl.forward(A->self, x, A->between));
    return A->impl.adjoint(A->self, A->between, z);
}

/* ---- composition: all keep parts and, where they need one, a work array ---- */

typedef struct parts {
    int count;
    larmor_op **op;
    larmor_array *work, *second; /* the second is made where it is needed */
} parts;

static void free_parts(void *self)
{
    parts *p = self;
    if (!p) return;
    for (int i = 0; p->op && i < p->count; i++) larmor_op_free(p->op[i]);
    larmor_array_free(p->work);
    larmor_array_free(p->second);
    free(p->op);
    free(p);
}

/* References to all ops and, if work is not NULL, a work array of that shape. */
static larmor_status make_parts(larmor_op *const *ops, int count, const larmor_shape *work, parts **out)
{
    *out = NULL;
    parts *p = calloc(1, sizeof *p);
    if (!p || !(p->op = calloc((size_t)count, sizeof *p->op))) {
        free(p);
        return LMR_NO_MEMORY();
    }
    for (int i = 0; i < count; i++) p->op[i] = larmor_op_ref(ops[i]);
    p->count = count;
    if (work) {
        const larmor_status st = larmor_array_create(ops[0]->dev, ops[0]->dtype, *work, &p->work);
        if (st) {
            free_parts(p);
            return st;
        }
    }
    *out = p;
    return LARMOR_OK;
}

static larmor_status compose(const larmor_op_impl *impl, larmor_op *const *ops, int count, const larmor_shape *work,
                             larmor_shape in, larmor_shape out, larmor_op **op)
{
    parts *p;
    LMR_TRY(make_parts(ops, count, work, &p));
    const larmor_status st = larmor_op_create(ops[0]->dev, impl, p, ops[0]->dtype, in, out, op);
    if (st) free_parts(p);
    return st;
}

static larmor_status expect_kin(const char *who, const larmor_op *A, const larmor_op *B)
{
    if (!A || !B) return LMR_FAIL(LARMOR_ERR_ARG, "%s: an operator is NULL", who);
    if (A->dev == B->dev && A->dtype == B->dtype) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE, "%s: %s is %s on %s, %s is %s on %s; both must agree", who, A->impl.name,
                    larmor_dtype_name(A->dtype), larmor_device_spec(A->dev), B->impl.name,
                    larmor_dtype_name(B->dtype), larmor_device_spec(B->dev));
}

static larmor_status expect_shapes(const char *who, const char *what, const larmor_op *A, larmor_shape a,
                                   larmor_shape b)
{
    if (larmor_shape_equal(a, b)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE, "%s: %s: got %s, expected %s", who, what,
                    lmr_describe_as(A->dev, A->dtype, a).s, lmr_describe_as(A->dev, A->dtype, b).s);
}

static larmor_status chain_forward(void *self, const larmor_array *x, larmor_array *y)
{
    parts *p = self;
    LMR_TRY(larmor_op_forward(p->op[1], x, p->work));
    return larmor_op_forward(p->op[0], p->work, y);
}

static larmor_status chain_adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    parts *p = self;
    LMR_TRY(larmor_op_adjoint(p->op[0], y, p->work));
    return larmor_op_adjoint(p->op[1], p->work, x);
}

/* B^H (A^H A) B, so that the left factor's own normal is used. */
static larmor_status chain_normal(void *self, const larmor_array *x, larmor_array *z)
{
    parts *p = self;
    LMR_TRY(need(&p->second, p->op[0], p->op[0]->in));
    LMR_TRY(larmor_op_forward(p->op[1], x, p->work));
    LMR_TRY(larmor_op_normal(p->op[0], p->work, p->second));
    return larmor_op_adjoint(p->op[1], p->second, z);
}

larmor_status larmor_op_chain(larmor_op *A, larmor_op *B, larmor_op **AB)
{
    static const larmor_op_impl impl = {"chain", chain_forward, chain_adjoint, chain_normal, free_parts};
    LMR_NEED(AB);
    *AB = NULL;
    LMR_TRY(expect_kin("chain", A, B));
    LMR_TRY(expect_shapes("chain", "output of the right factor", A, B->out, A->in));
    return compose(&impl, (larmor_op *[]){A, B}, 2, &A->in, B->in, A->out, AB);
}

static larmor_status sum_forward(void *self, const larmor_array *x, larmor_array *y)
{
    parts *p = self;
    LMR_TRY(need(&p->second, p->op[0], p->op[0]->out));
    LMR_TRY(larmor_op_forward(p->op[0], x, y));
    LMR_TRY(larmor_op_forward(p->op[1], x, p->second));
    return larmor_axpby(1, p->second, 1, y);
}

static larmor_status sum_adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    parts *p = self;
    LMR_TRY(larmor_op_adjoint(p->op[0], y, x));
    LMR_TRY(larmor_op_adjoint(p->op[1], y, p->work));
    return larmor_axpby(1, p->work, 1, x);
}

larmor_status larmor_op_sum(larmor_op *A, larmor_op *B, larmor_op **sum)
{
    static const larmor_op_impl impl = {"sum", sum_forward, sum_adjoint, NULL, free_parts};
    LMR_NEED(sum);
    *sum = NULL;
    LMR_TRY(expect_kin("sum", A, B));
    LMR_TRY(expect_shapes("sum", "input of the second", A, B->in, A->in));
    LMR_TRY(expect_shapes("sum", "output of the second", A, B->out, A->out));
    return compose(&impl, (larmor_op *[]){A, B}, 2, &A->in, A->in, A->out, sum);
}

/* Calls f on every row with its part of y. */
static larmor_status each_row(parts *p, const larmor_array *y,
                              larmor_status (*f)(parts *p, larmor_op *row, larmor_array *part, void *user),
                              void *user)
{
    int64_t first = 0;
    for (int i = 0; i < p->count; i++) {
        const larmor_shape shape = p->op[i]->out;
        const int64_t count = shape.dim[shape.ndim - 1];
        larmor_array *part;
        /* the view is written only where the caller owns y, or else only read */
        LMR_TRY(larmor_array_slice(y, first, count, &part));
        const larmor_status st = f(p, p->op[i], part, user);
        larmor_array_free(part);
        if (st) return st;
        first += count;
    }
    return LARMOR_OK;
}

static larmor_status row_forward(parts *p, larmor_op *row, larmor_array *part, void *x)
{
    (void)p;
    return larmor_op_forward(row, x, part);
}

static larmor_status row_adjoint(parts *p, larmor_op *row, larmor_array *part, void *x)
{
    LMR_TRY(larmor_op_adjoint(row, part, p->work));
    return larmor_axpby(1, p->work, 1, x);
}

static larmor_status stack_forward(void *self, const larmor_array *x, larmor_array *y)
{
    return each_row(self, y, row_forward, (void *)(uintptr_t)x);
}

static larmor_status stack_adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    LMR_TRY(larmor_zero(x));
    return each_row(self, y, row_adjoint, x);
}

static larmor_status stack_normal(void *self, const larmor_array *x, larmor_array *z)
{
    parts *p = self;
    LMR_TRY(larmor_zero(z));
    for (int i = 0; i < p->count; i++) {
        LMR_TRY(larmor_op_normal(p->op[i], x, p->work));
        LMR_TRY(larmor_axpby(1, p->work, 1, z));
    }
    return LARMOR_OK;
}

larmor_status larmor_op_stack(larmor_op *const *ops, int count, larmor_op **stack)
{
    static const larmor_op_impl impl = {"stack", stack_forward, stack_adjoint, stack_normal, free_parts};
    LMR_NEED(stack);
    *stack = NULL;
    if (count < 1 || !ops || !ops[0])
        return LMR_FAIL(LARMOR_ERR_ARG, "stack: got %d operators, expected at least 1", count);
    larmor_shape out = ops[0]->out;
    if (!out.ndim) return LMR_FAIL(LARMOR_ERR_SHAPE, "stack: the rows' output has no dimension to stack along");
    const int last = out.ndim - 1;
    int64_t total = 0;
    for (int i = 0; i < count; i++) {
        LMR_TRY(expect_kin("stack", ops[0], ops[i]));
        LMR_TRY(expect_shapes("stack", "input of a row", ops[0], ops[i]->in, ops[0]->in));
        larmor_shape row = ops[i]->out;
        const int64_t rows = row.ndim == out.ndim ? row.dim[last] : 0;
        if (row.ndim == out.ndim) row.dim[last] = out.dim[last];
        LMR_TRY(expect_shapes("stack", "output of a row but for its last dimension", ops[0], row, out));
        if (__builtin_add_overflow(total, rows, &total)) return LMR_FAIL(LARMOR_ERR_SHAPE, "stack: too many rows");
    }
    const larmor_shape in = ops[0]->in;
    out.dim[last] = total;
    return compose(&impl, ops, count, &in, in, out, stack);
}

static larmor_status diag_forward(void *self, const larmor_array *x, larmor_array *y)
{
    const larmor_array *d = self;
    return lmr_vec_of(x)->mul(x->dev->ctx, larmor_array_count(x), d->data, x->data, 0, y->data);
}

static larmor_status diag_adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    const larmor_array *d = self;
    return lmr_vec_of(y)->mul(y->dev->ctx, larmor_array_count(y), d->data, y->data, 1, x->data);
}

static void diag_destroy(void *self)
{
    larmor_array_free(self);
}

larmor_status larmor_op_diag(larmor_array *d, larmor_op **D)
{
    static const larmor_op_impl impl = {"diag", diag_forward, diag_adjoint, NULL, diag_destroy};
    LMR_NEED(D);
    *D = NULL;
    if (!d) return LMR_FAIL(LARMOR_ERR_ARG, "diag: d is NULL");
    LMR_TRY(larmor_op_create(d->dev, &impl, d, d->dtype, d->shape, d->shape, D));
    larmor_array_ref(d);
    return LARMOR_OK;
}

static larmor_status first_forward(void *self, const larmor_array *x, larmor_array *y)
{
    return larmor_op_forward(((parts *)self)->op[0], x, y);
}

static larmor_status first_adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    return larmor_op_adjoint(((parts *)self)->op[0], y, x);
}

static larmor_status second_forward(void *self, const larmor_array *x, larmor_array *z)
{
    return larmor_op_forward(((parts *)self)->op[1], x, z);
}

larmor_status larmor_op_with_normal(larmor_op *A, larmor_op *N, larmor_op **A2)
{
    static const larmor_op_impl impl = {"with_normal", first_forward, first_adjoint, second_forward, free_parts};
    LMR_NEED(A2);
    *A2 = NULL;
    LMR_TRY(expect_kin("with_normal", A, N));
    LMR_TRY(expect_shapes("with_normal", "input of the normal", A, N->in, A->in));
    LMR_TRY(expect_shapes("with_normal", "output of the normal", A, N->out, A->in));
    return compose(&impl, (larmor_op *[]){A, N}, 2, NULL, A->in, A->out, A2);
}

/* ---- the adjoint test ---- */

larmor_status larmor_op_adjoint_error(larmor_op *A, uint64_t seed, double *error)
{
    larmor_array *x = NULL, *y = NULL, *Ax = NULL, *Ahy = NULL;
    double left[2], right[2], size_x = 0, size_y = 0, size_Ax, size_Ahy;
    larmor_status st;
    LMR_NEED(error);
    *error = NAN;
    LMR_NEED(A);
    LMR_OR(done, larmor_array_create(A->dev, A->dtype, A->in, &x));
    LMR_OR(done, larmor_array_create(A->dev, A->dtype, A->in, &Ahy));
    LMR_OR(done, larmor_array_create(A->dev, A->dtype, A->out, &y));
    LMR_OR(done, larmor_array_create(A->dev, A->dtype, A->out, &Ax));
    LMR_OR(done, lmr_random_fill(x, seed));
    LMR_OR(done, lmr_random_fill(y, seed + 1));
    LMR_OR(done, larmor_op_forward(A, x, Ax));
    LMR_OR(done, larmor_op_adjoint(A, y, Ahy));
    LMR_OR(done, larmor_dot(Ax, y, left));
    LMR_OR(done, larmor_dot(x, Ahy, right));
    LMR_OR(done, larmor_nrm2(x, &size_x));
    LMR_OR(done, larmor_nrm2(y, &size_y));
    LMR_OR(done, larmor_nrm2(Ax, &size_Ax));
    LMR_OR(done, larmor_nrm2(Ahy, &size_Ahy));
    const double scale = size_Ax * size_y > size_x * size_Ahy ? size_Ax * size_y : size_x * size_Ahy;
    *error = scale > 0 ? hypot(left[0] - right[0], left[1] - right[1]) / scale : 0;
done:
    larmor_array_free(Ahy);
    larmor_array_free(Ax);
    larmor_array_free(y);
    larmor_array_free(x);
    return st;
}
