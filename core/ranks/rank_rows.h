/* An operator whose rows are on the ranks of several processes: rank 0 has the operator and its own row, each of
 * the others has a row and does what rank 0 asks for. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/ranks/ranks.h"
#include "larmor/op.h"

typedef enum lmr_row_task {
    LMR_ROW_MAKE, /* what a row is made of follows, by the layer that makes it */
    LMR_ROW_FORWARD,
    LMR_ROW_ADJOINT,
    LMR_ROW_NORMAL,
    LMR_ROW_FREE
} lmr_row_task;

typedef struct lmr_row_order { /* the first bytes of an order of rank 0 */
    lmr_row_task task;
    int id; /* of the operator */
} lmr_row_order;

/* Rank 0: the same bytes, which begin with an lmr_row_order, to all others. */
larmor_status lmr_ranks_order(const larmor_ranks *ranks, const void *order, int64_t bytes);

/* Rank 0: the number of the next operator. */
int lmr_rows_next(larmor_ranks *ranks);

/* Called by all ranks: the operator [A_0 x, A_1 x, ...] along the last dimension, of which each gives its own row.
 * The A_i^H y_i are summed on rank 0 in the order of the ranks.
 *
 * own     how the row came about; with an error all fail with it.
 * row     of this rank: with equal inputs, and outputs that agree in all but their last dimension; a reference is
 *         kept.
 * op      of rank 0 the operator; elsewhere NULL, as the row is kept until rank 0 frees the operator.
 * Errors  own's and those of lmr_ranks_agree; LARMOR_ERR_SHAPE for rows that do not fit. */
larmor_status lmr_rows_join(larmor_ranks *ranks, int id, larmor_status own, larmor_op *row, larmor_op **op);

/* Other ranks: do what is asked of an operator that is there; not of MAKE. Errors: of the messages alone; what
 * fails in the row is rank 0's to say. */
larmor_status lmr_rows_serve(larmor_ranks *ranks, const lmr_row_order *order);
