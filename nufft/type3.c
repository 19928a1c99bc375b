/* Type 3: from points to targets, both anywhere. Points are spread onto a grid that is fine enough for the highest
 * frequency, a type 2 evaluates the grid at the targets, and the window's transform there is divided out (Lee and
 * Greengard, J. Comput. Phys. 206, 1 (2005)). With x = C + xi and s = D + eta, C and D the middles,
 *
 *   s x = D x + eta C + eta xi,
 *
 * so that the grid sees only the widths: values are multiplied by exp(2 pi i D x) before and exp(2 pi i eta C) after.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "nufft/plan.h"
#include "nufft/tune/race.h"

_Static_assert((int)LMR_WINDOW_LOG_TERMS <= (int)LMR_NUFFT_SERIES, "the series of the waves holds the window's");

struct lmr_type3 {
    int64_t points, targets;
    lmr_nufft_geometry geometry; /* of the points' grid */
    void *window, *sorted;
    larmor_nufft *inner;
    void *before,
        *after;  /* complex [points] and [targets]: factors of the values; their conjugates for the adjoint */
    void *cells; /* [cells..., geometry.batch] */
    void *work;  /* [points or targets, geometry.batch]: an input with its factors */
};

/* Where points or targets lie: the middle and half the width in each dimension. */
typedef struct box {
    double middle[3], half[3];
} box;

static larmor_status measure(const larmor_nufft *plan, const char *what, const larmor_array *x, int64_t count, box *b)
{
    double low[3], high[3];
    int64_t bad;
    LMR_TRY(
        plan->kernels->extent(plan->ctx, plan->opts.ndim, count, x->dtype == LARMOR_F64, x->data, low, high, &bad));
    if (bad >= 0)
        return LMR_FAIL(LARMOR_ERR_NUMERIC, "nufft: %s %lld is not finite; remove it", what, (long long)bad);
    for (int d = 0; d < plan->opts.ndim; d++) {
        b->middle[d] = 0.5 * low[d] + 0.5 * high[d];
        b->half[d] = fmax(high[d] - b->middle[d], b->middle[d] - low[d]);
    }
    return LARMOR_OK;
}

/* The product of the widths, at least 1: points or targets that all agree get a width that makes it so. */
static larmor_status widen(int ndim, box *points, box *targets, double product[3])
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
        const double turns = fabs(targets->middle[d]) * (fabs(points->middle[d]) + *a) + fabs(points->middle[d]) * *b;
        if (!isfinite(turns))
            return LMR_FAIL(LARMOR_ERR_ARG, "nufft: points about %g and targets about %g: their product overflows",
                            points->middle[d], targets->middle[d]);
    }
    return LARMOR_OK;
}

static lmr_nufft_request request_of(const larmor_nufft *plan, int64_t points)
{
    const larmor_nufft_opts *o = &plan->opts;
    return (lmr_nufft_request){.ndim = o->ndim,
                               .single = plan->precision == LMR_F32,
                               .tol = o->tol,
                               .upsample = o->upsample,
                               .points = (double)points,
                               .batch = (double)o->batch,
                               .rates = &plan->rates};
}

/* Refuse grids that the device has no room for, before any of it is taken. */
static larmor_status check_room(const larmor_nufft *plan, const double product[3], const lmr_type3_choice *choice)
{
    int64_t available, total;
    double outer = (double)larmor_dtype_size(plan->opts.dtype), inner = outer;
    for (int d = 0; d < 3; d++) outer *= (double)choice->outer.cells[d], inner *= (double)choice->inner.cells[d];
    LMR_TRY(plan->dev->be->memory(plan->ctx, &available, &total));
    const double needed = outer + inner;
    if (available <= 0 || needed <= (double)available) return LARMOR_OK;
    const int64_t *n = choice->outer.cells, *fine = choice->inner.cells;
    return LMR_FAIL(
        LARMOR_ERR_MEMORY,
        "nufft: widths of points and targets multiply to %.3g x %.3g x %.3g: type 3 needs grids of %lld x "
        "%lld x %lld and %lld x %lld x %lld cells, %.3g GB, of which %s has %.3g free; split points or "
        "targets into clusters",
        product[0], product[1], product[2], (long long)n[0], (long long)n[1], (long long)n[2], (long long)fine[0],
        (long long)fine[1], (long long)fine[2], needed * 1e-9, larmor_device_spec(plan->dev),
        (double)available * 1e-9);
}

