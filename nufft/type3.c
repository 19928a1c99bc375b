/* Type 3: from points to targets, both anywhere. Points are spread onto a grid that is fine enough for the highest
 * frequency, a type 2 evaluates the grid at the targets, and the window's transform there is divided out (Lee and
 * Greengard, J. Comput. Phys. 206, 1 (2005)). With x = C + xi and s = D + eta, C and D the middles,
 *
 *   s x = D x + eta C + eta xi,
 *
 * so that the grid sees only the widths: values are multiplied by exp(2 pi i D x) before and exp(2 pi i eta C) after.
 * SPDX-License-Identifier: Apache-2.0 */
#include "nufft/type3.h"

#include "core/core.h"
#include "nufft/plan.h"

_Static_assert((int)LMR_WINDOW_LOG_TERMS <= (int)LMR_NUFFT_SERIES, "the series of the phases holds the window's");

struct lmr_type3 {
    const lmr_nufft_device *on;
    larmor_nufft_opts opts;
    int64_t points, targets;
    lmr_nufft_geometry geometry; /* of the points' grid */
    void *window, *sorted;
    lmr_nufft_plan *inner; /* NULL without points or targets */
    void *before,
        *after;  /* complex [points] and [targets]: factors of the values; their conjugates for the adjoint */
    void *cells; /* [cells..., geometry.batch] */
    void *work;  /* [points or targets, geometry.batch]: an input with its factors */
    larmor_nufft_info info;
};

static larmor_status measure(const lmr_nufft_device *on, int ndim, const char *what, const larmor_array *x,
                             int64_t count, lmr_type3_box *b)
{
    double low[3], high[3];
    int64_t bad;
    LMR_TRY(on->kernels->extent(on->ctx, ndim, count, x->dtype == LARMOR_F64, x->data, low, high, &bad));
    LMR_REFUSE(bad >= 0, LARMOR_ERR_NUMERIC, "nufft: %s %lld is not finite; remove it", what, (long long)bad);
    for (int d = 0; d < ndim; d++) {
        b->middle[d] = 0.5 * low[d] + 0.5 * high[d];
        b->half[d] = fmax(high[d] - b->middle[d], b->middle[d] - low[d]);
    }
    return LARMOR_OK;
}

/* The product of the widths, at least 1: points or targets that all agree count as wide enough for that. */
static larmor_status widen(int ndim, lmr_type3_box *points, lmr_type3_box *targets, double product[3])
{
    for (int d = 0; d < ndim; d++) {
        double *a = &points->half[d], *b = &targets->half[d];
        if (!(4 * *a * *b >= 1)) {
            if (fmax(*a, *b) < 0x1p-500)
                *a = *b = 0.5;
            else if (*a < *b)
                *a = 0.25 / *b;
            else
                *b = 0.25 / *a;
        }
        product[d] = 4 * *a * *b;
        const double cycles =
            fabs(targets->middle[d]) * (fabs(points->middle[d]) + *a) + fabs(points->middle[d]) * *b;
        LMR_REFUSE(!isfinite(cycles), LARMOR_ERR_ARG,
                   "nufft: points about %g and targets about %g: their product overflows", points->middle[d],
                   targets->middle[d]);
    }
    return LARMOR_OK;
}

larmor_status lmr_type3_measure(const lmr_nufft_device *on, const larmor_nufft_opts *o, const larmor_array *points,
                                const larmor_array *targets, lmr_type3_job *j)
{
    *j = (lmr_type3_job){.on = on, .opts = o, .points = points, .targets = targets, .product = {1, 1, 1}};
    LMR_TRY(lmr_nufft_expect_points(on, o, "points", points, &j->m));
    LMR_TRY(lmr_nufft_expect_points(on, o, "targets", targets, &j->n));
    LMR_TRY(measure(on, o->ndim, "point", points, j->m, &j->at));
    LMR_TRY(measure(on, o->ndim, "target", targets, j->n, &j->to));
    return j->m && j->n ? widen(o->ndim, &j->at, &j->to, j->product) : LARMOR_OK;
}

