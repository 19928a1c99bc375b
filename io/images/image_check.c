/* A file that was just written, read back. SPDX-License-Identifier: Apache-2.0 */
#include "io/images/image_check.h"

#include "core/owned.h"
#include "io/images/formats.h"
#include "io/images/pieces.h"
#include "io/reader/checksum.h"

/* Read every piece, and compare its checksum. */
static larmor_status check_elements(const lmr_source *source, lmr_reader *reader)
{
    const lmr_reader_answer *answer;
    int64_t bytes;
    LMR_TRY(lmr_reader_ask_for(reader, LMR_ASK_ARRAY, NULL, INT64_MAX, &answer));
    const lmr_reader_array a = answer->array;
    const lmr_reader_piece *piece = lmr_reader_memory(reader, &bytes);
    const int64_t count = bytes / (int64_t)sizeof *piece;
    if (!piece || a.in_file != LMR_IN_PIECES || !a.checksums || !lmr_is_possible_array(&a))
        return lmr_reader_lies(reader);
    LMR_TRY(lmr_check_pieces(source, reader, &a, piece, count));
    LMR_HEAP LMR_NEW(unsigned char, memory, lmr_largest_piece(piece, count) + LMR_CHECKSUM_BYTES);
    for (int64_t i = 0; i < count; i++) LMR_TRY(lmr_take_checked(source, &piece[i], memory));
    return LARMOR_OK;
}

larmor_status lmr_images_read_back(const larmor_output *out)
{
    const lmr_part *part = &out->part[0];
    const lmr_source source = {.path = out->path, .fd = part->fd, .size = part->written};
    lmr_reader *reader;
    LMR_TRY(lmr_reader_start(&source, NULL, out->format->suffix, NULL, &reader));
    const larmor_status st = check_elements(&source, reader);
    lmr_reader_end(reader);
    if (st != LARMOR_ERR_FORMAT) return st;
    return LMR_FAIL(LARMOR_ERR_IO, "%s: what was written cannot be read back; nothing written.", out->path);
}
