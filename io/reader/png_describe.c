/* What a PNG is, by its first 33 bytes: signature and IHDR. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "io/reader/parsers.h"

enum { HEAD = 33, LENGTH = 13 };

static int64_t big_endian(const unsigned char *bytes)
{
    return (int64_t)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

static larmor_status describe(const lmr_input *input, larmor_image_info *info)
{
    const lmr_source *source = &input->source;
    static const unsigned char signature[] = "\x89PNG\r\n\x1a\n";
    static const char *const colours[] = {"grey", "?", "colour", "palette", "grey, alpha", "?", "colour, alpha"};
    unsigned char head[HEAD];
    if (source->size >= HEAD) LMR_TRY(lmr_source_read(source, 0, head, HEAD));
    LMR_REFUSE(source->size < HEAD || memcmp(head, signature, 8) != 0 || big_endian(head + 8) != LENGTH ||
                   memcmp(head + 12, "IHDR", 4) != 0 || head[25] > 6,
               LARMOR_ERR_FORMAT, "%s: not a PNG picture.", source->path);
    info->shape = LARMOR_SHAPE(big_endian(head + 16), big_endian(head + 20));
    snprintf(info->type, sizeof info->type, "%d bit %s", head[24], colours[head[25]]);
    return LARMOR_OK;
}

const lmr_parser lmr_parser_png = {.suffix = ".png", .describe = describe};
