/* The options of a plan: their defaults, and what is refused. SPDX-License-Identifier: Apache-2.0 */
#include "nufft/options.h"

#include <stddef.h>
#include <string.h>

#include "nufft/device.h"

/* Coordinates have 53 bits: the fraction of a point's cell is lost on a larger grid. */
enum { LARGEST = 1 << 16 }; /* a struct of options: no version has more */
static const int64_t most_modes = INT64_C(1) << 40;

static const char *const method_names[] = {"auto", "GM", "GM-sort", "SM", "owner"};
static const char *const sort_names[] = {"auto", "on", "off"};

static larmor_status check_sizes(const larmor_nufft_opts *o)
{
    LMR_REFUSE(o->type < 1 || o->type > 3, LARMOR_ERR_ARG, "nufft: type: got %d, expected 1, 2 or 3", o->type);
    LMR_REFUSE(o->ndim < 1 || o->ndim > 3, LARMOR_ERR_ARG, "nufft: ndim: got %d, expected 1 .. 3", o->ndim);
    for (int d = 0; d < o->ndim && o->type != 3; d++)
        LMR_REFUSE(o->modes[d] < 1 || o->modes[d] > most_modes, LARMOR_ERR_ARG,
                   "nufft: modes[%d]: got %lld, expected 1 .. 2^40", d, (long long)o->modes[d]);
    LMR_REFUSE(o->batch < 1, LARMOR_ERR_ARG, "nufft: batch: got %lld, expected >= 1", (long long)o->batch);
    LMR_REFUSE(o->max_batch < 0, LARMOR_ERR_ARG, "nufft: max_batch: got %lld, expected >= 1, or 0 for automatic",
               (long long)o->max_batch);
    return LARMOR_OK;
}

static larmor_status check_range(const larmor_nufft_opts *o)
{
    LMR_TRY(check_sizes(o));
    LMR_REFUSE(o->sign != 1 && o->sign != -1, LARMOR_ERR_ARG, "nufft: sign: got %d, expected -1 or 1", o->sign);
    LMR_REFUSE(!(o->tol > 0 && o->tol < 1), LARMOR_ERR_ARG, "nufft: tol: got %g, expected 0 < tol < 1", o->tol);
    LMR_REFUSE(o->upsample != 0 && !(o->upsample >= 1.15 && o->upsample <= 2.5), LARMOR_ERR_ARG,
               "nufft: upsample: got %g, expected 1.15 .. 2.5 or 0", o->upsample);
    LMR_REFUSE((unsigned)o->dtype > LARMOR_C128, LARMOR_ERR_ARG,
               "nufft: dtype: got %d, expected LARMOR_C64 or LARMOR_C128", (int)o->dtype);
    LMR_REFUSE((unsigned)o->mode_order > LARMOR_MODES_FFT, LARMOR_ERR_ARG,
               "nufft: mode_order: got %d, expected LARMOR_MODES_CENTRED or LARMOR_MODES_FFT", (int)o->mode_order);
    LMR_REFUSE(o->spread_only != 0 && o->spread_only != 1, LARMOR_ERR_ARG,
               "nufft: spread_only: got %d, expected 0 or 1", o->spread_only);
    LMR_REFUSE((unsigned)o->method > LARMOR_NUFFT_OWNER, LARMOR_ERR_ARG,
               "nufft: method: got %d, expected LARMOR_NUFFT_AUTO .. LARMOR_NUFFT_OWNER", (int)o->method);
    LMR_REFUSE((unsigned)o->sort > LARMOR_NUFFT_SORT_OFF, LARMOR_ERR_ARG,
               "nufft: sort: got %d, expected LARMOR_NUFFT_SORT_AUTO, _ON or _OFF", (int)o->sort);
    LMR_REFUSE((unsigned)o->effort > LARMOR_PLAN_EXHAUSTIVE, LARMOR_ERR_ARG,
               "nufft: effort: got %d, expected LARMOR_PLAN_ESTIMATE, _MEASURE or _EXHAUSTIVE", (int)o->effort);
    LMR_REFUSE(o->both_directions != 0 && o->both_directions != 1, LARMOR_ERR_ARG,
               "nufft: both_directions: got %d, expected 0 or 1", o->both_directions);
    LMR_REFUSE((unsigned)o->precompute > LARMOR_PRECOMPUTE_FULL, LARMOR_ERR_ARG,
               "nufft: precompute: got %d, expected LARMOR_PRECOMPUTE_AUTO, _NONE, _PARTIAL or _FULL",
               (int)o->precompute);
    LMR_REFUSE(o->precompute_memory < 0, LARMOR_ERR_ARG,
               "nufft: precompute_memory: got %lld bytes, expected >= 1, or 0 for automatic",
               (long long)o->precompute_memory);
    return LARMOR_OK;
}

