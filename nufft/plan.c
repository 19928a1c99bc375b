/* A transform of type 1 or 2 on one grid: its memory, its points, and its passes through the device's kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#include "nufft/plan.h"

#include "core/core.h"

/* ---- sizes ---- */

lmr_nufft_way lmr_nufft_way_of(const lmr_nufft_kernels *kernels, const larmor_nufft_opts *o)
{
    const int open = o->method == LARMOR_NUFFT_AUTO && o->sort == LARMOR_NUFFT_SORT_AUTO;
    const int line = o->type == 2 && o->ndim == 1 && !o->both_directions;
    return (lmr_nufft_way){.method = open && line ? kernels->line_interp : (lmr_nufft_method)o->method,
                           .tiles = o->tiles > 0 ? o->tiles - 1 : 0,
                           .max_batch = o->max_batch,
                           .precompute = o->precompute ? o->precompute : LARMOR_PRECOMPUTE_NONE};
}

static int product(const int64_t sides[3], int64_t *count)
{
    return lmr_mul(sides[0], sides[1], count) && lmr_mul(*count, sides[2], count);
}

/* Without FFT the caller holds the grid: one that the device cannot hold would be sorted into for hours. */
static larmor_status expect_room(const lmr_nufft_device *on, const int64_t n[3], double bytes)
{
    int64_t available, total;
    LMR_TRY(on->dev->be->memory(on->ctx, &available, &total));
    if (total <= 0 || bytes <= (double)total) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_MEMORY,
                    "nufft: spread_only: the grid of %lld x %lld x %lld cells takes %.3g GB, and %s has %.3g in all",
                    (long long)n[0], (long long)n[1], (long long)n[2], bytes * 1e-9, larmor_device_spec(on->dev),
                    (double)total * 1e-9);
}

larmor_status lmr_nufft_plan_sizes(const lmr_nufft_device *on, const larmor_nufft_opts *o,
                                   const lmr_nufft_choice *choice, const lmr_nufft_way *way, lmr_nufft_geometry *g)
{
    const int64_t size = (int64_t)larmor_dtype_size(o->dtype);
    int64_t cells, modes, grid, bytes;
    *g = (lmr_nufft_geometry){.ndim = o->ndim,
                              .width = choice->window.width,
                              .type = o->type,
                              .method = way->method,
                              .tiles = way->tiles,
                              .fft_order = o->mode_order == LARMOR_MODES_FFT};
    for (int d = 0; d < 3; d++) {
        g->cells[d] = choice->cells[d];
        g->modes[d] = d < o->ndim ? o->modes[d] : 1;
    }
    LMR_REFUSE(!product(g->cells, &cells) || !product(g->modes, &modes) || !lmr_mul(cells, size, &grid) ||
                   !lmr_mul(modes, o->batch, &bytes) || !lmr_mul(bytes, size, &bytes),
               LARMOR_ERR_ARG, "nufft: %lld transforms of %lld x %lld x %lld modes are too many", (long long)o->batch,
               (long long)g->modes[0], (long long)g->modes[1], (long long)g->modes[2]);
    g->batch = lmr_nufft_per_pass(o->batch, grid, way->max_batch);
    LMR_REFUSE(!lmr_mul(grid, g->batch, &bytes), LARMOR_ERR_ARG, "nufft: the modes are too many");
    return o->spread_only ? expect_room(on, g->cells, (double)grid * (double)o->batch) : LARMOR_OK;
}

/* What the device's table `modes` needs to know of a grid. */
static lmr_modes_shape modes_of(const lmr_nufft_geometry *g)
{
    lmr_modes_shape shape = {.ndim = g->ndim, .batch = g->batch, .fft_order = g->fft_order};
    for (int d = 0; d < 3; d++) {
        shape.cells[d] = g->cells[d];
        shape.modes[d] = g->modes[d];
    }
    return shape;
}

/* Bytes of the FFT with crop and pad in one, or -1 if it is not for this grid. */
static double pruned_bytes(const lmr_nufft_device *on, const lmr_nufft_geometry *g)
{
    const lmr_modes *table = on->dev->be->modes[on->precision];
    const lmr_modes_shape shape = modes_of(g);
    return table ? table->bytes(on->ctx, &shape) : -1;
}

