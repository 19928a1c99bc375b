/* The XML header of a scan. SPDX-License-Identifier: Apache-2.0 */
#include "io/reader/mrd_header.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lmr_mrd_header header;
    const larmor_status st = lmr_mrd_header_parse((const char *)data, (int64_t)size, &header);
    FUZZ_CHECK(!st || st == LARMOR_ERR_FORMAT || st == LARMOR_ERR_MEMORY);
    if (st) FUZZ_CHECK(!strchr(larmor_last_error(), '\n'));
    for (int i = 0; !st && i < header.encodings; i++) {
        const larmor_encoding *e = &header.encoding[i].space;
        for (int d = 0; d < 3; d++) {
            FUZZ_CHECK(e->matrix[d] >= 0 && e->matrix[d] <= LMR_MRD_MAX_MATRIX);
            FUZZ_CHECK(e->fov_mm[d] >= 0 && e->fov_mm[d] < 1e300);
        }
    }
    lmr_mrd_header_free(&header);
    return 0;
}
