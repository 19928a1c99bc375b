/* A growing buffer for files and texts that are composed in memory. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "core/status.h"

typedef struct lmr_bytes { /* start with {0}; after a failed allocation all calls do nothing */
    unsigned char *data;
    size_t size, capacity;
    int failed;
} lmr_bytes;

void lmr_bytes_add(lmr_bytes *b, const void *data, size_t size);

/* printf with the numbers of the C locale, whatever the program's locale is. */
void lmr_bytes_print(lmr_bytes *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Text as XML character data: markup escaped, control characters that XML forbids as '?'. */
void lmr_bytes_xml(lmr_bytes *b, const char *text);

/* LARMOR_ERR_MEMORY if an allocation failed, else OK, with a 0 after the data that is not counted. */
larmor_status lmr_bytes_end(lmr_bytes *b);

void lmr_bytes_free(lmr_bytes *b);
