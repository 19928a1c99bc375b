/* Runs a target without libFuzzer: replay CORPUS MUTANTS [SEED]. Every file of the folder first, then so many
 * mutants of them; each in a child, so that one that dies is kept in crash-TARGET-NUMBER and the others still run.
 * A child that dies in HDF5 itself is counted and is no failure of ours. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "tests/fuzz/fuzz.h"

enum { MOST_SEEDS = 256, IN_HDF5 = 77, SLOW = 10, BATCH = 64, MOST_BYTES = 1 << 20, HEAD = 512 };

typedef struct input {
    uint8_t *data;
    size_t size;
} input;

static input seed[MOST_SEEDS];
static int seeds;
static uint64_t state;

static uint64_t draw(uint64_t below) /* xorshift64* */
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return below ? (state * UINT64_C(2685821657736338717) >> 11) % below : 0;
}

/* ---- mutants ---- */

static void put_number(uint8_t *at, size_t room)
{
    static const uint64_t edges[] = {0,          1,
                                     7,          255,
                                     65535,      65536,
                                     0x7fffffff, 0x80000000,
                                     0xffffffff, UINT64_C(1) << 32,
                                     INT64_MAX,  UINT64_C(1) << 63,
                                     UINT64_MAX};
    const uint64_t v = edges[draw(sizeof edges / sizeof *edges)];
    static const size_t sizes[] = {1, 2, 4, 8};
    const size_t size = sizes[draw(4)];
    memcpy(at, &v, size < room ? size : room);
}

/* A text's number becomes another one of the same length. */
static void put_digit(input *x)
{
    for (int tries = 0; tries < 50; tries++) {
        uint8_t *at = &x->data[draw(x->size)];
        if (*at < '0' || *at > '9') continue;
        *at = (uint8_t) "0123456789-.eExnai,= "[draw(22)];
        return;
    }
}

/* What readers of texts stumble over, between two bytes. */
static void insert_text(input *x, size_t at)
{
    static const char *const texts[] = {"99999", "00000000000", "-",  "e308", "nan", "<", "</",
                                        ">",     "&",           "\"", " ",    ",",   "'", "\n"};
    const char *text = texts[draw(sizeof texts / sizeof *texts)];
    const size_t n = strlen(text);
    if (x->size + n > MOST_BYTES) return;
    if (*text == '9') /* makes a number larger, if there is one */
        while (at + 1 < x->size && (x->data[at] < '0' || x->data[at] > '9')) at++;
    memmove(&x->data[at + n], &x->data[at], x->size - at);
    memcpy(&x->data[at], text, n);
    x->size += n;
}

static void mutate(input *x)
{
    const int changes = 1 + (int)draw(4);
    for (int i = 0; i < changes && x->size; i++) {
        const size_t at = draw(draw(2) && x->size > HEAD ? HEAD : x->size);
        const size_t room = x->size - at;
        size_t n = 1 + draw(64);
        if (n > room) n = room;
        switch (draw(9)) {
        case 0:
        case 1:
            x->data[at] ^= (uint8_t)(1 << draw(8));
            break;
        case 2:
            put_number(&x->data[at], room);
            break;
        case 3:
            memset(&x->data[at], draw(2) ? 0 : 255, n);
            break;
        case 4:
            memmove(&x->data[draw(x->size - n + 1)], &x->data[at], n);
            break;
        case 5:
            put_digit(x);
            break;
        case 6: /* leave out */
            memmove(&x->data[at], &x->data[at + n], room - n);
            x->size -= n;
            break;
        case 7:
            if (!draw(4)) x->size = at;
            break;
        case 8:
            insert_text(x, at);
            break;
        }
    }
}

/* Number i: a seed as it is, or a mutant, the same at every call. */
static input make(int64_t i, uint64_t begin)
{
    input x = {malloc(MOST_BYTES), 0};
    FUZZ_CHECK(x.data);
    state = (begin + 1) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)i;
    for (int k = 0; k < 4; k++) {
        draw(0);
        state ^= (uint64_t)i << 7;
    }
    if (!state) state = 1;
    const input *from = &seed[i < seeds ? (uint64_t)i : draw((uint64_t)seeds)];
    memcpy(x.data, from->data, from->size);
    x.size = from->size;
    if (i >= seeds) mutate(&x);
    return x;
}

/* ---- one input in a child ---- */

static void on_fault(int number)
{
    void *frame[64];
    Dl_info info;
    const int frames = backtrace(frame, 64);
    int from_hdf5 = 0, from_us = 0;
    for (int i = 0; i < frames && !from_us; i++) { /* the innermost of the two that is not this handler */
        if (!dladdr(frame[i], &info) || !info.dli_fname || frame[i] == (void *)on_fault) continue;
        from_hdf5 |= strstr(info.dli_fname, "hdf5") != NULL;
        if (from_hdf5) _exit(IN_HDF5);
        from_us = i > 2 && info.dli_sname && !strncmp(info.dli_sname, "lmr_", 4);
    }
    signal(number, SIG_DFL);
    raise(number);
}

