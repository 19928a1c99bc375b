/* What a process that wants a file and the reader that parses it tell each other over a socket of packets: one request at
 * a time, one answer to each. Where an answer has more to give it asks for room first, and its bytes follow it in
 * packets. Shared memory would be a file to the kernel, which a limit on the size of files (ulimit -f) forbids.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_PROTOCOL_H
#define LMR_PROTOCOL_H

#include <limits.h>

#include "io/reader/mrd_head.h"
#include "larmor/io.h"

/* The reader's descriptors. The second file is one that belongs to the first: the .hdr of a .cfl. */
enum { LMR_READER_FILE = 3, LMR_READER_SECOND, LMR_READER_SOCKET, LMR_READER_DESCRIPTORS };

/* Both sides come from one build: this number, and the sizes of what they share, must agree. */
enum { LMR_READER_PACKET = 65536 }; /* bytes of a packet of many */
enum { LMR_READER_VERSION = 2, LMR_READER_MAGIC = 0x6c6d7264, LMR_READER_AXES = 32 };

/* How the reader ends by itself, when it is not understood or has lost its parent. */
enum { LMR_READER_OTHER_VERSION = 64, LMR_READER_ALONE = 65 };

typedef struct lmr_reader_setup { /* the first packet */
    uint32_t magic, version, bytes, answer_bytes, head_bytes, encoding_bytes;
    int32_t parent;     /* its process */
    int32_t has_second; /* 1: there is a second file */
    int64_t size, second_size;
    int64_t memory, room, seconds; /* limits: bytes of memory, of an answer, processor time */
    char path[PATH_MAX], second[PATH_MAX], inside[PATH_MAX]; /* for messages; inside: "" if nothing is asked for */
    char suffix[16];                                         /* of the format */
} lmr_reader_setup;

typedef enum lmr_reader_ask {
    LMR_ASK_SCAN = 1, /* text: the group. Answer: scan; bytes: encodings, then the XML text */
    LMR_ASK_HEADS,    /* bytes: all lmr_mrd_head */
    LMR_ASK_PLACES,   /* bytes, both ways: an lmr_reader_place for each acquisition */
    LMR_ASK_ARRAY,    /* answer: array; bytes: its elements, unless the file has them as they are */
    LMR_ASK_META,     /* answer: meta */
    LMR_ASK_DESCRIBE, /* answer: info */
    LMR_ASK_ROOM      /* there is room; bytes follow if LMR_ASK_PLACES was asked for */
} lmr_reader_ask;

typedef struct lmr_reader_request {
    uint32_t magic, ask;
    char text[256];
} lmr_reader_request;

typedef struct lmr_reader_place { /* the bytes of the file where an acquisition's numbers begin, 0 for none */
    int64_t data, traj;           /* to the reader: data is 1 if the acquisition is wanted */
} lmr_reader_place;

typedef struct lmr_reader_scan {
    int64_t acquisitions, xml_bytes;
    int32_t encodings, receiver_channels;
    double noise_bandwidth;
    int32_t echoes, has_readout_start;
    double echo_ms[LARMOR_MAX_ECHOES], readout_start_ms;
} lmr_reader_scan;

typedef struct lmr_reader_array {
    int32_t dtype, axes;
    int64_t dim[LMR_READER_AXES]; /* fastest first */
    int64_t bytes;
    int32_t in_file; /* 1: byte `at` of the file and those after it are the elements */
    int64_t at;
} lmr_reader_array;

typedef struct lmr_reader_answer {
    uint32_t magic;
    int32_t wants_room; /* 1: no answer yet; the other side must have room for `room` bytes first */
    int64_t room;
    int32_t status; /* a larmor_status, and its message */
    char text[1024];
    union {
        lmr_reader_scan scan;
        lmr_reader_array array;
        larmor_image_meta meta;
        larmor_image_info info;
    };
} lmr_reader_answer;

#endif
