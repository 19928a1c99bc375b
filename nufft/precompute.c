/* The spectrum of precomputation: sizes and limits of its forms, and which one a plan spreads with (Fessler and
 * Sutton, IEEE Trans. Signal Process. 51, 560 (2003), section IV). SPDX-License-Identifier: Apache-2.0 */
#include "nufft/precompute.h"

#include <stdlib.h>

static const char *const names[] = {"auto", "none", "partial", "full"};
static const char *const instead[] = {"", "", "none", "partial or none"};

/* ---- sizes ---- */

/* Sums and products that stay at INT64_MAX once they are there. */
static int64_t times(int64_t a, int64_t b)
{
    int64_t product;
    return a == INT64_MAX || b == INT64_MAX || !lmr_mul(a, b, &product) ? INT64_MAX : product;
}

static int64_t plus(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static int64_t entries_of(const lmr_precompute_size *s)
{
    int64_t count = s->points;
    for (int d = 0; d < s->ndim; d++) count = times(count, s->width);
    return count;
}

int lmr_precompute_is_wide(const lmr_precompute_size *s)
{
    return entries_of(s) >= INT32_MAX || s->cells >= INT32_MAX - 1;
}

/* Two matrices, each with a value and an index for every entry and an offset for every row, and the values and cells
 * of a pass with the batch as the fastest dimension. */
static int64_t full_bytes(const lmr_precompute_size *s)
{
    const int64_t index = lmr_precompute_is_wide(s) ? sizeof(int64_t) : sizeof(int32_t), real = (int64_t)s->real;
    const int64_t rows = plus(plus(s->points, s->cells), 4), work = s->together > 1 ? s->cells : 0;
    return plus(plus(times(times(entries_of(s), 2), real + index), times(rows, index)),
                times(times(plus(s->points, work), s->together), 2 * real));
}

static int64_t partial_bytes(const lmr_precompute_size *s)
{
    const int64_t each = s->ndim * s->width * (int64_t)s->real, group = LMR_PRECOMPUTE_GROUP;
    if (s->is_gpu) return times(plus(s->points, group - 1) / group, group * each);
    return plus(times(s->points, each), LMR_PRECOMPUTE_MARGIN);
}

int64_t lmr_precompute_bytes(const lmr_precompute_size *s, larmor_precompute form)
{
    return form == LARMOR_PRECOMPUTE_FULL ? full_bytes(s) : form == LARMOR_PRECOMPUTE_PARTIAL ? partial_bytes(s) : 0;
}

/* A GPU sorts the entries by cell: keys and places, twice, and a bin of every point. */
int64_t lmr_precompute_scratch(const lmr_precompute_size *s, larmor_precompute form)
{
    const int64_t index = lmr_precompute_is_wide(s) ? sizeof(int64_t) : sizeof(int32_t);
    if (form != LARMOR_PRECOMPUTE_FULL || !s->is_gpu) return 0;
    return plus(plus(times(entries_of(s), 3 * index + index / 2), times(s->points, sizeof(uint32_t))), 1 << 24);
}

/* ---- the limit ---- */

static lmr_precompute_size size_of(const larmor_nufft *plan, int64_t points)
{
    const lmr_nufft_geometry *g = &plan->geometry;
    return (lmr_precompute_size){.ndim = g->ndim,
                                 .width = plan->info.width,
                                 .is_gpu = !plan->info.threads,
                                 .real = larmor_dtype_size(plan->opts.dtype) / 2,
                                 .points = points,
                                 .cells = plan->cell_count,
                                 .together = g->batch};
}

static larmor_status expect_room(const larmor_nufft *plan, larmor_precompute form, int64_t points, int64_t bytes)
{
    int64_t limit = plan->opts.precompute_memory, total;
    if (!limit) {
        LMR_TRY(plan->dev->be->memory(plan->ctx, &limit, &total));
        limit = limit > 0 ? limit / 2 : INT64_MAX - 1;
    }
    if (bytes <= limit && bytes < INT64_MAX) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_MEMORY,
                    "nufft: precompute: %s takes %lld bytes for %lld points with a window of %d cells in %dD, "
                    "expected at most %lld, %s; allow more by precompute_memory, or use %s",
                    names[form], (long long)bytes, (long long)points, plan->geometry.width, plan->geometry.ndim,
                    (long long)limit, plan->opts.precompute_memory ? "precompute_memory" : "half of what is free",
                    instead[form]);
}

larmor_status lmr_precompute_check(const larmor_nufft *plan, larmor_precompute form, int64_t points)
{
    const lmr_precompute_size s = size_of(plan, points);
    if (form != LARMOR_PRECOMPUTE_PARTIAL && form != LARMOR_PRECOMPUTE_FULL) return LARMOR_OK;
    return expect_room(plan, form, points, lmr_precompute_bytes(&s, form));
}

/* ---- life ---- */

static larmor_status fill(const larmor_nufft *plan, larmor_precompute form, int64_t points, const void *sorted,
                          lmr_precompute *p)
{
    const lmr_precompute_size s = size_of(plan, points);
    p->kernels = LMR_KERNELS(plan->dev, precompute, LMR_PRECOMPUTE_ABI, plan->precision);
    if (!p->kernels)
        return LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "nufft: precompute: %s has no kernels for %s; use none",
                        larmor_device_spec(plan->dev), names[form]);
    LMR_TRY(p->kernels->build(
        plan->ctx, &plan->geometry, form == LARMOR_PRECOMPUTE_FULL ? LMR_PRECOMPUTE_FULL : LMR_PRECOMPUTE_PARTIAL,
        lmr_precompute_is_wide(&s), plan->opts.batch % plan->geometry.batch, sorted, &p->bytes, &p->made));
    /* with what libraries added; of a share of what is free now it would be counted twice */
    return plan->opts.precompute_memory ? expect_room(plan, form, points, p->bytes) : LARMOR_OK;
}

larmor_status lmr_precompute_make(const larmor_nufft *plan, int64_t points, const void *sorted, lmr_precompute **out)
{
    const larmor_precompute form = plan->info.precompute;
    *out = NULL;
    if (form != LARMOR_PRECOMPUTE_PARTIAL && form != LARMOR_PRECOMPUTE_FULL) return LARMOR_OK;
    LMR_TRY(lmr_precompute_check(plan, form, points));
    lmr_precompute *p = calloc(1, sizeof *p);
    if (!p) return LMR_NO_MEMORY();
    const larmor_status st = fill(plan, form, points, sorted, p);
    if (st)
        lmr_precompute_free(plan, p);
    else
        *out = p;
    return st;
}

void lmr_precompute_free(const larmor_nufft *plan, lmr_precompute *p)
{
    if (!p) return;
    if (p->kernels) p->kernels->release(plan->ctx, p->made);
    free(p);
}

/* ---- use ---- */

larmor_status lmr_precompute_spread(const larmor_nufft *plan, int64_t now, const void *values, void *cells)
{
    const lmr_precompute *p = plan->precompute;
    return p ? p->kernels->spread(plan->ctx, &plan->geometry, p->made, now, values, cells)
             : plan->kernels->spread(plan->ctx, &plan->geometry, plan->sorted, now, values, cells);
}

larmor_status lmr_precompute_interp(const larmor_nufft *plan, int64_t now, const void *cells, void *values)
{
    const lmr_precompute *p = plan->precompute;
    return p ? p->kernels->interp(plan->ctx, &plan->geometry, p->made, now, cells, values)
             : plan->kernels->interp(plan->ctx, &plan->geometry, plan->sorted, now, cells, values);
}
