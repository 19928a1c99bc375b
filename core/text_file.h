/* A file of text. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "larmor/status.h"

/* *text, to be freed also after an error, ends in 0. most: bytes; kind: "file of options". Errors: LARMOR_ERR_IO,
 * LARMOR_ERR_FORMAT for a longer one or a byte 0, LARMOR_ERR_MEMORY. */
larmor_status lmr_text_read(const char *path, size_t most, const char *kind, char **text);
