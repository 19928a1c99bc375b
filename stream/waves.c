/* The blocks of waveforms that came beside readouts. SPDX-License-Identifier: Apache-2.0 */
#include "stream/waves.h"

#include "core/core.h"

larmor_status lmr_waves_add(lmr_waves *w, const larmor_waveform *wave, int64_t bytes, void *payload)
{
    int64_t each = w->room;
    larmor_status st = lmr_grow(&w->each, w->count, &each, sizeof *w->each);
    if (!st) st = lmr_grow(&w->payload, w->count, &w->room, sizeof *w->payload);
    if (st) {
        free(payload);
        return st;
    }
    w->each[w->count] = *wave;
    w->payload[w->count++] = payload;
    w->bytes += bytes + (int64_t)(sizeof *w->each + sizeof *w->payload);
    return LARMOR_OK;
}

larmor_status lmr_waves_give(const lmr_waves *w, larmor_raw *raw, int *damaged)
{
    const larmor_status st = larmor_raw_add_waveforms(raw, w->each, w->count);
    *damaged = st == LARMOR_ERR_ARG;
    return *damaged ? LARMOR_OK : st;
}

void lmr_waves_free(lmr_waves *w)
{
    for (int64_t i = 0; i < w->count; i++) free(w->payload[i]);
    LMR_FREE(w->each, w->payload);
    *w = (lmr_waves){.count = 0};
}
