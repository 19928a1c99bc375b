/* Values of varying length: eight references, then the file that they lead into. SPDX-License-Identifier: Apache-2.0 */
#include "io/h5_heap.h"
#include "tests/fuzz/fuzz.h"

enum { REFERENCES = 8, MOST = 1 << 16, BEHIND = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *path;
    if (size <= REFERENCES * LMR_HEAP_REF_BYTES) return 0;
    if (!path) path = fuzz_path("heap");
    const uint8_t *reference = data;
    fuzz_put(path, data + REFERENCES * LMR_HEAP_REF_BYTES, size - REFERENCES * LMR_HEAP_REF_BYTES);
    lmr_source source;
    if (lmr_source_open(path, "a file", &source)) return 0;
    lmr_heap *heap = lmr_heap_create(&source);
    for (int i = 0; heap && i < REFERENCES; i++, reference += LMR_HEAP_REF_BYTES) {
        const lmr_heap_ref ref = lmr_heap_ref_decode(reference);
        if (ref.length > MOST) continue; /* more than the file can hold; callers look at that before */
        const size_t bytes = (size_t)ref.length * 4;
        unsigned char *to = malloc(bytes + BEHIND);
        FUZZ_CHECK(to);
        memset(to + bytes, 0xa5, BEHIND);
        lmr_heap_fetch(heap, ref, 4, to);
        for (int k = 0; k < BEHIND; k++) FUZZ_CHECK(to[bytes + (size_t)k] == 0xa5); /* no more than is asked for */
        free(to);
    }
    lmr_heap_free(heap);
    lmr_source_close(&source);
    return 0;
}