/* What is missing of a grid's side; the message names the good size that is nearest. */
static larmor_status check_side(const larmor_nufft_opts *o, int d)
{
    const int64_t side = o->grid[d], modes = o->modes[d];
    const int width = o->width ? o->width : LMR_WINDOW_MIN;
    int64_t least, most;
    lmr_nufft_sides(modes, o->width, &least, &most);
    const long long nearest = lmr_nufft_nearest_size(side ? side : least, least, most);
    LMR_REFUSE(!side, LARMOR_ERR_ARG,
               "nufft: grid[%d]: got 0 beside other sides, expected all of them; %lld is the least", d, nearest);
    LMR_REFUSE(side < least && least == 2 * width, LARMOR_ERR_ARG,
               "nufft: grid[%d]: got %lld, expected at least %lld, two windows of width %d; %lld is the "
               "nearest good size",
               d, (long long)side, (long long)least, width, nearest);
    LMR_REFUSE(side < least || side > most, LARMOR_ERR_ARG,
               "nufft: grid[%d]: got %lld for %lld modes, expected %lld .. %lld; %lld is the nearest good "
               "size",
               d, (long long)side, (long long)modes, (long long)least, (long long)most, nearest);
    LMR_REFUSE(!lmr_nufft_is_good_size(side), LARMOR_ERR_ARG,
               "nufft: grid[%d]: got %lld, expected a product of 2, 3, 5 and 7 that is %s; %lld is the "
               "nearest good size",
               d, (long long)side, side > 16 ? "a multiple of 4" : "even", nearest);
    return LARMOR_OK;
}

static larmor_status check_grid(const larmor_nufft_opts *o)
{
    int given = 0;
    for (int d = 0; d < o->ndim; d++) given |= o->grid[d] != 0;
    if (!given) return LARMOR_OK;
    LMR_REFUSE(o->type == 3, LARMOR_ERR_ARG, "nufft: grid: got one with type 3, which has two grids; leave it 0");
    LMR_REFUSE(o->spread_only, LARMOR_ERR_ARG,
               "nufft: grid: got one with spread_only, whose grid is modes; leave it 0");
    LMR_REFUSE(o->upsample > 0, LARMOR_ERR_ARG, "nufft: grid: got one with upsample %g; leave either of them 0",
               o->upsample);
    for (int d = 0; d < o->ndim; d++) LMR_TRY(check_side(o, d));
    return LARMOR_OK;
}

static larmor_status check_choices(const larmor_nufft_opts *o)
{
    LMR_REFUSE(o->width != 0 && (o->width < LMR_WINDOW_MIN || o->width > LMR_WINDOW_MAX), LARMOR_ERR_ARG,
               "nufft: width: got %d, expected %d .. %d, or 0 for automatic", o->width, LMR_WINDOW_MIN,
               LMR_WINDOW_MAX);
    LMR_REFUSE(o->tiles < 0 || o->tiles > LMR_NUFFT_SHAPES, LARMOR_ERR_ARG,
               "nufft: tiles: got %d, expected 1 .. %d, or 0 for automatic", o->tiles, LMR_NUFFT_SHAPES);
    LMR_REFUSE(o->type == 3 && o->width, LARMOR_ERR_ARG,
               "nufft: width: got %d with type 3, which has two grids; leave it 0", o->width);
    return check_grid(o);
}

