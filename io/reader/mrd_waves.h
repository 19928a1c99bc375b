/* The waveforms of an ISMRMRD file: ECG, pulse, respiration. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "io/reader/mrd_file.h"
#include "io/reader/mrd_header.h"

typedef struct lmr_mrd_waves { /* free with lmr_mrd_waves_free */
    lmr_mrd_wave *wave;        /* [count] */
    lmr_heap_value *value;     /* [count] where the numbers of each are */
    int64_t count, bytes;      /* bytes of all numbers */
} lmr_mrd_waves;

/* All blocks that have samples; none where the group has no waveforms. Each has channels x samples numbers, no more
 * than the file can hold, at even steps of time.
 *
 * Errors  LARMOR_ERR_FORMAT `waveforms ...`; LARMOR_ERR_MEMORY. */
larmor_status lmr_mrd_waves_find(lmr_mrd_file *file, lmr_mrd_waves *waves);
void lmr_mrd_waves_free(lmr_mrd_waves *waves);

/* Copy the numbers of all blocks, one after the other, to `to` [bytes]. Errors: LARMOR_ERR_FORMAT. */
larmor_status lmr_mrd_waves_copy(const lmr_mrd_file *file, const lmr_mrd_waves *waves, void *to);
