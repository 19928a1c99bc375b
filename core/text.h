/* Files of text, and texts that grow in an array of bytes. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "larmor/status.h"

/* *text, to be freed also after an error, ends in 0. most: bytes; kind: "file of options". Errors: LARMOR_ERR_IO,
 * LARMOR_ERR_FORMAT for a longer one or a byte 0, LARMOR_ERR_MEMORY. */
larmor_status lmr_text_read(const char *path, size_t most, const char *kind, char **text);

/* More behind the text of an array of `size` bytes, as much as there is room for. */
void lmr_append(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* An item more of a list: behind `mark`, but the first one. */
void lmr_append_item(char *text, size_t size, const char *mark, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A line more, of at most 383 bytes, or nothing where there is no room for all of it. */
void lmr_append_line(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
