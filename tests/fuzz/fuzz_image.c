/* Images of all formats: the first byte names the format; of a .cfl the header follows, up to a byte 0.
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/reader/parsers.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_ROOM = 1 << 26 };

/* The memory of the last result. */
static larmor_status room(void *user, int64_t bytes, void **memory)
{
    void **kept = user;
    free(*kept);
    *kept = bytes >= 0 && bytes <= MOST_ROOM ? calloc(1, (size_t)bytes + !bytes) : NULL;
    *memory = *kept;
    return *kept ? LARMOR_OK : LARMOR_ERR_MEMORY;
}

static void parse(const lmr_parser *parser, const char *path, const char *second_path)
{
    void *kept = NULL;
    lmr_source second;
    lmr_input input = {.room = room, .user = &kept};
    lmr_reader_array array;
    larmor_image_meta meta;
    larmor_image_info *info = calloc(1, sizeof *info);
    FUZZ_CHECK(info);
    memset(&meta, 0, sizeof meta);
    memset(&array, 0, sizeof array);
    if (lmr_source_open(path, "a file", &input.source)) goto done;
    if (second_path && !lmr_source_open(second_path, "a file", &second)) input.second = &second;
    if (!second_path || input.second) {
        if (parser->read && !parser->read(&input, &array)) FUZZ_CHECK(array.bytes > 0 && array.axes >= 0);
        if (parser->read_meta) parser->read_meta(&input, &meta);
        if (parser->describe) parser->describe(&input, info);
    }
    if (input.second) lmr_source_close(&second);
    lmr_source_close(&input.source);
done:
    free(info);
    free(kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const suffixes[] = {".cfl", ".npy", ".nii", ".nii.gz", ".png", ".h5", ".dcm"};
    char name[16];
    if (size < 2) return 0;
    const char *suffix = suffixes[fuzz_take(&data, &size, 1) % 7], *header = NULL;
    const lmr_parser *parser = lmr_parser_of(suffix);
    FUZZ_CHECK(parser);
    snprintf(name, sizeof name, "x%s", suffix);
    const char *path = fuzz_path(name);
    if (!strcmp(suffix, ".cfl")) {
        const uint8_t *end = memchr(data, 0, size);
        const size_t bytes = end ? (size_t)(end - data) : size;
        const size_t used = bytes < size ? bytes + 1 : size;
        header = fuzz_path("x.hdr");
        fuzz_put(header, data, bytes);
        data += used;
        size -= used;
    }
    fuzz_put(path, data, size);
    parse(parser, path, header);
    return 0;
}
