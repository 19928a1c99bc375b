/* Streams of MRD version 2, behind their schema. SPDX-License-Identifier: Apache-2.0 */
#include "io/mrd2/mrd2.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/mrd2.h"

enum { MOST = 1 << 18 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned char file[MRD2_BEGIN + MOST];
    lmr_source source;
    lmr_mrd2 *mrd2;
    const char *path = fuzz_path("x.mrd2");
    if (size > MOST) return 0;
    mrd2_begin(file);
    memcpy(file + MRD2_BEGIN, data, size);
    fuzz_put(path, file, MRD2_BEGIN + size);
    FUZZ_CHECK(!lmr_source_open(path, "a file", &source));
    FUZZ_CHECK(lmr_mrd2_is(&source));
    if (!lmr_mrd2_open(&source, &mrd2)) {
        for (int64_t i = 0; i < mrd2->count; i++) {
            const int64_t samples = mrd2->head[i].stored, data_bytes = 8 * samples * mrd2->head[i].channels;
            FUZZ_CHECK(samples > 0 && mrd2->place[i].data > MRD2_BEGIN &&
                       mrd2->place[i].data + data_bytes <= source.size);
            FUZZ_CHECK(mrd2->place[i].traj + 4 * samples * mrd2->head[i].traj_dims <= source.size);
        }
        lmr_mrd2_free(mrd2);
    }
    lmr_source_close(&source);
    return 0;
}
