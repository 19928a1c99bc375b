/* NUFFT plans: what create, set_points and execute do around the device's kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#include "nufft/plan.h"

#include <math.h>
#include <stdlib.h>

#include "core/parallel.h"
#include "nufft/precompute.h"
#include "nufft/tune.h"

/* ---- create ---- */

/* count doubles to the device, in the plan's precision. */
static larmor_status upload(const larmor_nufft *plan, int64_t count, double *values, void **out)
{
    const size_t bytes = (size_t)count * (plan->precision == LMR_F64 ? sizeof(double) : sizeof(float));
    if (plan->precision == LMR_F32) {
        float *narrow = (float *)values; /* from the front, each value lands before those still to be read */
        for (int64_t i = 0; i < count; i++) {
            const float value = (float)values[i];
            __builtin_memcpy(narrow + i, &value, sizeof value);
        }
    }
    LMR_TRY(plan->dev->be->alloc(plan->ctx, bytes, out));
    return plan->dev->be->copy(plan->ctx, LMR_TO_DEVICE, *out, values, bytes);
}

larmor_status lmr_nufft_upload_window(const larmor_nufft *plan, const lmr_nufft_choice *choice, lmr_nufft_geometry *g,
                                      void **out)
{
    double piece[LMR_WINDOW_MAX * (LMR_WINDOW_DEGREE + 1)], table[LMR_WINDOW_MAX * (LMR_WINDOW_DEGREE + 1)];
    const double unit = plan->precision == LMR_F64 ? 0x1p-53 : 0x1p-25;
    g->width = choice->window.width;
    g->degree = lmr_window_fit(&choice->window, fmax(0.03 * choice->alias / g->width, unit), piece);
    for (int l = 0; l < g->width; l++)
        for (int k = 0; k <= g->degree; k++) table[k * g->width + l] = piece[l * (g->degree + 1) + k];
    LMR_TRY(upload(plan, g->width * (g->degree + 1), table, out));
    g->window = *out;
    return LARMOR_OK;
}

typedef struct inversion {
    const lmr_window *window;
    int64_t cells, half, piece;
    double *factor;
} inversion;

static void invert_piece(void *self, int64_t i)
{
    const inversion *p = self;
    const int64_t first = i * p->piece, left = p->half + 1 - first;
    lmr_window_invert(p->window, first, left < p->piece ? left : p->piece, p->cells, p->factor + p->half + first);
}

/* 1 / transform at the modes, which are even; factor has room for one more than there are. */
static void invert_window(const larmor_nufft *plan, const lmr_window *window, int d, double *factor)
{
    const int64_t cells = plan->geometry.cells[d], half = plan->geometry.modes[d] / 2, piece = cells / 64 + 1;
    lmr_parallel(half > 2048 ? lmr_device_threads(plan->dev) : 1, half / piece + 1, invert_piece,
                 &(inversion){window, cells, half, piece, factor});
    for (int64_t i = 1; i <= half; i++) factor[half - i] = factor[half + i];
}

/* An earlier dimension with the same factors, or d itself. */
static int same_factors(const lmr_nufft_geometry *g, int d)
{
    int same = 0;
    while (g->modes[same] != g->modes[d] || g->cells[same] != g->cells[d]) same++;
    return same;
}

static larmor_status upload_factors(larmor_nufft *plan, const lmr_window *window)
{
    lmr_nufft_geometry *g = &plan->geometry;
    for (int d = 0; d < g->ndim; d++) {
        const int same = same_factors(g, d);
        if (same == d) {
            double *factor = malloc((size_t)(g->modes[d] + 1) * sizeof *factor);
            if (!factor) return LMR_NO_MEMORY();
            invert_window(plan, window, d, factor);
            const larmor_status st = upload(plan, g->modes[d], factor, &plan->factor[d]);
            free(factor);
            if (st) return st;
        }
        g->factor[d] = plan->factor[same];
    }
    return LARMOR_OK;
}

