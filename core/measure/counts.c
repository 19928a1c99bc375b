/* The device that counts: its memory. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "core/measure/tables.h"
#include "core/status.h"

/* The handles of an array and of what holds it, and what an allocator adds. */
enum { BESIDE_BLOCK = 512 };

larmor_status lmr_measure_allocate(void *ctx, size_t bytes, void **ptr)
{
    lmr_measure_counts *c = ctx;
    *ptr = NULL;
    LMR_REFUSE(bytes > (size_t)1 << 54 || c->next > (uintptr_t)LMR_MEASURE_FIRST + ((uintptr_t)1 << 54),
               LARMOR_ERR_MEMORY, "measure: %zu bytes are more than any device has", bytes);
    LMR_TRY(lmr_grow(&c->live, c->count, &c->room, sizeof *c->live));
    c->live[c->count++] = (lmr_measure_block){c->next, (double)bytes + BESIDE_BLOCK};
    c->held += (double)bytes + BESIDE_BLOCK;
    c->peak = fmax(c->peak, c->held);
    memcpy(ptr, &c->next, sizeof c->next);
    c->next += (bytes / 64 + 1) * 64;
    return LARMOR_OK;
}

/* What was made last mostly goes first. */
void lmr_measure_release(void *ctx, void *ptr)
{
    lmr_measure_counts *c = ctx;
    for (int i = c->count; i-- > 0;) {
        if (c->live[i].at != (uintptr_t)ptr) continue;
        c->held -= c->live[i].bytes;
        c->live[i] = c->live[--c->count];
        return;
    }
}

const larmor_device *lmr_measure_like_of(void *ctx)
{
    return ((lmr_measure_counts *)ctx)->like;
}

larmor_status lmr_measure_plan(void *ctx, double bytes, void **plan)
{
    *plan = NULL;
    LMR_REFUSE(!(bytes >= 0 && bytes < 0x1p54), LARMOR_ERR_MEMORY, "measure: no device has so much memory");
    return lmr_measure_allocate(ctx, (size_t)bytes, plan);
}
