/* A reader of files that does as its file says, and the real one. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#define OWN_MAIN
#include "io/process/reader_process.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "tests/io/mrd_scan.h"

static char real[1024]; /* the reader that the tests were given */

static inline void use(const char *reader)
{
    assert_int_equal(setenv("LARMOR_READER", reader, 1), 0);
}

static inline int use_real(void **state)
{
    use(real);
    return make_scan_folder(state);
}

static inline int use_fake(void **state)
{
    use(FAKE_READER);
    return make_scan_folder(state);
}

#define WITH_REAL(claim) TEST_IN(claim, use_real, remove_folder)
#define WITH_FAKE(claim) TEST_IN(claim, use_fake, remove_folder)

/* A file whose first line tells the fake reader what to do. At byte 1024 are a spoke's data and trajectory. */
static inline const char *file_for(const char *way, const char *name)
{
    static char bytes[8192];
    memset(bytes, 0, sizeof bytes);
    snprintf(bytes, sizeof bytes, "%s\n", way);
    float *x = (float *)(void *)(bytes + 1024);
    for (int k = 0; k < 16; k++) {
        x[2 * k] = 1 + (float)k;
        x[32 + 2 * k] = (float)(k - 8);
    }
    put_file(in_folder(name), bytes, sizeof bytes);
    return in_folder(name);
}

static inline int open_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 1024; fd++) count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* No process is left, neither running nor dead. */
static inline void assert_no_child(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static inline void scan_refused(const char *way, larmor_status status, const char *text)
{
    const int before = open_descriptors();
    larmor_raw *raw;
    const char *file = file_for(way, "lie.h5");
    char expected[512];
    snprintf(expected, sizeof expected, "%s: %s", file, text);
    const larmor_status got = larmor_raw_open(file, NULL, &raw);
    if (got != status || strcmp(larmor_last_error(), expected)) print_error("%s\n", way);
    assert_int_equal(got, status);
    assert_string_equal(larmor_last_error(), expected);
    assert_null(raw);
    assert_int_equal(open_descriptors(), before);
    assert_no_child();
}

/* The scan, and with it the greeting; then the heads if they are wanted. */
static inline larmor_status ask_scan(const char *way, const lmr_reader_limits *limits, int heads)
{
    lmr_source source;
    const lmr_reader_answer *answer;
    assert_ok(lmr_source_open(file_for(way, "limits.h5"), "a file", &source));
    lmr_reader *reader = MADE(lmr_reader, lmr_reader_start(&source, NULL, NULL, limits, &made));
    larmor_status st = lmr_reader_ask_for(reader, LMR_ASK_SCAN, "dataset", 1 << 20, &answer);
    if (heads) assert_ok(st);
    if (heads) st = lmr_reader_ask_for(reader, LMR_ASK_HEADS, NULL, 1 << 20, &answer);
    lmr_reader_end(reader);
    lmr_source_close(&source);
    assert_no_child();
    return st;
}

static inline larmor_status ask_heads(const char *way, const lmr_reader_limits *limits)
{
    return ask_scan(way, limits, 1);
}

/* The reader that the tests were given is the real one. */
int main(void)
{
    snprintf(real, sizeof real, "%s", getenv("LARMOR_READER") ? getenv("LARMOR_READER") : "");
    return run_on_device();
}
