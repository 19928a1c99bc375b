/* MRD version 2 as the reader has it: a stream in yardl's binary format, by the schema of MRD 2.1, which stands in
 * the stream. ismrmrd/mrd, model; yardl, docs/reference/binary.md. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "io/bytes.h"
#include "io/reader/protocol.h"
#include "io/reader/source.h"

enum { MRD2_WINDOW = 4096 };

typedef struct lmr_mrd2 {
    const lmr_source *source;
    int64_t at;          /* the byte that is read next */
    int64_t first, held; /* bytes of the file that are in the window */
    int has_ended;       /* 1: more was asked for than there is */
    const char *wrong;   /* what cannot be, or NULL */
    lmr_bytes xml;       /* ISMRMRD's header, of which version 2 has the same elements */
    lmr_mrd_head *head;  /* [count] */
    lmr_reader_place *place;
    int64_t count, room;
    lmr_mrd_wave *wave; /* [waves], whose kinds and triggers the header has */
    int64_t waves, wave_room;
    lmr_bytes wave_data; /* of all waves, 32 bits each */
    char note[256];      /* lines for the user, each ending in '\n' */
    unsigned char window[MRD2_WINDOW];
} lmr_mrd2;

/* 1 if the file begins as a stream of yardl's. */
int lmr_mrd2_is(const lmr_source *source);

/* Read the header, the heads of all acquisitions, and the waveforms that have samples at even steps. An acquisition
 * that is not complete is left out, with a note.
 *
 * Errors  LARMOR_ERR_FORMAT: another schema, damaged, no acquisitions; LARMOR_ERR_MEMORY. */
larmor_status lmr_mrd2_open(const lmr_source *source, lmr_mrd2 **out);
void lmr_mrd2_free(lmr_mrd2 *mrd2); /* NULL is fine */

/* mrd2_bytes.c: the next value; 0 past the end. */
void mrd2_take(lmr_mrd2 *m, void *to, int64_t bytes);
void mrd2_skip(lmr_mrd2 *m, int64_t bytes);
int mrd2_byte(lmr_mrd2 *m);
uint64_t mrd2_unsigned(lmr_mrd2 *m);
int64_t mrd2_signed(lmr_mrd2 *m);
float mrd2_float(lmr_mrd2 *m);
int mrd2_failed(const lmr_mrd2 *m);

/* mrd2_header.c: the header, as XML. */
void mrd2_header(lmr_mrd2 *m);