/* Refuse grids that the device has no room for, before any of it is taken. */
static larmor_status check_room(const lmr_type3_job *j, const lmr_type3_choice *choice)
{
    int64_t available, total;
    const double *product = j->product;
    double outer = (double)larmor_dtype_size(j->opts->dtype), inner = outer;
    for (int d = 0; d < 3; d++) {
        outer *= (double)choice->outer.cells[d];
        inner *= (double)choice->inner.cells[d];
    }
    LMR_TRY(j->on->dev->be->memory(j->on->ctx, &available, &total));
    const double needed = outer + inner;
    if (available <= 0 || needed <= (double)available) return LARMOR_OK;
    const int64_t *n = choice->outer.cells, *fine = choice->inner.cells;
    return LMR_FAIL(
        LARMOR_ERR_MEMORY,
        "nufft: widths of points and targets multiply to %.3g x %.3g x %.3g: type 3 needs grids of %lld x "
        "%lld x %lld and %lld x %lld x %lld cells, %.3g GB, of which %s has %.3g free; split points or "
        "targets into clusters",
        product[0], product[1], product[2], (long long)n[0], (long long)n[1], (long long)n[2], (long long)fine[0],
        (long long)fine[1], (long long)fine[2], needed * 1e-9, larmor_device_spec(j->on->dev),
        (double)available * 1e-9);
}

/* Those of the inner transform, whose modes are the points' grid in FFT order. */
static larmor_nufft_opts inner_options(const larmor_nufft_opts *opts, const lmr_type3_choice *choice)
{
    larmor_nufft_opts o = *opts;
    o.type = 2;
    o.mode_order = LARMOR_MODES_FFT;
    o.tol = choice->inner_tol;
    o.effort = LARMOR_PLAN_ESTIMATE;
    o.both_directions = 1; /* as the choice of both grids has it */
    for (int d = 0; d < 3; d++) o.modes[d] = choice->outer.cells[d];
    return o;
}

static larmor_status make_inner(const lmr_type3_choice *choice, lmr_type3 *t)
{
    const larmor_nufft_opts o = inner_options(&t->opts, choice);
    const lmr_nufft_way way = lmr_nufft_way_of(t->on->kernels, &o);
    LMR_TRY(lmr_nufft_plan_make(t->on, &o, &choice->inner, &way, &t->inner));
    t->geometry.batch = t->inner->geometry.batch;
    return LARMOR_OK;
}

/* (x - from) scale, in double. */
static larmor_status rescale(const lmr_type3 *t, const larmor_array *x, int64_t count, const double from[3],
                             const double scale[3], larmor_array **to)
{
    const lmr_nufft_device *on = t->on;
    LMR_TRY(larmor_array_create(on->dev, LARMOR_F64, LARMOR_SHAPE(t->opts.ndim, count), to));
    return on->kernels->rescale(on->ctx, t->opts.ndim, count, x->dtype == LARMOR_F64, x->data, from, scale,
                                (*to)->data);
}

/* Points in cells of their grid, in the kernels' order. */
static larmor_status sort_points(const lmr_type3_job *j, const double scale[3], lmr_type3 *t)
{
    int64_t bad;
    LMR_OWN(larmor_array, cells, rescale(t, j->points, t->points, j->at.middle, scale, &cells));
    return t->on->kernels->sort(t->on->ctx, &t->geometry, t->points, 1, cells->data, &bad, &t->sorted);
}

/* Targets in cycles over all of the grid, as the inner transform's points. */
static larmor_status sort_targets(const lmr_type3_job *j, const double scale[3], lmr_type3 *t)
{
    LMR_OWN(larmor_array, cycles, rescale(t, j->targets, t->targets, j->to.middle, scale, &cycles));
    return lmr_nufft_plan_set_points(t->inner, cycles, t->targets);
}

/* The factors before and after; the second ones also divide by the window's transform. */
static larmor_status make_phases(const lmr_type3_job *j, const double spacing[3], const lmr_type3_choice *choice,
                                 lmr_type3 *t)
{
    const lmr_nufft_device *on = t->on;
    const lmr_type3_box *at = &j->at, *to = &j->to;
    const int ndim = t->opts.ndim;
    const double sign = t->opts.sign;
    const size_t size = larmor_dtype_size(t->opts.dtype);
    lmr_nufft_phases before = {.ndim = ndim}, after = {.ndim = ndim};
    double highest = 0;
    for (int d = 0; d < ndim; d++) highest = fmax(highest, spacing[d] * to->half[d]);
    const double unit = on->precision == LMR_F64 ? 0x1p-53 : 0x1p-26;
    after.terms = lmr_window_fit_log_transform(&choice->outer.window, highest, fmax(0.03 * choice->outer.alias, unit),
                                               after.series);
    for (int k = 0; k < after.terms; k++) after.series[k] = -after.series[k];
    for (int d = 0; d < ndim; d++) {
        before.by[d] = sign * to->middle[d];
        after.from[d] = to->middle[d];
        after.by[d] = sign * at->middle[d];
        after.scale[d] = spacing[d] / highest;
    }
    LMR_TRY(on->dev->be->alloc(on->ctx, (size_t)t->points * size, &t->before));
    LMR_TRY(on->dev->be->alloc(on->ctx, (size_t)t->targets * size, &t->after));
    LMR_TRY(
        on->kernels->phases(on->ctx, &before, t->points, j->points->dtype == LARMOR_F64, j->points->data, t->before));
    return on->kernels->phases(on->ctx, &after, t->targets, j->targets->dtype == LARMOR_F64, j->targets->data,
                               t->after);
}

