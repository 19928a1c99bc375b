/* larmor-reader: parses a file, or composes the structure of one, for a process that does not want to, with little
 * room to do harm. It is started by liblarmor with the file and a socket as descriptors. SPDX-License-Identifier:
 * Apache-2.0 */
#define _GNU_SOURCE
#include <hdf5.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/reader/memory.h"
#include "io/reader/sandbox.h"
#include "io/reader/serve.h"
#include "io/reader/source.h"

/* 1 if both sides mean the same by each packet. */
static int agrees(const lmr_reader_setup *s, int64_t bytes)
{
    return bytes == (int64_t)sizeof *s && s->magic == LMR_READER_MAGIC && s->version == LMR_READER_VERSION &&
           s->bytes == sizeof *s && s->answer_bytes == sizeof(lmr_reader_answer) &&
           s->head_bytes == sizeof(lmr_mrd_head) && s->encoding_bytes == sizeof(lmr_mrd_encoding);
}

int main(void)
{
    static lmr_reader_setup setup;
    const int64_t bytes = lmr_greet() ? lmr_take_packet(&setup, sizeof setup) : 0;
    if (!bytes) {
        fputs("larmor-reader is started by larmor, not by hand\n", stderr);
        _exit(LMR_READER_ALONE);
    }
    if (!agrees(&setup, bytes)) _exit(LMR_READER_OTHER_VERSION);
    lmr_memory_watch();
    lmr_sandbox_close_from(LMR_READER_DESCRIPTORS);
    if (!setup.has_second) close(LMR_READER_SECOND); /* not the host program's */
    if (setup.composes) close(LMR_READER_FILE);
    if (!lmr_sandbox_follow(setup.parent)) _exit(LMR_READER_ALONE);
    int is_written = 0;
    if (!strcmp(setup.suffix, ".h5")) {
        is_written = !setup.composes && !lmr_source_lock(LMR_READER_FILE); /* the filter would refuse it */
        H5dont_atexit();
        H5open();
    }
    if (!lmr_sandbox_limit(setup.memory, setup.room, setup.seconds)) _exit(LMR_READER_ALONE);
    const int is_filtered = lmr_sandbox_filter(); /* where the kernel has it */
    if (setup.needs_filter && !is_filtered) _exit(LMR_READER_NO_FILTER);
    _exit(lmr_serve(&setup, is_written, is_filtered)); /* not by return: HDF5 must not tidy up after a damaged file */
}
