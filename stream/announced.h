/* What a header announces of a scan beside what has come. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "larmor/io.h"

enum { LMR_ANNOUNCED = 5, LMR_ANNOUNCED_LINES = 1 << 16 };

typedef struct lmr_announced {
    int is_known;             /* 1: the header was read, or cannot be */
    int is_whole;             /* 1: a readout is flagged as the last of the measurement */
    int limit[LMR_ANNOUNCED]; /* largest line, slice, contrast, phase and repetition; below 0: not announced */
    int seen[LMR_ANNOUNCED];  /* the same of readouts that have come */
    unsigned char line[LMR_ANNOUNCED_LINES / 8]; /* a bit for each line that has come */
} lmr_announced;

/* Counts a readout; the first one that is no noise has the header read. */
void lmr_announced_add(lmr_announced *all, const char *xml, int64_t bytes, const larmor_acquisition *readout);

/* 1 if the scan ends before its last readout: line is a warning that says what is missing. */
int lmr_announced_is_cut(const lmr_announced *all, char *line, size_t room);
