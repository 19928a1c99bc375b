/* Typed arrays: storage, views, algebra. SPDX-License-Identifier: Apache-2.0 */
#include "core/array.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpu/cpu.h"
#include "core/mutable.h"
#include "core/owned.h"

/* ---- shapes and types ---- */

larmor_shape larmor_shape_of(int ndim, const int64_t *dims)
{
    larmor_shape shape = {0};
    if (!dims || ndim < 0 || ndim > LARMOR_MAX_DIMS) return shape;
    shape.ndim = ndim;
    for (int d = 0; d < ndim; d++) shape.dim[d] = dims[d];
    return shape;
}

larmor_shape larmor_shape_append(larmor_shape shape, int64_t last)
{
    /* one too many is kept as an impossible ndim, which larmor_shape_count refuses */
    if (shape.ndim < 0 || shape.ndim > LARMOR_MAX_DIMS) return shape;
    if (shape.ndim < LARMOR_MAX_DIMS) shape.dim[shape.ndim] = last;
    shape.ndim++;
    return shape;
}

int larmor_shape_equal(larmor_shape a, larmor_shape b)
{
    if (a.ndim != b.ndim) return 0;
    for (int d = 0; d < a.ndim && d < LARMOR_MAX_DIMS; d++)
        if (a.dim[d] != b.dim[d]) return 0;
    return 1;
}

int64_t larmor_shape_count(larmor_shape shape)
{
    if (shape.ndim < 0 || shape.ndim > LARMOR_MAX_DIMS) return -1;
    int64_t count = 1;
    int empty = 0;
    for (int d = 0; d < shape.ndim; d++) {
        if (shape.dim[d] < 0) return -1;
        if (shape.dim[d] == 0)
            empty = 1;
        else if (!lmr_mul(count, shape.dim[d], &count) || count > INT64_C(1) << 62)
            return -1;
    }
    return empty ? 0 : count;
}

static int known(larmor_dtype dtype)
{
    return (unsigned)dtype <= LARMOR_I64;
}

size_t larmor_dtype_size(larmor_dtype dtype)
{
    static const size_t sizes[] = {4, 8, 8, 16, 8};
    return known(dtype) ? sizes[dtype] : 0;
}

const char *larmor_dtype_name(larmor_dtype dtype)
{
    static const char *const names[] = {"f32", "f64", "c64", "c128", "i64"};
    return known(dtype) ? names[dtype] : "unknown type";
}

lmr_text lmr_describe_as(const larmor_device *dev, larmor_dtype dtype, larmor_shape shape)
{
    lmr_text text;
    int used = snprintf(text.s, sizeof text.s, "%s [", larmor_dtype_name(dtype));
    for (int d = 0; d < shape.ndim && d < LARMOR_MAX_DIMS && used < (int)sizeof text.s - 24; d++)
        used +=
            snprintf(text.s + used, sizeof text.s - (size_t)used, "%s%lld", d ? ", " : "", (long long)shape.dim[d]);
    snprintf(text.s + used, sizeof text.s - (size_t)used, "] on %s", dev ? larmor_device_spec(dev) : "no device");
    return text;
}

lmr_text lmr_describe(const larmor_array *x)
{
    if (x) return lmr_describe_as(x->dev, x->dtype, x->shape);
    return (lmr_text){"NULL"};
}

larmor_status lmr_expect(const char *who, const char *what, const larmor_array *x, const larmor_device *dev,
                         larmor_dtype dtype, larmor_shape shape)
{
    if (x && x->dtype == dtype && x->dev == dev && larmor_shape_equal(x->shape, shape)) return LARMOR_OK;
    LMR_REFUSE(x && x->dtype == dtype && larmor_shape_equal(x->shape, shape) &&
                   !strcmp(larmor_device_spec(x->dev), larmor_device_spec(dev)),
               LARMOR_ERR_SHAPE, "%s: %s is %s, but another handle of that device; open the device once", who, what,
               lmr_describe(x).s);
    return LMR_FAIL(LARMOR_ERR_SHAPE, "%s: %s is %s, expected %s", who, what, lmr_describe(x).s,
                    lmr_describe_as(dev, dtype, shape).s);
}

