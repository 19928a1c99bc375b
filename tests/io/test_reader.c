/* The process that parses files: what it may do, and that neither its death nor its lies harm this one.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "io/reader_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "io/reader/h5_heap.h"
#include "io/reader/sandbox.h"
#include "io/reader/sanitized.h"
#include "tests/io/mrd_scan.h"

static char real[1024]; /* the reader that the tests were given */

static void use(const char *reader)
{
    assert_int_equal(setenv("LARMOR_READER", reader, 1), 0);
}

static int use_real(void **state)
{
    use(real);
    return make_scan_folder(state);
}

static int use_fake(void **state)
{
    use(FAKE_READER);
    return make_scan_folder(state);
}

#define WITH_REAL(test) cmocka_unit_test_setup_teardown(test, use_real, remove_folder)
#define WITH_FAKE(test) cmocka_unit_test_setup_teardown(test, use_fake, remove_folder)

/* A file whose first line tells the fake reader what to do. At byte 1024 are a spoke's data and trajectory. */
static const char *file_for(const char *way, const char *name)
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

static int open_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 1024; fd++) count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* No process is left, neither running nor dead. */
static void assert_no_child(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void scan_refused(const char *way, larmor_status status, const char *text)
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

static const char lie[] = "its reader gave an answer that cannot be true: the file is damaged. Copy it again.";

/* ---- its death ---- */

static void a_reader_that_dies_is_one_message(void **state)
{
    (void)state;
    scan_refused("SIGFPE", LARMOR_ERR_FORMAT,
                 "its reader ended by signal 8 (SIGFPE): the file is damaged. Copy it again.");
    scan_refused("SIGKILL", LARMOR_ERR_IO,
                 "its reader was killed (signal 9, SIGKILL), by someone or for lack of memory. Try again.");
    scan_refused("exit", LARMOR_ERR_FORMAT,
                 "its reader ended with exit status 3: the file is damaged. Copy it again.");
    scan_refused("no memory", LARMOR_ERR_MEMORY,
                 "its reader has too little memory: it may take 256 MiB for a file of this size.");
    scan_refused("other version", LARMOR_ERR_UNSUPPORTED,
                 "larmor-reader and liblarmor are of different versions. Install both from one release.");
}

static void a_reader_that_stops_listening_is_ended(void **state)
{
    (void)state;
    scan_refused("closes its socket", LARMOR_ERR_IO,
                 "its reader was killed (signal 9, SIGKILL), by someone or for lack of memory. Try again.");
}

static larmor_status ask_heads(const char *way, const lmr_reader_limits *limits)
{
    lmr_source source;
    lmr_reader *reader;
    const lmr_reader_answer *answer;
    assert_ok(lmr_source_open(file_for(way, "limits.h5"), "a file", &source));
    assert_ok(lmr_reader_start(&source, NULL, NULL, limits, &reader));
    assert_ok(lmr_reader_ask_for(reader, LMR_ASK_SCAN, "dataset", 1 << 20, &answer));
    const larmor_status st = lmr_reader_ask_for(reader, LMR_ASK_HEADS, NULL, 1 << 20, &answer);
    lmr_reader_end(reader);
    lmr_source_close(&source);
    assert_no_child();
    return st;
}

static void a_reader_that_hangs_is_ended_when_patience_is_over(void **state)
{
    (void)state;
    assert_refused(ask_heads("hangs", &(lmr_reader_limits){.patience = 1}), LARMOR_ERR_IO,
                   "its reader gave no answer within 1 s and was ended.");
}

static void a_reader_that_computes_for_ever_is_ended_by_its_processor_time(void **state)
{
    (void)state;
    assert_refused(ask_heads("spins", &(lmr_reader_limits){.seconds = 1}), LARMOR_ERR_FORMAT,
                   "takes more than 1 s of processor time to read: the file is damaged. Copy it again.");
}

/* HDF5 1.10 divides by the size of an array type; later versions refuse a size of 0. */
static void a_file_that_makes_hdf5_divide_by_zero_is_refused(void **state)
{
    (void)state;
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

/* ---- its lies ---- */

static void a_reader_that_tells_the_truth_is_believed(void **state)
{
    (void)state;
    larmor_raw *raw;
    larmor_samples samples;
    larmor_grid grid;
    float x[2 * 16 * 4];
    assert_ok(larmor_raw_open(file_for("honest", "scan.h5"), NULL, &raw));
    assert_int_equal(larmor_raw_describe(raw).acquisitions, 4);
    assert_string_equal(larmor_raw_xml(raw), "<ismrmrdHeader/>");
    assert_ok(larmor_raw_grid(raw, 0, NULL, &grid));
    assert_ok(larmor_raw_samples(raw, 0, &grid, 0, dev, &samples));
    assert_ok(larmor_array_read(samples.kspace, x, sizeof x));
    for (int k = 0; k < 16 * 4; k++) assert_true(x[2 * k] == (float)(1 + k % 16) && x[2 * k + 1] == 0);
    larmor_samples_free(&samples);
    larmor_raw_free(raw);
}

static void lies_about_a_scan_are_refused(void **state)
{
    (void)state;
    static const char *const lies[] = {"other magic",     "short answer",      "short bytes",
                                       "more bytes",      "status 99",         "status -1",
                                       "stopped",         "always wants room", "huge room",
                                       "2^40 readouts",   "-1 readouts",       "64 encodings",
                                       "-1 encodings",    "long header",       "bandwidth NaN",
                                       "negative matrix", "field of view NaN", "limit",
                                       "more heads",      "long readouts",     "trajectory without end"};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) scan_refused(lies[i], LARMOR_ERR_FORMAT, lie);
    static const char *const places[] = {"place past the end", "place before the file", "place at 2^63"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        scan_refused(places[i], LARMOR_ERR_FORMAT,
                     "damaged HDF5 structure (acquisition 1: heap cannot be read). Copy it again.");
}

static void a_text_without_end_is_cut_and_made_printable(void **state)
{
    (void)state;
    larmor_raw *raw;
    assert_int_equal(larmor_raw_open(file_for("text without end", "scan.h5"), NULL, &raw), LARMOR_ERR_FORMAT);
    const char *text = larmor_last_error();
    assert_true(strlen(text) < 1024);
    for (; *text; text++) assert_true(*text >= ' ');
}

static void image_refused(const char *way)
{
    larmor_array *x;
    larmor_image_info info;
    char expected[512];
    const char *file = file_for(way, "lie.nii");
    snprintf(expected, sizeof expected, "%s: %s", file, lie);
    const larmor_status described = larmor_image_describe(file, dev, &info);
    if (described != LARMOR_ERR_FORMAT) print_error("%s\n", way);
    assert_int_equal(described, LARMOR_ERR_FORMAT);
    assert_string_equal(larmor_last_error(), expected);
    const larmor_status st = larmor_image_read(file, dev, &x);
    assert_int_equal(st == LARMOR_OK, x != NULL);
    larmor_array_free(x);
    assert_no_child();
}

static void lies_about_images_are_refused(void **state)
{
    (void)state;
    static const char *const lies[] = {"type 77",
                                       "99 axes",
                                       "-1 axes",
                                       "sizes overflow",
                                       "small room",
                                       "negative sizes",
                                       "negative slice",
                                       "negative images",
                                       "huge room",
                                       "short geometry",
                                       "elements past the end",
                                       "elements before the file",
                                       "piece past the end",
                                       "piece before the file",
                                       "piece at 2^63",
                                       "piece of 2^63 bytes",
                                       "piece too short",
                                       "piece without elements",
                                       "pieces of too many",
                                       "pieces of the same",
                                       "pieces of other types",
                                       "pieces without the last",
                                       "piece's checksum past the end"};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) image_refused(lies[i]);
    larmor_image_info info;
    assert_ok(larmor_image_describe(file_for("honest", "x.nii"), dev, &info));
    assert_int_equal(info.meta.slice, 3);
    assert_int_equal(strlen(info.type), sizeof info.type - 1);
    assert_int_equal(strspn(info.inside, "?"), sizeof info.inside - 1);
    assert_int_equal(strspn(info.notes, "y"), sizeof info.notes - 1);
}

/* ---- the caller wants to stop ---- */

typedef struct patience { /* of a caller: so many questions, or so many seconds */
    int left;
    double until;
} patience;

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int wants_to_stop(void *user)
{
    patience *p = user;
    return p->until > 0 ? seconds_now() > p->until : p->left-- <= 0;
}

/* 1 if the reading was stopped and left nothing behind. */
static int read_until(patience *p, const char *scan_path, const char *image_path)
{
    larmor_raw *raw = NULL;
    larmor_array *x = NULL;
    const int before = open_descriptors();
    larmor_stop_when(wants_to_stop, p);
    const larmor_status st =
        scan_path ? larmor_raw_open(scan_path, NULL, &raw) : larmor_image_read(image_path, dev, &x);
    larmor_stop_when(NULL, NULL);
    assert_true(st == LARMOR_OK || st == LARMOR_STOPPED);
    assert_int_equal(st == LARMOR_OK, raw != NULL || x != NULL);
    larmor_raw_free(raw);
    larmor_array_free(x);
    assert_int_equal(open_descriptors(), before);
    assert_no_child();
    return st == LARMOR_STOPPED;
}

static void reading_ends_at_any_question_whether_to_stop(void **state)
{
    (void)state;
    scan *s = radial_scan(24, 2);
    write_scan(s);
    int asked = 0;
    for (; read_until(&(patience){.left = asked}, path, NULL); asked++) assert_true(asked < 1000);
    assert_true(asked > 4); /* of the reader's answers, samples and checks */
    free_scan(s);
    larmor_array *x;
    larmor_output *out;
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(8, 8), &x));
    assert_ok(larmor_fill(x, 1));
    const larmor_image image = {.data = x};
    assert_ok(larmor_output_open(in_folder("i.h5"), 0, &out));
    assert_ok(larmor_image_write(out, &image, 1, NULL));
    larmor_output_free(out);
    larmor_array_free(x);
    for (asked = 0; read_until(&(patience){.left = asked}, NULL, in_folder("i.h5")); asked++)
        assert_true(asked < 1000);
    assert_true(asked > 2);
}

