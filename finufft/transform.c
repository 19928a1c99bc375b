/* A plan of FINUFFT's on larmor's NUFFT. Source of the interface: FINUFFT's documentation and public headers,
 * Barnett, Magland, af Klinteberg, SIAM J. Sci. Comput. 41, C479 (2019). SPDX-License-Identifier: Apache-2.0 */
#include "finufft/transform.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mutable.h"

#define MOST_POINTS INT64_C(100000000000000)
static const double two_pi = 6.283185307179586476925286766559;

/* What larmor can give at most and at least. */
enum { SMALL_STEPS = 8, TRIES = 28 };
static const double small_step = 4.0 / 3, large_step = 4;
static const double loosest = 0.5;
static const double least_upsample = 1.15;
static const double most_upsample = 2.5;

struct lmr_transform {
    larmor_nufft_opts nufft;
    larmor_nufft *run; /* NULL: there are no modes, so nothing is computed */
    larmor_device *dev;
    const char *who;
    int64_t modes; /* of all dimensions; of type 3 targets */
    int64_t points;
    int warns, on_host, has_points;
    pthread_mutex_t lock; /* of what setpts changes: execute may be called by several threads */
};

int lmr_transform_complain(const char *who, int warns, int code, const char *text)
{
    if (warns) fprintf(stderr, "larmor's %s: %s.\n", who, text);
    return code;
}

int lmr_transform_code(const char *who, int warns, larmor_status st)
{
    int code = FINUFFT_ERR_UNKNOWN_EXCEPTION;
    if (!st) return 0;
    if (st == LARMOR_ERR_MEMORY) code = FINUFFT_ERR_MAXNALLOC;
    if (st == LARMOR_ERR_NUMERIC) code = FINUFFT_ERR_EPS_TOO_SMALL;
    if (st == LARMOR_ERR_BACKEND) code = FINUFFT_ERR_CUDA_FAILURE;
    if (st == LARMOR_ERR_ARG || st == LARMOR_ERR_SHAPE) code = FINUFFT_ERR_INVALID_ARGUMENT;
    return lmr_transform_complain(who, warns, code, larmor_last_error());
}

static int complain(const lmr_transform *t, int code, const char *text)
{
    return lmr_transform_complain(t->who, t->warns, code, text);
}

static int code_of(const lmr_transform *t, larmor_status st)
{
    return lmr_transform_code(t->who, t->warns, st);
}

/* ---- plans ---- */

int lmr_transform_check(const lmr_transform_request *r)
{
    if (r->type < 1 || r->type > 3)
        return lmr_transform_complain(r->who, r->warns, FINUFFT_ERR_TYPE_NOTVALID, "type is not 1, 2 or 3");
    if (r->dim < 1 || r->dim > 3)
        return lmr_transform_complain(r->who, r->warns, FINUFFT_ERR_DIM_NOTVALID, "dim is not 1, 2 or 3");
    if (r->ntrans < 1)
        return lmr_transform_complain(r->who, r->warns, FINUFFT_ERR_NTRANS_NOTVALID, "ntrans is below 1");
    return 0;
}

/* A tolerance that larmor takes. `least` is what it can reach at most. */
static int choose_tol(const lmr_transform_request *r, lmr_transform *t)
{
    const double epsilon = r->dtype == LARMOR_C64 ? (double)FLT_EPSILON : DBL_EPSILON;
    double least = 0;
    if (!(r->tol >= epsilon) && !r->raises_tol)
        return complain(t, FINUFFT_ERR_EPS_TOO_SMALL, "the tolerance is below the machine's precision");
    t->nufft.tol = fmin(fmax(r->tol, epsilon), loosest);
    if (!(r->tol > 0)) t->nufft.tol = epsilon;
    larmor_status st = larmor_nufft_least_tol(t->dev, &t->nufft, &least);
    if (st) return code_of(t, st);
    if (least <= t->nufft.tol) return 0;
    if (t->warns)
        fprintf(stderr, "larmor's %s warning: tol = %.3g is out of reach; %.3g is taken.\n", t->who, r->tol, least);
    t->nufft.tol = least;
    return 0;
}

static double upsample(const lmr_transform_request *r)
{
    if (r->upsample == 0) return 0;
    const double taken = fmin(fmax(r->upsample, least_upsample), most_upsample);
    if (taken != r->upsample && r->warns)
        fprintf(stderr, "larmor's %s warning: upsampfac = %.3g is outside of %.3g to %.3g; %.3g is taken.\n", r->who,
                r->upsample, least_upsample, most_upsample, taken);
    return taken;
}

static int fill_modes(const lmr_transform_request *r, lmr_transform *t)
{
    t->modes = r->type == 3 ? 0 : 1;
    for (int d = 0; d < r->dim && r->type != 3; d++) {
        const int64_t n = r->modes[d];
        if (n < 0) return complain(t, FINUFFT_ERR_INVALID_ARGUMENT, "a number of modes is negative");
        if (n && t->modes > INT64_MAX / 32 / n)
            return complain(t, FINUFFT_ERR_MAXNALLOC, "there are more modes than memory can hold");
        t->nufft.modes[d] = n;
        t->modes *= n;
    }
    return 0;
}

