/* Forms of precomputation: their sizes and limits (Fessler and Sutton, IEEE Trans. Signal Process. 51, 560 (2003),
 * section IV). SPDX-License-Identifier: Apache-2.0 */
#include "nufft/precompute.h"

#include <stdlib.h>

static const char *const names[] = {"auto", "none", "partial", "full"};
static const char *const instead[] = {"", "", "none", "partial or none"};

/* ---- sizes ---- */

lmr_precompute_size lmr_precompute_size_of(const lmr_nufft_device *on, const lmr_nufft_geometry *g, int64_t points)
{
    return (lmr_precompute_size){.ndim = g->ndim,
                                 .width = g->width,
                                 .real = on->precision == LMR_F64 ? sizeof(double) : sizeof(float),
                                 .points = points,
                                 .cells = g->cells[0] * g->cells[1] * g->cells[2],
                                 .per_pass = g->batch};
}

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

int lmr_precompute_needs_64_bits(const lmr_precompute_size *s)
{
    return entries_of(s) >= INT32_MAX || s->cells >= INT32_MAX - 1;
}

/* Two matrices, each with a value and an index for every entry and an offset for every row, and the values and cells
 * of a pass with the batch as the fastest dimension. */
static int64_t full_bytes(const lmr_precompute_size *s)
{
    const int64_t index = lmr_precompute_needs_64_bits(s) ? sizeof(int64_t) : sizeof(int32_t);
    const int64_t real = (int64_t)s->real;
    const int64_t rows = plus(plus(s->points, s->cells), 4);
    const int64_t work = s->per_pass > 1 ? s->cells : 0;
    return plus(plus(times(times(entries_of(s), 2), real + index), times(rows, index)),
                times(times(plus(s->points, work), s->per_pass), 2 * real));
}

static int64_t partial_bytes(const lmr_precompute_kernels *kernels, const lmr_precompute_size *s)
{
    const int64_t each = s->ndim * s->width * (int64_t)s->real, group = kernels->group;
    return plus(times(plus(s->points, group - 1) / group, group * each), kernels->margin);
}

int64_t lmr_precompute_bytes(const lmr_precompute_kernels *kernels, const lmr_precompute_size *s,
                             larmor_precompute form)
{
    if (form == LARMOR_PRECOMPUTE_PARTIAL) return partial_bytes(kernels, s);
    return form == LARMOR_PRECOMPUTE_FULL ? full_bytes(s) : 0;
}

int64_t lmr_precompute_scratch(const lmr_precompute_kernels *kernels, const lmr_precompute_size *s,
                               larmor_precompute form)
{
    const int64_t index = lmr_precompute_needs_64_bits(s) ? sizeof(int64_t) : sizeof(int32_t);
    if (form != LARMOR_PRECOMPUTE_FULL || !kernels->sorts_entries) return 0;
    return plus(plus(times(entries_of(s), 3 * index + index / 2), times(s->points, sizeof(uint32_t))), 1 << 24);
}

/* ---- the limit ---- */

static larmor_status expect_room(const lmr_precompute_job *j, larmor_precompute form, int64_t bytes)
{
    int64_t limit = j->limit, total;
    if (!limit) {
        LMR_TRY(j->on->dev->be->memory(j->on->ctx, &limit, &total));
        limit = limit > 0 ? limit / 2 : INT64_MAX - 1;
    }
    if (bytes <= limit && bytes < INT64_MAX) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_MEMORY,
                    "nufft: precompute: %s takes %lld bytes for %lld points with a window of %d cells in %dD, "
                    "expected at most %lld, %s; allow more by precompute_memory, or use %s",
                    names[form], (long long)bytes, (long long)j->points, j->geometry->width, j->geometry->ndim,
                    (long long)limit, j->limit ? "precompute_memory" : "half of what is free", instead[form]);
}

static larmor_status find_kernels(const lmr_precompute_job *j, larmor_precompute form,
                                  const lmr_precompute_kernels **kernels)
{
    *kernels = lmr_precompute_kernels_of(j->on->dev, j->on->precision);
    if (*kernels) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "nufft: precompute: %s has no kernels for %s; use none",
                    larmor_device_spec(j->on->dev), names[form]);
}

larmor_status lmr_precompute_check(const lmr_precompute_job *j, larmor_precompute form)
{
    const lmr_precompute_size s = lmr_precompute_size_of(j->on, j->geometry, j->points);
    const lmr_precompute_kernels *kernels;
    if (form != LARMOR_PRECOMPUTE_PARTIAL && form != LARMOR_PRECOMPUTE_FULL) return LARMOR_OK;
    LMR_TRY(find_kernels(j, form, &kernels));
    return expect_room(j, form, lmr_precompute_bytes(kernels, &s, form));
}

/* ---- life ---- */

static lmr_precompute_form form_for(const larmor_device *dev, larmor_precompute form)
{
    if (form == LARMOR_PRECOMPUTE_PARTIAL) return LMR_PRECOMPUTE_PARTIAL;
    return dev->repeatable ? LMR_PRECOMPUTE_IN_ORDER : LMR_PRECOMPUTE_FULL;
}

static larmor_status build(const lmr_precompute_job *j, larmor_precompute form, lmr_precompute *p)
{
    const lmr_precompute_size s = lmr_precompute_size_of(j->on, j->geometry, j->points);
    LMR_TRY(find_kernels(j, form, &p->kernels));
    LMR_TRY(p->kernels->build(j->on->ctx, j->geometry, form_for(j->on->dev, form), lmr_precompute_needs_64_bits(&s),
                              j->batch % j->geometry->batch, j->sorted, &p->bytes, &p->made));
    /* with what libraries added; of a share of what is free now it would be counted twice */
    return j->limit ? expect_room(j, form, p->bytes) : LARMOR_OK;
}

larmor_status lmr_precompute_make(const lmr_precompute_job *j, larmor_precompute form, lmr_precompute **out)
{
    *out = NULL;
    if (form != LARMOR_PRECOMPUTE_PARTIAL && form != LARMOR_PRECOMPUTE_FULL) return LARMOR_OK;
    LMR_TRY(lmr_precompute_check(j, form));
    LMR_NEW_ZEROS(lmr_precompute, p, 1);
    const larmor_status st = build(j, form, p);
    if (st)
        lmr_precompute_free(j->on, p);
    else
        *out = p;
    return st;
}

void lmr_precompute_free(const lmr_nufft_device *on, lmr_precompute *p)
{
    if (!p) return;
    if (p->kernels) p->kernels->release(on->ctx, p->made);
    free(p);
}
