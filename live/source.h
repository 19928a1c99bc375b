/* A source whose scan changes: what was found of it stays, and its samples are those of the present one.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/pipeline.h"

typedef struct lmr_live_source {
    larmor_source *present; /* what has the samples */
    larmor_raw *raw;        /* that it reads */
    larmor_source *source;  /* what a reconstruction reads */
} lmr_live_source;

/* Put a scan in the place of the one before, from the header or, where there is one, from the scan before. */
larmor_status lmr_live_source_set(lmr_live_source *s, const char *xml, int64_t bytes, const larmor_acquisition *each,
                                  int64_t count, const larmor_raw_opts *opts);
void lmr_live_source_free(lmr_live_source *s);
