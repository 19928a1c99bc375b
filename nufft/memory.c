/* What a NUFFT takes of a device's memory. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "core/array.h"
#include "larmor/nufft.h"
#include "nufft/choose.h"
#include "nufft/cpu/tiles.h"
#include "nufft/precompute.h"
#include "nufft/tune.h"

/* FFT_LINES: which a processor's thread transforms at a time, in two copies for each of two plans; FFT_LONGEST: of a
 * line that is not copied. */
enum { MOST_TOGETHER = 8, FFT_LINES = 8, FFT_LONGEST = 1 << 15 };
static const int64_t most_workspace = INT64_C(256) << 20;

int64_t lmr_nufft_together(int64_t batch, int64_t grid, int64_t most)
{
    int64_t together = most_workspace / grid;
    together = together < 1 ? 1 : together > MOST_TOGETHER ? MOST_TOGETHER : together;
    if (most > 0) together = most;
    const int64_t passes = batch / together + (batch % together > 0);
    return batch / passes + (batch % passes > 0);
}

/* What is known of a device and a transform before there is a plan. */
typedef struct outline {
    int threads, ndim;
    size_t real;
    int64_t batch, most;
    int shape, shapes;            /* of tiles that may be taken: the first, and how many */
    larmor_precompute precompute; /* AUTO: any that keeps the limit */
    int64_t precompute_memory;
} outline;

/* The tiles that a processor's threads spread into: one buffer for each thread, or for each chunk of crowded points.
 */
static double buffers_bytes(int threads, const lmr_nufft_choice *choice, int ndim, double points, int64_t together,
                            double element, int shape)
{
    double tile = element, tile_count = 1;
    for (int d = 0; d < ndim; d++) {
        const int64_t cells = choice->cells[d], side = tile_sides[shape][ndim - 1][d],
                      tiles = cells > side ? cells / side : 1;
        tile_count *= (double)tiles;
        tile *= (double)((cells + tiles - 1) / tiles + choice->window.width) + (d == 0 ? ROW_BYTES / element : 0);
    }
    if (lmr_whole_line(ndim, shape, choice->cells[0], together, (int64_t)points, (int64_t)element))
        return WHOLE_BUFFERS * threads * (double)together *
               (element * (double)(choice->cells[0] + choice->window.width) + 512 + ROW_BYTES);
    tile += 512; /* rounded up to whole vectors */
    const double all = tile * (double)together, held = all < TILE_BYTES ? all : TILE_BYTES > tile ? TILE_BYTES : tile;
    /* the last chunk of a tile may be short, and a tile that is cut into chunks has two or more, unless all are */
    const double size = fmax(CHUNK_POINTS, floor(points / MOST_CHUNKS)),
                 chunks = points / size +
                          fmin(tile_count, ndim == 3 && tile_count <= FEW_TILES ? points : points / (2 * size)),
                 crowded = chunks < 2 * MOST_CHUNKS ? chunks : 2 * MOST_CHUNKS;
    return held * (crowded > threads ? crowded : threads);
}

/* Sorted points and what their sort takes for a moment. A processor keeps an index, a cell and the window's
 * arguments; a GPU sorts keys and loads in two buffers, and has at most a bin for twelve cells. */
static double points_bytes(const outline *o, const lmr_nufft_choice *choice, double points, int64_t together)
{
    const int threads = o->threads, ndim = o->ndim;
    const size_t real = o->real;
    const double arguments = (double)((size_t)ndim * real) * points;
    const double cells = (double)choice->cells[0] * (double)choice->cells[1] * (double)choice->cells[2];
    if (!threads) return 40 * points + arguments + cells + 0x1p20;
    const double tables = (24 + 8 * threads) * (cells / 1024 + 1) + 24 * points / CHUNK_POINTS + 0x1p14 +
                          0x1p17 * threads; /* the last: while bins are sorted */
    double buffers = 0;                     /* of the shape of tile that needs most */
    for (int shape = o->shape; shape < o->shape + o->shapes; shape++)
        buffers = fmax(buffers, buffers_bytes(threads, choice, ndim, points, together, 2 * (double)real, shape));
    return 16 * points + arguments + tables + buffers;
}