/* ---- life ---- */

/* An array without storage, and the bytes that it is to have. */
static larmor_status make(const char *call, larmor_device *dev, larmor_dtype dtype, larmor_shape shape,
                          int64_t *bytes, larmor_array **out)
{
    LMR_REFUSE(!out, LARMOR_ERR_ARG, "%s: out is NULL", call);
    *out = NULL;
    LMR_REFUSE(!dev || !known(dtype), LARMOR_ERR_ARG, "%s: a device and a known type are needed", call);
    const int64_t count = larmor_shape_count(shape);
    LMR_REFUSE(count < 0 || !lmr_mul(count, (int64_t)larmor_dtype_size(dtype), bytes), LARMOR_ERR_SHAPE,
               "array: %s is not a possible shape", lmr_describe_as(dev, dtype, shape).s);
    LMR_NEW_ZEROS(larmor_array, x, 1);
    x->dev = lmr_device_ref(dev);
    x->dtype = dtype;
    x->shape = shape;
    atomic_init(&x->refs, 1);
    *out = x;
    return LARMOR_OK;
}

static void discard(larmor_array **x)
{
    larmor_device_free((*x)->dev);
    free(*x);
    *x = NULL;
}

larmor_status larmor_array_create(larmor_device *dev, larmor_dtype dtype, larmor_shape shape, larmor_array **out)
{
    int64_t bytes = 0;
    LMR_TRY(make("larmor_array_create", dev, dtype, shape, &bytes, out));
    const larmor_status st = dev->be->alloc(dev->ctx, (size_t)bytes, &(*out)->data);
    if (st) discard(out);
    return st;
}

/* Of memory that the caller gives back without being told. */
static void leave(void *data LMR_UNUSED, void *user LMR_UNUSED)
{
}

larmor_status larmor_array_wrap(larmor_device *dev, larmor_dtype dtype, larmor_shape shape, void *data,
                                void (*release)(void *data, void *user), void *user, larmor_array **out)
{
    int64_t bytes = 0;
    LMR_TRY(make("larmor_array_wrap", dev, dtype, shape, &bytes, out));
    larmor_status st = LARMOR_OK;
    if (bytes && !data)
        st = LMR_FAIL(LARMOR_ERR_ARG, "larmor_array_wrap: the memory is NULL");
    else if ((uintptr_t)data % larmor_dtype_size(dtype))
        st = LMR_FAIL(LARMOR_ERR_ARG, "larmor_array_wrap: the memory of %s must be aligned to %zu bytes",
                      lmr_describe(*out).s, larmor_dtype_size(dtype));
    else if (bytes && dev->be->reach)
        st = dev->be->reach(dev->ctx, data);
    if (st)
        discard(out);
    else {
        (*out)->data = data;
        (*out)->release = release ? release : leave;
        (*out)->user = user;
    }
    return st;
}

larmor_array *larmor_array_ref(const larmor_array *array)
{
    larmor_array *x = lmr_mutable(array);
    if (x) lmr_refs_add(&x->refs);
    return x;
}

void larmor_array_free(const larmor_array *array)
{
    larmor_array *x = lmr_mutable(array);
    if (!x || !lmr_refs_drop(&x->refs)) return;
    if (x->owner) {
        larmor_array_free(x->owner);
    } else if (x->release) {
        /* queued work may still use the memory; a fault cannot be reported here */
        if (x->release != leave) x->dev->be->sync(x->dev->ctx);
        x->release(x->data, x->user);
    } else {
        x->dev->be->release(x->dev->ctx, x->data);
    }
    larmor_device_free(x->dev);
    free(x);
}

static larmor_status make_view(const larmor_array *x, larmor_shape shape, size_t offset, larmor_array **out)
{
    LMR_NEW_ZEROS(larmor_array, view, 1);
    view->dev = lmr_device_ref(x->dev);
    view->dtype = x->dtype;
    view->shape = shape;
    view->data = (char *)x->data + offset;
    view->owner = larmor_array_ref(x->owner ? x->owner : x);
    atomic_init(&view->refs, 1);
    *out = view;
    return LARMOR_OK;
}