#if defined(__SANITIZE_ADDRESS__)
void __sanitizer_set_death_callback(void (*callback)(void));

static void on_report(void)
{
    on_fault(SIGABRT);
}
#else
static void (*const on_report)(void) = NULL;
static void __sanitizer_set_death_callback(void (*callback)(void))
{
    (void)callback;
}
#endif

static void watch(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) signal(faults[i], on_fault);
    signal(SIGPROF, SIG_DFL);
    __sanitizer_set_death_callback(on_report);
}

/* So many seconds of processor time, which others do not take from it; 0: any. */
static void allow(int seconds)
{
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = seconds}, NULL);
}

/* Inputs first .. end - 1, one after the other; the child's exit tells how it went. */
static void run_child(int64_t first, int64_t end, uint64_t begin, int progress)
{
    const int quiet = open("/dev/null", O_WRONLY);
    dup2(quiet, 1);
    dup2(quiet, 2);
    watch();
    for (int64_t i = first; i < end; i++) {
        input x = make(i, begin);
        uint8_t *exact = malloc(x.size + !x.size); /* no byte more, so that reads beyond are seen */
        FUZZ_CHECK(exact);
        memcpy(exact, x.data, x.size);
        FUZZ_CHECK(pwrite(progress, &i, sizeof i, 0) == sizeof i);
        allow(SLOW);
        LLVMFuzzerTestOneInput(exact, x.size);
        allow(0);
        free(exact);
        free(x.data);
    }
    _exit(0); /* without the sanitizer's search for leaks, of which HDF5 has its own */
}

static void keep(const char *target, int64_t i, uint64_t begin)
{
    char name[256];
    const char *slash = strrchr(target, '/');
    const input x = make(i, begin);
    snprintf(name, sizeof name, "crash-%s-%lld", slash ? slash + 1 : target, (long long)i);
    fuzz_put(name, x.data, x.size);
    free(x.data);
}

/* ---- all of them ---- */

static void read_seed(const char *path)
{
    struct stat s;
    if (seeds == MOST_SEEDS || stat(path, &s) || !S_ISREG(s.st_mode) || !s.st_size || s.st_size > MOST_BYTES) return;
    FILE *f = fopen(path, "rb");
    FUZZ_CHECK(f);
    seed[seeds] = (input){malloc((size_t)s.st_size), (size_t)s.st_size};
    FUZZ_CHECK(seed[seeds].data && fread(seed[seeds].data, 1, seed[seeds].size, f) == seed[seeds].size);
    fclose(f);
    seeds++;
}

static void read_seeds(const char *folder)
{
    struct dirent **list;
    const int n = scandir(folder, &list, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, list[i]->d_name);
        read_seed(path);
        free(list[i]);
    }
    if (n >= 0) free(list);
}

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *place)
{
    (void)s;
    (void)kind;
    (void)place;
    return remove(path);
}

int main(int argc, char **argv)
{
    char scratch[] = "/tmp/larmor-fuzz-XXXXXX";
    if (argc < 3) return 2;
    FUZZ_CHECK(mkdtemp(scratch) && !setenv("FUZZ_SCRATCH", scratch, 1));
    read_seeds(argv[1]);
    if (!seeds) {
        fprintf(stderr, "%s: no seeds in %s\n", argv[0], argv[1]);
        return 1;
    }
    const int64_t total = seeds + atoll(argv[2]);
    const uint64_t begin = argc > 3 ? (uint64_t)atoll(argv[3]) : 1;
    FILE *note = tmpfile();
    FUZZ_CHECK(note);
    int failed = 0, in_hdf5 = 0;
    for (int64_t first = 0; first < total;) {
        const int64_t end = first + BATCH < total ? first + BATCH : total;
        fflush(NULL);
        const pid_t child = fork();
        FUZZ_CHECK(child >= 0);
        if (!child) run_child(first, end, begin, fileno(note));
        int status;
        while (waitpid(child, &status, 0) < 0) FUZZ_CHECK(errno == EINTR);
        if (WIFEXITED(status) && !WEXITSTATUS(status)) {
            first = end;
            continue;
        }
        int64_t at = first;
        FUZZ_CHECK(pread(fileno(note), &at, sizeof at, 0) == sizeof at);
        if (WIFEXITED(status) && WEXITSTATUS(status) == IN_HDF5) {
            in_hdf5++;
        } else {
            failed++;
            keep(argv[0], at, begin);
            fprintf(stderr, "%s: input %lld of seed %llu: %s %d\n", argv[0], (long long)at, (unsigned long long)begin,
                    WIFSIGNALED(status) ? "signal" : "exit",
                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        }
        first = at + 1;
    }
    nftw(scratch, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    printf("%lld inputs, %d of them seeds: %d failed, %d died in HDF5\n", (long long)total, seeds, failed, in_hdf5);
    return failed > 0;
}
