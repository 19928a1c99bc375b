/* The process that parses files: its death harms no other, and it is where it should be.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tests/io/reader_support.h"

#include <signal.h>
#include <sys/prctl.h>

#include "io/reader/sanitized.h"

WITH_FAKE(a_reader_that_dies_is_one_message)
{
    scan_refused("SIGFPE", LARMOR_ERR_FORMAT,
                 "its reader ended by signal 8 (SIGFPE): the file is damaged. Copy it again.");
    scan_refused("SIGKILL", LARMOR_ERR_IO,
                 "its reader was killed (signal 9, SIGKILL), by someone or for lack of memory. Try again.");
    scan_refused("exit", LARMOR_ERR_FORMAT,
                 "its reader ended with exit status 3: the file is damaged. Copy it again.");
    scan_refused("exit for want of memory", LARMOR_ERR_MEMORY,
                 "its reader has too little memory: it may take 256 MiB for a file of this size.");
    scan_refused("no memory", LARMOR_ERR_MEMORY,
                 "its reader has too little memory: it may take 256 MiB for a file of this size.");
    scan_refused("other version", LARMOR_ERR_UNSUPPORTED,
                 "larmor-reader and liblarmor are of different versions. Install both from one release.");
}

/* Such as LARMOR_READER=/usr/bin/yes: the file is not at fault, and it does not take the patience that files have. */
WITH_FAKE(a_program_that_never_greets_is_no_reader)
{
    char expected[512];
    static const struct {
        const char *way, *how;
    } ends[] = {{"ends before it greets", "ended"}, {"crashes before it greets", "crashed"}};
    for (size_t i = 0; i < 2; i++) {
        snprintf(expected, sizeof expected,
                 "%s breaks the protocol of larmor-reader: it %s before it greeted. Install larmor-reader again, or "
                 "correct LARMOR_READER.",
                 FAKE_READER, ends[i].how);
        scan_refused(ends[i].way, LARMOR_ERR_UNSUPPORTED, expected);
    }
    snprintf(
        expected, sizeof expected,
        "%s has not begun within 1 s and was ended: the machine is too slow, or it is no larmor-reader. Try again, "
        "or correct LARMOR_READER.",
        FAKE_READER);
    assert_refused(ask_scan("never greets", &(lmr_reader_limits){.patience = 1}, 0), LARMOR_ERR_UNSUPPORTED,
                   expected);
    snprintf(expected, sizeof expected,
             "%s breaks the protocol of larmor-reader: it ran for long and was ended before it greeted. Install "
             "larmor-reader again, or correct LARMOR_READER.",
             FAKE_READER);
    assert_refused(ask_scan("computes and never greets", &(lmr_reader_limits){.seconds = 1}, 0),
                   LARMOR_ERR_UNSUPPORTED, expected);
    scan_refused("greets for another version", LARMOR_ERR_UNSUPPORTED,
                 "larmor-reader and liblarmor are of different versions. Install both from one release.");
    scan_refused("greets in other words", LARMOR_ERR_FORMAT,
                 "its reader gave an answer that cannot be true: the file is damaged. Copy it again.");
    scan_refused("greets at too short a length", LARMOR_ERR_FORMAT,
                 "its reader gave an answer that cannot be true: the file is damaged. Copy it again.");
}

WITH_FAKE(a_reader_that_stops_listening_is_ended)
{
    scan_refused("closes its socket", LARMOR_ERR_IO,
                 "its reader was killed (signal 9, SIGKILL), by someone or for lack of memory. Try again.");
}

WITH_FAKE(a_reader_that_hangs_is_ended_when_patience_is_over)
{
    assert_refused(ask_heads("hangs", &(lmr_reader_limits){.patience = 4}), LARMOR_ERR_IO,
                   "its reader gave no answer within 4 s and was ended.");
}

WITH_FAKE(a_reader_that_computes_for_ever_is_ended_by_its_processor_time)
{
    assert_refused(ask_heads("spins", &(lmr_reader_limits){.seconds = 1}), LARMOR_ERR_FORMAT,
                   "takes more than 1 s of processor time to read: the file is damaged. Copy it again.");
}