static void waiting_for_a_reader_ends_within_a_second(void **state)
{
    (void)state;
    const double began = seconds_now();
    assert_true(read_until(&(patience){.until = began + .2}, file_for("hangs", "slow.h5"), NULL));
    assert_at_most(seconds_now() - began, 1.2);
}

/* ---- files that it composes ---- */

/* An .h5 of that name, which was there before, of an image of 2 x 2. */
static larmor_status compose(const char *way, char *target, size_t room)
{
    static const float values[4] = {1, 2, 3, 4};
    larmor_array *x;
    larmor_output *out;
    snprintf(target, room, "%s/%s.h5", folder, way);
    put_file(target, "older", 5);
    assert_ok(larmor_array_upload(dev, LARMOR_F32, LARMOR_SHAPE(2, 2), LARMOR_F32, values, &x));
    const larmor_image image = {.data = x};
    assert_ok(larmor_output_open(target, 1, &out));
    const larmor_status st = larmor_image_write(out, &image, 1, NULL);
    larmor_output_free(out);
    larmor_array_free(x);
    return st;
}

static void a_composer_that_dies_or_lies_leaves_what_was_there(void **state)
{
    (void)state;
    static const struct {
        const char *way, *text;
        larmor_status status;
    } ends[] = {{"dies", "ended by signal 11 (SIGSEGV), as HDF5 does where it gets no memory", LARMOR_ERR_MEMORY},
                {"fails", "HDF5 could not; nothing written.", LARMOR_ERR_IO},
                {"ends before", "the process that composes it failed", LARMOR_ERR_IO},
                {"begins before", "the process that composes it failed", LARMOR_ERR_IO},
                {"lacks elements", "the process that composes it failed", LARMOR_ERR_IO},
                {"has more", "the process that composes it failed", LARMOR_ERR_IO},
                {"is too short", "the process that composes it failed", LARMOR_ERR_IO},
                {"has 2^62 pieces", "the process that composes it failed", LARMOR_ERR_IO},
                {"has no size", "the process that composes it failed", LARMOR_ERR_IO}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char target[256];
        size_t bytes;
        const int before = open_descriptors();
        const larmor_status st = compose(ends[i].way, target, sizeof target);
        if (st != ends[i].status) print_error("%s\n", ends[i].way);
        assert_int_equal(st, ends[i].status);
        assert_memory_equal(larmor_last_error(), target, strlen(target));
        assert_non_null(strstr(larmor_last_error(), ends[i].text));
        unsigned char *now = get_file(target, &bytes);
        assert_int_equal(bytes, 5);
        assert_memory_equal(now, "older", 5);
        free(now);
        assert_int_equal(files_in_folder(), (int)i + 1);
        assert_int_equal(open_descriptors(), before);
        assert_no_child();
    }
}

