/* The normal operator of the NUFFT as a convolution with the point spread function (Wajer and Pruessmann 2001;
 * Fessler et al. 2005). SPDX-License-Identifier: Apache-2.0 */
#include "nufft/toeplitz.h"

#include <math.h>
#include <stdlib.h>

#include "core/array.h"
#include "nufft/choose/choose.h"
#include "nufft/device.h"
#include "nufft/options.h"
#include "nufft/tune/race.h"

struct lmr_toeplitz {
    larmor_device *dev;
    const lmr_conv *conv;
    void *plan;
    larmor_dtype dtype;
    larmor_shape shape;
};

/* Sizes, and how the point spread function is made. */
typedef struct design {
    larmor_nufft_opts opts;  /* of the operator, defaults filled in */
    larmor_nufft_opts psf;   /* type 1 onto twice the modes: its lags go from -N to N - 1 */
    lmr_nufft_geometry wrap; /* from those lags to the grid, lag 0 first */
    int64_t lags, cells;
} design;

/* The error of the point spread function is one of N, whose own tolerance it must not spend: a tenth of it, in double
 * precision, and no smaller than that can be. There are few samples for so many modes, so that the finest grid is the
 * dearest part, and the smallest one the best where it will do. */
static larmor_status choose_psf(design *d)
{
    const struct {
        double tol, upsample;
    } tries[] = {{d->opts.tol / 10, 1.25}, {d->opts.tol / 10, 0}, {d->opts.tol, 0}};
    lmr_nufft_choice choice;
    larmor_nufft_opts *p = &d->psf;
    larmor_status st = LARMOR_ERR_NUMERIC;
    for (int i = 0; i < 3; i++) p->modes[i] = d->wrap.modes[i];
    for (int i = 0; i < 3 && st == LARMOR_ERR_NUMERIC; i++) {
        const lmr_nufft_request request = {.ndim = p->ndim, .tol = tries[i].tol, .upsample = tries[i].upsample};
        p->tol = request.tol;
        p->upsample = request.upsample;
        st = lmr_nufft_choose(&request, p->modes, &choice);
    }
    return st;
}

static larmor_status make_design(const larmor_nufft_opts *opts, design *d)
{
    *d = (design){.lags = 1, .cells = 1};
    LMR_TRY(lmr_nufft_read_options(opts, &d->opts));
    larmor_nufft_opts *o = &d->opts;
    if (o->ndim < 1 || o->ndim > 3)
        return LMR_FAIL(LARMOR_ERR_ARG, "toeplitz: ndim: got %d, expected 1 .. 3", o->ndim);
    if (o->tol == 0) o->tol = 1e-5;
    if (!(o->tol > 0 && o->tol < 1))
        return LMR_FAIL(LARMOR_ERR_ARG, "toeplitz: tol: got %g, expected 0 < tol < 1", o->tol);
    if (o->mode_order || o->spread_only)
        return LMR_FAIL(LARMOR_ERR_ARG, "toeplitz: %s is not for the normal map; leave it 0",
                        o->mode_order ? "mode_order" : "spread_only");
    if (o->batch < 0)
        return LMR_FAIL(LARMOR_ERR_ARG, "toeplitz: batch: got %lld, expected >= 0", (long long)o->batch);
    o->dtype = lmr_precision(o->dtype) == LMR_F64 ? LARMOR_C128 : LARMOR_C64;
    d->wrap.ndim = o->ndim;
    d->wrap.batch = 1;
    for (int i = 0; i < 3; i++) {
        const int64_t modes = i < o->ndim ? o->modes[i] : 1;
        if (modes < 1 || modes > INT64_C(1) << 30)
            return LMR_FAIL(LARMOR_ERR_ARG, "toeplitz: modes[%d]: got %lld, expected 1 .. 2^30", i, (long long)modes);
        o->modes[i] = modes;
        d->wrap.modes[i] = i < o->ndim ? 2 * modes : 1;
        d->wrap.cells[i] = i < o->ndim ? lmr_nufft_good_size(2 * modes) : 1;
        if (!lmr_mul(d->lags, d->wrap.modes[i], &d->lags) || !lmr_mul(d->cells, d->wrap.cells[i], &d->cells) ||
            d->cells > INT64_C(1) << 54)
            return LMR_FAIL(LARMOR_ERR_ARG, "toeplitz: the modes are too many");
    }
    d->psf = (larmor_nufft_opts){
        .type = 1, .ndim = o->ndim, .batch = 1, .sign = o->sign > 0 ? -1 : 1, .dtype = LARMOR_C128};
    return choose_psf(d);
}

