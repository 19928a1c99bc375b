/* Points as XLA has them, [ndim, count] in the order of C: its last row goes with larmor's dimension 0, which is the
 * fastest one of the modes. SPDX-License-Identifier: Apache-2.0 */
#include "xla/points.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const double two_pi = 6.283185307179586476925286766559;

struct lmr_xla_points {
    larmor_device *dev;
    int on_host;
    larmor_array *at;    /* [ndim * points] */
    larmor_array *there; /* [ndim * targets]; NULL for types 1 and 2 */
};

larmor_status lmr_xla_wrap(larmor_device *dev, larmor_dtype dtype, int64_t count, void *data, larmor_array **out)
{
    return larmor_array_wrap(dev, dtype, larmor_shape_of(1, &count), count ? data : NULL, NULL, NULL, out);
}

void lmr_xla_points_free(lmr_xla_points *points)
{
    if (!points) return;
    larmor_array_free(points->at);
    larmor_array_free(points->there);
    free(points);
}

larmor_status lmr_xla_points_create(larmor_device *dev, const lmr_xla_call *call, lmr_xla_points **out)
{
    const int64_t numbers = call->points * call->nufft.ndim;
    const int64_t more = call->targets * call->nufft.ndim;
    lmr_xla_points *points = calloc(1, sizeof *points);
    *out = NULL;
    if (!points) return larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
    points->dev = dev;
    points->on_host = !strncmp(larmor_device_spec(dev), "cpu", 3);
    larmor_status st = larmor_array_create(dev, call->real, larmor_shape_of(1, &numbers), &points->at);
    if (!st && call->nufft.type == 3)
        st = larmor_array_create(dev, call->real, larmor_shape_of(1, &more), &points->there);
    if (st) lmr_xla_points_free(points);
    *out = st ? NULL : points;
    return st;
}

int64_t lmr_xla_points_bytes(const lmr_xla_points *points)
{
    return (int64_t)(larmor_array_bytes(points->at) + larmor_array_bytes(points->there));
}

/* ---- comparison ---- */

/* Pairs of numbers are compared as complex ones, by the device. */
static larmor_status same_pairs(const lmr_xla_points *points, larmor_dtype real, int64_t pairs, void *a, void *b,
                                int *same)
{
    const larmor_dtype pair = real == LARMOR_F32 ? LARMOR_C64 : LARMOR_C128;
    double norms[3] = {0, 0, 0};
    larmor_array *x = NULL;
    larmor_array *y = NULL;
    larmor_status st = lmr_xla_wrap(points->dev, pair, pairs, a, &x);
    if (!st) st = lmr_xla_wrap(points->dev, pair, pairs, b, &y);
    if (!st) st = larmor_distance(x, y, norms);
    larmor_array_free(x);
    larmor_array_free(y);
    *same = norms[2] == 0; /* never of what is not finite */
    return st;
}

static larmor_status same_last(const lmr_xla_points *points, larmor_dtype real, void *a, void *b, int *same)
{
    const size_t bytes = larmor_dtype_size(real);
    char numbers[2][sizeof(double)];
    void *const from[2] = {a, b};
    larmor_status st = LARMOR_OK;
    for (int i = 0; i < 2 && !st; i++) {
        larmor_array *one = NULL;
        st = lmr_xla_wrap(points->dev, real, 1, from[i], &one);
        if (!st) st = larmor_array_read(one, numbers[i], bytes);
        larmor_array_free(one);
    }
    *same = !st && !memcmp(numbers[0], numbers[1], bytes);
    return st;
}

static larmor_status same_numbers(const lmr_xla_points *points, const larmor_array *mine, char *data, int *same)
{
    const larmor_dtype real = larmor_array_dtype(mine);
    const int64_t count = larmor_array_count(mine);
    const size_t bytes = larmor_dtype_size(real);
    char *own = larmor_array_data(mine);
    *same = 1;
    if (!count) return LARMOR_OK;
    if (points->on_host) {
        *same = !memcmp(own, data, bytes * (size_t)count);
        return LARMOR_OK;
    }
    *same = (uintptr_t)data % (2 * bytes) == 0;
    if (*same && count > 1) XLA_TRY(same_pairs(points, real, count / 2, own, data, same));
    const size_t last = bytes * (size_t)(count - 1);
    if (*same && count % 2) return same_last(points, real, own + last, data + last, same);
    return LARMOR_OK;
}

