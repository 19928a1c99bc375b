/* One operator for each frame of a series of images. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "core/array.h"
#include "larmor/operators.h"

typedef struct frames {
    int count, ragged;
    larmor_op **op;
} frames;

/* f of every frame's operator, on its parts of a and b; the second is in k-space if `to_samples`. */
typedef larmor_status (*frame_map)(larmor_op *op, const larmor_array *a, larmor_array *b);

static larmor_status each(const frames *s, frame_map f, const larmor_array *a, int a_samples, larmor_array *b,
                          int b_samples)
{
    int64_t sample = 0;
    for (int i = 0; i < s->count; i++) {
        const larmor_shape in = larmor_op_in_shape(s->op[i]), out = larmor_op_out_shape(s->op[i]);
        const int64_t first = s->ragged ? sample : i;
        const int64_t many = s->ragged ? larmor_shape_count(out) : 1;
        larmor_array *from = NULL, *to = NULL;
        larmor_status st =
            larmor_array_part(a, a_samples ? first : i, a_samples ? many : 1, a_samples ? out : in, &from);
        if (!st) st = larmor_array_part(b, b_samples ? first : i, b_samples ? many : 1, b_samples ? out : in, &to);
        if (!st) st = f(s->op[i], from, to);
        larmor_array_free(to);
        larmor_array_free(from);
        if (st) return st;
        sample += many;
    }
    return LARMOR_OK;
}

static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    return each(self, larmor_op_forward, x, 0, y, 1);
}

static larmor_status adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    return each(self, larmor_op_adjoint, y, 1, x, 0);
}

static larmor_status normal(void *self, const larmor_array *x, larmor_array *z)
{
    return each(self, larmor_op_normal, x, 0, z, 0);
}

static void destroy(void *self)
{
    frames *s = self;
    for (int i = 0; s->op && i < s->count; i++) larmor_op_free(s->op[i]);
    free(s->op);
    free(s);
}

static const larmor_op_impl impl = {"frames", forward, adjoint, normal, destroy};

/* All of one device, type and input; *ragged if outputs differ, *total numbers of them in all. */
static larmor_status check(larmor_op *const *ops, int count, int *ragged, int64_t *total)
{
    *ragged = 0;
    *total = 0;
    if (!ops || count < 1)
        return LMR_FAIL(LARMOR_ERR_ARG, "frames: got %d operators, expected at least 1", ops ? count : 0);
    for (int i = 0; i < count; i++) {
        if (!ops[i]) return LMR_FAIL(LARMOR_ERR_ARG, "frames: operator %d is NULL", i);
        const larmor_shape in = larmor_op_in_shape(ops[i]), out = larmor_op_out_shape(ops[i]);
        if (larmor_op_device(ops[i]) != larmor_op_device(ops[0]) ||
            larmor_op_dtype(ops[i]) != larmor_op_dtype(ops[0]) || !larmor_shape_equal(in, larmor_op_in_shape(ops[0])))
            return LMR_FAIL(
                LARMOR_ERR_SHAPE, "frames: input of operator %d is %s, expected %s as of the first", i,
                lmr_describe_as(larmor_op_device(ops[i]), larmor_op_dtype(ops[i]), in).s,
                lmr_describe_as(larmor_op_device(ops[0]), larmor_op_dtype(ops[0]), larmor_op_in_shape(ops[0])).s);
        *ragged |= !larmor_shape_equal(out, larmor_op_out_shape(ops[0]));
        if (__builtin_add_overflow(*total, larmor_shape_count(out), total))
            return LMR_FAIL(LARMOR_ERR_SHAPE, "frames: the samples of all frames are too many");
    }
    return LARMOR_OK;
}

larmor_status larmor_op_frames(larmor_op *const *ops, int count, larmor_op **A)
{
    if (!A) return LMR_FAIL(LARMOR_ERR_ARG, "larmor_op_frames: A is NULL");
    *A = NULL;
    int ragged;
    int64_t total;
    LMR_TRY(check(ops, count, &ragged, &total));
    const larmor_shape in = larmor_shape_append(larmor_op_in_shape(ops[0]), count);
    const larmor_shape out = ragged ? LARMOR_SHAPE(total) : larmor_shape_append(larmor_op_out_shape(ops[0]), count);
    frames *s = calloc(1, sizeof *s);
    if (!s || !(s->op = calloc((size_t)count, sizeof(larmor_op *)))) {
        free(s);
        return LMR_NO_MEMORY();
    }
    s->count = count;
    s->ragged = ragged;
    for (int i = 0; i < count; i++) s->op[i] = larmor_op_ref(ops[i]);
    const larmor_status st =
        larmor_op_create(larmor_op_device(ops[0]), &impl, s, larmor_op_dtype(ops[0]), in, out, A);
    if (st) destroy(s);
    return st;
}
