/* What a process that wants a file and the reader that parses it, or composes its structure, tell each other over
 * a socket of packets: one request at a time, one answer to each. Where an answer has more to give it asks for
 * room first, and its bytes follow it in packets. Shared memory would be a file to the kernel, which a limit on
 * the size of files (ulimit -f) forbids. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <limits.h>

#include "io/reader/mrd_head.h"
#include "io/reader/mrd_header.h"
#include "io/reader/mrd_records.h"
#include "io/reader/mrd_study.h"
#include "larmor/io.h"
#include "larmor/pulseq.h"

/* The reader's descriptors. The second file is one that belongs to the first: the .hdr of a .cfl. */
enum { LMR_READER_FILE = 3, LMR_READER_SECOND, LMR_READER_SOCKET, LMR_READER_DESCRIPTORS };

/* Both sides come from one build: this number, and the sizes of what they share, must agree. */
enum { LMR_READER_PACKET = 65536 }; /* bytes of a packet of many */
enum { LMR_READER_VERSION = 15, LMR_READER_MAGIC = 0x6c6d7264, LMR_READER_AXES = 32 };

/* How the reader ends by itself, when it is not understood or has lost its parent. */
enum { LMR_READER_OTHER_VERSION = 64, LMR_READER_ALONE = 65, LMR_READER_NO_MEMORY = 66, LMR_READER_NO_FILTER = 67 };

typedef struct lmr_reader_greeting { /* the first packet of the reader, before it is told anything */
    uint32_t magic, version;
} lmr_reader_greeting;

typedef struct lmr_reader_setup { /* the first packet to it */
    uint32_t magic, version, bytes, answer_bytes, head_bytes, encoding_bytes;
    int32_t parent;       /* its process */
    int32_t has_second;   /* 1: there is a second file */
    int32_t needs_filter; /* 1: it ends where system calls cannot be filtered */
    int32_t composes;     /* 1: there is no file, an HDF5 file is to be composed */
    int64_t size, second_size;
    int64_t memory, room, seconds; /* limits: bytes of memory, of an answer, processor time */
    char path[PATH_MAX], second[PATH_MAX], inside[PATH_MAX]; /* for messages; inside: "" if nothing is asked for */
    char suffix[16];                                         /* of the format */
} lmr_reader_setup;

typedef enum lmr_reader_ask {
    LMR_ASK_SCAN = 1, /* text: the group, or "". Answer: scan; bytes: encodings, then the XML text */
    LMR_ASK_HEADS,    /* bytes: all lmr_mrd_head */
    LMR_ASK_PLACES,   /* bytes, both ways: an lmr_reader_place for each acquisition */
    LMR_ASK_ARRAY,    /* answer: array; bytes: its elements, unless the file has them as they are */
    LMR_ASK_META,     /* answer: meta */
    LMR_ASK_LIST,     /* answer: list; bytes: the larmor_image_meta of each image */
    LMR_ASK_DESCRIBE, /* answer: info */
    LMR_ASK_SEQUENCE, /* text: soft delays. Answer: sequence; bytes: a larmor_pulseq_readout for each readout, then as
                       * double k [3, samples], times [samples], phases of shapes and of frequencies [samples] */
    LMR_ASK_IMAGES_XML, /* bytes: the XML header that images have with them, or nothing */
    LMR_ASK_WAVES,      /* answer: waves; bytes: all lmr_mrd_wave, then the numbers of each */
    LMR_ASK_ROOM, /* there is room; bytes follow if LMR_ASK_PLACES was asked for, or more than 0 were announced */

    /* to a reader that composes */
    LMR_ASK_IMAGES,  /* bytes to it: lmr_reader_images and what follows it. Answer: composed; bytes: pieces */
    LMR_ASK_SAMPLES, /* bytes to it: an lmr_reader_readout with its numbers for each acquisition, which are
                      * appended */
    LMR_ASK_BLOCKS,  /* bytes to it: an lmr_reader_block with its numbers for each waveform, which are appended */
    LMR_ASK_HEADER,  /* bytes to it: the XML text of a scan with its end, which completes it. Answer: composed */
    LMR_ASK_BYTES,   /* bytes from `at` on; answer: these */
    LMR_ASK_STUDY,   /* bytes to it: the XML text of a scan. Answer: study */
    LMR_ASK_XML /* bytes to it: the XML text of a scan that has no file. Answer: scan; bytes: as of LMR_ASK_SCAN */
} lmr_reader_ask;