static larmor_status make_workspace(lmr_type3 *t)
{
    const lmr_backend *be = t->on->dev->be;
    const int64_t size = (int64_t)larmor_dtype_size(t->opts.dtype);
    const int64_t most = t->points > t->targets ? t->points : t->targets;
    int64_t grids = t->geometry.batch * size, work;
    for (int d = 0; d < 3; d++)
        LMR_REFUSE(!lmr_mul(grids, t->geometry.cells[d], &grids), LARMOR_ERR_MEMORY,
                   "nufft: the grids of type 3 pass 2^63 bytes");
    LMR_REFUSE(!lmr_mul(most, t->geometry.batch * size, &work), LARMOR_ERR_MEMORY, "nufft: %lld points are too many",
               (long long)most);
    LMR_TRY(be->alloc(t->on->ctx, (size_t)grids, &t->cells));
    return be->alloc(t->on->ctx, (size_t)work, &t->work);
}

static void describe(const lmr_type3_choice *choice, lmr_type3 *t)
{
    larmor_nufft_info *info = &t->info;
    const larmor_nufft_info inner = lmr_nufft_plan_describe(t->inner);
    lmr_nufft_method ignored, spread;
    t->on->kernels->methods(t->sorted, &spread, &ignored);
    info->width = choice->outer.window.width;
    info->error = choice->error;
    info->upsample = INFINITY;
    for (int d = 0; d < t->opts.ndim; d++) info->upsample = fmin(info->upsample, choice->upsample[d]);
    for (int d = 0; d < 3; d++) {
        info->grid[d] = choice->outer.cells[d];
        info->inner_grid[d] = inner.grid[d];
    }
    info->inner_width = inner.width;
    info->per_pass = inner.per_pass;
    info->spread_method = (larmor_nufft_method)spread;
    info->interp_method = inner.interp_method;
}

static larmor_status build(const lmr_type3_job *j, const lmr_type3_choice *choice, lmr_type3 *t)
{
    double spacing[3] = {0}, to_cells[3] = {0}, to_cycles[3] = {0};
    LMR_TRY(check_room(j, choice));
    for (int d = 0; d < 3; d++) {
        t->geometry.cells[d] = t->geometry.modes[d] = choice->outer.cells[d];
        if (d >= t->opts.ndim) continue;
        spacing[d] = 0.5 / (choice->upsample[d] * j->to.half[d]);
        to_cells[d] = 1 / spacing[d];
        to_cycles[d] = spacing[d] * (double)choice->outer.cells[d];
    }
    LMR_TRY(lmr_nufft_plan_upload_window(t->on, &choice->outer, &t->geometry, &t->window));
    LMR_TRY(make_inner(choice, t));
    LMR_TRY(sort_points(j, to_cells, t));
    LMR_TRY(sort_targets(j, to_cycles, t));
    LMR_TRY(make_phases(j, spacing, choice, t));
    describe(choice, t);
    return make_workspace(t);
}

larmor_status lmr_type3_make(const lmr_type3_job *j, const lmr_type3_choice *choice, lmr_type3 **out)
{
    const lmr_nufft_way way = lmr_nufft_way_of(j->on->kernels, j->opts);
    *out = NULL;
    LMR_NEW_ZEROS(lmr_type3, t, 1);
    t->on = j->on;
    t->opts = *j->opts;
    t->points = j->m;
    t->targets = j->n;
    t->geometry = (lmr_nufft_geometry){.ndim = t->opts.ndim, .method = way.method, .tiles = way.tiles};
    t->info = (larmor_nufft_info){.threads = t->on->threads, .tiles = way.tiles + 1, .precompute = way.precompute};
    const larmor_status st = choice ? build(j, choice, t) : LARMOR_OK;
    if (st)
        lmr_type3_free(t);
    else
        *out = t;
    return st;
}

