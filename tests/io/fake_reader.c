/* A reader that dies, hangs or lies in the way that its file names in the first line. SPDX-License-Identifier:
 * Apache-2.0 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/reader/protocol.h"
#include "io/reader/sandbox.h"

enum { SAMPLES = 16, READOUTS = 4 };

static lmr_reader_setup setup;
static lmr_reader_request request;
static lmr_reader_answer answer;
static char way[64];
static char *memory; /* that follows the answer */
static int64_t follows;

static int is(const char *name)
{
    return !strcmp(way, name);
}

static void take(void *packet, size_t bytes)
{
    if (read(LMR_READER_SOCKET, packet, bytes) <= 0) exit(0);
}

static void give(size_t bytes)
{
    answer.magic = is("other magic") ? 1 : LMR_READER_MAGIC;
    if (write(LMR_READER_SOCKET, &answer, bytes) < 0) exit(1);
}

static void greet(void)
{
    lmr_reader_greeting greeting = {LMR_READER_MAGIC, LMR_READER_VERSION};
    if (is("crashes before it greets")) signal(SIGSEGV, SIG_DFL);
    if (is("crashes before it greets")) raise(SIGSEGV);
    if (is("ends before it greets")) exit(0);
    while (is("never greets")) pause();
    for (volatile int i = 0; is("computes and never greets"); i++) continue;
    if (is("greets in other words")) greeting.magic = 1;
    if (is("greets for another version")) greeting.version++;
    if (write(LMR_READER_SOCKET, &greeting, is("greets at too short a length") ? 4 : sizeof greeting) < 0) exit(1);
}

static void ask_for_room(int64_t bytes)
{
    answer.wants_room = 1;
    answer.room = bytes;
    give(sizeof answer);
    take(&request, sizeof request);
    memory = calloc(1, (size_t)bytes);
    follows = bytes;
    memset(&answer, 0, sizeof answer);
}

/* What a reader finds itself in, as the text of a failure. */
static void report_surroundings(char **environment)
{
    struct sigaction now;
    sigset_t mask;
    lmr_sandbox_close_from(LMR_READER_DESCRIPTORS);
    int open_files = 0, variables = 0, ignored = 0;
    for (int fd = 0; fd < 256; fd++) open_files += fcntl(fd, F_GETFD) >= 0;
    for (char **v = environment; *v; v++) variables += !strncmp(*v, "LARMOR_TEST_SECRET", 18);
    for (int s = 1; s < 32; s++) ignored += !sigaction(s, NULL, &now) && now.sa_handler == SIG_IGN;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    snprintf(answer.text, sizeof answer.text,
             "own group %d, descriptors %d, secrets %d, ignored %d, SIGTERM blocked %d, writable %d",
             getpgrp() == getpid(), open_files, variables, ignored, sigismember(&mask, SIGTERM),
             (fcntl(LMR_READER_FILE, F_GETFL) & O_ACCMODE) != O_RDONLY);
    answer.status = LARMOR_ERR_FORMAT;
}

static void scan(void)
{
    static const char xml[] = "<ismrmrdHeader/>";
    lmr_mrd_encoding e = {.space = {.matrix = {16, 16, 1},
                                    .recon_matrix = {16, 16, 1},
                                    .fov_mm = {16, 16, 1},
                                    .recon_fov_mm = {16, 16, 1},
                                    .trajectory = "radial"},
                          .has_limits = 1};
    memset(e.limit, -1, sizeof e.limit);
    if (is("trajectory without end")) memset(e.space.trajectory, 'x', sizeof e.space.trajectory);
    if (is("negative matrix")) e.space.matrix[1] = -16;
    if (is("field of view NaN")) e.space.fov_mm[0] = (double)NAN;
    if (is("limit")) e.limit[LMR_SLICE][LMR_MAXIMUM] = INT_MAX;
    ask_for_room(is("huge room") ? INT64_MAX : (int64_t)(sizeof e + sizeof xml));
    memcpy(memory, &e, sizeof e);
    memcpy(memory + sizeof e, xml, sizeof xml);
    answer.scan = (lmr_reader_scan){.group = LMR_MRD_USUAL_GROUP,
                                    .acquisitions = READOUTS,
                                    .claimed = READOUTS,
                                    .xml_bytes = sizeof xml,
                                    .header = {.encodings = 1, .receiver_channels = 1, .noise_bandwidth = .793}};
    if (is("2^40 readouts")) answer.scan.acquisitions = INT64_C(1) << 40;
    if (is("fewer readouts than it says")) answer.scan.claimed = 1;
    if (is("group without end")) memset(answer.scan.group, 'x', sizeof answer.scan.group);
    if (is("-1 readouts")) answer.scan.acquisitions = -1;
    if (is("64 encodings")) answer.scan.header.encodings = 64;
    if (is("-1 encodings")) answer.scan.header.encodings = -1;
    if (is("long header")) answer.scan.xml_bytes = LMR_MRD_MAX_HEADER;
    if (is("bandwidth NaN")) answer.scan.header.noise_bandwidth = (double)NAN;
}

