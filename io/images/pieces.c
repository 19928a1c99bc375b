/* Elements that are in a file in pieces, as the reader says, which may say anything. SPDX-License-Identifier:
 * Apache-2.0 */
#include "io/images/pieces.h"

#include "io/reader/checksum.h"

int lmr_is_possible_array(const lmr_reader_array *a)
{
    if (a->dtype < LARMOR_F32 || a->dtype > LARMOR_I64 || a->axes < 1 || a->axes > LMR_READER_AXES) return 0;
    int64_t needed = (int64_t)larmor_dtype_size((larmor_dtype)a->dtype);
    for (int d = 0; d < a->axes; d++)
        if (a->dim[d] < 1 || !lmr_mul(needed, a->dim[d], &needed)) return 0;
    return a->bytes == needed;
}

larmor_status lmr_check_pieces(const lmr_source *source, lmr_reader *reader, const lmr_reader_array *a,
                               const lmr_reader_piece *piece, int64_t count)
{
    const int64_t size = source->size, element = (int64_t)larmor_dtype_size((larmor_dtype)a->stored);
    const int64_t behind = a->checksums ? LMR_CHECKSUM_BYTES : 0;
    const int64_t all = a->bytes / (int64_t)sizeof(float[2]);
    int64_t next = 0;
    for (int64_t i = 0; i < count; i++) {
        const lmr_reader_piece *p = &piece[i];
        int64_t needed;
        if (p->first != next || p->count < 1 || p->count > all - next || !lmr_mul(p->count, element, &needed) ||
            p->bytes < needed || p->bytes > size - behind || p->at < 0 || p->at > size - p->bytes - behind)
            return lmr_reader_lies(reader);
        next += p->count;
    }
    return next == all ? LARMOR_OK : lmr_reader_lies(reader);
}

larmor_status lmr_take_checked(const lmr_source *source, const lmr_reader_piece *p, unsigned char *memory)
{
    LMR_TRY(lmr_source_read(source, p->at, memory, (size_t)p->bytes + LMR_CHECKSUM_BYTES));
    if (lmr_checksum_fits(memory, (size_t)p->bytes, memory + p->bytes)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: damaged data (checksum wrong, element %lld). Copy it again.",
                    source->path, (long long)p->first);
}

int64_t lmr_largest_piece(const lmr_reader_piece *piece, int64_t count)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < count; i++) bytes = piece[i].bytes > bytes ? piece[i].bytes : bytes;
    return bytes;
}