void lmr_type3_free(lmr_type3 *t)
{
    if (!t) return;
    const lmr_backend *be = t->on->dev->be;
    t->on->kernels->release(t->on->ctx, t->sorted);
    lmr_nufft_plan_free(t->inner);
    void *const memory[] = {t->window, t->before, t->after, t->cells, t->work};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) be->release(t->on->ctx, memory[i]);
    free(t);
}

larmor_nufft_info lmr_type3_describe(const lmr_type3 *t)
{
    return t->info;
}

/* Points and targets are sorted, scaled copies and factors of both kept beside the input. */
larmor_status lmr_type3_bytes(const lmr_nufft_device *on, const larmor_nufft_opts *opts,
                              const lmr_type3_choice *choice, double points, double *bytes)
{
    const larmor_nufft_opts o = inner_options(opts, choice);
    const lmr_nufft_way way = lmr_nufft_way_of(on->kernels, &o);
    const double size = (double)larmor_dtype_size(o.dtype);
    lmr_nufft_geometry outer;
    double inner, grid = size;
    LMR_TRY(lmr_nufft_plan_bytes(on, &o, &choice->inner, &way, points, &inner));
    LMR_TRY(lmr_nufft_plan_sizes(on, &o, &choice->inner, &way, &outer)); /* its batch is that of both grids */
    outer.width = choice->outer.window.width;
    for (int d = 0; d < 3; d++) {
        outer.cells[d] = choice->outer.cells[d];
        grid *= (double)outer.cells[d];
    }
    *bytes = inner + (double)outer.batch * grid + on->kernels->points_bytes(on->ctx, &outer, points) +
             points * (8.0 * o.ndim + size * (1 + (double)outer.batch));
    return LARMOR_OK;
}

/* ---- execute ---- */

static larmor_status forward(const lmr_type3 *t, int64_t now, const void *in, void *out)
{
    const lmr_nufft_kernels *k = t->on->kernels;
    void *ctx = t->on->ctx;
    LMR_TRY(k->modulate(ctx, t->points, now, t->before, 0, in, t->work));
    LMR_TRY(k->spread(ctx, &t->geometry, t->sorted, now, t->work, t->cells));
    LMR_TRY(lmr_nufft_plan_pass(t->inner, 2, t->opts.sign, now, out, t->cells));
    return k->modulate(ctx, t->targets, now, t->after, 0, out, out);
}

static larmor_status backward(const lmr_type3 *t, int64_t now, const void *in, void *out)
{
    const lmr_nufft_kernels *k = t->on->kernels;
    void *ctx = t->on->ctx;
    LMR_TRY(k->modulate(ctx, t->targets, now, t->after, 1, in, t->work));
    LMR_TRY(lmr_nufft_plan_pass(t->inner, 1, -t->opts.sign, now, t->work, t->cells));
    LMR_TRY(k->interp(ctx, &t->geometry, t->sorted, now, t->cells, out));
    return k->modulate(ctx, t->points, now, t->before, 1, out, out);
}

larmor_status lmr_type3_execute(const lmr_type3 *t, int adjoint, const larmor_array *in, larmor_array *out)
{
    const int64_t batch = t->opts.batch, per_pass = t->geometry.batch,
                  size = (int64_t)larmor_dtype_size(t->opts.dtype);
    const int64_t from = adjoint ? t->targets : t->points;
    const int64_t to = adjoint ? t->points : t->targets;
    LMR_TRY(lmr_nufft_expect(t->on, &t->opts, adjoint ? "values at the targets" : "values", in, from));
    LMR_TRY(lmr_nufft_expect(t->on, &t->opts, adjoint ? "values" : "values at the targets", out, to));
    if (!t->inner) return t->on->dev->be->zero(t->on->ctx, out->data, larmor_array_bytes(out));
    for (int64_t b = 0; b < batch; b += per_pass) {
        const int64_t now = batch - b < per_pass ? batch - b : per_pass;
        const void *source = (const char *)in->data + size * b * from;
        void *target = (char *)out->data + size * b * to;
        LMR_TRY((adjoint ? backward : forward)(t, now, source, target));
    }
    return LARMOR_OK;
}