static int fill(const lmr_transform_request *r, lmr_transform *t)
{
    t->who = r->who;
    t->warns = r->warns;
    t->on_host = r->on_host;
    t->nufft = (larmor_nufft_opts){.size = sizeof t->nufft,
                                   .type = r->type,
                                   .ndim = r->dim,
                                   .batch = r->ntrans,
                                   .sign = r->sign >= 0 ? 1 : -1,
                                   .upsample = upsample(r),
                                   .dtype = r->dtype,
                                   .mode_order = r->fft_order ? LARMOR_MODES_FFT : LARMOR_MODES_CENTRED,
                                   .spread_only = r->type != 3 && r->spread_only,
                                   .max_batch = r->max_batch};
    int code = fill_modes(r, t);
    const int empty = r->type != 3 && !t->modes;
    for (int d = 0; d < r->dim && empty; d++) t->nufft.modes[d] = 1; /* the tolerance is checked all the same */
    if (!code) code = choose_tol(r, t);
    if (code || empty) return code;
    return code_of(t, larmor_nufft_create(t->dev, &t->nufft, &t->run));
}

int lmr_transform_free(lmr_transform *t)
{
    if (!t) return FINUFFT_ERR_PLAN_NOTVALID;
    larmor_nufft_free(t->run);
    larmor_device_free(t->dev);
    pthread_mutex_destroy(&t->lock);
    free(t);
    return 0;
}

int lmr_transform_create(const lmr_transform_request *r, larmor_device *dev, lmr_transform **out)
{
    *out = NULL;
    lmr_transform *t = calloc(1, sizeof *t);
    if (!t) {
        larmor_device_free(dev);
        return FINUFFT_ERR_ALLOC;
    }
    pthread_mutex_init(&t->lock, NULL);
    t->dev = dev;
    const int code = fill(r, t);
    if (code)
        lmr_transform_free(t);
    else
        *out = t;
    return code;
}

/* ---- points ---- */

/* Coordinates that lie one after the other as arrays; to be freed by the caller, also after an error. */
static larmor_status wrap(const lmr_transform *t, int64_t count, const void *const from[3],
                          larmor_array *coordinates[3])
{
    const larmor_dtype dtype = t->nufft.dtype == LARMOR_C64 ? LARMOR_F32 : LARMOR_F64;
    for (int d = 0; d < t->nufft.ndim; d++) {
        if (count && !from[d]) return larmor_fail(LARMOR_ERR_ARG, "coordinates along dimension %d are NULL", d);
        const larmor_status st =
            larmor_array_wrap(t->dev, dtype, LARMOR_SHAPE(count), lmr_mutable(from[d]), NULL, NULL, &coordinates[d]);
        if (st) return st;
    }
    return LARMOR_OK;
}

static void unwrap(larmor_array *coordinates[3])
{
    for (int d = 0; d < 3; d++) larmor_array_free(coordinates[d]);
}

/* They become points [ndim, count], times a factor for each dimension. */
static larmor_status join(const lmr_transform *t, int64_t count, const void *const from[3], const double factor[3],
                          larmor_array **points)
{
    larmor_array *coordinates[3] = {NULL, NULL, NULL};
    *points = NULL;
    larmor_status st = wrap(t, count, from, coordinates);
    if (!st)
        st = larmor_nufft_join_coordinates(t->nufft.ndim, (const larmor_array *const *)coordinates, factor, points);
    unwrap(coordinates);
    return st;
}

/* Those of types 1 and 2. */
static larmor_status set_apart(lmr_transform *t, int64_t count, const void *const from[3], const double factor[3])
{
    larmor_array *coordinates[3] = {NULL, NULL, NULL};
    larmor_status st = wrap(t, count, from, coordinates);
    if (!st) st = larmor_nufft_set_coordinates(t->run, (const larmor_array *const *)coordinates, factor);
    unwrap(coordinates);
    return st;
}

/* Points of type 3 that lie far apart set a limit to the tolerance that only they show. FINUFFT goes on with a larger
 * error there, and so does this: with a warning. */
static larmor_status set_targets(lmr_transform *t, const larmor_array *points, const larmor_array *targets)
{
    larmor_nufft_opts looser = t->nufft;
    larmor_status st = larmor_nufft_set_points(t->run, points, targets);
    for (int i = 0; i < TRIES && st == LARMOR_ERR_NUMERIC; i++) {
        looser.tol *= i < SMALL_STEPS ? small_step : large_step;
        if (looser.tol > loosest) break;
        larmor_nufft *other = NULL;
        st = larmor_nufft_create(t->dev, &looser, &other);
        if (st) break;
        st = larmor_nufft_set_points(other, points, targets);
        larmor_nufft_free(st ? other : t->run);
        if (st) continue;
        t->run = other;
        t->nufft = looser;
        if (t->warns)
            fprintf(stderr, "larmor's %s warning: tol is out of reach for these points; %.3g is taken.\n", t->who,
                    looser.tol);
    }
    return st;
}