/* The inner transform, whose modes are the points' grid in FFT order. */
static larmor_status make_inner(const larmor_nufft *plan, const lmr_type3_choice *choice, lmr_type3 *t)
{
    larmor_nufft_opts o = plan->opts;
    o.type = 2, o.mode_order = LARMOR_MODES_FFT, o.tol = choice->inner_tol, o.effort = LARMOR_PLAN_ESTIMATE;
    o.both_directions = 1; /* as the choice of both grids has it */
    for (int d = 0; d < 3; d++) o.modes[d] = choice->outer.cells[d];
    LMR_TRY(lmr_nufft_make(plan->dev, &o, (double)t->points, (double)t->targets, &t->inner));
    t->geometry.batch = t->inner->geometry.batch;
    return LARMOR_OK;
}

/* Points in cells of their grid, targets in cycles over all of it, each in the kernels' order. */
static larmor_status sort_points(const larmor_nufft *plan, const larmor_array *points, const box *b,
                                 const double scale[3], lmr_type3 *t)
{
    int64_t bad;
    void *cells;
    LMR_TRY(plan->dev->be->alloc(plan->ctx, (size_t)(t->points * plan->opts.ndim) * sizeof(double), &cells));
    larmor_status st = plan->kernels->rescale(plan->ctx, plan->opts.ndim, t->points, points->dtype == LARMOR_F64,
                                              points->data, b->middle, scale, cells);
    if (!st) st = plan->kernels->sort(plan->ctx, &t->geometry, t->points, 1, cells, &bad, &t->sorted);
    plan->dev->be->release(plan->ctx, cells);
    return st;
}

static larmor_status sort_targets(const larmor_nufft *plan, const larmor_array *targets, const box *b,
                                  const double scale[3], lmr_type3 *t)
{
    larmor_array *cycles;
    LMR_TRY(larmor_array_create(plan->dev, LARMOR_F64, LARMOR_SHAPE(plan->opts.ndim, t->targets), &cycles));
    larmor_status st = plan->kernels->rescale(plan->ctx, plan->opts.ndim, t->targets, targets->dtype == LARMOR_F64,
                                              targets->data, b->middle, scale, cycles->data);
    if (!st) st = larmor_nufft_set_points(t->inner, cycles, NULL);
    larmor_array_free(cycles);
    return st;
}

/* The factors before and after; the second ones also divide by the window's transform. */
static larmor_status make_waves(const larmor_nufft *plan, const larmor_array *points, const larmor_array *targets,
                                const box *at, const box *to, const double spacing[3], const lmr_type3_choice *choice,
                                lmr_type3 *t)
{
    const int ndim = plan->opts.ndim;
    const double sign = plan->opts.sign;
    const size_t size = larmor_dtype_size(plan->opts.dtype);
    const lmr_backend *be = plan->dev->be;
    lmr_nufft_waves before = {.ndim = ndim}, after = {.ndim = ndim};
    double highest = 0;
    for (int d = 0; d < ndim; d++) highest = fmax(highest, spacing[d] * to->half[d]);
    const double unit = plan->precision == LMR_F64 ? 0x1p-53 : 0x1p-26;
    after.terms = lmr_window_fit_log_transform(&choice->outer.window, highest, fmax(0.03 * choice->outer.alias, unit),
                                               after.series);
    for (int k = 0; k < after.terms; k++) after.series[k] = -after.series[k];
    for (int d = 0; d < ndim; d++) {
        before.by[d] = sign * to->middle[d];
        after.from[d] = to->middle[d], after.by[d] = sign * at->middle[d], after.scale[d] = spacing[d] / highest;
    }
    LMR_TRY(be->alloc(plan->ctx, (size_t)t->points * size, &t->before));
    LMR_TRY(be->alloc(plan->ctx, (size_t)t->targets * size, &t->after));
    LMR_TRY(
        plan->kernels->waves(plan->ctx, &before, t->points, points->dtype == LARMOR_F64, points->data, t->before));
    return plan->kernels->waves(plan->ctx, &after, t->targets, targets->dtype == LARMOR_F64, targets->data, t->after);
}

