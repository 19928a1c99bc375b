/* A file of wisdom: whatever it says, it is read, and what is kept can be written and read again.
 * SPDX-License-Identifier: Apache-2.0 */
#include "larmor/nufft.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static larmor_device *dev;
    static const char *path, *saved;
    if (!dev) FUZZ_CHECK(!larmor_device_open("cpu:1", &dev));
    if (!path) path = fuzz_path("wisdom");
    if (!saved) saved = fuzz_path("saved");
    fuzz_put(path, data, size);
    larmor_wisdom_report first, again;
    larmor_wisdom_forget(dev);
    if (!larmor_wisdom_load(dev, path, &first)) {
        FUZZ_CHECK(first.used >= 0 && first.corrupt >= 0);
        unlink(saved);
        FUZZ_CHECK(!larmor_wisdom_save(dev, saved));
        larmor_wisdom_forget(dev);
        FUZZ_CHECK(!larmor_wisdom_load(dev, saved, &again));
        FUZZ_CHECK(!again.corrupt);
    }
    return 0;
}