static larmor_status plan_fft(const larmor_nufft *plan, int64_t batch, void **fft)
{
    const lmr_fft *table = plan->dev->be->fft[plan->precision];
    const lmr_nufft_geometry *g = &plan->geometry;
    return table->plan(plan->ctx, g->ndim, g->cells, batch, fft);
}

/* Fine grids for as many transforms as share a pass, their FFT, and that of a last, smaller pass. Without FFT the
 * modes are the grid. */
static larmor_status make_workspace(larmor_nufft *plan)
{
    const lmr_nufft_geometry *g = &plan->geometry;
    const int64_t rest = plan->opts.batch % g->batch;
    if (plan->opts.spread_only) return LARMOR_OK;
    const size_t bytes = (size_t)(plan->cell_count * g->batch) * larmor_dtype_size(plan->opts.dtype);
    LMR_TRY(plan->dev->be->alloc(plan->ctx, bytes, &plan->cells));
    LMR_TRY(plan_fft(plan, g->batch, &plan->fft[0]));
    return rest ? plan_fft(plan, rest, &plan->fft[1]) : LARMOR_OK;
}

/* The grid that was asked for, with a window as if it had room for the band. */
static larmor_status choose_spreading(const larmor_nufft *plan, const lmr_nufft_request *request,
                                      lmr_nufft_choice *choice)
{
    LMR_TRY(lmr_nufft_choose_window(request, choice));
    const int width = choice->window.width;
    for (int d = 0; d < 3; d++) {
        choice->cells[d] = d < request->ndim ? plan->opts.modes[d] : 1;
        if (d < request->ndim && choice->cells[d] < 2 * width)
            return LMR_FAIL(
                LARMOR_ERR_ARG,
                "nufft: modes[%d]: got %lld with spread_only, expected at least %d, twice the window; use "
                "a %s",
                d, (long long)choice->cells[d], 2 * width, plan->opts.width ? "smaller width" : "larger tol");
    }
    return LARMOR_OK;
}

lmr_nufft_request lmr_nufft_request_of(const larmor_nufft *plan, double points)
{
    const larmor_nufft_opts *o = &plan->opts;
    return (lmr_nufft_request){.ndim = o->ndim,
                               .single = plan->precision == LMR_F32,
                               .tol = o->tol,
                               .upsample = o->upsample,
                               .cells = {o->grid[0], o->grid[1], o->grid[2]},
                               .width = o->width,
                               .points = points,
                               .terms = plan->terms,
                               .batch = (double)o->batch,
                               .types = o->both_directions || o->type == 3 ? 0 : o->type,
                               .rates = &plan->rates};
}

static larmor_status choose_grid(const larmor_nufft *plan, double points, lmr_nufft_choice *choice)
{
    const lmr_nufft_request request = lmr_nufft_request_of(plan, points);
    return plan->opts.spread_only ? choose_spreading(plan, &request, choice)
                                  : lmr_nufft_choose(&request, plan->opts.modes, choice);
}

/* The sizes that come with the choice; nothing is allocated. */
static larmor_status set_geometry(larmor_nufft *plan)
{
    const larmor_nufft_opts *o = &plan->opts;
    const lmr_nufft_request request = lmr_nufft_request_of(plan, plan->chosen_for);
    lmr_nufft_geometry *g = &plan->geometry;
    int64_t grid, bytes;
    plan->info.width = plan->choice.window.width, plan->info.error = plan->choice.error;
    plan->info.upsample = INFINITY;
    plan->info.seconds = o->spread_only ? 0 : lmr_nufft_predict(&request, o->modes, &plan->choice);
    for (int d = 0; d < 3; d++) {
        g->cells[d] = plan->info.grid[d] = plan->choice.cells[d], g->modes[d] = d < g->ndim ? o->modes[d] : 1;
        if (d < g->ndim) plan->info.upsample = fmin(plan->info.upsample, (double)g->cells[d] / (double)g->modes[d]);
    }
    plan->cell_count = g->cells[0] * g->cells[1] * g->cells[2];
    plan->mode_count = g->modes[0] * g->modes[1] * g->modes[2];
    if (!lmr_mul(plan->cell_count, (int64_t)larmor_dtype_size(o->dtype), &grid) ||
        !lmr_mul(plan->mode_count, o->batch, &bytes))
        return LMR_FAIL(LARMOR_ERR_ARG, "nufft: %lld transforms of %lld modes are too many", (long long)o->batch,
                        (long long)plan->mode_count);
    g->batch = plan->info.together = lmr_nufft_together(o->batch, grid, plan->max_batch);
    if (!lmr_mul(grid, g->batch, &bytes)) return LMR_FAIL(LARMOR_ERR_ARG, "nufft: the modes are too many");
    return LARMOR_OK;
}