/* Options that exclude each other, or that type 3 does not have. */
static larmor_status check_pairs(const larmor_nufft_opts *o)
{
    const int gm = o->method == LARMOR_NUFFT_GM;
    LMR_REFUSE(o->type == 3 && o->spread_only, LARMOR_ERR_ARG,
               "nufft: spread_only: got 1 with type 3, expected type 1 or 2");
    LMR_REFUSE(o->type == 3 && o->precompute > LARMOR_PRECOMPUTE_NONE, LARMOR_ERR_ARG,
               "nufft: precompute: got %s with type 3, which has none; leave it 0",
               o->precompute == LARMOR_PRECOMPUTE_FULL ? "full" : "partial");
    LMR_REFUSE(o->type == 3 && o->mode_order, LARMOR_ERR_ARG,
               "nufft: mode_order: got FFT order with type 3, which has no modes");
    LMR_REFUSE((o->sort == LARMOR_NUFFT_SORT_OFF && o->method != LARMOR_NUFFT_AUTO && !gm) ||
                   (o->sort == LARMOR_NUFFT_SORT_ON && gm),
               LARMOR_ERR_ARG, "nufft: sort: got %s with method %s; GM alone leaves points unsorted",
               sort_names[o->sort], method_names[o->method]);
    return LARMOR_OK;
}

static larmor_status check_device(const larmor_device *dev, const larmor_nufft_opts *o)
{
    const int threads = dev->be->threads(dev->ctx);
    const lmr_nufft_kernels *kernels = lmr_nufft_kernels_of(dev, lmr_precision(o->dtype));
    if (!kernels) return LARMOR_ERR_UNSUPPORTED;
    LMR_REFUSE(o->threads < 0 || (threads && o->threads > threads), LARMOR_ERR_ARG,
               "nufft: threads: got %d, expected 1 .. %d of %s, or 0 for all", o->threads, threads,
               larmor_device_spec(dev));
    LMR_REFUSE(!threads && o->threads, LARMOR_ERR_UNSUPPORTED,
               "nufft: threads: got %d, but %s is no processor; leave it 0", o->threads, larmor_device_spec(dev));
    LMR_REFUSE(!kernels->has_methods && o->method != LARMOR_NUFFT_AUTO, LARMOR_ERR_UNSUPPORTED,
               "nufft: method: got %s, but %s has one way only; leave it 0", method_names[o->method],
               larmor_device_spec(dev));
    LMR_REFUSE(!kernels->has_methods && o->sort == LARMOR_NUFFT_SORT_OFF, LARMOR_ERR_UNSUPPORTED,
               "nufft: sort: got off, but %s orders points as it needs them; use auto or on",
               larmor_device_spec(dev));
    return LARMOR_OK;
}

static larmor_nufft_opts with_defaults(larmor_nufft_opts o)
{
    if (!o.batch) o.batch = 1;
    if (!o.sign) o.sign = o.type == 2 ? -1 : 1;
    if (o.tol == 0) o.tol = 1e-5;
    for (int d = o.ndim < 0 ? 0 : o.ndim; d < 3; d++) o.grid[d] = 0;
    if (o.dtype == LARMOR_F32) o.dtype = LARMOR_C64;
    if (o.dtype == LARMOR_F64) o.dtype = LARMOR_C128;
    const int timed = o.effort && o.type != 3 && !o.spread_only;
    if (o.precompute == LARMOR_PRECOMPUTE_AUTO && !(timed && o.precompute_memory > 0))
        o.precompute = LARMOR_PRECOMPUTE_NONE;
    if (o.sort == LARMOR_NUFFT_SORT_OFF && o.method == LARMOR_NUFFT_AUTO) o.method = LARMOR_NUFFT_GM;
    return o;
}

