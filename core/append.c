/* Texts that grow in an array of bytes. SPDX-License-Identifier: Apache-2.0 */
#include "core/append.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void lmr_append(char *text, size_t size, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

void lmr_append_item(char *text, size_t size, const char *mark, const char *format, ...)
{
    va_list arguments;
    if (*text) lmr_append(text, size, "%s", mark);
    const size_t used = strlen(text);
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

void lmr_append_line(char *text, size_t size, const char *format, ...)
{
    char line[384];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (strlen(text) + strlen(line) + 2 <= size) lmr_append(text, size, "%s\n", line);
}