/* What execute needs. */
static larmor_status make_ready(larmor_nufft *plan)
{
    LMR_TRY(lmr_nufft_upload_window(plan, &plan->choice, &plan->geometry, &plan->window));
    if (!plan->opts.spread_only) LMR_TRY(upload_factors(plan, &plan->choice.window));
    LMR_TRY(make_workspace(plan));
    plan->ready = 1;
    return LARMOR_OK;
}

/* Type 3 makes its grids when it knows the points; that the tolerance is within reach can be said before. */
static larmor_status check_reach(const larmor_nufft *plan)
{
    const larmor_nufft_opts *o = &plan->opts;
    const lmr_nufft_request request = {
        .ndim = o->ndim, .single = plan->precision == LMR_F32, .tol = o->tol, .upsample = o->upsample, .points = 1e6};
    const double product[3] = {16, 16, 16};
    lmr_type3_choice choice;
    return lmr_type3_choose(&request, product, 1e6, &choice);
}

/* Interpolation of a line is quickest in the caller's order, in which values are written, for the grid's cells are in
 * the cache anyway (a GPU's, by tests/bench/rates.c). Spreading wants its points sorted. */
static lmr_nufft_method method_of(const larmor_nufft *plan)
{
    const larmor_nufft_opts *o = &plan->opts;
    const int open = o->method == LARMOR_NUFFT_AUTO && o->sort == LARMOR_NUFFT_SORT_AUTO && !plan->info.threads;
    return open && o->type == 2 && o->ndim == 1 && !o->both_directions ? LMR_NUFFT_GM : (lmr_nufft_method)o->method;
}

/* The device's part: kernels and threads. */
static larmor_status attach(larmor_nufft *plan)
{
    const larmor_nufft_opts *o = &plan->opts;
    larmor_device *dev = plan->dev;
    plan->kernels = LMR_KERNELS(dev, nufft, LMR_NUFFT_ABI, plan->precision);
    if (!plan->kernels)
        return LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "nufft: %s has no NUFFT kernels; use cpu", larmor_device_spec(dev));
    if (o->threads && o->threads < dev->be->threads(dev->ctx)) LMR_TRY(dev->be->open(0, o->threads, &plan->ctx));
    plan->info.threads = dev->be->threads(plan->ctx);
    plan->rates = lmr_nufft_rates_of(dev, plan->precision, plan->info.threads);
    plan->geometry.ndim = o->ndim, plan->geometry.method = method_of(plan);
    plan->geometry.tiles = lmr_nufft_shape(o);
    plan->geometry.fft_order = o->mode_order == LARMOR_MODES_FFT;
    return LARMOR_OK;
}

static larmor_nufft *new_plan(larmor_device *dev, const larmor_nufft_opts *filled, double terms)
{
    larmor_nufft *plan = calloc(1, sizeof *plan);
    if (!plan) return NULL;
    plan->dev = lmr_device_ref(dev), plan->ctx = dev->ctx;
    plan->opts = *filled, plan->precision = lmr_precision(filled->dtype);
    plan->terms = terms, plan->max_batch = filled->max_batch, plan->points = -1;
    plan->info.precompute = filled->precompute ? filled->precompute : LARMOR_PRECOMPUTE_NONE;
    return plan;
}

