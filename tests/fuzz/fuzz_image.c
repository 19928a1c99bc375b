/* Images of all formats: the first byte names the format; of a .cfl the header follows, up to a byte 0.
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/formats.h"
#include "tests/fuzz/fuzz.h"

static void read_as(const char *path, larmor_device *dev)
{
    lmr_source source;
    const lmr_format *format;
    larmor_array *x = NULL;
    larmor_image_meta meta = {.encoding = 0};
    larmor_image_info *info = calloc(1, sizeof *info);
    FUZZ_CHECK(info);
    if (!lmr_format_open(path, 0, &source, &format)) {
        if (format->read && !format->read(&source, dev, &x)) FUZZ_CHECK(larmor_array_count(x) > 0);
        larmor_array_free(x);
        if (format->read_meta) format->read_meta(&source, &meta);
        if (format->describe) format->describe(&source, info);
        lmr_source_close(&source);
    }
    free(info);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"x.cfl", "x.npy", "x.nii", "x.nii.gz", "x.png", "x.h5"};
    static larmor_device *dev;
    if (!dev) FUZZ_CHECK(!larmor_device_open("cpu:1", &dev));
    if (size < 2) return 0;
    const char *path = fuzz_path(names[fuzz_take(&data, &size, 1) % 6]);
    if (!strcmp(strrchr(path, '.'), ".cfl")) {
        const uint8_t *end = memchr(data, 0, size);
        const size_t header = end ? (size_t)(end - data) : size;
        fuzz_put(fuzz_path("x.hdr"), data, header);
        const size_t used = header < size ? header + 1 : size;
        data += used;
        size -= used;
    }
    fuzz_put(path, data, size);
    read_as(path, dev);
    return 0;
}
