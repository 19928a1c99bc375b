/* The parameters of a client: JSON, read strictly. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/status.h"

enum { LMR_MOST_PARAMETERS = 256 };

typedef struct lmr_parameter {
    char *name, *value;
} lmr_parameter;

typedef struct lmr_parameters { /* start with {0} */
    lmr_parameter *each;        /* [count] in their order */
    int count;
} lmr_parameters;

/* Read {"parameters": {"name": value, ...}, ...}, or an object without that member, whose members are the parameters
 * then. A value is a string, a number as it is written, true or false, or an array of these, which becomes one text
 * with commas between; null counts as not given. Other objects are passed over.
 *
 * Errors  LARMOR_ERR_FORMAT for what is no such text, with the byte; LARMOR_ERR_MEMORY. Nothing is left in *out
 * then. */
larmor_status lmr_parameters_read(const char *text, int64_t bytes, lmr_parameters *out);
void lmr_parameters_free(lmr_parameters *parameters);

/* 1 if the text is meant to be JSON. */
int lmr_parameters_begin(const char *text);

/* 1 if two names are the same but for '-', '_' and the case of letters, which not all clients can send. */
int lmr_parameter_is(const char *name, const char *known);