/* A precomputed form, and what making it takes for a moment. */
static double form_bytes(const outline *o, const lmr_precompute_size *s, larmor_precompute form)
{
    const int64_t bytes = lmr_precompute_bytes(s, form);
    if (!o->precompute && bytes > o->precompute_memory) return 0; /* is not tried */
    return (double)bytes + (double)lmr_precompute_scratch(s, form);
}

static double precompute_bytes(const outline *o, const lmr_nufft_choice *choice, double points, int64_t together)
{
    const lmr_precompute_size s = {.ndim = o->ndim,
                                   .width = choice->window.width,
                                   .is_gpu = !o->threads,
                                   .real = o->real,
                                   .points = (int64_t)points,
                                   .cells = choice->cells[0] * choice->cells[1] * choice->cells[2],
                                   .together = together};
    if (o->precompute) return form_bytes(o, &s, o->precompute);
    return fmax(form_bytes(o, &s, LARMOR_PRECOMPUTE_PARTIAL), form_bytes(o, &s, LARMOR_PRECOMPUTE_FULL));
}

/* A transform of types 1 and 2; *together is how many share a pass. A GPU's FFT works beside the grids, for a whole
 * pass and for the last, smaller one. */
static double grid_bytes(const outline *o, const lmr_nufft_choice *choice, const double modes[3], double points,
                         int64_t *together)
{
    double grid = 2 * (double)o->real, factors = 0;
    for (int d = 0; d < o->ndim; d++) grid *= (double)choice->cells[d], factors += modes[d];
    if (grid > 0x1p60) return grid;
    *together = lmr_nufft_together(o->batch, (int64_t)grid, o->most);
    const int64_t grids = o->threads ? *together : 2 * *together + o->batch % *together;
    double longest = 0;
    for (int d = 0; d < o->ndim; d++) longest = fmax(longest, (double)choice->cells[d]);
    /* in one dimension a thread has so many lines of a batch, and a long line is copied */
    const double most = o->ndim > 1 ? longest : fmin(longest, FFT_LONGEST);
    const double team = o->ndim > 1 ? o->threads : fmin(o->threads, ceil((double)*together / FFT_LINES));
    const double lines = 8.0 * FFT_LINES * (double)o->real * (most + 16) * team;
    const double copy = o->threads && most < longest ? grid : 0;
    return (double)grids * grid + lines + copy + factors * (double)o->real +
           points_bytes(o, choice, points, *together) + precompute_bytes(o, choice, points, *together);
}

/* Points and targets are sorted, scaled copies and factors of both kept beside the input. */
static double type3_bytes(const outline *o, const lmr_type3_choice *choice, double points)
{
    int64_t together = 1;
    double modes[3], outer = 2 * (double)o->real;
    for (int d = 0; d < 3; d++) modes[d] = (double)choice->outer.cells[d], outer *= modes[d];
    const double inner = grid_bytes(o, &choice->inner, modes, points, &together);
    return inner + (double)together * outer + points_bytes(o, &choice->outer, points, together) +
           points * (8.0 * o->ndim + 2 * (double)o->real * (1 + (double)together));
}

/* Over the grids that the plan may choose: those for execute alone and with its adjoint, or all that are timed, of
 * which two are there at a time, with inputs and outputs of their own. */
static larmor_status most_bytes(const outline *o, const larmor_nufft_opts *opts, lmr_nufft_request *r, double *total)
{
    double modes[3] = {1, 1, 1}, count = 1;
    int64_t together;
    lmr_nufft_choice choice;
    *total = 0;
    for (int d = 0; d < o->ndim; d++) modes[d] = (double)opts->modes[d], count *= modes[d];
    for (r->types = 0; r->types < 3; r->types++) {
        LMR_TRY(lmr_nufft_choose(r, opts->modes, &choice));
        if (choice.window.width < opts->width) choice.window.width = opts->width; /* with spread_only */
        *total = fmax(*total, grid_bytes(o, &choice, modes, r->points, &together));
    }
    if (!opts->effort) return LARMOR_OK;
    outline widest = *o;
    lmr_tune_grid grids[LMR_TUNE_GRIDS];
    const int found = lmr_tune_grids(r, opts->modes, LARMOR_PLAN_EXHAUSTIVE, grids);
    if (!o->most) widest.most = o->batch < 32 ? o->batch : 32; /* as the search does */
    for (int i = 0; i < found; i++) {
        for (int d = 0; d < 3; d++) choice.cells[d] = grids[i].cells[d];
        choice.window.width = grids[i].width;
        *total = fmax(*total, grid_bytes(o, &choice, modes, r->points, &together));
        *total = fmax(*total, grid_bytes(&widest, &choice, modes, r->points, &together));
    }
    *total = 2 * *total + 2 * (double)o->real * (double)o->batch * (r->points + count);
    return LARMOR_OK;
}

