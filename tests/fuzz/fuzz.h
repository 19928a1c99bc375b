/* What the targets of fuzzing share. Each target is a file with LLVMFuzzerTestOneInput, which libFuzzer calls, or
 * replay.c where there is none. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A law that the target holds the library to. */
#define FUZZ_CHECK(condition)                                                                                        \
    do {                                                                                                             \
        if (!(condition)) {                                                                                          \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);                            \
            abort();                                                                                                 \
        }                                                                                                            \
    } while (0)

/* The path of a file in a folder of this process in $FUZZ_SCRATCH, where it stays for the next input. Valid for
 * the next three calls. */
static inline const char *fuzz_path(const char *name)
{
    static char folder[64], path[4][96];
    static int next;
    if (!*folder) {
        const char *scratch = getenv("FUZZ_SCRATCH");
        FUZZ_CHECK(scratch);
        snprintf(folder, sizeof folder, "%s/XXXXXX", scratch);
        FUZZ_CHECK(mkdtemp(folder));
    }
    char *p = path[next++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

static inline void fuzz_put(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    FUZZ_CHECK(f);
    FUZZ_CHECK(fwrite(data, 1, size, f) == size);
    FUZZ_CHECK(!fclose(f));
}

/* The next `size` bytes of an input as a number, or 0 past its end. */
static inline uint64_t fuzz_take(const uint8_t **data, size_t *left, size_t size)
{
    uint64_t v = 0;
    for (size_t i = 0; i < size && *left; i++, ++*data, --*left) v |= (uint64_t) * *data << (8 * i);
    return v;
}