larmor_status lmr_nufft_make(larmor_device *dev, const larmor_nufft_opts *filled, double terms, double points,
                             larmor_nufft **out)
{
    *out = NULL;
    larmor_nufft *plan = new_plan(dev, filled, terms);
    if (!plan) return LMR_NO_MEMORY();
    larmor_status st = attach(plan);
    plan->chosen_for = points;
    if (!st) st = filled->type == 3 ? check_reach(plan) : choose_grid(plan, points, &plan->choice);
    if (!st && filled->type != 3) st = set_geometry(plan);
    if (st) {
        larmor_nufft_free(plan);
        return st;
    }
    *out = plan;
    return LARMOR_OK;
}

larmor_status lmr_nufft_make_beside(const larmor_nufft *plan, const lmr_nufft_choice *choice,
                                    const lmr_nufft_way *way, larmor_nufft **out)
{
    *out = NULL;
    larmor_nufft *beside = new_plan(plan->dev, &plan->opts, plan->terms);
    if (!beside) return LMR_NO_MEMORY();
    larmor_status st = attach(beside);
    beside->choice = *choice, beside->chosen_for = plan->chosen_for, beside->max_batch = way->max_batch;
    beside->geometry.method = way->method, beside->geometry.tiles = way->tiles;
    beside->info.precompute = way->precompute;
    if (!st) st = set_geometry(beside);
    if (!st) st = make_ready(beside);
    if (st) {
        larmor_nufft_free(beside);
        return st;
    }
    *out = beside;
    return LARMOR_OK;
}

larmor_status larmor_nufft_create(larmor_device *dev, const larmor_nufft_opts *opts, larmor_nufft **out)
{
    if (!out) return LMR_FAIL(LARMOR_ERR_ARG, "larmor_nufft_create: plan is NULL");
    *out = NULL;
    if (!dev || !opts) return LMR_FAIL(LARMOR_ERR_ARG, "larmor_nufft_create: a device and options are needed");
    larmor_nufft_opts filled;
    LMR_TRY(lmr_nufft_fill_options(dev, opts, &filled));
    return lmr_nufft_make(dev, &filled, 0, 0, out);
}

void larmor_nufft_free(larmor_nufft *plan)
{
    if (!plan) return;
    const lmr_backend *be = plan->dev->be;
    lmr_type3_free(plan, plan->type3);
    lmr_precompute_free(plan, plan->precompute);
    if (plan->kernels) plan->kernels->release(plan->ctx, plan->sorted);
    for (int i = 0; i < 2; i++) be->fft[plan->precision]->destroy(plan->ctx, plan->fft[i]);
    be->release(plan->ctx, plan->cells);
    be->release(plan->ctx, plan->window);
    for (int d = 0; d < 3; d++) be->release(plan->ctx, plan->factor[d]);
    if (plan->ctx && plan->ctx != plan->dev->ctx) be->close(plan->ctx);
    larmor_device_free(plan->dev);
    free(plan);
}

larmor_nufft_info larmor_nufft_describe(const larmor_nufft *plan)
{
    if (!plan) return (larmor_nufft_info){0};
    larmor_nufft_info info = plan->info;
    info.tiles = plan->geometry.tiles + 1;
    return info;
}

/* ---- points ---- */

larmor_status lmr_nufft_expect_points(const larmor_nufft *plan, const char *what, const larmor_array *x,
                                      int64_t *count)
{
    int64_t values;
    if (x->dev != plan->dev || !lmr_is_real(x->dtype) || x->shape.ndim < 1 || x->shape.dim[0] != plan->opts.ndim)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "nufft: %s are %s, expected f32 or f64 [%d, ...] on %s", what,
                        lmr_describe(x).s, plan->opts.ndim, larmor_device_spec(plan->dev));
    *count = larmor_array_count(x) / plan->opts.ndim;
    if (!lmr_mul(*count, plan->opts.batch * 2, &values))
        return LMR_FAIL(LARMOR_ERR_SHAPE, "nufft: %lld %s are too many", (long long)*count, what);
    return LARMOR_OK;
}

/* Points as the kernels want them for a grid without FFT, whose first cell lies at -modes / 2: moved; else as they
 * are. *moved is to be released. */