/* Bytes of the FFT: for full passes, and for the rest of the batch. */
static double fft_bytes(const lmr_nufft_device *on, const lmr_nufft_geometry *g, int64_t batch)
{
    const lmr_fft *fft = on->dev->be->fft[on->precision];
    const int64_t rest = batch % g->batch;
    const double pruned = pruned_bytes(on, g), full = fft->bytes(on->ctx, g->ndim, g->cells, g->batch);
    if (pruned >= 0) return pruned;
    return full + (rest ? fft->bytes(on->ctx, g->ndim, g->cells, rest) : 0);
}

/* A precomputed form, and what making it takes for a moment. */
static double form_bytes(const lmr_nufft_device *on, const lmr_nufft_geometry *g, larmor_precompute form,
                         double points)
{
    const lmr_precompute_kernels *kernels = lmr_precompute_kernels_of(on->dev, on->precision);
    const lmr_precompute_size s = lmr_precompute_size_of(on, g, (int64_t)points);
    if (!kernels) return 0;
    return (double)lmr_precompute_bytes(kernels, &s, form) + (double)lmr_precompute_scratch(kernels, &s, form);
}

larmor_status lmr_nufft_plan_bytes(const lmr_nufft_device *on, const larmor_nufft_opts *o,
                                   const lmr_nufft_choice *choice, const lmr_nufft_way *way, double points,
                                   double *bytes)
{
    lmr_nufft_geometry g;
    double factors = 0, grids = (double)larmor_dtype_size(o->dtype);
    const double real = 0.5 * grids;
    LMR_TRY(lmr_nufft_plan_sizes(on, o, choice, way, &g));
    *bytes = on->kernels->points_bytes(on->ctx, &g, points) + form_bytes(on, &g, way->precompute, points);
    if (o->spread_only) {
        *bytes += 8.0 * g.ndim * points; /* moved, while they are sorted */
        return LARMOR_OK;
    }
    for (int d = 0; d < g.ndim; d++) {
        grids *= (double)g.cells[d];
        factors += (double)g.modes[d];
    }
    *bytes += grids * (double)g.batch + factors * real + fft_bytes(on, &g, o->batch);
    return LARMOR_OK;
}

/* ---- make ---- */

