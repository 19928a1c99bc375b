/* An operator whose rows are on several devices: a thread for each applies its row, the sum is taken where the
 * operator is. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>

#include "core/array.h"
#include "core/owned.h"

typedef enum task { NOTHING, FORWARD, ADJOINT, NORMAL, END } task;

typedef struct row {
    struct rows *all;
    larmor_op *op;
    larmor_array *x, *y, *z; /* on its device: the input, its part of the output, and what it adds to a sum */
    pthread_t thread;
    int started;
    task task;
    larmor_status st;
    char message[1024];
} row;

typedef struct rows {
    int count;
    row *row;
    larmor_array *one; /* what a row adds, where the operator is */
    pthread_mutex_t lock;
    pthread_cond_t begin, end;
} rows;

/* ---- the threads ---- */

static larmor_status apply(const row *r, task what)
{
    if (what == FORWARD) return larmor_op_forward(r->op, r->x, r->y);
    if (what == ADJOINT) return larmor_op_adjoint(r->op, r->y, r->z);
    return larmor_op_normal(r->op, r->x, r->z);
}

static void *work(void *user)
{
    row *r = user;
    rows *p = r->all;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (r->task == NOTHING) pthread_cond_wait(&p->begin, &p->lock);
        const task what = r->task;
        if (what == END) break;
        pthread_mutex_unlock(&p->lock);
        const larmor_status st = apply(r, what);
        if (st) snprintf(r->message, sizeof r->message, "%s", larmor_last_error());
        pthread_mutex_lock(&p->lock);
        r->st = st;
        r->task = NOTHING;
        pthread_cond_signal(&p->end);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void order(rows *p, task what)
{
    pthread_mutex_lock(&p->lock);
    for (int i = 0; i < p->count; i++) p->row[i].task = what;
    pthread_cond_broadcast(&p->begin);
    pthread_mutex_unlock(&p->lock);
}

/* All rows do it; the error of the first that fails. */
static larmor_status let_all(rows *p, task what)
{
    order(p, what);
    pthread_mutex_lock(&p->lock);
    for (int i = 0; i < p->count; i++)
        while (p->row[i].task != NOTHING) pthread_cond_wait(&p->end, &p->lock);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->count; i++)
        if (p->row[i].st) return larmor_fail(p->row[i].st, "%s", p->row[i].message);
    return LARMOR_OK;
}

/* ---- the maps ---- */

static larmor_status need(larmor_array **x, const row *r, larmor_shape shape)
{
    return *x ? LARMOR_OK : larmor_array_create(larmor_op_device(r->op), larmor_op_dtype(r->op), shape, x);
}

static larmor_status send_input(rows *p, const larmor_array *x)
{
    for (int i = 0; i < p->count; i++) {
        LMR_TRY(need(&p->row[i].x, &p->row[i], x->shape));
        LMR_TRY(lmr_pass(x, p->row[i].x));
    }
    return LARMOR_OK;
}

/* The rows' parts of y to them, or from them. */
static larmor_status pass_parts(rows *p, const larmor_array *y, int to_rows)
{
    int64_t first = 0;
    for (int i = 0; i < p->count; i++) {
        row *r = &p->row[i];
        const larmor_shape shape = larmor_op_out_shape(r->op);
        const int64_t own = shape.dim[shape.ndim - 1];
        LMR_TRY(need(&r->y, r, shape));
        LMR_OWN(larmor_array, part, larmor_array_slice(y, first, own, &part));
        LMR_TRY(to_rows ? lmr_pass(part, r->y) : lmr_pass(r->y, part));
        first += own;
    }
    return LARMOR_OK;
}

/* z <- the sum of what the rows have, in their order. */
static larmor_status sum_of(rows *p, larmor_array *z)
{
    for (int i = 0; i < p->count; i++) {
        LMR_TRY(lmr_pass(p->row[i].z, i ? p->one : z));
        if (i) LMR_TRY(larmor_axpby(1, p->one, 1, z));
    }
    return LARMOR_OK;
}

static larmor_status need_sum(rows *p)
{
    for (int i = 0; i < p->count; i++) LMR_TRY(need(&p->row[i].z, &p->row[i], larmor_op_in_shape(p->row[i].op)));
    return LARMOR_OK;
}

static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    rows *p = self;
    LMR_TRY(send_input(p, x));
    for (int i = 0; i < p->count; i++) LMR_TRY(need(&p->row[i].y, &p->row[i], larmor_op_out_shape(p->row[i].op)));
    LMR_TRY(let_all(p, FORWARD));
    return pass_parts(p, y, 0);
}

static larmor_status adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    rows *p = self;
    LMR_TRY(pass_parts(p, y, 1));
    LMR_TRY(need_sum(p));
    LMR_TRY(let_all(p, ADJOINT));
    return sum_of(p, x);
}

