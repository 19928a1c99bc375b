/* Rows of an operator on the ranks of several processes: rank 0 says what is to be done, all do it at the same time.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/ranks/rank_rows.h"

#include <stdlib.h>

#include "core/array.h"
#include "core/mutable.h"
#include "core/owned.h"

/* A row of this rank; on rank 0 also what all are. */
typedef struct lmr_row {
    larmor_ranks *ranks;
    int id;
    larmor_op *op;
    larmor_array *x, *y; /* not on rank 0: what goes in and comes out, or the other way round */
    larmor_array *z;     /* not on rank 0: a second output, after y */
    int64_t *last;       /* rank 0: [ranks] the outputs' last dimension */
    struct lmr_row *next;
} lmr_row;

static void free_row(lmr_row *row)
{
    if (!row) return;
    LMR_FREE(row->op, row->x, row->y, row->z, row->last, row);
}

larmor_status lmr_ranks_order(const larmor_ranks *r, const void *order, int64_t bytes)
{
    for (int i = 1; i < r->count; i++) LMR_TRY(r->by->send(r->link, i, LMR_TAG_ORDER, order, bytes));
    return LARMOR_OK;
}

int lmr_rows_next(larmor_ranks *ranks)
{
    return ++ranks->rows_made;
}

/* ---- the operator, on rank 0 ---- */

/* What is to be done, and the error of the messages, of this rank, or of the first of the others. */
static larmor_status order(const lmr_row *row, lmr_row_task task)
{
    const lmr_row_order o = {task, row->id};
    return lmr_ranks_order(row->ranks, &o, sizeof o);
}

/* Rank i's part of y to it, or from there. */
static larmor_status pass_part(const lmr_row *row, int i, int64_t first, const larmor_array *y, int to_rank)
{
    LMR_OWN(larmor_array, part, larmor_array_slice(y, first, row->last[i], &part));
    return lmr_ranks_pass(row->ranks, to_rank ? 0 : i, to_rank ? i : 0, part);
}

static larmor_status pass_parts(const lmr_row *row, const larmor_array *y, int to_rank)
{
    int64_t first = row->last[0];
    for (int i = 1; i < row->ranks->count; i++) {
        LMR_TRY(pass_part(row, i, first, y, to_rank));
        first += row->last[i];
    }
    return LARMOR_OK;
}

/* The input of all; const as operators have it, and this rank only reads it. */
static larmor_status broadcast_input(const lmr_row *row, const larmor_array *x)
{
    return lmr_ranks_broadcast(row->ranks, lmr_mutable(x));
}

static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    const lmr_row *row = self;
    LMR_OWN(larmor_array, own, larmor_array_slice(y, 0, row->last[0], &own));
    LMR_TRY(order(row, LMR_ROW_FORWARD));
    LMR_TRY(broadcast_input(row, x));
    const larmor_status mine = larmor_op_forward(row->op, x, own);
    LMR_TRY(lmr_ranks_agree(row->ranks, mine, NULL, NULL));
    return pass_parts(row, y, 0);
}

static larmor_status adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    const lmr_row *row = self;
    LMR_OWN(larmor_array, own, larmor_array_slice(y, 0, row->last[0], &own));
    LMR_TRY(order(row, LMR_ROW_ADJOINT));
    LMR_TRY(pass_parts(row, y, 1));
    const larmor_status mine = larmor_op_adjoint(row->op, own, x);
    LMR_TRY(lmr_ranks_agree(row->ranks, mine, NULL, NULL));
    return lmr_ranks_sum(row->ranks, 0, x);
}

static larmor_status normal(void *self, const larmor_array *x, larmor_array *z)
{
    const lmr_row *row = self;
    LMR_TRY(order(row, LMR_ROW_NORMAL));
    LMR_TRY(broadcast_input(row, x));
    const larmor_status mine = larmor_op_normal(row->op, x, z);
    LMR_TRY(lmr_ranks_agree(row->ranks, mine, NULL, NULL));
    return lmr_ranks_sum(row->ranks, 0, z);
}

static void destroy(void *self)
{
    order(self, LMR_ROW_FREE);
    free_row(self);
}

/* ---- the other ranks ---- */

static larmor_status make_arrays(lmr_row *row)
{
    larmor_device *dev = larmor_op_device(row->op);
    const larmor_dtype dtype = larmor_op_dtype(row->op);
    LMR_TRY(larmor_array_create(dev, dtype, larmor_op_in_shape(row->op), &row->x));
    LMR_TRY(larmor_array_create(dev, dtype, larmor_op_in_shape(row->op), &row->z));
    return larmor_array_create(dev, dtype, larmor_op_out_shape(row->op), &row->y);
}

/* The ranks serve on after an error that rank 0 returns, and end after one of messages. */
static larmor_status agree_on_status(larmor_ranks *ranks, larmor_status own, int *all_well)
{
    const larmor_status st = lmr_ranks_agree(ranks, own, NULL, NULL);
    *all_well = !st;
    return st == LARMOR_STOPPED ? LARMOR_OK : st;
}