int lmr_transform_set_points(lmr_transform *t, int64_t nj, const void *const from[3], int64_t nk,
                             const void *const to[3])
{
    if (!t) return FINUFFT_ERR_PLAN_NOTVALID;
    const int is_3 = t->nufft.type == 3;
    if (nj < 0 || nj > MOST_POINTS || (is_3 && (nk < 0 || nk > MOST_POINTS)))
        return complain(t, FINUFFT_ERR_NUM_NU_PTS_INVALID, "the number of points is negative or above 1e14");
    double forth[3], back[3];
    for (int d = 0; d < 3; d++) {
        forth[d] = is_3 ? 1 : (double)t->nufft.modes[d] / two_pi;
        back[d] = 1 / two_pi;
    }
    larmor_array *points = NULL;
    larmor_array *targets = NULL;
    pthread_mutex_lock(&t->lock);
    larmor_status st = LARMOR_OK;
    if (t->run && !is_3) st = set_apart(t, nj, from, forth);
    if (t->run && is_3) st = join(t, nj, from, forth, &points);
    if (!st && t->run && is_3) st = join(t, nk, to, back, &targets);
    if (!st && t->run && is_3) st = set_targets(t, points, targets);
    if (!st) {
        t->points = nj;
        if (is_3) t->modes = nk;
        t->has_points = 1;
    }
    pthread_mutex_unlock(&t->lock);
    larmor_array_free(points);
    larmor_array_free(targets);
    /* of points the tolerance was checked before, so that they are not finite or out of all reach */
    if (st == LARMOR_ERR_NUMERIC) return complain(t, FINUFFT_ERR_INVALID_ARGUMENT, larmor_last_error());
    return code_of(t, st);
}

/* ---- execution ---- */

/* The caller's values, or where their memory is aligned for half a number only, as C allows, a copy of them. */
typedef struct values {
    larmor_array *array;
    void *copied; /* the caller's memory, NULL if the array is that */
    size_t bytes;
} values;

static larmor_status take(const lmr_transform *t, int64_t count, void *data, int is_read, values *v)
{
    const larmor_dtype dtype = t->nufft.dtype;
    const larmor_shape shape = LARMOR_SHAPE(count, t->nufft.batch);
    *v = (values){.bytes = 0};
    if (!t->on_host || (uintptr_t)data % larmor_dtype_size(dtype) == 0)
        return larmor_array_wrap(t->dev, dtype, shape, data, NULL, NULL, &v->array);
    const larmor_status st = larmor_array_create(t->dev, dtype, shape, &v->array);
    if (st) return st;
    v->copied = data;
    v->bytes = larmor_array_bytes(v->array);
    if (is_read) memcpy(larmor_array_data(v->array), data, v->bytes);
    return LARMOR_OK;
}

static void give_back(values *v, int is_written)
{
    if (v->copied && is_written) memcpy(v->copied, larmor_array_data(v->array), v->bytes);
    larmor_array_free(v->array);
}

/* Sums over no modes; only on the host is there a plan without modes. */
static int give_zeros(const lmr_transform *t, int to_modes, void *at_points)
{
    if (to_modes || !t->points) return 0;
    if (!at_points) return complain(t, FINUFFT_ERR_INVALID_ARGUMENT, "the memory for the points is NULL");
    memset(at_points, 0, (size_t)(t->points * t->nufft.batch) * larmor_dtype_size(t->nufft.dtype));
    return 0;
}

int lmr_transform_execute(lmr_transform *t, int adjoint, void *at_points, void *at_modes)
{
    if (!t) return FINUFFT_ERR_PLAN_NOTVALID;
    if (!t->has_points) return complain(t, FINUFFT_ERR_INVALID_ARGUMENT, "setpts was not called");
    const int to_modes = (t->nufft.type == 2) == !!adjoint;
    if (!t->run) return give_zeros(t, to_modes, at_points);
    values points = {.bytes = 0};
    values modes = {.bytes = 0};
    pthread_mutex_lock(&t->lock);
    larmor_status st = take(t, t->points, at_points, to_modes, &points);
    if (!st) st = take(t, t->modes, at_modes, !to_modes, &modes);
    const larmor_array *in = to_modes ? points.array : modes.array;
    larmor_array *out = to_modes ? modes.array : points.array;
    if (!st) st = adjoint ? larmor_nufft_execute_adjoint(t->run, in, out) : larmor_nufft_execute(t->run, in, out);
    give_back(&points, !st && !to_modes);
    give_back(&modes, !st && to_modes);
    pthread_mutex_unlock(&t->lock);
    return code_of(t, st);
}