static larmor_status normal(void *self, const larmor_array *x, larmor_array *z)
{
    rows *p = self;
    LMR_TRY(send_input(p, x));
    LMR_TRY(need_sum(p));
    LMR_TRY(let_all(p, NORMAL));
    return sum_of(p, z);
}

/* ---- life ---- */

static void free_rows(void *self)
{
    rows *p = self;
    order(p, END);
    for (int i = 0; i < p->count; i++) {
        row *r = &p->row[i];
        if (r->started) pthread_join(r->thread, NULL);
        LMR_FREE(r->x, r->y, r->z, r->op);
    }
    larmor_array_free(p->one);
    pthread_cond_destroy(&p->end);
    pthread_cond_destroy(&p->begin);
    pthread_mutex_destroy(&p->lock);
    LMR_FREE(p->row, p);
}

static larmor_status expect_row(const larmor_device *dev, larmor_op *const *ops, int i, int64_t *total)
{
    LMR_REFUSE(!ops[i], LARMOR_ERR_ARG, "distribute: operator %d is NULL", i);
    const larmor_device *own = larmor_op_device(ops[i]);
    const larmor_shape in = larmor_op_in_shape(ops[0]), out = larmor_op_out_shape(ops[0]);
    larmor_shape mine = larmor_op_out_shape(ops[i]);
    LMR_REFUSE(own == dev, LARMOR_ERR_ARG, "distribute: row %d and the operator share a device's handle", i);
    for (int j = 0; j < i; j++)
        LMR_REFUSE(own == larmor_op_device(ops[j]), LARMOR_ERR_ARG,
                   "distribute: rows %d and %d share a device's handle", j, i);
    LMR_REFUSE(own->be != dev->be || larmor_op_dtype(ops[i]) != larmor_op_dtype(ops[0]), LARMOR_ERR_SHAPE,
               "distribute: row %d is %s on %s, the operator %s on %s; kinds must agree", i,
               larmor_dtype_name(larmor_op_dtype(ops[i])), larmor_device_spec(own),
               larmor_dtype_name(larmor_op_dtype(ops[0])), larmor_device_spec(dev));
    const int fits = out.ndim > 0 && mine.ndim == out.ndim && larmor_shape_equal(larmor_op_in_shape(ops[i]), in);
    const int64_t added = fits ? mine.dim[mine.ndim - 1] : 0;
    if (fits) mine.dim[mine.ndim - 1] = out.dim[out.ndim - 1];
    LMR_REFUSE(!fits || !larmor_shape_equal(mine, out) || __builtin_add_overflow(*total, added, total),
               LARMOR_ERR_SHAPE,
               "distribute: row %d is %s, expected the shapes of row 0 but for the last dimension of the output, %s",
               i, lmr_describe_as(own, larmor_op_dtype(ops[i]), larmor_op_out_shape(ops[i])).s,
               lmr_describe_as(dev, larmor_op_dtype(ops[0]), out).s);
    return LARMOR_OK;
}

static larmor_status start(rows *p, larmor_op *const *ops, int count)
{
    LMR_ALLOCATE_ZEROS(p->row, count);
    for (; p->count < count; p->count++) {
        row *r = &p->row[p->count];
        *r = (row){.all = p, .op = larmor_op_ref(ops[p->count])};
    }
    for (int i = 0; i < count; i++) {
        row *r = &p->row[i];
        r->started = !pthread_create(&r->thread, NULL, work, r);
        LMR_REFUSE(!r->started, LARMOR_ERR_MEMORY, "distribute: no thread could be started for row %d", i);
    }
    return LARMOR_OK;
}

larmor_status larmor_op_distribute(larmor_device *dev, larmor_op *const *ops, int count, larmor_op **op)
{
    int64_t total = 0;
    LMR_NEED_OUT(op, dev);
    LMR_REFUSE(!ops || count < 1, LARMOR_ERR_ARG, "distribute: got %d operators, expected at least 1",
               ops ? count : 0);
    for (int i = 0; i < count; i++) LMR_TRY(expect_row(dev, ops, i, &total));
    larmor_shape out = larmor_op_out_shape(ops[0]);
    out.dim[out.ndim - 1] = total;
    const larmor_op_impl impl = {larmor_op_name(ops[0]), forward, adjoint, normal, free_rows};
    LMR_MAKE(rows, p, free_rows);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->begin, NULL);
    pthread_cond_init(&p->end, NULL);
    LMR_TRY(start(p, ops, count));
    LMR_TRY(larmor_array_create(dev, larmor_op_dtype(ops[0]), larmor_op_in_shape(ops[0]), &p->one));
    return lmr_hand_on(&p_made,
                       larmor_op_create(dev, &impl, p, larmor_op_dtype(ops[0]), larmor_op_in_shape(ops[0]), out, op));
}