/* The numbers of a set in an array of [sets, ndim, count]. */
static char *of_set(const lmr_xla_call *call, int64_t set, char *data, int64_t count)
{
    return data ? data + set * call->nufft.ndim * count * (int64_t)larmor_dtype_size(call->real) : NULL;
}

larmor_status lmr_xla_points_same(const lmr_xla_points *points, const lmr_xla_call *call, int64_t set, int *same)
{
    XLA_TRY(same_numbers(points, points->at, of_set(call, set, call->at, call->points), same));
    if (!*same || !points->there) return LARMOR_OK;
    return same_numbers(points, points->there, of_set(call, set, call->there, call->targets), same);
}

/* ---- setting ---- */

static larmor_status copy(const lmr_xla_points *points, char *data, larmor_array *mine)
{
    larmor_array *given = NULL;
    larmor_status st = lmr_xla_wrap(points->dev, larmor_array_dtype(mine), larmor_array_count(mine), data, &given);
    if (!st) st = larmor_copy(given, mine);
    larmor_array_free(given);
    return st;
}

/* The rows of a set as coordinates in larmor's order, which the caller frees whatever is returned. */
static larmor_status rows(const lmr_xla_points *points, const lmr_xla_call *call, char *data, int64_t count,
                          larmor_array *coordinates[3])
{
    const int ndim = call->nufft.ndim;
    const int64_t bytes = count * (int64_t)larmor_dtype_size(call->real);
    for (int d = 0; d < ndim; d++)
        XLA_TRY(lmr_xla_wrap(points->dev, call->real, count, count ? data + (ndim - 1 - d) * bytes : NULL,
                             &coordinates[d]));
    return LARMOR_OK;
}

static void free_rows(larmor_array *coordinates[3])
{
    for (int d = 0; d < 3; d++) larmor_array_free(coordinates[d]);
}

static larmor_status join(const lmr_xla_points *points, const lmr_xla_call *call, char *data, int64_t count,
                          double factor, larmor_array **out)
{
    const double scale[3] = {factor, factor, factor};
    larmor_array *coordinates[3] = {NULL, NULL, NULL};
    larmor_status st = rows(points, call, data, count, coordinates);
    if (!st)
        st = larmor_nufft_join_coordinates(call->nufft.ndim, (const larmor_array *const *)coordinates, scale, out);
    free_rows(coordinates);
    return st;
}

static larmor_status set_both(const lmr_xla_points *points, const lmr_xla_call *call, char *at, char *there,
                              larmor_nufft *plan)
{
    larmor_array *from = NULL;
    larmor_array *to = NULL;
    larmor_status st = join(points, call, at, call->points, 1, &from);
    if (!st) st = join(points, call, there, call->targets, call->radians ? 1 / two_pi : 1, &to);
    if (!st) st = larmor_nufft_set_points(plan, from, to);
    larmor_array_free(from);
    larmor_array_free(to);
    return st;
}

static larmor_status set_one(const lmr_xla_points *points, const lmr_xla_call *call, char *at, larmor_nufft *plan)
{
    double scale[3] = {1, 1, 1};
    larmor_array *coordinates[3] = {NULL, NULL, NULL};
    for (int d = 0; d < call->nufft.ndim && call->radians; d++) scale[d] = (double)call->nufft.modes[d] / two_pi;
    larmor_status st = rows(points, call, at, call->points, coordinates);
    if (!st) st = larmor_nufft_set_coordinates(plan, (const larmor_array *const *)coordinates, scale);
    free_rows(coordinates);
    return st;
}

larmor_status lmr_xla_points_set(lmr_xla_points *points, const lmr_xla_call *call, int64_t set, larmor_nufft *plan)
{
    char *at = of_set(call, set, call->at, call->points);
    char *there = of_set(call, set, call->there, call->targets);
    XLA_TRY(points->there ? set_both(points, call, at, there, plan) : set_one(points, call, at, plan));
    XLA_TRY(copy(points, at, points->at));
    return points->there ? copy(points, there, points->there) : LARMOR_OK;
}
