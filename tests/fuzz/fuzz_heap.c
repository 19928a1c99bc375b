/* Values of varying length: eight references, then the file that they lead into. SPDX-License-Identifier:
 * Apache-2.0 */
#include "io/reader/h5_heap.h"
#include "tests/fuzz/fuzz.h"

enum { REFERENCES = 8, MOST = 1 << 16 };

static void find_all(const lmr_source *source, lmr_heap_value *values)
{
    if (lmr_heap_find(source, values, REFERENCES, 4)) return;
    for (int i = 0; i < REFERENCES; i++) { /* what is found lies in the file */
        if (values[i].wrong || !values[i].ref.length) continue;
        const int64_t bytes = 4 * (int64_t)values[i].ref.length;
        FUZZ_CHECK(values[i].at > 0 && bytes <= source->size && values[i].at <= source->size - bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *path;
    lmr_heap_value values[REFERENCES];
    if (size <= REFERENCES * LMR_HEAP_REF_BYTES) return 0;
    if (!path) path = fuzz_path("heap");
    for (int i = 0; i < REFERENCES; i++)
        values[i] = (lmr_heap_value){.ref = lmr_heap_ref_decode(data + i * LMR_HEAP_REF_BYTES)};
    fuzz_put(path, data + REFERENCES * LMR_HEAP_REF_BYTES, size - REFERENCES * LMR_HEAP_REF_BYTES);
    lmr_source source;
    if (lmr_source_open(path, "a file", &source)) return 0;
    find_all(&source, values);
    for (int i = 0; i < REFERENCES; i++) {
        const lmr_heap_ref ref = values[i].ref;
        const char *wrong;
        if (ref.length > MOST) continue; /* more than the file can hold; callers look at that before */
        unsigned char *to = malloc((size_t)ref.length * 4 + 1);
        FUZZ_CHECK(to);
        lmr_heap_fetch(&source, ref, 4, to, &wrong);
        free(to);
    }
    lmr_source_close(&source);
    return 0;
}
