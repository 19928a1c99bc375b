/* Arrays that are given as a scan. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/pipeline.h"

typedef struct lmr_array_copies { /* [readouts] of an image's counters and stamps, or NULL */
    int *step1;
    larmor_stamp *stamps;
} lmr_array_copies;

typedef struct lmr_array_scan {
    larmor_encoding encoding;
    larmor_raw_info info;
    larmor_array *noise;
    larmor_readouts *image; /* [info.groups], with references to their arrays, pointing to the copies */
    lmr_array_copies *copy; /* [info.groups] */
    larmor_group *group;
    int *kept; /* [info.coils] the channels with signal and noise */
} lmr_array_scan;

/* *s, zeros before, <- the scan that is given, with references to its arrays.
 *
 * Errors  LARMOR_ERR_ARG or LARMOR_ERR_SHAPE: what an array is and what it may be. */
larmor_status lmr_arrays_take(const larmor_scan_arrays *given, lmr_array_scan *s);

/* All that it holds, but not *s. */
void lmr_arrays_free(lmr_array_scan *s);