/* The first line of every function that makes an array of an array. */
static larmor_status begin(const char *who, const larmor_array *x, larmor_array **out)
{
    if (out) *out = NULL;
    if (x && out) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG, "%s: %s is NULL", who, x ? "out" : "the array");
}

static larmor_status expect_range(const larmor_array *x, int64_t first, int64_t count, larmor_shape *shape,
                                  size_t *offset)
{
    const int last = x->shape.ndim - 1;
    LMR_REFUSE(last < 0 || first < 0 || count < 0 || first > x->shape.dim[last] - count, LARMOR_ERR_SHAPE,
               "slice: %lld indices from %lld on of the last dimension of %s", (long long)count, (long long)first,
               lmr_describe(x).s);
    const int64_t n = larmor_shape_count(x->shape);
    const int64_t step = x->shape.dim[last] ? n / x->shape.dim[last] : 0;
    *shape = x->shape;
    shape->dim[last] = count;
    *offset = (size_t)(first * step) * larmor_dtype_size(x->dtype);
    return LARMOR_OK;
}

static larmor_status expect_count(const larmor_array *x, larmor_shape from, larmor_shape to)
{
    if (larmor_shape_count(to) == larmor_shape_count(from)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE, "reshape: %s cannot become %s", lmr_describe_as(x->dev, x->dtype, from).s,
                    lmr_describe_as(x->dev, x->dtype, to).s);
}

larmor_status larmor_array_slice(const larmor_array *x, int64_t first, int64_t count, larmor_array **out)
{
    larmor_shape shape;
    size_t offset = 0;
    LMR_TRY(begin("slice", x, out));
    LMR_TRY(expect_range(x, first, count, &shape, &offset));
    return make_view(x, shape, offset, out);
}

larmor_status larmor_array_reshape(const larmor_array *x, larmor_shape shape, larmor_array **out)
{
    LMR_TRY(begin("reshape", x, out));
    LMR_TRY(expect_count(x, x->shape, shape));
    return make_view(x, shape, 0, out);
}

larmor_status larmor_array_part(const larmor_array *x, int64_t first, int64_t count, larmor_shape shape,
                                larmor_array **out)
{
    larmor_shape range;
    size_t offset = 0;
    LMR_TRY(begin("part", x, out));
    LMR_TRY(expect_range(x, first, count, &range, &offset));
    LMR_TRY(expect_count(x, range, shape));
    return make_view(x, shape, offset, out);
}

larmor_status lmr_one_of(const larmor_array *x, int64_t index, larmor_array **one)
{
    const larmor_shape shape = larmor_array_shape(x);
    return larmor_array_part(x, index, 1, larmor_shape_of(shape.ndim - 1, shape.dim), one);
}

/* ---- content ---- */

larmor_shape larmor_array_shape(const larmor_array *x)
{
    return x ? x->shape : (larmor_shape){0};
}

int64_t larmor_array_count(const larmor_array *x)
{
    return x ? larmor_shape_count(x->shape) : 0;
}

size_t larmor_array_bytes(const larmor_array *x)
{
    return x ? (size_t)larmor_shape_count(x->shape) * larmor_dtype_size(x->dtype) : 0;
}

larmor_dtype larmor_array_dtype(const larmor_array *x)
{
    return x ? x->dtype : LARMOR_F32;
}

larmor_device *larmor_array_device(const larmor_array *x)
{
    return x ? x->dev : NULL;
}

void *larmor_array_data(const larmor_array *x)
{
    return x ? x->data : NULL;
}

static larmor_status expect_bytes(const char *who, const larmor_array *x, const void *host, size_t bytes)
{
    LMR_REFUSE(!x, LARMOR_ERR_ARG, "%s: the array is NULL", who);
    LMR_REFUSE(!host && bytes, LARMOR_ERR_ARG, "%s: the host pointer is NULL", who);
    if (bytes == larmor_array_bytes(x)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE, "%s: got %zu bytes, expected %zu for %s", who, bytes, larmor_array_bytes(x),
                    lmr_describe(x).s);
}

