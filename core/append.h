/* Texts that grow in an array of bytes. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* More behind the text of an array of `size` bytes, as much as there is room for. */
void lmr_append(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* An item more of a list: behind `mark`, but the first one. */
void lmr_append_item(char *text, size_t size, const char *mark, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A line more, of at most 383 bytes, or nothing where there is no room for all of it. */
void lmr_append_line(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