/* ---- where it is, and where it runs ---- */

static void a_reader_is_alone_with_its_file(void **state)
{
    (void)state;
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

static void a_reader_that_is_not_there_is_named(void **state)
{
    (void)state;
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

static void files_are_read_whatever_the_program_does_with_its_children(void **state)
{
    (void)state;
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

static void a_child_of_the_program_is_left_alone(void **state)
{
    (void)state;
    larmor_raw *raw;
    scan *s = radial_scan(8, 2);
    write_scan(s);
    free_scan(s);
    const pid_t child = fork();
    if (!child) _exit(7);
    assert_ok(larmor_raw_open(path, NULL, &raw));
    larmor_raw_free(raw);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
}

/* A program that dies while its reader is busy; the reader becomes a child of this process and is found dead. */
static void a_reader_does_not_outlive_its_program(void **state)
{
    (void)state;
    int status = 0;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    const pid_t program = fork();
    if (!program) {
        alarm(1);
        ask_heads("hangs", NULL);
        _exit(1);
    }
    assert_int_equal(waitpid(program, &status, 0), program);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
    alarm(20); /* ends the test if the reader lives on */
    assert_true(waitpid(-1, &status, 0) > 0);
    alarm(0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
}

/* ---- the sandbox ---- */

/* In a process of its own; the bits of what was possible after all. */
static int try_all(pid_t parent)
{
    const int file = memfd_create("room", 0);
    if (!lmr_sandbox_limit(INT64_C(1) << 30, INT64_MAX, 5)) return 100;
    int possible = 0;
    signal(SIGXFSZ, SIG_IGN);
    possible |= (ftruncate(file, 4096) == 0) << 5;
    if (!lmr_sandbox_filter()) return 101;
    possible |= open("/etc/passwd", O_RDONLY) >= 0 || errno != EPERM;
    possible |= (socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != EPERM) << 1;
    char *const nothing[] = {NULL};
    execve("/bin/true", nothing, nothing);
    possible |= (errno != EPERM) << 2;
    possible |= (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) >= 0 || errno != EPERM) << 3;
    possible |= (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) << 4;
    possible |= (ftruncate(file, 0) == 0) << 5;
    possible |= (kill(parent, 0) == 0) << 6;
    void *volatile much = malloc((size_t)2 << 30), *volatile little = malloc((size_t)16 << 20);
    possible |= (much || !little) << 7;
    return possible;
}

static void a_sandbox_grants_reading_and_memory_and_nothing_else(void **state)
{
    (void)state;
    if (LMR_SANITIZED) skip();
    const pid_t parent = getpid(), child = fork();
    if (!child) syscall(SYS_exit_group, try_all(parent));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 101) skip(); /* a kernel without filters */
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- the heap ---- */

static void put_u64(char *to, uint64_t value)
{
    for (int k = 0; k < 8; k++) to[k] = (char)(value >> 8 * k);
}

/* A collection of `bytes` with two objects of 4 bytes: 'a' and 'b' follow each other from `first` on. */
static void put_collection(char *at, uint64_t bytes, char first)
{
    memcpy(at, "GCOL\1\0\0\0", 8);
    put_u64(at + 8, bytes);
    for (int i = 0; i < 2; i++) {
        char *object = at + 16 + 24 * i;
        object[0] = (char)(i + 1);
        put_u64(object + 8, 4);
        memset(object + 16, first + i, 4);
    }
}

static void values_of_several_collections_are_found_in_any_order(void **state)
{
    (void)state;
    static char bytes[4096], got[4];
    put_collection(bytes + 512, 512, 'a');
    put_collection(bytes + 1024, 512, 'c');
    put_file(in_folder("heap"), bytes, sizeof bytes);
    lmr_source source;
    lmr_heap_value v[5] = {{.ref = {0, 0, 0}}}, twice[2];
    assert_ok(lmr_source_open(in_folder("heap"), "a file", &source));
    for (int i = 1; i < 5; i++) v[i].ref = (lmr_heap_ref){i % 2 ? 1024 : 512, 4, (uint32_t)(1 + i / 2 % 2)};
    assert_ok(lmr_heap_find(&source, v, 5, 1));
    assert_int_equal(v[0].at, 0);
    assert_null(v[0].wrong);
    for (int i = 1; i < 5; i++) {
        assert_null(v[i].wrong);
        assert_int_equal(lmr_source_get(&source, v[i].at, got, 4), 4);
        assert_int_equal(got[0], (i % 2 ? 'c' : 'a') + i / 2 % 2);
    }
    twice[0].ref = twice[1].ref = v[1].ref; /* HDF5 writes no object for two values */
    assert_ok(lmr_heap_find(&source, twice, 2, 1));
    assert_true(!twice[0].wrong != !twice[1].wrong);
    lmr_source_close(&source);
}

/* Else each of many could reach over the whole file. */
static void collections_that_overlap_are_refused(void **state)
{
    (void)state;
    static char bytes[4096];
    put_collection(bytes + 512, 1024, 'a');
    put_collection(bytes + 1024, 512, 'c');
    put_file(in_folder("heap"), bytes, sizeof bytes);
    lmr_source source;
    lmr_heap_value v[2] = {{.ref = {1024, 4, 1}}, {.ref = {512, 4, 1}}};
    assert_ok(lmr_source_open(in_folder("heap"), "a file", &source));
    assert_ok(lmr_heap_find(&source, v, 2, 1));
    assert_string_equal(v[0].wrong, "heaps overlap");
    assert_null(v[1].wrong);
    assert_ok(lmr_heap_find(&source, v, 1, 1));
    assert_null(v[0].wrong);
    lmr_source_close(&source);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WITH_FAKE(a_reader_that_dies_is_one_message),
        WITH_FAKE(a_reader_that_stops_listening_is_ended),
        WITH_FAKE(a_reader_that_hangs_is_ended_when_patience_is_over),
        WITH_FAKE(a_reader_that_computes_for_ever_is_ended_by_its_processor_time),
        WITH_REAL(a_file_that_makes_hdf5_divide_by_zero_is_refused),
        WITH_FAKE(a_reader_that_tells_the_truth_is_believed),
        WITH_FAKE(lies_about_a_scan_are_refused),
        WITH_FAKE(a_text_without_end_is_cut_and_made_printable),
        WITH_FAKE(lies_about_images_are_refused),
        WITH_REAL(reading_ends_at_any_question_whether_to_stop),
        WITH_FAKE(waiting_for_a_reader_ends_within_a_second),
        WITH_FAKE(a_composer_that_dies_or_lies_leaves_what_was_there),
        WITH_FAKE(a_reader_is_alone_with_its_file),
        WITH_REAL(a_reader_that_is_not_there_is_named),
        WITH_REAL(files_are_read_whatever_the_program_does_with_its_children),
        WITH_REAL(a_child_of_the_program_is_left_alone),
        WITH_FAKE(a_reader_does_not_outlive_its_program),
        WITH_REAL(a_sandbox_grants_reading_and_memory_and_nothing_else),
        WITH_REAL(values_of_several_collections_are_found_in_any_order),
        WITH_REAL(collections_that_overlap_are_refused),
    };
    snprintf(real, sizeof real, "%s", getenv("LARMOR_READER") ? getenv("LARMOR_READER") : "");
    RUN_TESTS(tests);
}
