/* Sizes in words. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "io/mrd/mrd.h"

lmr_text lmr_bytes_text(double bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t u = 0;
    for (; bytes >= 1024 && u + 1 < sizeof units / sizeof *units; u++) bytes /= 1024;
    lmr_text text;
    snprintf(text.s, sizeof text.s, bytes == floor(bytes) ? "%.0f %s" : "%.1f %s", bytes, units[u]);
    return text;
}
