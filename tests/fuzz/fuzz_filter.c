/* Packed chunks: up to eight filters, a mask, the size of an element and that of the chunk, then what is stored.
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/reader/h5_filter.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_CHUNK = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int filter[8];
    const int filters = (int)(fuzz_take(&data, &size, 1) % 9);
    for (int i = 0; i < filters; i++) filter[i] = 1 + (int)(fuzz_take(&data, &size, 1) % 3);
    const uint32_t mask = (uint32_t)fuzz_take(&data, &size, 1);
    const size_t element = 1 + fuzz_take(&data, &size, 2) % 512;
    const size_t bytes = 1 + fuzz_take(&data, &size, 3) % MOST_CHUNK;
    const size_t stored = size < bytes + LMR_FILTER_ROOM ? size : bytes + LMR_FILTER_ROOM;
    unsigned char *chunk = malloc(bytes + LMR_FILTER_ROOM), *spare = malloc(bytes + LMR_FILTER_ROOM);
    FUZZ_CHECK(chunk && spare);
    memcpy(chunk, data, stored);
    lmr_filter_undo(filter, filters, mask, element, stored, bytes, &chunk, &spare);
    free(chunk);
    free(spare);
    return 0;
}