/* ---- the point spread function ---- */

/* points [nd, m] <- 2 traj, in double: the same positions in periods of the doubled modes. */
static larmor_status double_points(const larmor_array *traj, larmor_array **points)
{
    const lmr_backend *be = traj->dev->be;
    const int64_t count = larmor_array_count(traj), nd = traj->shape.dim[0];
    LMR_TRY(larmor_array_create(traj->dev, LARMOR_F64, LARMOR_SHAPE(nd, count / nd + 1), points));
    void *ctx = traj->dev->ctx, *k = (*points)->data;
    /* pairs of real numbers are complex ones; room for one point more makes their number even */
    LMR_TRY(be->convert(ctx, count, traj->dtype, traj->data, LARMOR_F64, k));
    LMR_TRY(be->vec[LMR_F64]->axpby(ctx, (count + 1) / 2, 2, k, 0, k));
    return LARMOR_OK;
}

/* A point spread function for each of several weights: lags_k = sum_j w_kj exp(sign 2 pi i k_j . r / N), r from -N to
 * N - 1. */
typedef struct spread {
    larmor_nufft *plan;
    larmor_array *points, *base; /* base: the weights that all share */
    larmor_array *values, *lags; /* values: base times the weights of one of several */
} spread;

static void close_spread(spread *s)
{
    larmor_nufft_free(s->plan);
    larmor_array_free(s->points);
    larmor_array_free(s->base);
    larmor_array_free(s->values);
    larmor_array_free(s->lags);
}

static larmor_status open_spread(const design *d, const larmor_array *traj, const larmor_array *weights, int several,
                                 spread *s)
{
    larmor_array *room = NULL;
    larmor_device *dev = traj->dev;
    const int64_t m = larmor_array_count(traj) / d->psf.ndim;
    larmor_status st;
    LMR_OR(done, double_points(traj, &room));
    LMR_OR(done, larmor_array_slice(room, 0, m, &s->points));
    LMR_OR(done, larmor_nufft_create(dev, &d->psf, &s->plan));
    LMR_OR(done, larmor_nufft_set_points(s->plan, s->points, NULL));
    LMR_OR(done, larmor_array_create(dev, d->psf.dtype, LARMOR_SHAPE(m), &s->base));
    if (weights)
        LMR_OR(done, dev->be->convert(dev->ctx, m, weights->dtype, weights->data, d->psf.dtype, s->base->data));
    else
        LMR_OR(done, larmor_fill(s->base, 1));
    if (several) LMR_OR(done, larmor_array_create(dev, d->psf.dtype, LARMOR_SHAPE(m), &s->values));
    LMR_OR(done, larmor_array_create(dev, d->psf.dtype, LARMOR_SHAPE(d->lags), &s->lags));
done:
    larmor_array_free(room);
    return st;
}

/* The transform of the lags, each in its cell of the grid. What lies in the cells of lag -N and beyond N - 1 meets no
 * two voxels of an image. */
