/* The options of recon as parameters of a stream: set by name, without a command line. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "recon.h"

typedef struct parameters { /* start with {0} */
    recon_settings settings;
    char **kept; /* [count] texts that the settings point to */
    int count;
} parameters;

/* The defaults of recon. */
void parameters_begin(parameters *p);
void parameters_free(parameters *p);

/* Set an option of recon, whose name may lack its dashes.
 *
 * trusted  1: the server's own, which may name files that are read.
 * Errors   LARMOR_ERR_UNSUPPORTED: there is no such option; LARMOR_ERR_ARG: it cannot be set, or not to this. */
larmor_status parameters_set(parameters *p, const char *name, const char *value, int trusted);

/* Divide "NAME=VALUE": the value, or NULL, having said what is wrong. name: room for size bytes. */
const char *parameters_divide(const char *text, char *name, size_t size);
