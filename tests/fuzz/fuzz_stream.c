/* The messages of a stream, and the parameters in its texts. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>

#include "larmor/stream.h"
#include "stream/parameters.h"
#include "tests/fuzz/fuzz.h"

enum { MEMORY = 1 << 16 }; /* of a message */

static void check_text(const larmor_message *m)
{
    lmr_parameters all;
    FUZZ_CHECK(m->bytes == (int64_t)strlen(m->text));
    const larmor_status st = lmr_parameters_read(m->text, m->bytes, &all);
    FUZZ_CHECK(!st || st == LARMOR_ERR_FORMAT || st == LARMOR_ERR_MEMORY);
    FUZZ_CHECK(!st || !all.count);
    for (int i = 0; i < all.count; i++)
        FUZZ_CHECK(strlen(all.each[i].name) + strlen(all.each[i].value) <= 3 * MEMORY);
    lmr_parameters_free(&all);
}

/* All numbers can be read. */
static unsigned sum_of(const void *data, size_t bytes)
{
    unsigned sum = 0;
    for (size_t i = 0; i < bytes; i++) sum += ((const unsigned char *)data)[i];
    return sum;
}

static unsigned check_message(const larmor_message *m)
{
    const larmor_acquisition *a = &m->acquisition;
    unsigned sum = 0;
    FUZZ_CHECK(m->bytes >= 0 && m->bytes <= MEMORY);
    if (m->text) check_text(m);
    if (m->kind == LARMOR_MESSAGE_ACQUISITION) {
        const size_t samples = (size_t)a->samples;
        if (a->data) sum += sum_of(a->data, samples * (size_t)a->coils * 2 * sizeof *a->data);
        if (a->traj) sum += sum_of(a->traj, samples * (size_t)a->traj_dims * sizeof *a->traj);
    }
    if (m->kind == LARMOR_MESSAGE_IMAGE) {
        FUZZ_CHECK(strlen(m->image.attributes) <= MEMORY);
        sum += sum_of(m->image.data, (size_t)m->bytes);
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    larmor_stream *stream;
    larmor_message m;
    larmor_status st;
    volatile unsigned sum = 0;
    const int fd = memfd_create("stream", MFD_CLOEXEC);
    FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size && !lseek(fd, 0, SEEK_SET));
    FUZZ_CHECK(!larmor_stream_create(fd, fd, &(larmor_stream_opts){.memory = MEMORY}, &stream));
    while (!(st = larmor_stream_receive(stream, &m)) && m.kind) sum += check_message(&m);
    FUZZ_CHECK(!st || st == LARMOR_ERR_FORMAT || st == LARMOR_ERR_MEMORY);
    if (st) FUZZ_CHECK(!strchr(larmor_last_error(), '\n'));
    larmor_stream_free(stream);
    return 0;
}
