/* The blocks of waveforms that came beside readouts. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/status.h"
#include "larmor/stream.h"

typedef struct lmr_waves { /* start with {0} */
    larmor_waveform *each; /* [count] in the order in which they came */
    void **payload;        /* [count] that their numbers lie in */
    int64_t count, room;
    int64_t bytes; /* of all */
} lmr_waves;

/* Keep one; the payload, of so many bytes, is taken over, also after an error. */
larmor_status lmr_waves_add(lmr_waves *waves, const larmor_waveform *wave, int64_t bytes, void *payload);

/* Give all of them to a scan; *damaged is 1 where one is no block, and then it gets none. Errors: MEMORY. */
larmor_status lmr_waves_give(const lmr_waves *waves, larmor_raw *raw, int *damaged);
void lmr_waves_free(lmr_waves *waves);