/* As most_bytes; points and targets together are `points`. */
static larmor_status most_type3_bytes(const outline *o, const larmor_nufft_opts *opts, const lmr_nufft_request *r,
                                      const double product[3], double *total)
{
    int count = 1;
    *total = 0;
    lmr_type3_choice *list = malloc(LMR_NUFFT_CANDIDATES * sizeof *list);
    if (!list) return LMR_NO_MEMORY();
    larmor_status st = lmr_type3_choose(r, product, r->points, list);
    if (!st && opts->effort) st = lmr_type3_list(r, product, r->points, list, &count);
    for (int i = 0; i < count && !st; i++) *total = fmax(*total, type3_bytes(o, &list[i], r->points));
    if (opts->effort) *total = 2 * *total + 2 * (double)o->real * (double)o->batch * r->points;
    free(list);
    return st;
}

larmor_status larmor_nufft_memory(const larmor_device *dev, const larmor_nufft_opts *opts, int64_t points,
                                  int64_t *bytes)
{
    LMR_NEED(bytes);
    *bytes = 0;
    if (!dev || !opts || opts->ndim < 1 || opts->ndim > 3 || points < 0)
        return LMR_FAIL(LARMOR_ERR_ARG, "nufft memory: a device, options and a number of points are needed");
    double modes[3] = {1, 1, 1}, total;
    for (int d = 0; d < opts->ndim; d++) {
        modes[d] = (double)opts->modes[d];
        if (opts->modes[d] < 1)
            return LMR_FAIL(
                LARMOR_ERR_ARG, "nufft memory: modes[%d]: got %lld, expected %s", d, (long long)opts->modes[d],
                opts->type == 3 ? "the widths of points and targets multiplied, at least 1" : "at least 1");
    }
    LMR_TRY(lmr_nufft_check_choices(opts));
    const int single = lmr_precision(opts->dtype) == LMR_F32;
    const outline o = {.threads = dev->be->threads(dev->ctx),
                       .ndim = opts->ndim,
                       .real = single ? sizeof(float) : sizeof(double),
                       .batch = opts->batch > 0 ? opts->batch : 1,
                       .most = opts->max_batch,
                       .shape = lmr_nufft_shape(opts),
                       .shapes = opts->effort && opts->type != 3 && !opts->tiles ? LMR_NUFFT_SHAPES : 1,
                       .precompute = opts->type == 3 || (!opts->precompute && !opts->effort) ? LARMOR_PRECOMPUTE_NONE
                                                                                             : opts->precompute,
                       .precompute_memory = opts->precompute_memory};
    const lmr_nufft_rates rates = lmr_nufft_rates_of(dev, single ? LMR_F32 : LMR_F64, opts->threads);
    lmr_nufft_request request = {.ndim = opts->ndim,
                                 .single = single,
                                 .tol = opts->tol > 0 ? opts->tol : 1e-5,
                                 .upsample = opts->upsample,
                                 .width = opts->spread_only ? 0 : opts->width,
                                 .points = points > 0 ? (double)points : 1,
                                 .batch = (double)o.batch,
                                 .rates = &rates};
    for (int d = 0; d < opts->ndim; d++) request.cells[d] = opts->grid[d];
    if (opts->type == 3) {
        LMR_TRY(most_type3_bytes(&o, opts, &request, modes, &total));
    } else {
        LMR_TRY(most_bytes(&o, opts, &request, &total));
    }
    if (total > 0x1p60) return LMR_FAIL(LARMOR_ERR_ARG, "nufft: the modes are too many");
    *bytes = (int64_t)total;
    return LARMOR_OK;
}