static larmor_status make_workspace(const larmor_nufft *plan, lmr_type3 *t)
{
    const int64_t size = (int64_t)larmor_dtype_size(plan->opts.dtype),
                  most = t->points > t->targets ? t->points : t->targets;
    int64_t grids = t->geometry.batch * size, work;
    for (int d = 0; d < 3; d++)
        if (!lmr_mul(grids, t->geometry.cells[d], &grids))
            return LMR_FAIL(LARMOR_ERR_MEMORY, "nufft: the grids of type 3 pass 2^63 bytes");
    if (!lmr_mul(most, t->geometry.batch * size, &work))
        return LMR_FAIL(LARMOR_ERR_MEMORY, "nufft: %lld points are too many", (long long)most);
    LMR_TRY(plan->dev->be->alloc(plan->ctx, (size_t)grids, &t->cells));
    return plan->dev->be->alloc(plan->ctx, (size_t)work, &t->work);
}

/* Points and targets, their boxes, and what the grids depend on. */
typedef struct job {
    const larmor_nufft *plan;
    const larmor_array *points, *targets;
    int64_t m, n;
    box at, to;
    double product[3];
} job;

static larmor_status build(const job *j, const lmr_type3_choice *choice, lmr_type3 *t, larmor_nufft_info *info)
{
    const larmor_nufft *plan = j->plan;
    double spacing[3] = {0}, to_cells[3] = {0}, to_cycles[3] = {0};
    LMR_TRY(check_room(plan, j->product, choice));
    info->width = choice->outer.window.width, info->error = choice->error, info->upsample = INFINITY;
    for (int d = 0; d < 3; d++) {
        t->geometry.cells[d] = t->geometry.modes[d] = info->grid[d] = choice->outer.cells[d];
        if (d >= plan->opts.ndim) continue;
        info->upsample = fmin(info->upsample, choice->upsample[d]);
        spacing[d] = 0.5 / (choice->upsample[d] * j->to.half[d]);
        to_cells[d] = 1 / spacing[d], to_cycles[d] = spacing[d] * (double)choice->outer.cells[d];
    }
    LMR_TRY(lmr_nufft_upload_window(plan, &choice->outer, &t->geometry, &t->window));
    LMR_TRY(make_inner(plan, choice, t));
    LMR_TRY(sort_points(plan, j->points, &j->at, to_cells, t));
    LMR_TRY(sort_targets(plan, j->targets, &j->to, to_cycles, t));
    LMR_TRY(make_waves(plan, j->points, j->targets, &j->at, &j->to, spacing, choice, t));
    lmr_nufft_method ignored, spread;
    plan->kernels->methods(t->sorted, &spread, &ignored);
    const larmor_nufft_info inner = larmor_nufft_describe(t->inner);
    for (int d = 0; d < 3; d++) info->inner_grid[d] = inner.grid[d];
    info->inner_width = inner.width, info->together = inner.together;
    info->spread_method = (larmor_nufft_method)spread, info->interp_method = inner.interp_method;
    return make_workspace(plan, t);
}

/* choice NULL: without points or targets there is nothing to choose. What is made has the plan's options and, but for
 * this, nothing of the plan's. */
static larmor_status make(const job *j, const lmr_type3_choice *choice, larmor_nufft *out)
{
    const larmor_nufft *plan = j->plan;
    *out = *plan, out->points = j->m, out->type3 = NULL;
    out->info = (larmor_nufft_info){.threads = plan->info.threads, .precompute = plan->info.precompute};
    lmr_type3 *t = calloc(1, sizeof *t);
    if (!t) return LMR_NO_MEMORY();
    t->geometry = plan->geometry, t->points = j->m, t->targets = j->n;
    const larmor_status st = choice ? build(j, choice, t, &out->info) : LARMOR_OK;
    if (st)
        lmr_type3_free(plan, t);
    else
        out->type3 = t;
    return st;
}

/* ---- the choice ---- */