static larmor_status transform_lags(const design *d, larmor_array *lags, larmor_array **cells)
{
    larmor_device *dev = lags->dev;
    const int precision = lmr_precision(lags->dtype);
    const lmr_fft *fft = dev->be->fft[precision];
    const lmr_nufft_kernels *kernels = LMR_KERNELS(dev, nufft, LMR_NUFFT_ABI, precision);
    lmr_nufft_geometry wrap = d->wrap;
    larmor_array *ones = NULL, *grid = NULL;
    void *plan = NULL;
    larmor_status st;
    int64_t longest = 1;
    for (int i = 0; i < wrap.ndim; i++) longest = wrap.modes[i] > longest ? wrap.modes[i] : longest;
    LMR_OR(done, larmor_array_create(dev, lmr_real_of(lags->dtype), LARMOR_SHAPE(longest), &ones));
    LMR_OR(done, larmor_fill(ones, 1));
    for (int i = 0; i < wrap.ndim; i++) wrap.factor[i] = ones->data;
    LMR_OR(done, larmor_array_create(dev, lags->dtype, LARMOR_SHAPE(d->cells), &grid));
    LMR_OR(done, kernels->pad(dev->ctx, &wrap, 1, lags->data, grid->data));
    LMR_OR(done, lmr_go_on());
    LMR_OR(done, fft->plan(dev->ctx, wrap.ndim, wrap.cells, 1, &plan));
    LMR_OR(done, fft->band(dev->ctx, plan, -1, 0, wrap.modes, grid->data));
    LMR_OR(done, larmor_array_convert(grid, d->opts.dtype, cells));
done:
    fft->destroy(dev->ctx, plan);
    larmor_array_free(grid);
    larmor_array_free(ones);
    return st;
}

/* ---- the operator ---- */

larmor_status lmr_toeplitz_apply(lmr_toeplitz *t, int k, const larmor_array *x, larmor_array *y)
{
    LMR_TRY(lmr_go_on());
    return t->conv->exec(t->dev->ctx, t->plan, k, x->data, y->data);
}

larmor_dtype lmr_toeplitz_dtype(const lmr_toeplitz *t)
{
    return t->dtype;
}

larmor_shape lmr_toeplitz_shape(const lmr_toeplitz *t)
{
    return t->shape;
}

void lmr_toeplitz_free(lmr_toeplitz *t)
{
    if (!t) return;
    t->conv->destroy(t->dev->ctx, t->plan);
    larmor_device_free(t->dev);
    free(t);
}

static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    return lmr_toeplitz_apply(self, 0, x, y);
}

static void destroy(void *self)
{
    lmr_toeplitz_free(self);
}

static larmor_status expect_inputs(const design *d, const larmor_array *traj, const larmor_array *weights)
{
    const larmor_shape points = larmor_array_shape(traj);
    if (!lmr_is_real(traj->dtype) || points.ndim < 2 || points.ndim >= LARMOR_MAX_DIMS ||
        points.dim[0] != d->opts.ndim)
        return LMR_FAIL(LARMOR_ERR_SHAPE,
                        "toeplitz: traj is %s, expected real [%d, samples, readouts] or [%d, points]",
                        lmr_describe(traj).s, d->opts.ndim, d->opts.ndim);
    if (!weights) return LARMOR_OK;
    if (!lmr_is_real(weights->dtype))
        return LMR_FAIL(LARMOR_ERR_ARG, "toeplitz: weights are %s, expected real ones", lmr_describe(weights).s);
    return lmr_expect("toeplitz", "weight array", weights, traj->dev, weights->dtype,
                      larmor_shape_of(points.ndim - 1, points.dim + 1));
}

static larmor_status plan_convolutions(const design *d, lmr_toeplitz *t, int kernels)
{
    const int64_t batch = d->opts.batch ? d->opts.batch : 1;
    return t->conv->plan(t->dev->ctx, d->opts.ndim, d->wrap.cells, d->opts.modes, batch, kernels, &t->plan);
}

/* The points and their plan are gone when the transform begins. */
static larmor_status make_one(const design *d, lmr_toeplitz *t, spread *s)
{
    larmor_array *cells = NULL, *lags;
    LMR_TRY(larmor_nufft_execute(s->plan, s->base, s->lags));
    lags = larmor_array_ref(s->lags);
    close_spread(s);
    *s = (spread){NULL};
    larmor_status st = transform_lags(d, lags, &cells);
    if (!st) st = plan_convolutions(d, t, 1);
    if (!st) st = t->conv->set(t->dev->ctx, t->plan, 0, 1 / (double)d->cells, cells->data);
    larmor_array_free(cells);
    larmor_array_free(lags);
    return st;
}