larmor_status lmr_nufft_plan_upload_window(const lmr_nufft_device *on, const lmr_nufft_choice *choice,
                                           lmr_nufft_geometry *g, void **out)
{
    double piece[LMR_WINDOW_MAX * (LMR_WINDOW_DEGREE + 1)], table[LMR_WINDOW_MAX * (LMR_WINDOW_DEGREE + 1)];
    const double unit = on->precision == LMR_F64 ? 0x1p-53 : 0x1p-25;
    g->width = choice->window.width;
    g->degree = lmr_window_fit(&choice->window, fmax(0.03 * choice->alias / g->width, unit), piece);
    for (int l = 0; l < g->width; l++)
        for (int k = 0; k <= g->degree; k++) table[k * g->width + l] = piece[l * (g->degree + 1) + k];
    LMR_TRY(lmr_nufft_upload(on, g->width * (g->degree + 1), table, out));
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
static larmor_status invert_window(const lmr_nufft_plan *plan, int d, double *factor)
{
    const int64_t cells = plan->geometry.cells[d], half = plan->geometry.modes[d] / 2, piece = cells / 64 + 1;
    LMR_TRY(lmr_parallel(half > 2048 ? lmr_device_threads(plan->on->dev) : 1, half / piece + 1, invert_piece,
                         &(inversion){&plan->choice.window, cells, half, piece, factor}));
    for (int64_t i = 1; i <= half; i++) factor[half - i] = factor[half + i];
    return LARMOR_OK;
}

/* An earlier dimension with the same factors, or d itself. */
static int same_factors(const lmr_nufft_geometry *g, int d)
{
    int same = 0;
    while (g->modes[same] != g->modes[d] || g->cells[same] != g->cells[d]) same++;
    return same;
}

static larmor_status upload_factors(lmr_nufft_plan *plan)
{
    lmr_nufft_geometry *g = &plan->geometry;
    for (int d = 0; d < g->ndim; d++) {
        const int same = same_factors(g, d);
        if (same == d) {
            LMR_HEAP LMR_NEW(double, factor, g->modes[d] + 1);
            LMR_TRY(invert_window(plan, d, factor));
            LMR_TRY(lmr_nufft_upload(plan->on, g->modes[d], factor, &plan->factor[d]));
        }
        g->factor[d] = plan->factor[same];
    }
    return LARMOR_OK;
}

static larmor_status plan_fft(const lmr_nufft_plan *plan, int64_t batch, void **fft)
{
    const lmr_fft *table = plan->on->dev->be->fft[plan->on->precision];
    const lmr_nufft_geometry *g = &plan->geometry;
    return table->plan(plan->on->ctx, g->ndim, g->cells, batch, fft);
}

/* Fine grids for as many transforms as share a pass, their FFT, and that of a last, smaller pass. */
static larmor_status make_grids(lmr_nufft_plan *plan)
{
    const lmr_nufft_geometry *g = &plan->geometry;
    const int64_t rest = plan->opts.batch % g->batch;
    const size_t bytes =
        (size_t)(g->cells[0] * g->cells[1] * g->cells[2] * g->batch) * larmor_dtype_size(plan->opts.dtype);
    LMR_TRY(plan->on->dev->be->alloc(plan->on->ctx, bytes, &plan->cells));
    if (pruned_bytes(plan->on, g) >= 0) {
        const lmr_modes_shape shape = modes_of(g);
        return plan->on->dev->be->modes[plan->on->precision]->plan(plan->on->ctx, &shape, &plan->pruned);
    }
    LMR_TRY(plan_fft(plan, g->batch, &plan->fft[0]));
    return rest ? plan_fft(plan, rest, &plan->fft[1]) : LARMOR_OK;
}

/* Without FFT the modes are the grid. */
static larmor_status allocate(lmr_nufft_plan *plan)
{
    LMR_TRY(lmr_nufft_plan_upload_window(plan->on, &plan->choice, &plan->geometry, &plan->window));
    if (plan->opts.spread_only) return LARMOR_OK;
    LMR_TRY(upload_factors(plan));
    return make_grids(plan);
}

larmor_status lmr_nufft_plan_make(const lmr_nufft_device *on, const larmor_nufft_opts *filled,
                                  const lmr_nufft_choice *choice, const lmr_nufft_way *way, lmr_nufft_plan **out)
{
    *out = NULL;
    LMR_NEW_ZEROS(lmr_nufft_plan, plan, 1);
    plan->on = on;
    plan->opts = *filled;
    plan->choice = *choice;
    plan->way = *way;
    plan->points = -1;
    larmor_status st = lmr_nufft_plan_sizes(on, filled, choice, way, &plan->geometry);
    plan->mode_count = plan->geometry.modes[0] * plan->geometry.modes[1] * plan->geometry.modes[2];
    if (!st) st = allocate(plan);
    if (st)
        lmr_nufft_plan_free(plan);
    else
        *out = plan;
    return st;
}

void lmr_nufft_plan_free(lmr_nufft_plan *plan)
{
    if (!plan) return;
    const lmr_nufft_device *on = plan->on;
    const lmr_backend *be = on->dev->be;
    lmr_precompute_free(on, plan->precompute);
    on->kernels->release(on->ctx, plan->sorted);
    if (plan->pruned) be->modes[on->precision]->destroy(on->ctx, plan->pruned);
    for (int i = 0; i < 2; i++) be->fft[on->precision]->destroy(on->ctx, plan->fft[i]);
    be->release(on->ctx, plan->cells);
    be->release(on->ctx, plan->window);
    for (int d = 0; d < 3; d++) be->release(on->ctx, plan->factor[d]);
    free(plan);
}

/* ---- points ---- */

/* Points as the kernels want them for a grid without FFT, whose first cell lies at -modes / 2: moved; else as they
 * are. *moved is to be released. */
static larmor_status move_points(const lmr_nufft_plan *plan, const larmor_array *points, int64_t m, void **moved)
{
    const lmr_nufft_geometry *g = &plan->geometry;
    const lmr_nufft_device *on = plan->on;
    double from[3], scale[3] = {1, 1, 1};
    *moved = NULL;
    if (!plan->opts.spread_only || g->fft_order) return LARMOR_OK;
    for (int d = 0; d < 3; d++) from[d] = -(double)(g->modes[d] / 2);
    LMR_TRY(on->dev->be->alloc(on->ctx, (size_t)(m * g->ndim) * sizeof(double), moved));
    return on->kernels->rescale(on->ctx, g->ndim, m, points->dtype == LARMOR_F64, points->data, from, scale, *moved);
}

/* On a processor the memory of the points that are there is used again, unless a precomputed form, which can fail,
 * follows. */
static larmor_status sort_source(const lmr_nufft_plan *plan, int64_t m, const lmr_nufft_source *from, int64_t *bad,
                                 void **sorted)
{
    void *previous = plan->way.precompute == LARMOR_PRECOMPUTE_NONE ? plan->sorted : NULL;
    return plan->on->kernels->sort_from(plan->on->ctx, &plan->geometry, m, from, previous, bad, sorted);
}

static larmor_status sort_array(const lmr_nufft_plan *plan, int64_t m, int is_double, const void *points,
                                int64_t *bad, void **sorted)
{
    const lmr_nufft_device *on = plan->on;
    const lmr_nufft_geometry *g = &plan->geometry;
    if (!on->kernels->sort_from) return on->kernels->sort(on->ctx, g, m, is_double, points, bad, sorted);
    lmr_nufft_source from = {.is_double = is_double, .stride = g->ndim};
    for (int d = 0; d < g->ndim && points; d++) {
        from.first[d] = (const char *)points + (size_t)d * (is_double ? sizeof(double) : sizeof(float));
        from.factor[d] = 1;
    }
    return sort_source(plan, m, &from, bad, sorted);
}

static larmor_status sort(const lmr_nufft_plan *plan, const larmor_array *points, int64_t m, int64_t *bad,
                          void **sorted)
{
    void *moved;
    larmor_status st = move_points(plan, points, m, &moved);
    if (!st)
        st = sort_array(plan, m, moved || points->dtype == LARMOR_F64, moved ? moved : points->data, bad, sorted);
    plan->on->dev->be->release(plan->on->ctx, moved);
    return st;
}

/* The plan has sorted points from now on, unless one was not finite or its precomputed form cannot be made. */
static larmor_status keep_sorted(lmr_nufft_plan *plan, int64_t m, int64_t bad, void *sorted)
{
    const lmr_nufft_device *on = plan->on;
    lmr_precompute *precompute;
    LMR_REFUSE(bad >= 0, LARMOR_ERR_NUMERIC, "nufft: point %lld is not finite; remove it and its value",
               (long long)bad);
    const lmr_precompute_job job = {.on = on,
                                    .geometry = &plan->geometry,
                                    .batch = plan->opts.batch,
                                    .limit = plan->opts.precompute_memory,
                                    .points = m,
                                    .sorted = sorted};
    const larmor_status st = lmr_precompute_make(&job, plan->way.precompute, &precompute);
    if (st) {
        on->kernels->release(on->ctx, sorted);
        return st;
    }
    lmr_precompute_free(on, plan->precompute);
    on->kernels->release(on->ctx, plan->sorted);
    plan->sorted = sorted;
    plan->points = m;
    plan->precompute = precompute;
    return LARMOR_OK;
}

larmor_status lmr_nufft_plan_set_points(lmr_nufft_plan *plan, const larmor_array *points, int64_t m)
{
    void *sorted = NULL;
    int64_t bad = -1;
    LMR_TRY(lmr_go_on());
    LMR_TRY(sort(plan, points, m, &bad, &sorted));
    return keep_sorted(plan, m, bad, sorted);
}

int lmr_nufft_plan_takes_coordinates(const lmr_nufft_device *on, const larmor_nufft_opts *filled)
{
    return on->kernels->sort_from && !filled->spread_only;
}

larmor_status lmr_nufft_plan_set_coordinates(lmr_nufft_plan *plan, const lmr_nufft_source *from, int64_t m)
{
    void *sorted = NULL;
    int64_t bad = -1;
    LMR_TRY(lmr_go_on());
    LMR_TRY(sort_source(plan, m, from, &bad, &sorted));
    return keep_sorted(plan, m, bad, sorted);
}

/* ---- execute ---- */

static larmor_status spread(const lmr_nufft_plan *plan, int64_t now, const void *values, void *cells)
{
    const lmr_precompute *p = plan->precompute;
    return p ? p->kernels->spread(plan->on->ctx, &plan->geometry, p->made, now, values, cells)
             : plan->on->kernels->spread(plan->on->ctx, &plan->geometry, plan->sorted, now, values, cells);
}

static larmor_status interp(const lmr_nufft_plan *plan, int64_t now, const void *cells, void *values)
{
    const lmr_precompute *p = plan->precompute;
    return p ? p->kernels->interp(plan->on->ctx, &plan->geometry, p->made, now, cells, values)
             : plan->on->kernels->interp(plan->on->ctx, &plan->geometry, plan->sorted, now, cells, values);
}

larmor_status lmr_nufft_plan_crop(const lmr_nufft_plan *plan, int sign, int64_t now, void *modes)
{
    const lmr_nufft_geometry *g = &plan->geometry;
    const lmr_nufft_device *on = plan->on;
    const lmr_backend *be = on->dev->be;
    if (plan->pruned)
        return be->modes[on->precision]->crop(on->ctx, plan->pruned, sign, now, g->factor, plan->cells, modes);
    LMR_TRY(be->fft[on->precision]->band(on->ctx, plan->fft[now < g->batch], sign, 1, g->modes, plan->cells));
    LMR_TRY(lmr_go_on());
    return on->kernels->crop(on->ctx, g, now, plan->cells, modes);
}

/* The transpose. */
static larmor_status pad(const lmr_nufft_plan *plan, int sign, int64_t now, const void *modes)
{
    const lmr_nufft_geometry *g = &plan->geometry;
    const lmr_nufft_device *on = plan->on;
    const lmr_backend *be = on->dev->be;
    if (plan->pruned)
        return be->modes[on->precision]->pad(on->ctx, plan->pruned, sign, now, g->factor, modes, plan->cells);
    LMR_TRY(on->kernels->pad(on->ctx, g, now, modes, plan->cells));
    LMR_TRY(lmr_go_on());
    return be->fft[on->precision]->band(on->ctx, plan->fft[now < g->batch], sign, 0, g->modes, plan->cells);
}

larmor_status lmr_nufft_plan_pass(const lmr_nufft_plan *plan, int type, int sign, int64_t now, void *values,
                                  void *modes)
{
    LMR_TRY(lmr_go_on());
    if (plan->opts.spread_only)
        return type == 1 ? spread(plan, now, values, modes) : interp(plan, now, modes, values);
    if (type == 1) {
        LMR_TRY(spread(plan, now, values, plan->cells));
        LMR_TRY(lmr_go_on());
        return lmr_nufft_plan_crop(plan, sign, now, modes);
    }
    LMR_TRY(pad(plan, sign, now, modes));
    LMR_TRY(lmr_go_on());
    return interp(plan, now, plan->cells, values);
}

larmor_status lmr_nufft_plan_execute(const lmr_nufft_plan *plan, int adjoint, const larmor_array *in,
                                     larmor_array *out)
{
    const larmor_nufft_opts *o = &plan->opts;
    const int type = adjoint ? 3 - o->type : o->type;
    const int sign = adjoint ? -o->sign : o->sign;
    const larmor_array *values = type == 1 ? in : out;
    const larmor_array *modes = type == 1 ? out : in;
    LMR_TRY(lmr_nufft_expect(plan->on, o, "values", values, plan->points));
    LMR_TRY(lmr_nufft_expect(plan->on, o, "modes", modes, plan->mode_count));
    const size_t size = larmor_dtype_size(o->dtype);
    const int64_t per_pass = plan->geometry.batch;
    for (int64_t b = 0; b < o->batch; b += per_pass)
        LMR_TRY(lmr_nufft_plan_pass(plan, type, sign, o->batch - b < per_pass ? o->batch - b : per_pass,
                                    (char *)values->data + size * (size_t)(b * plan->points),
                                    (char *)modes->data + size * (size_t)(b * plan->mode_count)));
    return LARMOR_OK;
}

/* ---- describe ---- */

larmor_nufft_info lmr_nufft_plan_outline(const lmr_nufft_device *on, const larmor_nufft_opts *o,
                                         const lmr_nufft_choice *choice, const lmr_nufft_way *way,
                                         const lmr_nufft_geometry *g)
{
    larmor_nufft_info info = {.width = choice->window.width,
                              .error = choice->error,
                              .upsample = INFINITY,
                              .per_pass = g->batch,
                              .threads = on->threads,
                              .tiles = way->tiles + 1,
                              .precompute = way->precompute};
    for (int d = 0; d < 3; d++) info.grid[d] = g->cells[d];
    for (int d = 0; d < o->ndim; d++) info.upsample = fmin(info.upsample, (double)g->cells[d] / (double)g->modes[d]);
    return info;
}

larmor_nufft_info lmr_nufft_plan_describe(const lmr_nufft_plan *plan)
{
    larmor_nufft_info info =
        lmr_nufft_plan_outline(plan->on, &plan->opts, &plan->choice, &plan->way, &plan->geometry);
    lmr_nufft_method spread, interp;
    plan->on->kernels->methods(plan->sorted, &spread, &interp);
    info.spread_method = (larmor_nufft_method)spread;
    info.interp_method = (larmor_nufft_method)interp;
    info.precompute_bytes = plan->precompute ? plan->precompute->bytes : 0;
    return info;
}