larmor_status lmr_nufft_read_options(const larmor_nufft_opts *given, larmor_nufft_opts *opts)
{
    const size_t size = given->size ? given->size : sizeof *opts;
    const size_t known = size < sizeof *opts ? size : sizeof *opts;
    *opts = (larmor_nufft_opts){.type = 0};
    LMR_REFUSE(size < offsetof(larmor_nufft_opts, type) || size > LARGEST, LARMOR_ERR_ARG,
               "nufft: size: got %zu, expected sizeof(larmor_nufft_opts), %zu here, or 0", size, sizeof *opts);
    for (size_t i = sizeof *opts; i < size; i++)
        LMR_REFUSE(
            ((const char *)given)[i], LARMOR_ERR_ARG,
            "nufft: byte %zu of the options is not 0, and this version knows the first %zu; use a newer larmor", i,
            sizeof *opts);
    memcpy(opts, given, known);
    opts->size = sizeof *opts;
    return LARMOR_OK;
}

/* Only the full form adds to a cell in one order on a GPU. */
static larmor_status make_repeatable(const larmor_device *dev, const larmor_nufft_opts *given, larmor_nufft_opts *o)
{
    if (!dev->repeatable || lmr_device_is_processor(dev)) return LARMOR_OK;
    const char *spec = larmor_device_spec(dev);
    LMR_REFUSE(o->type == 3, LARMOR_ERR_UNSUPPORTED,
               "nufft: type 3 on %s adds in any order, and this device is set to be "
               "repeatable; use types 1 and 2, or a processor",
               spec);
    LMR_REFUSE(o->effort != LARMOR_PLAN_ESTIMATE, LARMOR_ERR_ARG,
               "nufft: effort: a grid that is chosen by times may be another one in the next "
               "run, and %s is set to be repeatable; leave it at estimate",
               spec);
    if (o->type == 2 && !o->both_directions) return LARMOR_OK;
    LMR_REFUSE(given->precompute != LARMOR_PRECOMPUTE_AUTO && given->precompute != LARMOR_PRECOMPUTE_FULL,
               LARMOR_ERR_ARG, "nufft: precompute: %s is set to be repeatable, which takes the full form; leave it 0",
               spec);
    o->precompute = LARMOR_PRECOMPUTE_FULL;
    if (!o->precompute_memory)
        o->precompute_memory = INT64_MAX - 1; /* what does not fit is refused when it is made */
    return LARMOR_OK;
}

larmor_status lmr_nufft_fill_options(const larmor_device *dev, const larmor_nufft_opts *given,
                                     larmor_nufft_opts *filled)
{
    larmor_nufft_opts opts;
    LMR_TRY(lmr_nufft_read_options(given, &opts));
    *filled = with_defaults(opts);
    LMR_TRY(check_range(filled));
    LMR_TRY(check_pairs(&opts));
    LMR_TRY(check_choices(&opts));
    LMR_TRY(check_device(dev, &opts));
    return make_repeatable(dev, &opts, filled);
}

lmr_nufft_request lmr_nufft_request_of(const larmor_nufft_opts *o, double points, const lmr_nufft_rates *rates)
{
    return (lmr_nufft_request){.ndim = o->ndim,
                               .single = lmr_precision(o->dtype) == LMR_F32,
                               .tol = o->tol,
                               .upsample = o->upsample,
                               .cells = {o->grid[0], o->grid[1], o->grid[2]},
                               .width = o->width,
                               .points = points,
                               .batch = (double)o->batch,
                               .full = o->precompute == LARMOR_PRECOMPUTE_FULL,
                               .types = o->both_directions || o->type == 3 ? 0 : o->type,
                               .rates = rates};
}
