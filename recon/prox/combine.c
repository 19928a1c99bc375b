/* Proximal maps of other proximal maps, and what all constructors share. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "core/array.h"
#include "core/random.h"
#include "recon/prox/prox.h"

larmor_status lmr_prox_begin(const char *name, const larmor_device *dev, double weight, larmor_dtype dtype,
                             larmor_prox **p)
{
    if (!p) return LMR_FAIL(LARMOR_ERR_ARG, "%s: p is NULL", name);
    *p = NULL;
    if (!dev || !lmr_is_complex(dtype))
        return LMR_FAIL(LARMOR_ERR_ARG, "%s: a device and a complex type are needed", name);
    if (!(weight >= 0) || !isfinite(weight))
        return LMR_FAIL(LARMOR_ERR_ARG, "%s: weight is %g, expected a finite number >= 0", name, weight);
    return LARMOR_OK;
}

void lmr_prox_shift(uint64_t index, int ndim, const int64_t *dim, int64_t shift[3])
{
    for (int d = 0; d < 3; d++)
        shift[d] = d < ndim ? (int64_t)(lmr_random_uniform(1, 3 * index + (uint64_t)d) * (double)dim[d]) : 0;
}

/* ---- a multiple ---- */

typedef struct scaled {
    larmor_prox *p;
    double factor;
} scaled;

static larmor_status scaled_apply(void *self, double t, const larmor_array *x, larmor_array *z)
{
    const scaled *s = self;
    if (t * s->factor > 0) return larmor_prox_apply(s->p, t * s->factor, x, z);
    return x == z ? LARMOR_OK : larmor_copy(x, z);
}

static larmor_status scaled_value(void *self, const larmor_array *x, double *g)
{
    const scaled *s = self;
    LMR_TRY(larmor_prox_value(s->p, x, g));
    *g *= s->factor;
    return LARMOR_OK;
}

static void scaled_destroy(void *self)
{
    scaled *s = self;
    larmor_prox_free(s->p);
    free(s);
}

larmor_status larmor_prox_scaled(larmor_prox *p, double factor, larmor_prox **out)
{
    static const larmor_prox_impl impl = {"scaled", scaled_apply, scaled_value, scaled_destroy};
    if (!out) return LMR_FAIL(LARMOR_ERR_ARG, "scaled: p is NULL");
    *out = NULL;
    if (!p) return LMR_FAIL(LARMOR_ERR_ARG, "scaled: no proximal map given");
    LMR_TRY(lmr_prox_begin("scaled", larmor_prox_device(p), factor, larmor_prox_dtype(p), out));
    scaled *s = malloc(sizeof *s);
    if (!s) return LMR_NO_MEMORY();
    *s = (scaled){larmor_prox_ref(p), factor};
    const larmor_status st =
        larmor_prox_create(larmor_prox_device(p), &impl, s, larmor_prox_dtype(p), larmor_prox_shape(p), out);
    if (st) scaled_destroy(s);
    return st;
}

/* ---- a sum over ranges of the last dimension ---- */

typedef struct stack {
    int count;
    larmor_prox *part[];
} stack;

/* Part i of an array [..., sizes of all parts], from index first on, in the part's own shape; it is only written where
 * the caller owns x. */
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
        larmor_array *from = NULL, *to = NULL;
        larmor_status st = range(s->part[i], x, first, &from);
        if (!st) st = range(s->part[i], z, first, &to);
        if (!st) st = larmor_prox_apply(s->part[i], t, from, to);
        larmor_array_free(from), larmor_array_free(to);
        if (st) return st;
    }
    return LARMOR_OK;
}

static larmor_status stack_value(void *self, const larmor_array *x, double *g)
{
    const stack *s = self;
    int64_t first = 0;
    *g = 0;
    for (int i = 0; i < s->count; first += last_of(s->part[i++])) {
        larmor_array *from;
        double one;
        LMR_TRY(range(s->part[i], x, first, &from));
        const larmor_status st = larmor_prox_value(s->part[i], from, &one);
        larmor_array_free(from);
        if (st) return st;
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
        if (one.ndim < 1 || one.ndim != shape->ndim || larmor_prox_device(parts[i]) != larmor_prox_device(parts[0]) ||
            larmor_prox_dtype(parts[i]) != larmor_prox_dtype(parts[0]))
            return LMR_FAIL(LARMOR_ERR_SHAPE, "stack: part %d has another type, device or number of dimensions", i);
        for (int d = 0; d < one.ndim - 1; d++)
            if (one.dim[d] != shape->dim[d])
                return LMR_FAIL(LARMOR_ERR_SHAPE, "stack: part %d has size %lld in dimension %d, expected %lld", i,
                                (long long)one.dim[d], d, (long long)shape->dim[d]);
        if (i) shape->dim[shape->ndim - 1] += one.dim[one.ndim - 1];
    }
    return LARMOR_OK;
}

larmor_status larmor_prox_stack(larmor_prox *const *parts, int count, larmor_prox **p)
{
    static const larmor_prox_impl impl = {"stack", stack_apply, stack_value, stack_destroy};
    if (!p) return LMR_FAIL(LARMOR_ERR_ARG, "stack: p is NULL");
    *p = NULL;
    if (!parts || count < 1) return LMR_FAIL(LARMOR_ERR_ARG, "stack: got %d parts, expected at least 1", count);
    for (int i = 0; i < count; i++)
        if (!parts[i]) return LMR_FAIL(LARMOR_ERR_ARG, "stack: part %d is NULL", i);
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