larmor_status larmor_array_write(larmor_array *x, const void *host, size_t bytes)
{
    LMR_TRY(expect_bytes("larmor_array_write", x, host, bytes));
    return x->dev->be->copy(x->dev->ctx, LMR_TO_DEVICE, x->data, host, bytes);
}

larmor_status larmor_array_read(const larmor_array *x, void *host, size_t bytes)
{
    LMR_TRY(expect_bytes("larmor_array_read", x, host, bytes));
    return x->dev->be->copy(x->dev->ctx, LMR_TO_HOST, host, x->data, bytes);
}

/* New host memory with x's numbers. */
static larmor_status read_all(const larmor_array *x, void **host)
{
    const size_t bytes = larmor_array_bytes(x);
    *host = malloc(bytes ? bytes : 1);
    if (!*host) return LMR_NO_MEMORY();
    if (!lmr_device_is_processor(x->dev)) lmr_cpu_touch(*host, bytes, lmr_device_threads(x->dev));
    const larmor_status st = larmor_array_read(x, *host, bytes);
    if (st) LMR_CLEAR(*host);
    return st;
}

/* A new array of the host's numbers. */
static larmor_status write_all(larmor_device *target, larmor_dtype dtype, larmor_shape shape, const void *host,
                               larmor_array **out)
{
    LMR_TRY(larmor_array_create(target, dtype, shape, out));
    const larmor_status st = larmor_array_write(*out, host, larmor_array_bytes(*out));
    if (st) LMR_CLEAR(*out);
    return st;
}

larmor_status larmor_array_upload(larmor_device *dev, larmor_dtype dtype, larmor_shape shape, larmor_dtype from,
                                  const void *host, larmor_array **out)
{
    if (from == dtype) return write_all(dev, dtype, shape, host, out);
    if (out) *out = NULL;
    LMR_OWN(larmor_array, given, write_all(dev, from, shape, host, &given));
    return larmor_array_convert(given, dtype, out);
}

larmor_status(larmor_array_download)(const larmor_array *x, larmor_dtype to, void *host)
{
    larmor_array *wanted = NULL;
    void *numbers = NULL;
    LMR_REFUSE(!host, LARMOR_ERR_ARG, "larmor_array_download: host is NULL");
    larmor_status st = larmor_array_convert(x, to, &wanted);
    if (!st) st = read_all(wanted, &numbers);
    larmor_array_free(wanted);
    memcpy(host, &numbers, sizeof numbers);
    return st;
}

/* "[8, 8, 0]" of an element. */
static lmr_text place_of(larmor_shape shape, int64_t i)
{
    lmr_text text = {"["};
    int n = 1;
    for (int d = 0; d < shape.ndim; d++) {
        n += snprintf(text.s + n, sizeof text.s - (size_t)n, "%s%lld", d ? ", " : "", (long long)(i % shape.dim[d]));
        i /= shape.dim[d];
    }
    snprintf(text.s + n, sizeof text.s - (size_t)n, "]");
    return text;
}

larmor_status larmor_array_expect_finite(const larmor_array *x, const char *name)
{
    void *host;
    double norm, value[2];
    int64_t bad = 0, first = 0;
    LMR_NEED(x, name);
    if (lmr_is_complex(x->dtype)) { /* quicker; a norm may also be too large for a double */
        LMR_TRY(larmor_nrm2(x, &norm));
        if (isfinite(norm)) return LARMOR_OK;
    }
    LMR_TRY(read_all(x, &host));
    for (int64_t i = larmor_array_count(x); i-- > 0;) {
        lmr_element(host, x->dtype, i, value);
        if (isfinite(value[0]) && isfinite(value[1])) continue;
        bad++;
        first = i;
    }
    free(host);
    if (!bad) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_NUMERIC, "%s: %lld value%s not finite, the first at %s.", name, (long long)bad,
                    bad == 1 ? " is" : "s are", place_of(x->shape, first).s);
}

