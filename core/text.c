/* Files of text, and texts that grow. SPDX-License-Identifier: Apache-2.0 */
#include "core/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"

larmor_status lmr_text_read(const char *path, size_t most, const char *kind, char **text)
{
    *text = malloc(most + 2);
    if (!*text) return LMR_NO_MEMORY();
    FILE *file = fopen(path, "rbe");
    LMR_REFUSE(!file, lmr_system_status(errno), "%s: cannot be read: %s.", path, lmr_system_text(errno));
    const size_t length = fread(*text, 1, most + 1, file);
    const int error = ferror(file) ? errno : 0;
    fclose(file);
    (*text)[length] = 0;
    LMR_REFUSE(error, LARMOR_ERR_IO, "%s: cannot be read: %s.", path, lmr_system_text(error));
    LMR_REFUSE(length > most, LARMOR_ERR_FORMAT, "%s: is longer than %zu bytes, which no %s is.", path, most, kind);
    LMR_REFUSE(strlen(*text) < length, LARMOR_ERR_FORMAT, "%s: has a byte 0; a file of text expected.", path);
    return LARMOR_OK;
}

/* ---- texts in arrays of bytes ---- */

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
