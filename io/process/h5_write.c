/* New HDF5 files. SPDX-License-Identifier: Apache-2.0 */
#include "io/process/h5_write.h"

#include <string.h>

#include "io/reader/checksum.h"

#define STEP ((int64_t)4 << 20) /* bytes that are asked for at a time */

larmor_status lmr_h5_begin(larmor_output *out, int64_t bytes, lmr_h5_new *file)
{
    *file = (lmr_h5_new){.out = out};
    return lmr_reader_start_composing(out->path, bytes, &file->reader);
}

void lmr_h5_end(lmr_h5_new *file)
{
    lmr_reader_end(file->reader);
    free(file->piece);
    *file = (lmr_h5_new){.out = file->out};
}

static void fill(void *memory, int64_t bytes, const void *user)
{
    const lmr_bytes *work = user;
    memcpy(memory, work->data, (size_t)bytes < work->size ? (size_t)bytes : work->size);
}

/* Pieces must lie in the file one after the other, and have all elements in their order. */
static larmor_status take_pieces(lmr_h5_new *file, const lmr_reader_composed *composed)
{
    int64_t bytes, needed, end = 0, element = 0;
    const void *memory = lmr_reader_memory(file->reader, &bytes);
    file->size = composed->size;
    file->pieces = composed->pieces;
    if (composed->size < 0 || !lmr_mul(composed->pieces, sizeof *file->piece, &needed) || needed != bytes)
        return lmr_reader_lies(file->reader);
    LMR_ALLOCATE(file->piece, composed->pieces);
    if (bytes) memcpy(file->piece, memory, (size_t)bytes);
    for (int64_t i = 0; i < file->pieces; i++) {
        const lmr_reader_piece *p = &file->piece[i];
        if (p->at < end || p->bytes < 1 || p->bytes > file->size - LMR_CHECKSUM_BYTES || p->first != element ||
            p->count < 1 || p->at > file->size - p->bytes - LMR_CHECKSUM_BYTES)
            return lmr_reader_lies(file->reader);
        end = p->at + p->bytes + LMR_CHECKSUM_BYTES;
        element += p->count;
    }
    return lmr_output_reserve(file->out, 0, file->size);
}

larmor_status lmr_h5_give(lmr_h5_new *file, lmr_reader_ask ask, const lmr_bytes *work)
{
    const lmr_reader_answer *answer;
    const lmr_reader_request request = {.ask = ask, .bytes = (int64_t)work->size};
    lmr_reader_prepare(file->reader, fill, work);
    LMR_TRY(lmr_reader_ask_with(file->reader, request, INT64_MAX, &answer));
    if (ask == LMR_ASK_SAMPLES || ask == LMR_ASK_BLOCKS) return LARMOR_OK;
    const lmr_reader_composed composed = answer->composed;
    return take_pieces(file, &composed);
}

larmor_status lmr_h5_put_structure(lmr_h5_new *file, int64_t i)
{
    const int64_t end = i < file->pieces ? file->piece[i].at : file->size;
    while (file->at < end) {
        const int64_t bytes = end - file->at < STEP ? end - file->at : STEP;
        const lmr_reader_answer *answer;
        const lmr_reader_request request = {.ask = LMR_ASK_BYTES, .at = file->at, .bytes = bytes};
        LMR_TRY(lmr_go_on());
        LMR_TRY(lmr_reader_ask_with(file->reader, request, bytes, &answer));
        int64_t got;
        const void *memory = lmr_reader_memory(file->reader, &got);
        if (got != bytes) return lmr_reader_lies(file->reader);
        LMR_TRY(lmr_output_put(file->out, 0, memory, (size_t)bytes));
        file->at += bytes;
    }
    return LARMOR_OK;
}

larmor_status lmr_h5_put_piece(lmr_h5_new *file, int64_t i, const void *elements)
{
    const lmr_reader_piece *p = &file->piece[i];
    unsigned char sum[LMR_CHECKSUM_BYTES];
    LMR_TRY(lmr_go_on());
    lmr_checksum_put(elements, (size_t)p->bytes, sum);
    LMR_TRY(lmr_output_put(file->out, 0, elements, (size_t)p->bytes));
    LMR_TRY(lmr_output_put(file->out, 0, sum, sizeof sum));
    file->at = p->at + p->bytes + LMR_CHECKSUM_BYTES;
    return LARMOR_OK;
}
