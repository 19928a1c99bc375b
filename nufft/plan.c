/* NUFFT plans: what create, set_points and execute do around the device's kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/array.h"
#include "larmor/nufft.h"
#include "nufft/choose.h"
#include "nufft/kernels.h"

/* Coordinates have 53 bits: the fraction of a point's cell is lost on a larger grid. */
static const int64_t most_modes = INT64_C(1) << 40;

struct larmor_nufft {
    larmor_device *dev;
    larmor_nufft_opts opts; /* with all defaults filled in */
    int precision;
    const lmr_nufft_kernels *kernels;
    lmr_nufft_geometry geometry;
    void *window, *factor[3];
    int64_t mode_count, cell_count;
    void *fft[2];   /* for geometry.batch grids, and for the rest of the batch */
    void *cells;    /* the fine grids, [cells..., geometry.batch] */
    int64_t points; /* -1 before set_points */
    void *sorted;
    larmor_nufft_info info;
};

static pthread_once_t registered = PTHREAD_ONCE_INIT;

static void register_kernels(void)
{
    lmr_cpu_register("nufft", LMR_NUFFT_ABI, &lmr_cpu_nufft_f32, &lmr_cpu_nufft_f64);
}

/* ---- create ---- */

static larmor_status check_range(const larmor_nufft_opts *o)
{
    if (o->type == 3) return LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "nufft: type 3 is not there yet; types 1 and 2 are");
    if (o->type != 1 && o->type != 2)
        return LMR_FAIL(LARMOR_ERR_ARG, "nufft: type: got %d, expected 1 or 2", o->type);
    if (o->ndim < 1 || o->ndim > 3) return LMR_FAIL(LARMOR_ERR_ARG, "nufft: ndim: got %d, expected 1 .. 3", o->ndim);
    for (int d = 0; d < o->ndim; d++)
        if (o->modes[d] < 1 || o->modes[d] > most_modes)
            return LMR_FAIL(LARMOR_ERR_ARG, "nufft: modes[%d]: got %lld, expected 1 .. 2^40", d,
                            (long long)o->modes[d]);
    if (o->batch < 1) return LMR_FAIL(LARMOR_ERR_ARG, "nufft: batch: got %lld, expected >= 1", (long long)o->batch);
    if (o->sign != 1 && o->sign != -1)
        return LMR_FAIL(LARMOR_ERR_ARG, "nufft: sign: got %d, expected -1 or 1", o->sign);
    if (!(o->tol > 0 && o->tol < 1))
        return LMR_FAIL(LARMOR_ERR_ARG, "nufft: tol: got %g, expected 0 < tol < 1", o->tol);
    if (o->upsample != 0 && !(o->upsample >= 1.15 && o->upsample <= 2.5))
        return LMR_FAIL(LARMOR_ERR_ARG, "nufft: upsample: got %g, expected 1.15 .. 2.5 or 0", o->upsample);
    if ((unsigned)o->dtype > LARMOR_C128)
        return LMR_FAIL(LARMOR_ERR_ARG, "nufft: dtype: got %d, expected LARMOR_C64 or LARMOR_C128", (int)o->dtype);
    return LARMOR_OK;
}

static larmor_nufft_opts with_defaults(larmor_nufft_opts o)
{
    if (!o.batch) o.batch = 1;
    if (!o.sign) o.sign = o.type == 1 ? 1 : -1;
    if (o.tol == 0) o.tol = 1e-5;
    if (o.dtype == LARMOR_F32) o.dtype = LARMOR_C64;
    if (o.dtype == LARMOR_F64) o.dtype = LARMOR_C128;
    return o;
}

/* count doubles to the device, in the plan's precision. */
static larmor_status upload(larmor_nufft *plan, int64_t count, double *values, void **out)
{
    const size_t bytes = (size_t)count * (plan->precision == LMR_F64 ? sizeof(double) : sizeof(float));
    if (plan->precision == LMR_F32) {
        float *narrow = (float *)values; /* from the front, each value lands before those still to be read */
        for (int64_t i = 0; i < count; i++) {
            const float value = (float)values[i];
            __builtin_memcpy(narrow + i, &value, sizeof value);
        }
    }
    LMR_TRY(plan->dev->be->alloc(plan->dev->ctx, bytes, out));
    return plan->dev->be->copy(plan->dev->ctx, LMR_TO_DEVICE, *out, values, bytes);
}

static larmor_status upload_window(larmor_nufft *plan, const lmr_nufft_choice *choice)
{
    double piece[LMR_WINDOW_MAX * (LMR_WINDOW_DEGREE + 1)], table[LMR_WINDOW_MAX * (LMR_WINDOW_DEGREE + 1)];
    lmr_nufft_geometry *g = &plan->geometry;
    const double unit = plan->precision == LMR_F64 ? 0x1p-53 : 0x1p-25;
    g->width = choice->window.width;
    g->degree = lmr_window_fit(&choice->window, fmax(0.03 * choice->alias / g->width, unit), piece);
    for (int l = 0; l < g->width; l++)
        for (int k = 0; k <= g->degree; k++) table[k * g->width + l] = piece[l * (g->degree + 1) + k];
    LMR_TRY(upload(plan, g->width * (g->degree + 1), table, &plan->window));
    g->window = plan->window;
    return LARMOR_OK;
}