larmor_status larmor_array_to(const larmor_array *x, larmor_device *target, larmor_array **out)
{
    LMR_TRY(begin("larmor_array_to", x, out));
    LMR_REFUSE(!target, LARMOR_ERR_ARG, "larmor_array_to: a device is needed");
    if (x->dev == target) {
        *out = larmor_array_ref(x);
        return LARMOR_OK;
    }
    if (x->dev->be == target->be) {
        LMR_TRY(larmor_array_create(target, x->dtype, x->shape, out));
        const larmor_status passed = lmr_pass(x, *out);
        if (!passed) return passed;
        LMR_CLEAR(*out);
        return passed;
    }
    LMR_OWN_MEMORY(void, host, read_all(x, &host));
    return write_all(target, x->dtype, x->shape, host, out);
}

larmor_status lmr_pass(const larmor_array *x, larmor_array *y)
{
    LMR_REFUSE(x->dtype != y->dtype || !larmor_shape_equal(x->shape, y->shape) || x->dev->be != y->dev->be,
               LARMOR_ERR_SHAPE, "%s does not go to %s", lmr_describe(x).s, lmr_describe(y).s);
    return y->dev->be->pass(y->dev->ctx, y->data, x->dev->ctx, x->data, larmor_array_bytes(x));
}

larmor_status larmor_array_convert(const larmor_array *x, larmor_dtype dtype, larmor_array **out)
{
    LMR_TRY(begin("convert", x, out));
    if (x->dtype == dtype) {
        *out = larmor_array_ref(x);
        return LARMOR_OK;
    }
    LMR_REFUSE(!known(dtype) || dtype == LARMOR_I64 || (lmr_is_complex(x->dtype) && !lmr_is_complex(dtype)),
               LARMOR_ERR_ARG, "convert: %s to %s is not possible", lmr_describe(x).s, larmor_dtype_name(dtype));
    LMR_TRY(larmor_array_create(x->dev, dtype, x->shape, out));
    const larmor_status st =
        x->dev->be->convert(x->dev->ctx, larmor_array_count(x), x->dtype, x->data, dtype, (*out)->data);
    if (st) LMR_CLEAR(*out);
    return st;
}

larmor_status larmor_fill(larmor_array *x, double value)
{
    LMR_REFUSE(!x, LARMOR_ERR_ARG, "larmor_fill: the array is NULL");
    LMR_REFUSE(x->dtype == LARMOR_I64 && !(fabs(value) < 0x1p63 && value == floor(value)), LARMOR_ERR_ARG,
               "larmor_fill: %g is not a whole number of 64 bits", value);
    return x->dev->be->fill(x->dev->ctx, larmor_array_count(x), x->dtype, value, x->data);
}

/* ---- algebra ---- */

static larmor_status expect_complex(const char *who, const larmor_array *x)
{
    if (x && lmr_is_complex(x->dtype)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE, "%s: got %s, expected a complex array", who, lmr_describe(x).s);
}

static larmor_status expect_like(const char *who, const larmor_array *x, const larmor_array *y)
{
    LMR_REFUSE(!x, LARMOR_ERR_ARG, "%s: x is NULL", who);
    return lmr_expect(who, "y", y, x->dev, x->dtype, x->shape);
}

larmor_status larmor_zero(larmor_array *x)
{
    LMR_REFUSE(!x, LARMOR_ERR_ARG, "larmor_zero: the array is NULL");
    return x->dev->be->zero(x->dev->ctx, x->data, larmor_array_bytes(x));
}

larmor_status larmor_copy(const larmor_array *x, larmor_array *y)
{
    LMR_TRY(expect_like("larmor_copy", x, y));
    return x->dev->be->copy(x->dev->ctx, LMR_ON_DEVICE, y->data, x->data, larmor_array_bytes(x));
}

/* x and y are complex and alike. */
static larmor_status expect_two(const char *who, const larmor_array *x, const larmor_array *y)
{
    LMR_TRY(expect_complex(who, x));
    return expect_like(who, x, y);
}

larmor_status larmor_axpby(double a, const larmor_array *x, double b, larmor_array *y)
{
    LMR_TRY(expect_two("larmor_axpby", x, y));
    return lmr_vec_of(x)->axpby(x->dev->ctx, larmor_array_count(x), a, x->data, b, y->data);
}