/* Timing the grids that keep the tolerance on the points and targets themselves. */
typedef struct trial {
    const job *job;
    larmor_array *in, *out;
    larmor_timer *timer, *clock;
    larmor_nufft best;
    double seconds; /* of the best; INFINITY before */
    int tried;
} trial;

/* The challenger's seconds, and the best's beside it where it comes near. */
static larmor_status compare(trial *t, larmor_nufft *challenger, double *seconds)
{
    lmr_race_plan mine = {&t->best, t->in, t->out}, other = {challenger, t->in, t->out};
    const lmr_run runs[2] = {{lmr_race_execute, &mine}, {lmr_race_execute, &other}};
    LMR_TRY(lmr_race_screen(t->timer, runs[1], t->seconds, seconds));
    if (*seconds > lmr_race_close * t->seconds || isinf(t->seconds)) return LARMOR_OK;
    double both[2] = {t->seconds, *seconds};
    LMR_TRY(lmr_race_duel(t->timer, runs, both));
    t->seconds = both[0], *seconds = both[1];
    return LARMOR_OK;
}

/* What there is no room for is left out, as long as something is in. */
static larmor_status challenge(trial *t, const lmr_type3_choice *choice)
{
    larmor_nufft challenger;
    double seconds, spent;
    LMR_TRY(larmor_timer_stop(t->clock, &spent));
    if (t->tried && spent * (t->tried + 1) / t->tried > lmr_race_budget((int)t->job->plan->opts.effort))
        return LARMOR_OK;
    larmor_status st = make(t->job, choice, &challenger);
    if (st) return st == LARMOR_ERR_MEMORY && t->best.type3 ? LARMOR_OK : st;
    st = compare(t, &challenger, &seconds);
    t->tried++;
    if (st || seconds >= t->seconds) {
        lmr_type3_free(t->job->plan, challenger.type3);
        return st;
    }
    lmr_type3_free(t->job->plan, t->best.type3);
    t->best = challenger, t->seconds = seconds;
    return LARMOR_OK;
}

static larmor_status race(trial *t, const lmr_type3_choice *list, int count)
{
    const job *j = t->job;
    const larmor_nufft_opts *o = &j->plan->opts;
    larmor_device *dev = j->plan->dev;
    LMR_TRY(larmor_timer_create(dev, &t->timer));
    LMR_TRY(larmor_timer_create(dev, &t->clock));
    LMR_TRY(larmor_array_create(dev, o->dtype, LARMOR_SHAPE(j->m, o->batch), &t->in));
    LMR_TRY(larmor_array_create(dev, o->dtype, LARMOR_SHAPE(j->n, o->batch), &t->out));
    LMR_TRY(dev->be->vec[j->plan->precision]->random(dev->ctx, j->m * o->batch, 1, t->in->data));
    LMR_TRY(larmor_timer_start(t->clock));
    for (int i = 0; i < count; i++) LMR_TRY(challenge(t, &list[i]));
    t->best.info.source = LARMOR_PLAN_BY_MEASUREMENT, t->best.info.seconds = t->seconds,
    t->best.info.tried = t->tried;
    return LARMOR_OK;
}

/* The quickest of the list: MEASURE takes the model's first few. */
static larmor_status fastest(const job *j, const lmr_type3_choice *list, int count, larmor_nufft *out)
{
    enum { PROMISING = 6 };
    trial t = {.job = j, .seconds = INFINITY};
    if (j->plan->opts.effort == LARMOR_PLAN_MEASURE && count > PROMISING) count = PROMISING;
    const larmor_status st = race(&t, list, count);
    larmor_timer_free(t.timer), larmor_timer_free(t.clock);
    larmor_array_free(t.in), larmor_array_free(t.out);
    if (st)
        lmr_type3_free(j->plan, t.best.type3);
    else
        *out = t.best;
    return st;
}

static larmor_status choose(const job *j, larmor_nufft *out)
{
    const lmr_nufft_request request = request_of(j->plan, j->m);
    lmr_type3_choice *list = malloc(LMR_NUFFT_CANDIDATES * sizeof *list);
    if (!list) return LMR_NO_MEMORY();
    int count = 1;
    larmor_status st = lmr_type3_choose(&request, j->product, (double)j->n, list);
    if (!st && j->plan->opts.effort) st = lmr_type3_list(&request, j->product, (double)j->n, list, &count);
    if (!st) st = count > 1 ? fastest(j, list, count, out) : make(j, list, out);
    free(list);
    return st;
}