static larmor_status move_points(const larmor_nufft *plan, const larmor_array *points, int64_t m, void **moved)
{
    const lmr_nufft_geometry *g = &plan->geometry;
    double from[3], scale[3] = {1, 1, 1};
    *moved = NULL;
    if (!plan->opts.spread_only || g->fft_order) return LARMOR_OK;
    for (int d = 0; d < 3; d++) from[d] = -(double)(g->modes[d] / 2);
    LMR_TRY(plan->dev->be->alloc(plan->ctx, (size_t)(m * g->ndim) * sizeof(double), moved));
    return plan->kernels->rescale(plan->ctx, g->ndim, m, points->dtype == LARMOR_F64, points->data, from, scale,
                                  *moved);
}

larmor_status lmr_nufft_sort_points(larmor_nufft *plan, const larmor_array *points, int64_t m)
{
    int64_t bad = -1;
    void *sorted = NULL, *moved;
    larmor_status st = move_points(plan, points, m, &moved);
    if (!st)
        st = plan->kernels->sort(plan->ctx, &plan->geometry, m, moved || points->dtype == LARMOR_F64,
                                 moved ? moved : points->data, &bad, &sorted);
    plan->dev->be->release(plan->ctx, moved);
    if (st) return st;
    if (bad >= 0)
        return LMR_FAIL(LARMOR_ERR_NUMERIC, "nufft: point %lld is not finite; remove it and its value",
                        (long long)bad);
    lmr_precompute *precompute;
    st = lmr_precompute_make(plan, m, sorted, &precompute);
    if (st) {
        plan->kernels->release(plan->ctx, sorted);
        return st;
    }
    lmr_nufft_method spread, interp;
    plan->kernels->methods(sorted, &spread, &interp);
    plan->info.spread_method = (larmor_nufft_method)spread, plan->info.interp_method = (larmor_nufft_method)interp;
    lmr_precompute_free(plan, plan->precompute);
    plan->kernels->release(plan->ctx, plan->sorted);
    plan->sorted = sorted, plan->points = m;
    plan->precompute = precompute, plan->info.precompute_bytes = precompute ? precompute->bytes : 0;
    return LARMOR_OK;
}

static int same_grid(const lmr_nufft_choice *a, const lmr_nufft_choice *b)
{
    for (int d = 0; d < 3; d++)
        if (a->cells[d] != b->cells[d]) return 0;
    return a->window.width == b->window.width;
}

/* *next: a plan with a better grid for m points, or NULL if there is hardly one; a ready plan is kept for less than a
 * tenth of its time. */
static larmor_status estimate(larmor_nufft *plan, int64_t m, larmor_nufft **next)
{
    const double points = m > 0 ? (double)m : 1;
    lmr_nufft_choice choice;
    const lmr_nufft_way way = {plan->geometry.method, plan->geometry.tiles, plan->max_batch, plan->info.precompute};
    if (points == plan->chosen_for || plan->opts.upsample > 0 || plan->opts.spread_only) {
        return plan->ready ? LARMOR_OK : lmr_nufft_make_beside(plan, &plan->choice, &way, next);
    }
    LMR_TRY(choose_grid(plan, points, &choice));
    const lmr_nufft_request request = lmr_nufft_request_of(plan, points);
    const double now = lmr_nufft_predict(&request, plan->opts.modes, &plan->choice),
                 then = lmr_nufft_predict(&request, plan->opts.modes, &choice);
    if (plan->ready && (same_grid(&choice, &plan->choice) || now < 1.1 * then)) return LARMOR_OK;
    LMR_TRY(lmr_nufft_make_beside(plan, &choice, &way, next));
    (*next)->chosen_for = points, (*next)->info.seconds = then;
    return LARMOR_OK;
}

