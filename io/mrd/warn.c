/* Warnings of a raw file, and sizes in words. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "io/mrd/mrd.h"

void lmr_mrd_warn(larmor_raw *raw, const char *format, ...)
{
    char line[384];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    const size_t length = strlen(line), used = strlen(raw->info.warnings);
    if (used + length + 2 > sizeof raw->info.warnings) return;
    memcpy(raw->info.warnings + used, line, length);
    memcpy(raw->info.warnings + used + length, "\n", 2);
}

lmr_text lmr_bytes_text(double bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t u = 0;
    for (; bytes >= 1024 && u + 1 < sizeof units / sizeof *units; u++) bytes /= 1024;
    lmr_text text;
    snprintf(text.s, sizeof text.s, bytes == floor(bytes) ? "%.0f %s" : "%.1f %s", bytes, units[u]);
    return text;
}
