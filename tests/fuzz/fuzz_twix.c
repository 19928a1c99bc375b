/* Siemens TWIX files: headers of readouts, and ISMRMRD's header from the protocol.
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/reader/mrd_header.h"
#include "io/twix/twix.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lmr_source source;
    lmr_twix *twix;
    lmr_bytes xml = {0};
    lmr_mrd_header header = {0};
    const char *path = fuzz_path("x.dat");
    if (!size) return 0;
    fuzz_put(path, data, size);
    if (lmr_source_open(path, "a file", &source)) return 0;
    if (lmr_twix_is(&source) && !lmr_twix_open(&source, "", &twix)) {
        for (int64_t i = 0; i < twix->count; i++) {
            const lmr_reader_place *p = &twix->place[i];
            const int64_t samples = INT64_C(8) * twix->head[i].stored;
            FUZZ_CHECK(p->data > 0 && p->channel_step >= samples && samples);
            FUZZ_CHECK(p->data + (twix->head[i].channels - 1) * p->channel_step + samples <= source.size);
        }
        FUZZ_CHECK(!lmr_twix_xml(twix, &xml));
        FUZZ_CHECK(!lmr_mrd_header_parse((const char *)xml.data, (int64_t)xml.size, &header));
        lmr_mrd_header_free(&header);
        lmr_bytes_free(&xml);
        lmr_twix_free(twix);
    }
    lmr_source_close(&source);
    return 0;
}