static larmor_status upload_factors(larmor_nufft *plan, const lmr_window *window)
{
    for (int d = 0; d < plan->geometry.ndim; d++) {
        const int64_t modes = plan->geometry.modes[d], half = modes / 2;
        double *factor = malloc((size_t)modes * sizeof *factor);
        if (!factor) return LMR_NO_MEMORY();
#pragma omp parallel for num_threads(lmr_device_threads(plan->dev)) schedule(static) if (modes > 4096)
        for (int64_t i = 0; i <= half; i++) {
            const double f = 1 / lmr_window_transform(window, (double)i / (double)plan->geometry.cells[d]);
            factor[half - i] = f;
            if (half + i < modes) factor[half + i] = f;
        }
        const larmor_status st = upload(plan, modes, factor, &plan->factor[d]);
        free(factor);
        if (st) return st;
        plan->geometry.factor[d] = plan->factor[d];
    }
    return LARMOR_OK;
}

/* Fine grids for as many transforms as share a pass, their FFT, and that of a last, smaller pass. */
static larmor_status make_workspace(larmor_nufft *plan)
{
    lmr_nufft_geometry *g = &plan->geometry;
    const int64_t batch = plan->opts.batch, size = (int64_t)larmor_dtype_size(plan->opts.dtype);
    int64_t grid, bytes;
    plan->cell_count = g->cells[0] * g->cells[1] * g->cells[2];
    plan->mode_count = g->modes[0] * g->modes[1] * g->modes[2];
    if (!lmr_mul(plan->cell_count, size, &grid) || !lmr_mul(plan->mode_count, batch, &bytes))
        return LMR_FAIL(LARMOR_ERR_ARG, "nufft: %lld transforms of %lld modes are too many", (long long)batch,
                        (long long)plan->mode_count);
    g->batch = lmr_nufft_together(batch, grid);
    if (!lmr_mul(grid, g->batch, &bytes)) return LMR_FAIL(LARMOR_ERR_ARG, "nufft: the modes are too many");
    const lmr_fft *fft = plan->dev->be->fft[plan->precision];
    LMR_TRY(fft->plan(plan->dev->ctx, g->ndim, g->cells, g->batch, &plan->fft[0]));
    if (batch % g->batch) LMR_TRY(fft->plan(plan->dev->ctx, g->ndim, g->cells, batch % g->batch, &plan->fft[1]));
    return plan->dev->be->alloc(plan->dev->ctx, (size_t)bytes, &plan->cells);
}

static larmor_status build(larmor_nufft *plan)
{
    const larmor_nufft_opts *o = &plan->opts;
    lmr_nufft_choice choice;
    plan->kernels = plan->dev->be->table("nufft", LMR_NUFFT_ABI, plan->precision);
    if (!plan->kernels)
        return LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "nufft: %s has no NUFFT kernels; use cpu",
                        larmor_device_spec(plan->dev));
    LMR_TRY(lmr_nufft_choose(o->ndim, o->modes, o->tol, o->upsample, plan->precision == LMR_F32, &choice));
    lmr_nufft_geometry *g = &plan->geometry;
    g->ndim = o->ndim;
    plan->info = (larmor_nufft_info){.width = choice.window.width, .error = choice.error, .upsample = INFINITY};
    for (int d = 0; d < 3; d++) {
        g->cells[d] = choice.cells[d], g->modes[d] = d < g->ndim ? o->modes[d] : 1;
        plan->info.grid[d] = g->cells[d];
        if (d < g->ndim) plan->info.upsample = fmin(plan->info.upsample, (double)g->cells[d] / (double)g->modes[d]);
    }
    LMR_TRY(upload_window(plan, &choice));
    LMR_TRY(upload_factors(plan, &choice.window));
    return make_workspace(plan);
}

larmor_status larmor_nufft_create(larmor_device *dev, const larmor_nufft_opts *opts, larmor_nufft **out)
{
    if (!out) return LMR_FAIL(LARMOR_ERR_ARG, "larmor_nufft_create: plan is NULL");
    *out = NULL;
    if (!dev || !opts) return LMR_FAIL(LARMOR_ERR_ARG, "larmor_nufft_create: a device and options are needed");
    const larmor_nufft_opts filled = with_defaults(*opts);
    LMR_TRY(check_range(&filled));
    pthread_once(&registered, register_kernels);
    larmor_nufft *plan = calloc(1, sizeof *plan);
    if (!plan) return LMR_NO_MEMORY();
    plan->dev = lmr_device_ref(dev), plan->opts = filled, plan->precision = lmr_precision(filled.dtype);
    plan->points = -1;
    const larmor_status st = build(plan);
    if (st) {
        larmor_nufft_free(plan);
        return st;
    }
    *out = plan;
    return LARMOR_OK;
}

