/* What the reader answers about a Pulseq file. SPDX-License-Identifier: Apache-2.0 */
#include "io/pulseq/seq_answer.h"
#include "core/core.h"
#include "io/pulseq/seq.h"

static larmor_status parse(const lmr_input *input, seq *s)
{
    static const unsigned char magic[8] = {1, 'p', 'u', 'l', 's', 'e', 'q', 2};
    const int64_t size = input->source.size;
    LMR_HEAP LMR_NEW_ZEROS(char, data, (size_t)size + 1);
    LMR_TRY(lmr_source_read(&input->source, 0, data, (size_t)size));
    const int is_binary = size >= 8 && !memcmp(data, magic, sizeof magic);
    LMR_TRY(is_binary ? seq_read_binary(s, (unsigned char *)data, size) : seq_read_text(s, data, size));
    return seq_sort(s);
}

LMR_FREES(free_result, seq_result, readout, numbers)

larmor_status lmr_pulseq_answer(const lmr_input *input, const char *delays, lmr_reader_sequence *out)
{
    seq s = {.path = input->source.path,
             .size = input->source.size,
             .gradient_raster = 1e-5,
             .rf_raster = 1e-6,
             .block_raster = 1e-5};
    LMR_FREED_BY(free_result) seq_result result = {.readout = NULL};
    void *memory;
    larmor_status st = parse(input, &s);
    if (!st) st = seq_evaluate(&s, delays, &result);
    seq_free(&s);
    if (st) return st;
    const size_t heads = (size_t)result.about.readouts * sizeof *result.readout;
    const size_t numbers = 6 * (size_t)result.about.samples * sizeof *result.numbers;
    *out = result.about;
    if (!heads) return LARMOR_OK;
    LMR_TRY(input->room(input->user, (int64_t)(heads + numbers), &memory));
    memcpy(memory, result.readout, heads);
    memcpy((char *)memory + heads, result.numbers, numbers);
    return LARMOR_OK;
}
