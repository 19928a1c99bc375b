/* A whole scan: HDF5's structure, the table of acquisitions, the numbers that it refers to. HDF5 itself runs here, in
 * this process, and has faults of its own; replay.c tells them apart. SPDX-License-Identifier: Apache-2.0 */
#include "io/reader/mrd_file.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_ACQUISITIONS = 1 << 14 };

static void fetch(const lmr_source *source, int64_t count, const lmr_mrd_refs *refs)
{
    lmr_heap_value *values = malloc(2 * sizeof *values * (size_t)count);
    FUZZ_CHECK(values);
    for (int64_t i = 0; i < count; i++) {
        values[2 * i] = (lmr_heap_value){.ref = refs[i].data};
        values[2 * i + 1] = (lmr_heap_value){.ref = refs[i].traj};
    }
    const int failed = lmr_heap_find(source, values, 2 * count, sizeof(float)) != LARMOR_OK;
    for (int64_t i = 0; !failed && i < 2 * count; i++) { /* what is found lies in the file */
        if (values[i].wrong || !values[i].ref.length) continue;
        const int64_t bytes = (int64_t)sizeof(float) * values[i].ref.length;
        FUZZ_CHECK(values[i].at > 0 && bytes <= source->size && values[i].at <= source->size - bytes);
    }
    free(values);
}

static void look(const lmr_source *source, lmr_mrd_file *file)
{
    const int64_t count = file->data.count;
    char *text;
    if (!lmr_mrd_file_header(file, &text)) free(text);
    FUZZ_CHECK(count > 0);
    if (count > MOST_ACQUISITIONS) return;
    lmr_mrd_head *head = malloc(sizeof *head * (size_t)count);
    lmr_mrd_refs *refs = malloc(sizeof *refs * (size_t)count);
    FUZZ_CHECK(head && refs);
    if (!lmr_mrd_file_heads(file, head, refs)) fetch(source, count, refs);
    free(head);
    free(refs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *path;
    if (!path) path = fuzz_path("scan.h5");
    fuzz_put(path, data, size);
    lmr_source source;
    lmr_mrd_file *file;
    if (lmr_source_open(path, "a file", &source)) return 0;
    if (!lmr_mrd_file_open(&source, "dataset", &file)) {
        look(&source, file);
        lmr_mrd_file_close(file);
    } else {
        FUZZ_CHECK(!strchr(larmor_last_error(), '\n'));
    }
    lmr_source_close(&source);
    return 0;
}
