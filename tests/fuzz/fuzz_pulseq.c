/* Pulseq sequences, text and binary. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "io/pulseq/seq_answer.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_ROOM = 1 << 26 };

typedef struct result {
    void *memory;
    int64_t bytes;
} result;

static larmor_status room(void *user, int64_t bytes, void **memory)
{
    result *r = user;
    free(r->memory);
    r->memory = bytes >= 0 && bytes <= MOST_ROOM ? calloc(1, (size_t)bytes + !bytes) : NULL;
    r->bytes = bytes;
    *memory = r->memory;
    return *memory ? LARMOR_OK : LARMOR_ERR_MEMORY;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    result r = {.memory = NULL};
    lmr_input input = {.room = room, .user = &r};
    lmr_reader_sequence said;
    const char *path = fuzz_path("x.seq");
    memset(&said, 0, sizeof said);
    if (!size) return 0;
    fuzz_put(path, data, size);
    if (lmr_source_open(path, "a file", &input.source)) return 0;
    const larmor_status st = lmr_pulseq_answer(&input, "TE=0.01", &said);
    if (!st && said.readouts) {
        const size_t heads = (size_t)said.readouts * sizeof(larmor_pulseq_readout);
        const double *numbers = (const double *)(const void *)((const char *)r.memory + heads);
        FUZZ_CHECK(r.bytes == (int64_t)heads + said.samples * 6 * (int64_t)sizeof(double));
        for (int64_t i = 0; i < 6 * said.samples; i++) FUZZ_CHECK(isfinite(numbers[i]));
    }
    free(r.memory);
    lmr_source_close(&input.source);
    return 0;
}
