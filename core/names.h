/* The entries of a table by name. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/status.h"

typedef const char *(*lmr_name_at)(int i); /* of entry i, or NULL past the last */

typedef struct lmr_names {
    char s[256];
} lmr_names;

lmr_names lmr_list_names(lmr_name_at at); /* "tv, tgv or llr" */

/* The entry of that name. Errors: LARMOR_ERR_ARG, with the message `what: got "name", expected one or another`. */
larmor_status lmr_find_name(const char *what, const char *name, lmr_name_at at, int *entry);