larmor_status lmr_type3_set_points(larmor_nufft *plan, const larmor_array *points, const larmor_array *targets)
{
    if (!targets) return LMR_FAIL(LARMOR_ERR_ARG, "nufft: type 3 needs targets, got NULL");
    job j = {.plan = plan, .points = points, .targets = targets, .product = {1, 1, 1}};
    larmor_nufft next;
    LMR_TRY(lmr_nufft_expect_points(plan, "points", points, &j.m));
    LMR_TRY(lmr_nufft_expect_points(plan, "targets", targets, &j.n));
    LMR_TRY(measure(plan, "point", points, j.m, &j.at));
    LMR_TRY(measure(plan, "target", targets, j.n, &j.to));
    if (j.m && j.n) {
        LMR_TRY(widen(plan->opts.ndim, &j.at, &j.to, j.product));
        LMR_TRY(choose(&j, &next));
    } else {
        LMR_TRY(make(&j, NULL, &next));
    }
    lmr_type3_free(plan, plan->type3);
    *plan = next;
    return LARMOR_OK;
}

void lmr_type3_free(const larmor_nufft *plan, lmr_type3 *t)
{
    if (!t) return;
    const lmr_backend *be = plan->dev->be;
    plan->kernels->release(plan->ctx, t->sorted);
    larmor_nufft_free(t->inner);
    void *const memory[] = {t->window, t->before, t->after, t->cells, t->work};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) be->release(plan->ctx, memory[i]);
    free(t);
}

/* ---- execute ---- */

static larmor_status forward(const larmor_nufft *plan, const lmr_type3 *t, int64_t now, const void *in, void *out)
{
    const lmr_nufft_kernels *k = plan->kernels;
    LMR_TRY(k->modulate(plan->ctx, t->points, now, t->before, 0, in, t->work));
    LMR_TRY(k->spread(plan->ctx, &t->geometry, t->sorted, now, t->work, t->cells));
    LMR_TRY(lmr_nufft_pass(t->inner, 2, plan->opts.sign, now, out, t->cells));
    return k->modulate(plan->ctx, t->targets, now, t->after, 0, out, out);
}

static larmor_status backward(const larmor_nufft *plan, const lmr_type3 *t, int64_t now, const void *in, void *out)
{
    const lmr_nufft_kernels *k = plan->kernels;
    LMR_TRY(k->modulate(plan->ctx, t->targets, now, t->after, 1, in, t->work));
    LMR_TRY(lmr_nufft_pass(t->inner, 1, -plan->opts.sign, now, t->work, t->cells));
    LMR_TRY(k->interp(plan->ctx, &t->geometry, t->sorted, now, t->cells, out));
    return k->modulate(plan->ctx, t->points, now, t->before, 1, out, out);
}

larmor_status lmr_type3_run(const larmor_nufft *plan, int adjoint, const larmor_array *in, larmor_array *out)
{
    const lmr_type3 *t = plan->type3;
    const int64_t batch = plan->opts.batch, together = t->geometry.batch,
                  size = (int64_t)larmor_dtype_size(plan->opts.dtype);
    const int64_t from = adjoint ? t->targets : t->points, to = adjoint ? t->points : t->targets;
    LMR_TRY(lmr_nufft_expect(plan, adjoint ? "values at the targets" : "values", in, from));
    LMR_TRY(lmr_nufft_expect(plan, adjoint ? "values" : "values at the targets", out, to));
    if (!t->inner) return plan->dev->be->zero(plan->ctx, out->data, larmor_array_bytes(out));
    for (int64_t b = 0; b < batch; b += together) {
        const int64_t now = batch - b < together ? batch - b : together;
        const void *source = (const char *)in->data + size * b * from;
        void *target = (char *)out->data + size * b * to;
        LMR_TRY((adjoint ? backward : forward)(plan, t, now, source, target));
    }
    return LARMOR_OK;
}