void larmor_nufft_free(larmor_nufft *plan)
{
    if (!plan) return;
    const lmr_backend *be = plan->dev->be;
    if (plan->kernels) plan->kernels->release(plan->dev->ctx, plan->sorted);
    for (int i = 0; i < 2; i++) be->fft[plan->precision]->destroy(plan->dev->ctx, plan->fft[i]);
    be->release(plan->dev->ctx, plan->cells);
    be->release(plan->dev->ctx, plan->window);
    for (int d = 0; d < 3; d++) be->release(plan->dev->ctx, plan->factor[d]);
    larmor_device_free(plan->dev);
    free(plan);
}

larmor_nufft_info larmor_nufft_describe(const larmor_nufft *plan)
{
    return plan->info;
}

/* ---- points ---- */

larmor_status larmor_nufft_set_points(larmor_nufft *plan, const larmor_array *points, const larmor_array *targets)
{
    if (!plan || !points) return LMR_FAIL(LARMOR_ERR_ARG, "larmor_nufft_set_points: a plan and points are needed");
    if (targets) return LMR_FAIL(LARMOR_ERR_ARG, "nufft: targets are for type 3 only, expected NULL");
    const int64_t ndim = plan->geometry.ndim;
    if (points->dev != plan->dev || lmr_is_complex(points->dtype) || points->shape.ndim < 1 ||
        points->shape.dim[0] != ndim)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "nufft: points are %s, expected f32 or f64 [%lld, ...] on %s",
                        lmr_describe(points).s, (long long)ndim, larmor_device_spec(plan->dev));
    int64_t m, bad;
    void *sorted;
    m = larmor_array_count(points) / ndim;
    if (!lmr_mul(m, plan->opts.batch * 2, &bad))
        return LMR_FAIL(LARMOR_ERR_SHAPE, "nufft: %lld points are too many", (long long)m);
    LMR_TRY(plan->kernels->sort(plan->dev->ctx, &plan->geometry, m, points->dtype == LARMOR_F64, points->data, &bad,
                                &sorted));
    if (bad >= 0)
        return LMR_FAIL(LARMOR_ERR_NUMERIC, "nufft: point %lld is not finite; remove it and its value",
                        (long long)bad);
    plan->kernels->release(plan->dev->ctx, plan->sorted);
    plan->sorted = sorted, plan->points = m;
    return LARMOR_OK;
}

/* ---- execute ---- */

static larmor_status expect_data(const larmor_nufft *plan, const char *what, const larmor_array *x, int64_t each)
{
    if (x && x->dev == plan->dev && x->dtype == plan->opts.dtype && larmor_array_count(x) == each * plan->opts.batch)
        return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE, "nufft: %s are %s, expected %s of %lld x %lld elements on %s", what,
                    x ? lmr_describe(x).s : "NULL", larmor_dtype_name(plan->opts.dtype), (long long)each,
                    (long long)plan->opts.batch, larmor_device_spec(plan->dev));
}

static larmor_status run(larmor_nufft *plan, int type, int sign, const larmor_array *in, larmor_array *out)
{
    if (!plan || plan->points < 0)
        return LMR_FAIL(LARMOR_ERR_ARG, "nufft: the plan has no points; call larmor_nufft_set_points first");
    const larmor_array *values = type == 1 ? in : out, *modes = type == 1 ? out : in;
    LMR_TRY(expect_data(plan, "values", values, plan->points));
    LMR_TRY(expect_data(plan, "modes", modes, plan->mode_count));
    const lmr_nufft_geometry *g = &plan->geometry;
    const lmr_nufft_kernels *k = plan->kernels;
    const lmr_fft *fft = plan->dev->be->fft[plan->precision];
    const size_t size = larmor_dtype_size(plan->opts.dtype);
    void *ctx = plan->dev->ctx;
    for (int64_t b = 0; b < plan->opts.batch; b += g->batch) {
        const int64_t rest = plan->opts.batch - b, now = rest < g->batch ? rest : g->batch;
        void *fft_plan = plan->fft[now < g->batch];
        char *value = (char *)values->data + size * (size_t)(b * plan->points);
        char *mode = (char *)modes->data + size * (size_t)(b * plan->mode_count);
        if (type == 1) {
            LMR_TRY(k->spread(ctx, g, plan->sorted, now, value, plan->cells));
            LMR_TRY(fft->exec(ctx, fft_plan, sign, plan->cells));
            LMR_TRY(k->crop(ctx, g, now, plan->cells, mode));
        } else {
            LMR_TRY(k->pad(ctx, g, now, mode, plan->cells));
            LMR_TRY(fft->exec(ctx, fft_plan, sign, plan->cells));
            LMR_TRY(k->interp(ctx, g, plan->sorted, now, plan->cells, value));
        }
    }
    return LARMOR_OK;
}

larmor_status larmor_nufft_execute(larmor_nufft *plan, const larmor_array *in, larmor_array *out)
{
    return run(plan, plan ? plan->opts.type : 1, plan ? plan->opts.sign : 1, in, out);
}

larmor_status larmor_nufft_execute_adjoint(larmor_nufft *plan, const larmor_array *in, larmor_array *out)
{
    return run(plan, plan ? 3 - plan->opts.type : 1, plan ? -plan->opts.sign : 1, in, out);
}
