/* The device that counts: its arrays. SPDX-License-Identifier: Apache-2.0 */
#include "core/measure/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/device.h"
#include "core/measure/tables.h"
#include "core/owned.h"
#include "core/status.h"

/* ---- the table ---- */

static void close(void *ctx)
{
    lmr_measure_counts *c = ctx;
    LMR_FREE(c->live, c);
}

static const char *describe(void *ctx LMR_UNUSED)
{
    return "sizes without memory";
}

static int threads(void *ctx)
{
    const larmor_device *like = lmr_measure_like_of(ctx);
    return like ? like->be->threads(like->ctx) : 1;
}

static larmor_status memory(void *ctx LMR_UNUSED, int64_t *available, int64_t *total)
{
    *available = *total = INT64_C(1) << 54;
    return LARMOR_OK;
}

static larmor_status copy(void *ctx LMR_UNUSED, lmr_copy_dir dir, void *dst, const void *src LMR_UNUSED, size_t bytes)
{
    if (dir == LMR_TO_HOST && bytes) memset(dst, 0, bytes);
    return LARMOR_OK;
}

/* NOLINTBEGIN(misc-unused-parameters) */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
LMR_MEASURE_NOTHING(zero, void *ctx, void *ptr, size_t bytes)
LMR_MEASURE_NOTHING(copy_rows, void *ctx, void *dst, size_t dst_step, const void *src, size_t src_step, size_t width,
                    int64_t rows)
LMR_MEASURE_NOTHING(pass, void *ctx, void *dst, void *from, const void *src, size_t bytes)
LMR_MEASURE_NOTHING(sync, void *ctx)
LMR_MEASURE_NOTHING(convert, void *ctx, int64_t n, larmor_dtype from, const void *x, larmor_dtype to, void *y)
LMR_MEASURE_NOTHING(fill, void *ctx, int64_t n, larmor_dtype type, double value, void *x)
#pragma GCC diagnostic pop
/* NOLINTEND(misc-unused-parameters) */

static const lmr_backend backend = {
    .abi = LMR_BACKEND_ABI,
    .name = "measure",
    .close = close,
    .describe = describe,
    .threads = threads,
    .memory = memory,
    .alloc = lmr_measure_allocate,
    .release = lmr_measure_release,
    .zero = zero,
    .copy = copy,
    .copy_rows = copy_rows,
    .pass = pass,
    .sync = sync,
    .convert = convert,
    .fill = fill,
    .vec = {&lmr_measure_vec, &lmr_measure_vec},
    .fft = {&lmr_measure_fft_f32, &lmr_measure_fft_f64},
    .conv = {&lmr_measure_conv_f32, &lmr_measure_conv_f64},
    .la = {&lmr_measure_la, &lmr_measure_la},
};

/* ---- the device ---- */

larmor_status lmr_measure_open(const larmor_device *like, lmr_measure_table *table, larmor_device **out)
{
    *out = NULL;
    lmr_measure_counts *c = calloc(1, sizeof *c);
    larmor_device *dev = calloc(1, sizeof *dev);
    if (!c || !dev) {
        free(c);
        free(dev);
        return LMR_NO_MEMORY();
    }
    *c = (lmr_measure_counts){.be = backend, .like = like, .next = LMR_MEASURE_FIRST};
    c->be.table = table;
    dev->be = &c->be;
    dev->ctx = c;
    dev->threads = like ? like->threads : 1;
    dev->repeatable = like && like->repeatable;
    snprintf(dev->spec, sizeof dev->spec, "%s", like ? like->spec : "any device");
    lmr_gate_init(&dev->gate);
    atomic_init(&dev->refs, 1);
    *out = dev;
    return LARMOR_OK;
}

int lmr_measure_is(const larmor_device *dev)
{
    return dev->be->alloc == lmr_measure_allocate;
}

const larmor_device *lmr_measure_like(const larmor_device *dev)
{
    return lmr_measure_like_of(dev->ctx);
}

void lmr_measure_set_repeats(larmor_device *dev, int64_t repeats)
{
    lmr_measure_counts *c = dev->ctx;
    c->repeats = repeats;
}

int64_t lmr_measure_repeats(const larmor_device *dev)
{
    const lmr_measure_counts *c = dev->ctx;
    return c->repeats;
}

void lmr_measure_begin(larmor_device *dev)
{
    lmr_measure_counts *c = dev->ctx;
    c->base = c->peak = c->held;
}

double lmr_measure_held(const larmor_device *dev)
{
    const lmr_measure_counts *c = dev->ctx;
    return c->held - c->base;
}

double lmr_measure_peak(const larmor_device *dev)
{
    const lmr_measure_counts *c = dev->ctx;
    return c->peak - c->base;
}
