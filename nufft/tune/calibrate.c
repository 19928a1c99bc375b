/* Fitting the model of cost to a device. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "nufft/options.h"
#include "nufft/plan.h"
#include "nufft/tune/wisdom.h"

enum { RUNS = 4 };

/* Modes in 1, 2 and 3 dimensions, and points: enough that the device is at work, and few enough to take no time. */
typedef struct size {
    int64_t modes[3], points;
} size;
static const size sizes[LMR_NUFFT_MODELS] = {
    [LMR_NUFFT_PROCESSOR] = {{60000, 192, 40}, 50000}, [LMR_NUFFT_GPU] = {{1000000, 1000, 120}, 2000000}};

/* One small transform with what it works on. */
typedef struct probe {
    lmr_nufft_device on;
    lmr_nufft_plan *plan;
    larmor_array *values, *modes;
    larmor_timer *timer;
} probe;

static void end_probe(probe *p)
{
    lmr_nufft_plan_free(p->plan);
    larmor_timer_free(p->timer);
    LMR_FREE(p->values, p->modes);
    lmr_nufft_detach(&p->on);
}

/* Random points all over k-space. */
static larmor_status set_random_points(const larmor_nufft_opts *o, int64_t m, probe *p)
{
    larmor_device *dev = p->on.dev;
    LMR_OWN(larmor_array, random, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(o->ndim * m), &random));
    LMR_OWN(larmor_array, points, larmor_array_create(dev, LARMOR_F32, LARMOR_SHAPE(o->ndim, m), &points));
    LMR_TRY(dev->be->vec[LMR_F32]->random(dev->ctx, o->ndim * m, 7, random->data));
    LMR_TRY(dev->be->vec[LMR_F32]->axpby(dev->ctx, o->ndim * m / 2, 0.5 * (double)o->modes[0], random->data, 0,
                                         points->data)); /* pairs of reals */
    return lmr_nufft_plan_set_points(p->plan, points, m);
}

static larmor_status make_plan(const larmor_nufft_opts *o, int64_t m, probe *p)
{
    const lmr_nufft_rates rates = lmr_wisdom_rates(p->on.dev, p->on.kernels, p->on.precision, p->on.threads);
    const lmr_nufft_request request = lmr_nufft_request_of(o, (double)m, &rates);
    const lmr_nufft_way way = lmr_nufft_way_of(p->on.kernels, o);
    lmr_nufft_choice choice;
    LMR_TRY(lmr_nufft_choose(&request, o->modes, &choice));
    return lmr_nufft_plan_make(&p->on, o, &choice, &way, &p->plan);
}

static larmor_status make_probe(larmor_device *dev, int precision, int ndim, probe *p)
{
    const lmr_nufft_kernels *kernels = lmr_nufft_kernels_of(dev, precision);
    larmor_nufft_opts o;
    larmor_nufft_opts filled = {.type = 1,
                                .ndim = ndim,
                                .tol = precision == LMR_F64 ? 1e-7 : 1e-4,
                                .upsample = 1.5,
                                .dtype = precision == LMR_F64 ? LARMOR_C128 : LARMOR_C64};
    *p = (probe){.plan = NULL};
    if (!kernels) return LARMOR_ERR_UNSUPPORTED;
    const int64_t m = sizes[kernels->model].points;
    for (int d = 0; d < ndim; d++) filled.modes[d] = sizes[kernels->model].modes[ndim - 1];
    o = filled;
    LMR_TRY(lmr_nufft_fill_options(dev, &o, &filled));
    LMR_TRY(lmr_nufft_attach(dev, &filled, &p->on));
    LMR_TRY(make_plan(&filled, m, p));
    LMR_TRY(set_random_points(&filled, m, p));
    LMR_TRY(larmor_timer_create(dev, &p->timer));
    LMR_TRY(larmor_array_create(dev, o.dtype, LARMOR_SHAPE(m), &p->values));
    LMR_TRY(larmor_array_create(dev, o.dtype, LARMOR_SHAPE(p->plan->mode_count), &p->modes));
    return dev->be->vec[precision]->random(dev->ctx, m, 1, p->values->data);
}

enum { SPREAD, INTERP, GRID, PARTS };

static larmor_status run_part(const probe *p, int part)
{
    const lmr_nufft_plan *plan = p->plan;
    const lmr_nufft_geometry *g = &plan->geometry;
    const lmr_nufft_kernels *k = p->on.kernels;
    void *ctx = p->on.ctx;
    if (part == SPREAD) return k->spread(ctx, g, plan->sorted, 1, p->values->data, plan->cells);
    if (part == INTERP) return k->interp(ctx, g, plan->sorted, 1, plan->cells, p->values->data);
    if (plan->pruned) return lmr_nufft_plan_crop(plan, 1, 1, p->modes->data);
    LMR_TRY(p->on.dev->be->fft[p->on.precision]->exec(ctx, plan->fft[0], 1, plan->cells));
    return k->crop(ctx, g, 1, plan->cells, p->modes->data);
}

static larmor_status time_part(const probe *p, int part, double *least)
{
    double seconds;
    LMR_TRY(run_part(p, part));
    *least = INFINITY;
    for (int i = 0; i < RUNS; i++) {
        LMR_TRY(larmor_timer_start(p->timer));
        LMR_TRY(run_part(p, part));
        LMR_TRY(larmor_timer_stop(p->timer, &seconds));
        *least = fmin(*least, seconds);
    }
    return LARMOR_OK;
}

static larmor_status measure(const probe *p, lmr_nufft_scales *scales)
{
    const lmr_nufft_plan *plan = p->plan;
    const int ndim = plan->opts.ndim;
    const lmr_nufft_rates built_in = lmr_nufft_builtin_rates(p->on.kernels->model, p->on.precision, p->on.threads);
    lmr_nufft_work work = {.ndim = ndim,
                           .width = plan->geometry.width,
                           .cells = {1, 1, 1},
                           .points = (double)plan->points,
                           .batch = 1,
                           .per_pass = 1};
    double seconds[PARTS];
    for (int d = 0; d < ndim; d++) {
        work.cells[d] = (double)plan->geometry.cells[d];
        work.modes[d] = (double)plan->geometry.modes[d];
    }
    for (int part = 0; part < PARTS; part++) LMR_TRY(time_part(p, part, &seconds[part]));
    for (int t = 0; t < 2; t++)
        scales->points[t][ndim - 1] =
            fmin(fmax(seconds[t] / lmr_nufft_cost_points(&built_in, &work, t + 1), 0.01), 100);
    scales->grid[ndim - 1] = fmin(fmax(seconds[GRID] / lmr_nufft_cost_grid(&built_in, &work), 0.01), 100);
    return LARMOR_OK;
}

larmor_status larmor_nufft_calibrate(larmor_device *dev)
{
    LMR_REFUSE(!dev, LARMOR_ERR_ARG, "larmor_nufft_calibrate: a device is needed");
    for (int precision = 0; precision < LMR_PRECISIONS; precision++) {
        lmr_nufft_scales scales;
        for (int ndim = 1; ndim <= 3; ndim++) {
            probe p;
            larmor_status st = make_probe(dev, precision, ndim, &p);
            if (!st) st = measure(&p, &scales);
            end_probe(&p);
            if (st) return st;
        }
        LMR_TRY(lmr_wisdom_set_scales(dev, precision, &scales));
    }
    return LARMOR_OK;
}
