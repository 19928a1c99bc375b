/* A list of findings that grows. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/check.h"

typedef struct lmr_findings {
    larmor_findings out;
    int64_t room;
    larmor_status st; /* LARMOR_ERR_MEMORY once a finding did not fit */
} lmr_findings;

void lmr_note(lmr_findings *f, larmor_severity severity, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* check_heads.c: what the readouts' heads say: noise scans, coils, discards, lengths, images that lack readouts,
 * geometry. */
larmor_status lmr_check_heads(const larmor_raw *raw, lmr_findings *f);

/* check_samples.c: what the samples of the scan's images say. */
larmor_status lmr_check_samples(larmor_source *source, larmor_device *dev, lmr_findings *f);