static void heads(void)
{
    ask_for_room(READOUTS * (int64_t)sizeof(lmr_mrd_head) + (is("more heads") ? 4096 : 0));
    lmr_mrd_head *head = (void *)memory;
    for (int i = 0; i < READOUTS; i++) {
        head[i] = (lmr_mrd_head){.stored = SAMPLES, .channels = 1, .traj_dims = 2, .center_sample = SAMPLES / 2};
        head[i].counter[LMR_STEP1] = (uint16_t)i;
        if (is("no head written")) head[i].unwritten = 1;
        if (is("long readouts")) head[i].stored = head[i].channels = 65535;
    }
}

/* The honest file has the numbers of a spoke at byte 1024, its data before its trajectory. */
static void places(void)
{
    ask_for_room(READOUTS * (int64_t)sizeof(lmr_reader_place));
    take(memory, (size_t)follows);
    lmr_reader_place *place = (void *)memory;
    for (int i = 0; i < READOUTS; i++) place[i] = (lmr_reader_place){.data = 1024, .traj = 1024 + 8 * SAMPLES};
    if (is("place past the end")) place[1].data = setup.size - 4;
    if (is("place before the file")) place[1].data = -8;
    if (is("step past the end")) place[1].sample_step = setup.size;
    if (is("step before the file")) place[1].sample_step = -8;
    if (is("steps at 2^62")) place[1].sample_step = place[1].channel_step = INT64_C(1) << 62;
    if (is("place at 2^63")) place[1].traj = INT64_MAX;
}

/* An array of two complex numbers in two pieces of one each. */
static void pieces(void)
{
    ask_for_room((is("pieces without the last") ? 1 : 2) * (int64_t)sizeof(lmr_reader_piece));
    lmr_reader_piece piece[2] = {{.at = 8, .bytes = 8, .first = 0, .count = 1}, {16, 8, 1, 1}};
    answer.array = (lmr_reader_array){
        .dtype = LARMOR_C64, .axes = 2, .dim = {2, 1}, .bytes = 16, .in_file = LMR_IN_PIECES, .stored = LARMOR_C64};
    if (is("piece past the end")) piece[1].at = setup.size - 7;
    if (is("piece before the file")) piece[0].at = -1;
    if (is("piece at 2^63")) piece[0].at = INT64_MAX;
    if (is("piece of 2^63 bytes")) piece[0].bytes = INT64_MAX;
    if (is("piece too short")) piece[0].bytes = 7;
    if (is("piece without elements")) piece[0].count = 0;
    if (is("pieces of too many")) piece[1].count = 2;
    if (is("pieces of the same")) piece[1].first = 0;
    if (is("pieces of other types")) answer.array.stored = LARMOR_C128;
    if (is("piece's checksum past the end")) {
        answer.array.checksums = 1;
        piece[1].at = setup.size - 8;
    }
    memcpy(memory, piece, (size_t)follows);
}

/* A file of 64 bytes with one image of 2 x 2 floats in it, of which nothing was composed. */
static void composed(void)
{
    lmr_reader_piece piece = {.at = 16, .bytes = 16, .first = 0, .count = 4};
    if (is("dies")) signal(SIGSEGV, SIG_DFL);
    if (is("dies")) raise(SIGSEGV);
    ask_for_room(request.bytes);
    take(memory, (size_t)follows);
    ask_for_room(sizeof piece);
    answer.composed = (lmr_reader_composed){64, 1};
    if (is("ends before")) piece.at = 48;
    if (is("begins before")) piece.at = -16;
    if (is("lacks elements")) piece.count = 3;
    if (is("has more")) piece.count = 5;
    if (is("is too short")) piece.bytes = 12;
    if (is("has 2^62 pieces")) answer.composed.pieces = INT64_C(1) << 62;
    if (is("has no size")) answer.composed.size = -1;
    if (is("fails")) {
        answer.status = LARMOR_ERR_IO;
        snprintf(answer.text, sizeof answer.text, "HDF5 could not");
    }
    memcpy(memory, &piece, sizeof piece);
}

static void array(void)
{
    if (!strncmp(way, "piece", 5)) {
        pieces();
        return;
    }
    if (is("huge room")) ask_for_room(INT64_MAX);
    ask_for_room(is("small room") ? 16 : 4 * 4 * 4);
    answer.array = (lmr_reader_array){.dtype = LARMOR_F32, .axes = 2, .dim = {4, 4}, .bytes = 4 * 4 * 4};
    if (is("elements past the end") || is("elements before the file")) answer.array.in_file = 1;
    if (is("elements past the end")) answer.array.at = setup.size - 60;
    if (is("elements before the file")) answer.array.at = -1;
    if (is("type 77")) answer.array.dtype = 77;
    if (is("99 axes")) answer.array.axes = 99;
    if (is("-1 axes")) answer.array.axes = -1;
    if (is("sizes overflow")) answer.array.dim[0] = answer.array.dim[1] = INT64_C(1) << 31;
    if (is("negative sizes")) answer.array.dim[0] = answer.array.dim[1] = -4;
}

