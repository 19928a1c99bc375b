/* A sum of proximal maps over ranges of the last dimension. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/prox/prox.h"

typedef struct stack {
    int count;
    larmor_prox *part[];
} stack;

/* Part i of an array [..., sizes of all parts], from index first on, in the part's own shape; it is only written
 * where the caller owns x. */
static larmor_status range(const larmor_prox *part, const larmor_array *x, int64_t first, larmor_array **view)
{
    const larmor_shape shape = larmor_prox_shape(part);
    return larmor_array_slice(x, first, shape.dim[shape.ndim - 1], view);
}

static int64_t last_of(const larmor_prox *part)
{
    const larmor_shape shape = larmor_prox_shape(part);
    return shape.dim[shape.ndim - 1];
}

static larmor_status stack_apply(void *self, double t, const larmor_array *x, larmor_array *z)
{
    const stack *s = self;
    int64_t first = 0;
    for (int i = 0; i < s->count; first += last_of(s->part[i++])) {
        LMR_OWN(larmor_array, from, range(s->part[i], x, first, &from));
        LMR_OWN(larmor_array, to, range(s->part[i], z, first, &to));
        LMR_TRY(larmor_prox_apply(s->part[i], t, from, to));
    }
    return LARMOR_OK;
}

static larmor_status stack_value(void *self, const larmor_array *x, double *g)
{
    const stack *s = self;
    int64_t first = 0;
    *g = 0;
    for (int i = 0; i < s->count; first += last_of(s->part[i++])) {
        double one;
        LMR_OWN(larmor_array, from, range(s->part[i], x, first, &from));
        LMR_TRY(larmor_prox_value(s->part[i], from, &one));
        *g += one;
    }
    return LARMOR_OK;
}

static void stack_destroy(void *self)
{
    stack *s = self;
    for (int i = 0; i < s->count; i++) larmor_prox_free(s->part[i]);
    free(s);
}

static larmor_status stacked_shape(larmor_prox *const *parts, int count, larmor_shape *shape)
{
    *shape = larmor_prox_shape(parts[0]);
    for (int i = 0; i < count; i++) {
        const larmor_shape one = larmor_prox_shape(parts[i]);
        LMR_REFUSE(one.ndim < 1 || one.ndim != shape->ndim ||
                       larmor_prox_device(parts[i]) != larmor_prox_device(parts[0]) ||
                       larmor_prox_dtype(parts[i]) != larmor_prox_dtype(parts[0]),
                   LARMOR_ERR_SHAPE, "stack: part %d has another type, device or number of dimensions", i);
        for (int d = 0; d < one.ndim - 1; d++)
            LMR_REFUSE(one.dim[d] != shape->dim[d], LARMOR_ERR_SHAPE,
                       "stack: part %d has size %lld in dimension %d, expected %lld", i, (long long)one.dim[d], d,
                       (long long)shape->dim[d]);
        if (i) shape->dim[shape->ndim - 1] += one.dim[one.ndim - 1];
    }
    return LARMOR_OK;
}

larmor_status larmor_prox_stack(larmor_prox *const *parts, int count, larmor_prox **p)
{
    static const larmor_prox_impl impl = {"stack", stack_apply, stack_value, stack_destroy};
    LMR_REFUSE(!p, LARMOR_ERR_ARG, "stack: p is NULL");
    *p = NULL;
    LMR_REFUSE(!parts || count < 1, LARMOR_ERR_ARG, "stack: got %d parts, expected at least 1", count);
    for (int i = 0; i < count; i++) LMR_REFUSE(!parts[i], LARMOR_ERR_ARG, "stack: part %d is NULL", i);
    larmor_shape shape;
    LMR_TRY(stacked_shape(parts, count, &shape));
    stack *s = calloc(1, sizeof *s + (size_t)count * sizeof(larmor_prox *));
    if (!s) return LMR_NO_MEMORY();
    s->count = count;
    for (int i = 0; i < count; i++) s->part[i] = larmor_prox_ref(parts[i]);
    const larmor_status st =
        larmor_prox_create(larmor_prox_device(parts[0]), &impl, s, larmor_prox_dtype(parts[0]), shape, p);
    if (st) stack_destroy(s);
    return st;
}