static larmor_status make_several(const design *d, lmr_toeplitz *t, spread *s, const lmr_toeplitz_weights *several)
{
    LMR_TRY(plan_convolutions(d, t, several->count));
    for (int k = 0; k < several->count; k++) {
        larmor_array *cells = NULL;
        LMR_TRY(several->weigh(several->user, k, s->base, s->values));
        LMR_TRY(larmor_nufft_execute(s->plan, s->values, s->lags));
        larmor_status st = transform_lags(d, s->lags, &cells);
        if (!st) st = t->conv->set(t->dev->ctx, t->plan, k, 1 / (double)d->cells, cells->data);
        larmor_array_free(cells);
        if (st) return st;
    }
    return LARMOR_OK;
}

static larmor_status make_kernels(const design *d, lmr_toeplitz *t, const larmor_array *traj,
                                  const larmor_array *weights, const lmr_toeplitz_weights *several)
{
    spread s = {NULL};
    larmor_status st = open_spread(d, traj, weights, several != NULL, &s);
    if (!st) st = several ? make_several(d, t, &s, several) : make_one(d, t, &s);
    close_spread(&s);
    return st;
}

larmor_status lmr_toeplitz_create(larmor_device *dev, const larmor_nufft_opts *opts, const larmor_array *traj,
                                  const larmor_array *weights, const lmr_toeplitz_weights *several,
                                  lmr_toeplitz **out)
{
    design d;
    *out = NULL;
    LMR_TRY(make_design(opts, &d));
    LMR_TRY(expect_inputs(&d, traj, weights));
    lmr_toeplitz *t = calloc(1, sizeof *t);
    if (!t) return LMR_NO_MEMORY();
    t->dev = lmr_device_ref(dev);
    t->conv = dev->be->conv[lmr_precision(d.opts.dtype)];
    t->dtype = d.opts.dtype;
    t->shape = larmor_shape_of(d.opts.ndim, d.opts.modes);
    if (d.opts.batch) t->shape = larmor_shape_append(t->shape, d.opts.batch);
    const larmor_status st = make_kernels(&d, t, traj, weights, several);
    if (st)
        lmr_toeplitz_free(t);
    else
        *out = t;
    return st;
}

larmor_status larmor_op_toeplitz(larmor_device *dev, const larmor_nufft_opts *opts, const larmor_array *traj,
                                 const larmor_array *weights, larmor_op **N)
{
    static const larmor_op_impl impl = {"toeplitz", forward, forward, NULL, destroy};
    if (!N) return LMR_FAIL(LARMOR_ERR_ARG, "larmor_op_toeplitz: N is NULL");
    *N = NULL;
    if (!dev || !opts || !traj)
        return LMR_FAIL(LARMOR_ERR_ARG, "larmor_op_toeplitz: a device, options and traj are needed");
    lmr_toeplitz *t;
    LMR_TRY(lmr_toeplitz_create(dev, opts, traj, weights, NULL, &t));
    const larmor_status st = larmor_op_create(dev, &impl, t, t->dtype, t->shape, t->shape, N);
    if (st) lmr_toeplitz_free(t);
    return st;
}

/* ---- what pays ---- */

static double fft_cost(const int64_t cells[3], int single)
{
    const double count = (double)cells[0] * (double)cells[1] * (double)cells[2];
    return count * (single ? 0.25 : 0.5) * (4 + log2(count));
}

static double window_cost(int ndim, int width, int single)
{
    return 5 + pow(width, ndim - 1) * ceil(2.0 * width / (single ? 8 : 4));
}