static larmor_status serve(lmr_row *row, lmr_row_task task)
{
    larmor_ranks *r = row->ranks;
    int all_well;
    if (task == LMR_ROW_ADJOINT)
        LMR_TRY(lmr_ranks_pass(r, 0, r->number, row->y));
    else
        LMR_TRY(lmr_ranks_broadcast(r, row->x));
    larmor_status own;
    if (task == LMR_ROW_FORWARD)
        own = larmor_op_forward(row->op, row->x, row->y);
    else if (task == LMR_ROW_ADJOINT)
        own = larmor_op_adjoint(row->op, row->y, row->z);
    else
        own = larmor_op_normal(row->op, row->x, row->z);
    LMR_TRY(agree_on_status(r, own, &all_well));
    if (!all_well) return LARMOR_OK;
    return task == LMR_ROW_FORWARD ? lmr_ranks_pass(r, r->number, 0, row->y) : lmr_ranks_sum(r, 0, row->z);
}

larmor_status lmr_rows_serve(larmor_ranks *ranks, const lmr_row_order *o)
{
    lmr_row **at = &ranks->rows;
    while (*at && (*at)->id != o->id) at = &(*at)->next;
    lmr_row *row = *at;
    const int known = o->task == LMR_ROW_FORWARD || o->task == LMR_ROW_ADJOINT || o->task == LMR_ROW_NORMAL;
    if (o->task == LMR_ROW_FREE) {
        if (row) *at = row->next;
        free_row(row);
        return LARMOR_OK;
    }
    LMR_REFUSE(!row || !known, LARMOR_ERR_FORMAT, "an order of rank 0 is not what was expected");
    return serve(row, o->task);
}

void lmr_rows_clear(larmor_ranks *ranks)
{
    while (ranks->rows) {
        lmr_row *next = ranks->rows->next;
        free_row(ranks->rows);
        ranks->rows = next;
    }
}

/* ---- life ---- */

typedef struct lmr_row_shapes { /* as rank 0 asks all for theirs */
    larmor_shape in, out;
    larmor_dtype dtype;
} lmr_row_shapes;

/* Rank 0: all rows against its own. */
static larmor_status compare(const larmor_ranks *r, const lmr_row_shapes *all, int64_t *last, int64_t *total)
{
    const larmor_shape out = all[0].out;
    *total = 0;
    for (int i = 0; i < r->count; i++) {
        larmor_shape mine = all[i].out;
        const int fits = out.ndim > 0 && mine.ndim == out.ndim && larmor_shape_equal(all[i].in, all[0].in);
        last[i] = fits ? mine.dim[mine.ndim - 1] : 0;
        if (fits) mine.dim[mine.ndim - 1] = out.dim[out.ndim - 1];
        LMR_REFUSE(
            !fits || !larmor_shape_equal(mine, out) || all[i].dtype != all[0].dtype ||
                __builtin_add_overflow(*total, last[i], total),
            LARMOR_ERR_SHAPE,
            "ranks: the row of rank %d differs from that of rank 0 in more than the last dimension of the output", i);
    }
    return LARMOR_OK;
}

/* Rank 0 gets the shapes of all, from ranks that are all well. */
static larmor_status gather(const larmor_ranks *r, lmr_row_shapes own, lmr_row_shapes *all)
{
    if (r->number) return r->by->pass(r->link, 0, 1, &own, sizeof own);
    all[0] = own;
    for (int i = 1; i < r->count; i++) LMR_TRY(r->by->pass(r->link, i, 0, &all[i], sizeof *all));
    return LARMOR_OK;
}

static larmor_status begin(lmr_row *row, larmor_ranks *ranks, int id, larmor_op *op)
{
    row->ranks = ranks;
    row->id = id;
    row->op = larmor_op_ref(op);
    if (ranks->number) return make_arrays(row);
    row->last = calloc((size_t)ranks->count, sizeof *row->last);
    return row->last ? LARMOR_OK : LMR_NO_MEMORY();
}

static larmor_status finish(lmr_row *row, const lmr_row_shapes *all, larmor_op **op)
{
    const larmor_op_impl impl = {larmor_op_name(row->op), forward, adjoint, normal, destroy};
    larmor_shape out = all[0].out;
    int64_t total;
    LMR_TRY(compare(row->ranks, all, row->last, &total));
    out.dim[out.ndim - 1] = total;
    return larmor_op_create(larmor_op_device(row->op), &impl, row, all[0].dtype, all[0].in, out, op);
}

larmor_status lmr_rows_join(larmor_ranks *ranks, int id, larmor_status own, larmor_op *op, larmor_op **joined)
{
    lmr_row *row = calloc(1, sizeof *row);
    lmr_row_shapes *all = calloc((size_t)ranks->count, sizeof *all), mine = {.dtype = LARMOR_C64};
    *joined = NULL;
    if (!own && (!row || !all)) own = LMR_NO_MEMORY();
    if (!own) own = begin(row, ranks, id, op);
    if (!own) mine = (lmr_row_shapes){larmor_op_in_shape(op), larmor_op_out_shape(op), larmor_op_dtype(op)};
    larmor_status st = lmr_ranks_agree(ranks, own, NULL, NULL);
    if (!st) st = gather(ranks, mine, all);
    if (!st && !ranks->number) own = finish(row, all, joined);
    if (!st) st = lmr_ranks_agree(ranks, own, NULL, NULL);
    if (st && *joined)
        larmor_op_free(*joined); /* with the row */
    else if (st)
        free_row(row);
    if (st) *joined = NULL;
    if (!st && ranks->number) {
        row->next = ranks->rows;
        ranks->rows = row;
    }
    free(all);
    return st;
}
