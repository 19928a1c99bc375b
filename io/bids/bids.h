/* Names of BIDS, taken apart. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/status.h"

#define LMR_BIDS_VERSION "1.10.0"

/* In BIDS's order. */
enum {
    LMR_BIDS_SUB,
    LMR_BIDS_SES,
    LMR_BIDS_TASK,
    LMR_BIDS_ACQ,
    LMR_BIDS_CE,
    LMR_BIDS_REC,
    LMR_BIDS_DIR,
    LMR_BIDS_RUN,
    LMR_BIDS_ECHO,
    LMR_BIDS_FLIP,
    LMR_BIDS_INV,
    LMR_BIDS_MT,
    LMR_BIDS_PART,
    LMR_BIDS_CHUNK,
    LMR_BIDS_ENTITIES
};

enum { LMR_BIDS_LABEL = 64, LMR_BIDS_ANY_ECHO = -1 };

typedef struct lmr_bids_name {
    char value[LMR_BIDS_ENTITIES][LMR_BIDS_LABEL]; /* "" of an entity that is not there */
    char suffix[LMR_BIDS_LABEL];
    const char *kind;   /* of data, the name of a folder: "anat" */
    const char *ending; /* ".nii.gz" */
} lmr_bids_name;

/* echo: as for larmor_bids_path; LMR_BIDS_ANY_ECHO: one may be said elsewhere.
 *
 * Errors  LARMOR_ERR_ARG, which says what BIDS forbids. */
larmor_status lmr_bids_parse(const char *text, int echo, lmr_bids_name *name);