double lmr_toeplitz_ratio(const larmor_nufft_opts *opts, int64_t points, int64_t iters)
{
    design d;
    lmr_nufft_choice maps, psf;
    if (make_design(opts, &d)) return INFINITY;
    const int nd = d.opts.ndim, single = d.opts.dtype == LARMOR_C64;
    const lmr_nufft_request forward_request = {
        .ndim = nd, .single = single, .tol = d.opts.tol, .upsample = d.opts.upsample};
    const lmr_nufft_request psf_request = {.ndim = nd, .tol = d.psf.tol, .upsample = d.psf.upsample};
    if (lmr_nufft_choose(&forward_request, d.opts.modes, &maps) || lmr_nufft_choose(&psf_request, d.psf.modes, &psf))
        return INFINITY;
    const double m = (double)points, times = (double)iters * (double)(d.opts.batch ? d.opts.batch : 1);
    /* a point's; what of both FFTs is left where zeros are left out, beyond what a NUFFT leaves out */
    const double sort = 60, pruned = 0.5;
    const double both = 2 * (m * window_cost(nd, maps.window.width, single) + fft_cost(maps.cells, single));
    const double made =
        m * (sort + window_cost(nd, psf.window.width, 0)) + fft_cost(psf.cells, 0) + 2 * fft_cost(d.wrap.cells, 0);
    return (made / times + 2 * pruned * fft_cost(d.wrap.cells, single)) / both;
}

/* An operator that is timed. */
typedef struct runner {
    larmor_op *A;
    larmor_status (*apply)(larmor_op *A, const larmor_array *x, larmor_array *y);
    const larmor_array *x;
    larmor_array *y;
} runner;

static larmor_status run_once(void *self)
{
    const runner *r = self;
    return r->apply(r->A, r->x, r->y);
}

larmor_status lmr_toeplitz_race(larmor_op *N, larmor_op *A, const larmor_array *x, larmor_array *y, int *quicker)
{
    runner one = {N, larmor_op_forward, x, y}, both = {A, larmor_op_normal, x, y};
    const lmr_run runs[2] = {{run_once, &one}, {run_once, &both}};
    larmor_timer *timer;
    double seconds[2];
    LMR_TRY(larmor_timer_create(x->dev, &timer));
    larmor_status st = lmr_race_time(timer, runs[0], INFINITY, &seconds[0]);
    if (!st) st = lmr_race_time(timer, runs[1], seconds[0], &seconds[1]);
    if (!st && fmax(seconds[0], seconds[1]) < lmr_race_close * fmin(seconds[0], seconds[1]))
        st = lmr_race_compare(timer, runs, seconds);
    *quicker = !st && seconds[0] < seconds[1];
    larmor_timer_free(timer);
    return st;
}

/* ---- memory ---- */

larmor_status lmr_toeplitz_bytes(const larmor_device *dev, const larmor_nufft_opts *opts, int64_t points, int kernels,
                                 double *making, double *held)
{
    design d;
    int64_t plan;
    LMR_TRY(make_design(opts, &d));
    LMR_TRY(larmor_nufft_memory(dev, &d.psf, points, &plan));
    const double size = (double)larmor_dtype_size(d.psf.dtype), own = (double)larmor_dtype_size(d.opts.dtype);
    const double lags = size * (double)d.lags, cells = size * (double)d.cells;
    const double values = (8.0 * d.opts.ndim + size) * ((double)points + 1);
    const double work = dev->be->fft[lmr_precision(d.psf.dtype)]->bytes(dev->ctx, d.psf.ndim, d.wrap.cells, 1);
    const double converted = d.psf.dtype == d.opts.dtype ? 0 : own * (double)d.cells;
    const double ones = 8.0 * (double)(d.wrap.modes[0] + d.wrap.modes[1] + d.wrap.modes[2]) + 0x1p12;
    const int64_t batch = d.opts.batch ? d.opts.batch : 1;
    *held = dev->be->conv[lmr_precision(d.opts.dtype)]->bytes(dev->ctx, d.opts.ndim, d.wrap.cells, d.opts.modes,
                                                              batch, kernels);
    if (kernels > 1) {
        const double open = (double)plan + values + size * (double)points + lags;
        *making = open + *held + cells + fmax(work + ones, converted);
        return LARMOR_OK;
    }
    const double first = (double)plan + values + lags, second = lags + cells + work + converted + ones;
    const double third = lags + own * (double)d.cells + *held;
    *making = fmax(first, fmax(second, third));
    return LARMOR_OK;
}