larmor_status larmor_nufft_set_points(larmor_nufft *plan, const larmor_array *points, const larmor_array *targets)
{
    if (!plan || !points) return LMR_FAIL(LARMOR_ERR_ARG, "larmor_nufft_set_points: a plan and points are needed");
    if (plan->opts.type == 3) return lmr_type3_set_points(plan, points, targets);
    if (targets) return LMR_FAIL(LARMOR_ERR_ARG, "nufft: targets are for type 3 only, expected NULL");
    int64_t m;
    larmor_nufft *next = NULL;
    LMR_TRY(lmr_nufft_expect_points(plan, "points", points, &m));
    const int timed = plan->opts.effort && !plan->opts.spread_only && m > 0;
    larmor_status st = timed ? lmr_nufft_tune(plan, points, m, &next) : estimate(plan, m, &next);
    if (!st && !timed) st = lmr_nufft_sort_points(next ? next : plan, points, m);
    if (!st && next) {
        const larmor_nufft before = *plan;
        *plan = *next, *next = before;
    }
    larmor_nufft_free(next);
    return st;
}

/* ---- execute ---- */

larmor_status lmr_nufft_expect(const larmor_nufft *plan, const char *what, const larmor_array *x, int64_t each)
{
    if (x && x->dev == plan->dev && x->dtype == plan->opts.dtype && larmor_array_count(x) == each * plan->opts.batch)
        return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE, "nufft: %s are %s, expected %s of %lld x %lld elements on %s", what,
                    x ? lmr_describe(x).s : "NULL", larmor_dtype_name(plan->opts.dtype), (long long)each,
                    (long long)plan->opts.batch, larmor_device_spec(plan->dev));
}

larmor_status lmr_nufft_pass(const larmor_nufft *plan, int type, int sign, int64_t now, void *values, void *modes)
{
    const lmr_nufft_geometry *g = &plan->geometry;
    const lmr_nufft_kernels *k = plan->kernels;
    const lmr_fft *fft = plan->dev->be->fft[plan->precision];
    void *ctx = plan->ctx, *fft_plan = plan->fft[now < g->batch];
    if (plan->opts.spread_only)
        return type == 1 ? lmr_precompute_spread(plan, now, values, modes)
                         : lmr_precompute_interp(plan, now, modes, values);
    if (type == 1) {
        LMR_TRY(lmr_precompute_spread(plan, now, values, plan->cells));
        LMR_TRY(fft->band(ctx, fft_plan, sign, 1, g->modes, plan->cells));
        return k->crop(ctx, g, now, plan->cells, modes);
    }
    LMR_TRY(k->pad(ctx, g, now, modes, plan->cells));
    LMR_TRY(fft->band(ctx, fft_plan, sign, 0, g->modes, plan->cells));
    return lmr_precompute_interp(plan, now, plan->cells, values);
}

static larmor_status run(const larmor_nufft *plan, int adjoint, const larmor_array *in, larmor_array *out)
{
    if (!plan) return LMR_FAIL(LARMOR_ERR_ARG, "nufft: the plan is NULL");
    if (plan->points < 0)
        return LMR_FAIL(LARMOR_ERR_ARG, "nufft: the plan has no points; call larmor_nufft_set_points first");
    if (plan->opts.type == 3) return lmr_type3_run(plan, adjoint, in, out);
    const int type = adjoint ? 3 - plan->opts.type : plan->opts.type;
    const int sign = adjoint ? -plan->opts.sign : plan->opts.sign;
    const larmor_array *values = type == 1 ? in : out, *modes = type == 1 ? out : in;
    LMR_TRY(lmr_nufft_expect(plan, "values", values, plan->points));
    LMR_TRY(lmr_nufft_expect(plan, "modes", modes, plan->mode_count));
    const size_t size = larmor_dtype_size(plan->opts.dtype);
    const int64_t batch = plan->opts.batch, together = plan->geometry.batch;
    for (int64_t b = 0; b < batch; b += together)
        LMR_TRY(lmr_nufft_pass(plan, type, sign, batch - b < together ? batch - b : together,
                               (char *)values->data + size * (size_t)(b * plan->points),
                               (char *)modes->data + size * (size_t)(b * plan->mode_count)));
    return LARMOR_OK;
}

larmor_status larmor_nufft_execute(larmor_nufft *plan, const larmor_array *in, larmor_array *out)
{
    return run(plan, 0, in, out);
}

larmor_status larmor_nufft_execute_adjoint(larmor_nufft *plan, const larmor_array *in, larmor_array *out)
{
    return run(plan, 1, in, out);
}
