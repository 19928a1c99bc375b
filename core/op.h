/* Inside of an operator handle, and compositions for operators of many parts. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/gate.h"
#include "larmor/op.h"

/* The `self` of an operator that was made with this forward map, NULL for any other: so a kind of operator recognises
 * its own when a caller hands one back to it. */
void *lmr_op_self(const larmor_op *A, larmor_status (*forward)(void *self, const larmor_array *x, larmor_array *y));

/* op's forward and adjoint map write nothing but their output, or see to it themselves: several threads may be in
 * them at the same time. Threads take turns in all others. */
void lmr_op_serve_several(larmor_op *op);

/* What is held around op's maps: for functions that read or change what they work with. */
lmr_gate *lmr_op_gate(larmor_op *op);

/* Products below each other, y = [A_0 B_0 x, A_1 B_1 x, ...] along the last dimension: a stack of chains which take
 * turns in the memory of one. The normal map is the sum of B_i^H (A_i^H A_i) B_i.
 *
 * name    kept, not copied; of the operator and in messages.
 * N       A_0^H A_0, for every row: it acts on each index of the last dimension alone, as batched operators do, so
 *         that an A_i with a smaller batch takes the leading part of it; A_0 has the largest. NULL: each A_i's
 *         normal map.
 * Errors  LARMOR_ERR_ARG; LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY. */
larmor_status lmr_op_blocks(const char *name, larmor_op *const *A, larmor_op *const *B, int count, larmor_op *N,
                            larmor_op **op);

/* A normal map z <- B^H N B x in one: *done is 0, and z is as it was, where there is none. between: memory for B
 * x. */
typedef larmor_status (*lmr_op_fused)(larmor_op *N, larmor_op *B, const larmor_array *x, larmor_array *between,
                                      larmor_array *z, int *done);

/* op, of lmr_op_blocks with N, tries this first. */
void lmr_op_blocks_fuse(larmor_op *op, lmr_op_fused fused);

/* How many products op has that lmr_op_blocks made, else 0; and the input of number i's left factor. */
int lmr_op_blocks_count(const larmor_op *op);
larmor_shape lmr_op_blocks_between(const larmor_op *op, int i);

/* The right factors become B, with the same inputs and outputs. Errors: LARMOR_ERR_SHAPE, and op is as it was. */
larmor_status lmr_op_blocks_replace(larmor_op *op, larmor_op *const *B);

/* The adjoint in two steps, which give what larmor_op_adjoint gives: between <- [A_0^H y_0, A_1^H y_1, ...] along
 * the last dimension, and x <- sum_i B_i^H between_i. Both of the operator's type and on its device. Errors:
 * LARMOR_ERR_SHAPE. */
larmor_status lmr_op_blocks_left(larmor_op *op, const larmor_array *y, larmor_array *between);
larmor_status lmr_op_blocks_right(larmor_op *op, const larmor_array *between, larmor_array *x);

/* 1 if others hold references to it, too. */
int lmr_op_is_held(const larmor_op *op);

/* Operators beside each other, y = A_0 x_0 + A_1 x_1 + ..., where x is [input..., count].
 *
 * more    an array of the outputs' type with at least as many numbers, which the forward map overwrites; several
 *         operators may share it. Not needed for one.
 * Errors  LARMOR_ERR_ARG; LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY. */
larmor_status lmr_op_columns(larmor_op *const *ops, int count, larmor_array *more, larmor_op **op);
