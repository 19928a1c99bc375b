/* Description of an image file: its format, its numbers, its geometry, its provenance. SPDX-License-Identifier:
 * Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/formats.h"

static larmor_status find_range(const larmor_array *x, larmor_image_info *info)
{
    const int64_t count = larmor_array_count(x);
    info->is_complex = lmr_is_complex(larmor_array_dtype(x));
    float *values = malloc((size_t)count * sizeof *values + 1);
    if (!values) return LMR_NO_MEMORY();
    const larmor_status st = lmr_values(x, info->is_complex ? LMR_AS_MAGNITUDE : LMR_AS_REAL, values);
    for (int64_t i = 0; i < count && !st; i++) {
        const double v = (double)values[i];
        if (!isfinite(v)) {
            info->nonfinite++;
            continue;
        }
        if (!info->has_range || v < info->lowest) info->lowest = v;
        if (!info->has_range || v > info->highest) info->highest = v;
        info->has_range = 1;
    }
    free(values);
    return st;
}

static larmor_status look_into(const char *path, larmor_device *dev, larmor_image_info *info)
{
    larmor_array *x;
    LMR_TRY(larmor_image_read(path, dev, &x));
    info->shape = larmor_array_shape(x);
    snprintf(info->type, sizeof info->type, "%s", larmor_dtype_name(larmor_array_dtype(x)));
    const larmor_status st = find_range(x, info);
    larmor_array_free(x);
    return st;
}

larmor_status larmor_image_describe(const char *path, larmor_device *dev, larmor_image_info *out)
{
    if (!out || !dev) return LMR_FAIL(LARMOR_ERR_ARG, "image: no device or no place for the result");
    *out = (larmor_image_info){.images = 1};
    lmr_source source;
    const lmr_format *format;
    LMR_TRY(lmr_format_open(path, 0, &source, &format));
    snprintf(out->format, sizeof out->format, "%s", format->name);
    larmor_status st = LARMOR_OK;
    if (format->read) st = look_into(path, dev, out);
    if (!st && format->read_meta) st = larmor_image_read_meta(path, &out->meta);
    if (!st && format->describe) st = format->describe(&source, out);
    lmr_source_close(&source);
    return st;
}
