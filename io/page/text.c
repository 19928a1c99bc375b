/* Strings, numbers and pictures as JSON. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/images/picture.h"
#include "io/page/parts.h"

void lmr_json_string(lmr_bytes *b, const char *text)
{
    if (!text) {
        lmr_bytes_print(b, "null");
        return;
    }
    lmr_bytes_print(b, "\"");
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == '"' || c == '\\' || c == '<' || c == 0x7f)
            lmr_bytes_print(b, "\\u%04x", c);
        else
            lmr_bytes_add(b, text, 1);
    }
    lmr_bytes_print(b, "\"");
}

void lmr_json_number(lmr_bytes *b, double value, int digits)
{
    if (isfinite(value))
        lmr_bytes_print(b, "%.*g", digits, value);
    else
        lmr_bytes_print(b, "null");
}

static void add_base64(lmr_bytes *b, const unsigned char *data, size_t size)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        const size_t left = size - i;
        const unsigned bits = (unsigned)data[i] << 16 | (left > 1 ? (unsigned)data[i + 1] << 8 : 0) |
                              (left > 2 ? (unsigned)data[i + 2] : 0);
        const char four[4] = {digit[bits >> 18], digit[bits >> 12 & 63], left > 1 ? digit[bits >> 6 & 63] : '=',
                              left > 2 ? digit[bits & 63] : '='};
        lmr_bytes_add(b, four, sizeof four);
    }
}

larmor_status lmr_json_picture(lmr_bytes *b, const unsigned char *pixel, int64_t width, int64_t height, int channels,
                               int64_t most)
{
    LMR_FREED_BY(lmr_bytes_free) lmr_bytes file = {0};
    LMR_TRY(lmr_png_encode(pixel, width, height, channels, &file));
    LMR_TRY(lmr_bytes_end(&file));
    if ((int64_t)(file.size / 3 * 4) + 32 <= most) {
        lmr_bytes_print(b, "\"data:image/png;base64,");
        add_base64(b, file.data, file.size);
        lmr_bytes_print(b, "\"");
    }
    return LARMOR_OK;
}
