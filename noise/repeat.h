/* Images of a scan whose samples are changed, at the method, weight and coil maps of the image that was made.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "noise/noise.h"

/* A job that solves as the image was solved, without a choice. */
typedef struct lmr_repeat {
    lmr_settings settings;
    lmr_scan_facts facts;
    lmr_job job;
    lmr_frame *frames;
    int count;
} lmr_repeat;

/* To be freed by lmr_repeat_free, also after an error. */
larmor_status lmr_repeat_begin(const lmr_noisy *n, lmr_repeat *r);
void lmr_repeat_free(lmr_repeat *r);

/* more: [frames], what is added to the samples of each, like them: the call takes and frees it. */
larmor_status lmr_repeat_solve(const lmr_noisy *n, lmr_repeat *r, larmor_array **more, lmr_use_image use, void *user);