typedef struct lmr_reader_request {
    uint32_t magic, ask;
    int64_t bytes; /* that go to the reader before its answer; of LMR_ASK_BYTES: that are wanted */
    int64_t at;
    char text[256];
} lmr_reader_request;

typedef struct lmr_reader_place {      /* the bytes of the file where an acquisition's numbers begin, 0 for none */
    int64_t data, traj;                /* to the reader: data is 1 if the acquisition is wanted */
    int64_t sample_step, channel_step; /* bytes from one to the next; 0: they follow each other */
    int64_t traj_step; /* bytes from a component of all samples to the next; 0: those of a sample follow each other */
} lmr_reader_place;

typedef struct lmr_reader_scan {
    int64_t acquisitions, claimed, xml_bytes; /* claimed: with those behind the last chunk that was written */
    lmr_mrd_header header;                    /* without its encodings, which are bytes */
    int32_t is_unclosed;                      /* 1: by the program that wrote it */
    int32_t is_array;       /* 1: fastMRI's layout, in which each line of an array is an acquisition */
    int32_t lines, samples; /* of it, for each slice; of each line */
    int32_t measurements;   /* of a TWIX file; else 0 */
    char group[256];        /* its path */
    char note[1024];        /* lines for the user, each ending in a line feed */
} lmr_reader_scan;

typedef struct lmr_reader_array {
    int32_t dtype, axes;
    int64_t dim[LMR_READER_AXES]; /* in the order of the array that is made, whose dim[0] is the fastest */
    int64_t bytes;
    int32_t in_file;      /* where the file has the elements, an lmr_reader_where */
    int32_t last_fastest; /* 1: the file has them with the last dimension fastest; not of pieces */
    int64_t at;
    int32_t stored,
        checksums; /* of pieces: F32 for an array of C64 without imaginary parts, else dtype; 1: with checksums */
} lmr_reader_array;

typedef struct lmr_reader_list { /* of a file whose images have each a geometry of its own */
    int64_t count, channels;     /* images, and arrays of each */
    int64_t dim[3];              /* of an array */
} lmr_reader_list;

typedef struct lmr_reader_sequence { /* of a Pulseq file */
    int32_t version[3];
    int64_t blocks, readouts, samples, excitations, refocusings;
    double duration_s, fov_m[3];
    char name[64], unknown[64]; /* unknown: an extension; "": none */
} lmr_reader_sequence;

typedef enum lmr_reader_where {
    LMR_NOT_IN_FILE, /* not as they are: they follow the answer */
    LMR_IN_ONE,      /* at byte `at` and those after it */
    LMR_IN_PIECES    /* in pieces, which follow the answer */
} lmr_reader_where;

/* Elements of an image file that the other side puts into the file, or reads there. */
typedef struct lmr_reader_piece {
    int64_t at, bytes;    /* in the file, with padding but without the checksum */
    int64_t first, count; /* elements, in the order of the array */
} lmr_reader_piece;

/* After this: the lmr_mrd_image of each image, the number of bytes of each one's attributes (int64_t), these texts
 * with their ends, and the XML text with its end if there is one. */
typedef struct lmr_reader_images {
    int32_t count, is_complex;
    int64_t dim[3]; /* of one image, x first */
    int64_t xml_bytes;
} lmr_reader_images;

typedef struct lmr_reader_readout { /* after this: the numbers of the trajectory, then those of the data, as float */
    lmr_mrd_readout_head head;
    int32_t traj, data;
} lmr_reader_readout;

typedef struct lmr_reader_block { /* after this: the numbers, of 4 bytes each */
    lmr_mrd_wave_head head;
    int32_t data, unused;
} lmr_reader_block;

typedef struct lmr_reader_waves {
    int64_t count;
} lmr_reader_waves;

typedef struct lmr_reader_composed {
    int64_t size, pieces;
} lmr_reader_composed;

typedef struct lmr_reader_answer {
    uint32_t magic;
    int32_t wants_room; /* 1: no answer yet; the other side must have room for `room` bytes first */
    int64_t room;
    int32_t filtered; /* 1: its system calls are */
    int32_t status;   /* a larmor_status, and its message */
    char text[1024];
    union {
        lmr_reader_scan scan;
        lmr_reader_array array;
        lmr_reader_list list;
        larmor_image_meta meta;
        larmor_image_info info;
        lmr_reader_composed composed;
        lmr_reader_sequence sequence;
        lmr_study study;
        lmr_reader_waves waves;
    };
} lmr_reader_answer;
