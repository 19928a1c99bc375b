/* The last readouts of a scan, as copies. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/io.h"

typedef struct lmr_window {   /* start with {0} */
    larmor_acquisition *each; /* [count] in the order in which they came */
    float **numbers;          /* [count] their data, and their trajectory behind it */
    int64_t count, room;
} lmr_window;

/* Keep one more, as part of the first image of its slice: its repetition, phase, set and average become 0. */
larmor_status lmr_window_add(lmr_window *window, const larmor_acquisition *a);

/* Forget all but the last so many. */
void lmr_window_keep(lmr_window *window, int64_t last);
void lmr_window_free(lmr_window *window);