/* HDF5 1.10 divides by the size of an array type; later versions refuse a size of 0. */
WITH_REAL(a_file_that_makes_hdf5_divide_by_zero_is_refused)
{
    static char bytes[1 << 17];
    scan *s = radial_scan(4, 1);
    write_scan(s);
    free_scan(s);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    const size_t length = fread(bytes, 1, sizeof bytes, f);
    const char *member = memmem(bytes, length, "position", sizeof "position"), zeros[4] = {0};
    assert_non_null(member);
    const long size = (long)(member - bytes) + 16 + 4 + 4; /* after the padded name, the offset and the class */
    assert_int_equal(bytes[size], 3 * sizeof(float));
    fseek(f, size, SEEK_SET);
    assert_int_equal(fwrite(zeros, 1, 4, f), 4);
    fclose(f);
    larmor_raw *raw;
    assert_int_equal(larmor_raw_open(path, NULL, &raw), LARMOR_ERR_FORMAT);
    assert_null(raw);
    assert_no_child();
#if !H5_VERSION_GE(1, 10, 9)
    if (!LMR_SANITIZED)
        assert_non_null(
            strstr(larmor_last_error(),
                   "scan.h5: its reader ended by signal 8 (SIGFPE): the file is damaged. Copy it again."));
#endif
}

WITH_FAKE(a_reader_is_alone_with_its_file)
{
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, NULL);
    setenv("LARMOR_TEST_SECRET", "1", 1);
    void (*const before)(int) = signal(SIGINT, SIG_IGN);
    /* 3 standard ones, the file and the socket */
    scan_refused("surroundings", LARMOR_ERR_FORMAT,
                 "own group 1, descriptors 5, secrets 0, ignored 0, SIGTERM blocked 0, writable 0");
    signal(SIGINT, before);
    unsetenv("LARMOR_TEST_SECRET");
    sigprocmask(SIG_UNBLOCK, &term, NULL);
}

WITH_REAL(a_reader_that_is_not_there_is_named)
{
    larmor_raw *raw;
    scan *s = radial_scan(4, 1);
    write_scan(s);
    free_scan(s);
    use("/nowhere/larmor-reader");
    assert_refused(larmor_raw_open(path, NULL, &raw), LARMOR_ERR_UNSUPPORTED,
                   "LARMOR_READER=/nowhere/larmor-reader cannot be run. Correct or unset it.");
    use("larmor-reader");
    assert_refused(larmor_raw_open(path, NULL, &raw), LARMOR_ERR_UNSUPPORTED,
                   "LARMOR_READER=larmor-reader is not an absolute path.");
    assert_no_child();
}

WITH_REAL(files_are_read_whatever_the_program_does_with_its_children)
{
    larmor_raw *raw;
    scan *s = radial_scan(8, 2);
    write_scan(s);
    free_scan(s);
    void (*const before)(int) = signal(SIGCHLD, SIG_IGN);
    const int files = open_descriptors();
    for (int i = 0; i < 3; i++) {
        assert_ok(larmor_raw_open(path, NULL, &raw));
        larmor_raw_free(raw);
    }
    assert_int_equal(open_descriptors(), files);
    use(FAKE_READER);
    /* nobody learns how such a child ended */
    scan_refused("SIGFPE", LARMOR_ERR_FORMAT, "its reader ended early: the file is damaged. Copy it again.");
    signal(SIGCHLD, before);
}

WITH_REAL(a_child_of_the_program_is_left_alone)
{
    scan *s = radial_scan(8, 2);
    write_scan(s);
    free_scan(s);
    const pid_t child = fork();
    if (!child) _exit(7);
    larmor_raw *raw = MADE(larmor_raw, larmor_raw_open(path, NULL, &made));
    larmor_raw_free(raw);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
}

static int die_at_once(void *user LMR_UNUSED)
{
    return raise(SIGALRM);
}

/* A program that dies while its reader is busy; the reader becomes a child of this process and is found dead. */
WITH_FAKE(a_reader_does_not_outlive_its_program)
{
    int status = 0;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    const pid_t program = fork();
    if (!program) {
        lmr_source source;
        lmr_reader *reader;
        const lmr_reader_answer *answer;
        if (lmr_source_open(file_for("hangs", "limits.h5"), "a file", &source)) _exit(2);
        if (lmr_reader_start(&source, NULL, NULL, NULL, &reader)) _exit(3);
        if (lmr_reader_ask_for(reader, LMR_ASK_SCAN, "dataset", 1 << 20, &answer)) _exit(4);
        larmor_stop_when(die_at_once, NULL); /* asked while it waits for the answer */
        lmr_reader_ask_for(reader, LMR_ASK_HEADS, NULL, 1 << 20, &answer);
        _exit(1);
    }
    assert_int_equal(waitpid(program, &status, 0), program);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
    alarm(900); /* ends the test if the reader lives on */
    assert_true(waitpid(-1, &status, 0) > 0);
    alarm(0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
}