/* Two readouts of two and three samples. */
static void sequence(void)
{
    larmor_pulseq_readout readout[2] = {{.block = 1, .samples = 2, .dwell_s = 1e-5},
                                        {.block = 2, .first = 2, .samples = 3, .dwell_s = 1e-5}};
    double number = 1;
    ask_for_room((int64_t)sizeof readout + 30 * (int64_t)sizeof number);
    answer.sequence = (lmr_reader_sequence){.version = {1, 5, 2}, .blocks = 2, .readouts = 2, .samples = 5};
    if (is("seq: readouts at 2^60")) answer.sequence.readouts = INT64_C(1) << 60;
    if (is("seq: -1 readouts")) answer.sequence.readouts = -1;
    if (is("seq: more samples")) answer.sequence.samples = 6;
    if (is("seq: samples at 2^61")) answer.sequence.samples = INT64_C(1) << 61;
    if (is("seq: name without end")) memset(answer.sequence.name, 'x', sizeof answer.sequence.name);
    if (is("seq: field of view NaN")) answer.sequence.fov_m[1] = NAN;
    if (is("seq: readouts overlap")) readout[1].first = 1;
    if (is("seq: readout past the end")) readout[1].samples = INT64_MAX;
    if (is("seq: fewer samples than it says")) readout[1].samples = 2;
    if (is("seq: no dwell time")) readout[0].dwell_s = 0;
    if (is("seq: k NaN")) number = NAN;
    memcpy(memory, readout, sizeof readout);
    for (int i = 0; i < 30; i++) memcpy(memory + sizeof readout + (size_t)i * sizeof number, &number, sizeof number);
}

static void reply(char **environment)
{
    switch (request.ask) {
    case LMR_ASK_SCAN:
        if (is("surroundings"))
            report_surroundings(environment);
        else
            scan();
        break;
    case LMR_ASK_HEADS:
        signal(SIGFPE, SIG_DFL); /* the address sanitizer has a handler */
        if (is("SIGFPE")) raise(SIGFPE);
        if (is("SIGKILL")) raise(SIGKILL);
        if (is("exit")) exit(3);
        if (is("exit for want of memory")) exit(LMR_READER_NO_MEMORY);
        if (is("closes its socket")) {
            close(LMR_READER_SOCKET);
            pause();
        }
        while (is("hangs")) pause();
        if (is("spins")) lmr_sandbox_limit(setup.memory, setup.room, setup.seconds);
        for (volatile int i = 0; is("spins"); i++) continue;
        heads();
        break;
    case LMR_ASK_PLACES:
        places();
        break;
    case LMR_ASK_ARRAY:
        array();
        break;
    case LMR_ASK_SEQUENCE:
        sequence();
        break;
    case LMR_ASK_IMAGES:
        composed();
        break;
    case LMR_ASK_META:
        answer.meta.slice = is("negative slice") ? -5 : 3;
        break;
    default:
        answer.info.images = is("negative images") ? -1 : 1;
        memset(answer.info.type, 'x', sizeof answer.info.type);
        memset(answer.info.inside, '\x1b', sizeof answer.info.inside);
        memset(answer.info.notes, 'y', sizeof answer.info.notes);
    }
    if (is("no memory")) answer.status = LARMOR_ERR_MEMORY;
    if (is("status 99")) answer.status = 99;
    if (is("status -1")) answer.status = -1;
    if (is("stopped")) answer.status = LARMOR_STOPPED;
    if (is("text without end")) {
        answer.status = LARMOR_ERR_FORMAT;
        memset(answer.text, '\a', sizeof answer.text);
    }
    if (is("always wants room")) {
        answer.wants_room = 1;
        answer.room = 64;
    }
    const int is_short = is("short answer") || (is("short geometry") && request.ask == LMR_ASK_META);
    give(is_short ? 8 : sizeof answer);
    if (is("short bytes") && follows) follows--;
    if (follows && !answer.status && write(LMR_READER_SOCKET, memory, (size_t)follows) < 0) exit(1);
    if (is("more bytes") && write(LMR_READER_SOCKET, &answer, 8) < 0) exit(1);
    follows = 0;
}

int main(int argc, char **argv, char **environment)
{
    (void)argc;
    (void)argv;
    if (pread(LMR_READER_FILE, way, sizeof way - 1, 0) > 0) *strchrnul(way, '\n') = '\0';
    greet();
    take(&setup, sizeof setup);
    const char *name = strrchr(setup.path, '/');
    if (setup.composes) /* there is no file, so that its name says it */
        snprintf(way, sizeof way, "%.*s", name ? (int)strcspn(name + 1, ".") : 0, name ? name + 1 : "");
    *strchrnul(way, '\n') = '\0';
    if (!lmr_sandbox_follow(setup.parent)) return LMR_READER_ALONE;
    if (is("other version")) return LMR_READER_OTHER_VERSION;
    while (1) {
        take(&request, sizeof request);
        memset(&answer, 0, sizeof answer);
        reply(environment);
    }
}