larmor_status larmor_sum(int count, const double *factor, const larmor_array *const *x, larmor_array *y)
{
    const void *data[LARMOR_MAX_SUM];
    LMR_REFUSE(!factor || !x || count < 1 || count > LARMOR_MAX_SUM, LARMOR_ERR_ARG,
               "larmor_sum: got %d arrays, expected 1 to %d with a factor each", count, (int)LARMOR_MAX_SUM);
    for (int i = 0; i < count; i++) {
        LMR_TRY(expect_two("larmor_sum", x[i], y));
        data[i] = x[i]->data;
    }
    return lmr_vec_of(y)->sum(y->dev->ctx, larmor_array_count(y), count, factor, data, y->data);
}

larmor_status larmor_axpby_complex(const double a[2], const larmor_array *x, const double b[2], larmor_array *y)
{
    LMR_REFUSE(!a || !b, LARMOR_ERR_ARG, "larmor_axpby_complex: a factor is NULL");
    LMR_TRY(expect_two("larmor_axpby_complex", x, y));
    return lmr_vec_of(x)->axpby_complex(x->dev->ctx, larmor_array_count(x), a, x->data, b, y->data);
}

larmor_status larmor_mul(const larmor_array *d, int conj, larmor_array *y)
{
    LMR_TRY(expect_complex("larmor_mul", d));
    LMR_TRY(expect_complex("larmor_mul", y));
    larmor_shape leading = y->shape;
    if (leading.ndim > d->shape.ndim) leading.ndim = d->shape.ndim;
    LMR_TRY(lmr_expect("larmor_mul", "d", d, y->dev, y->dtype, leading));
    const int64_t n = larmor_array_count(d);
    if (n == 0) return LARMOR_OK;
    const int64_t rows = larmor_array_count(y) / n;
    return lmr_vec_of(y)->mul(y->dev->ctx, n, rows, d->data, y->data, conj, y->data);
}

larmor_status larmor_dot(const larmor_array *x, const larmor_array *y, double out[2])
{
    LMR_REFUSE(!out, LARMOR_ERR_ARG, "larmor_dot: out is NULL");
    out[0] = out[1] = 0;
    LMR_TRY(expect_two("larmor_dot", x, y));
    const larmor_status st = lmr_vec_of(x)->dot(x->dev->ctx, larmor_array_count(x), x->data, y->data, out);
    return x->dev->whole ? x->dev->total(x->dev->whole, st, out) : st;
}

larmor_status larmor_distance(const larmor_array *x, const larmor_array *y, double out[3])
{
    LMR_REFUSE(!out, LARMOR_ERR_ARG, "larmor_distance: out is NULL");
    out[0] = out[1] = out[2] = 0;
    LMR_TRY(expect_two("larmor_distance", x, y));
    double square[4] = {0};
    larmor_status st = lmr_vec_of(x)->distance(x->dev->ctx, larmor_array_count(x), x->data, y->data, square);
    for (int i = 0; i < 4 && x->dev->whole; i += 2) st = x->dev->total(x->dev->whole, st, square + i);
    LMR_TRY(st);
    for (int i = 0; i < 3; i++) out[i] = sqrt(square[i]);
    return LARMOR_OK;
}

larmor_status larmor_nrm2(const larmor_array *x, double *out)
{
    double square[2];
    LMR_REFUSE(!out, LARMOR_ERR_ARG, "larmor_nrm2: out is NULL");
    *out = 0;
    LMR_TRY(larmor_dot(x, x, square));
    *out = sqrt(square[0]);
    return LARMOR_OK;
}

larmor_status larmor_abs(const larmor_array *x, larmor_array *y)
{
    LMR_TRY(expect_two("larmor_abs", x, y));
    return lmr_vec_of(x)->magnitude(x->dev->ctx, larmor_array_count(x), x->data, y->data);
}

larmor_status larmor_real(const larmor_array *x, larmor_array *y)
{
    LMR_TRY(expect_two("larmor_real", x, y));
    return lmr_vec_of(x)->real_part(x->dev->ctx, larmor_array_count(x), x->data, y->data);
}
