/* Object headers of newer releases of HDF5, given to HDF5 as it knows them. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "io/reader/source.h"

typedef struct lmr_h5_copy { /* bytes of the file from `at` on, changed */
    int64_t at, bytes;
    unsigned char *byte;
} lmr_h5_copy;

typedef struct lmr_h5_headers { /* of one file; zero at first, freed by lmr_h5_headers_free */
    lmr_h5_copy *copy;
    int copies;
    int64_t bytes;   /* of all copies */
    int is_newer;    /* 1: an object is described in a way that HDF5 is not known to read */
    int is_unclosed; /* 1: the superblock says that a program has it open, to write */
} lmr_h5_headers;

/* Look at the superblock. HDF5 does not open a file whose writer was ended; here it does. Returns 0 without
 * memory. */
int lmr_h5_headers_reopen(lmr_h5_headers *headers, const lmr_source *source);

/* Look at the object header (version 2) that may begin at byte `at`. Versions of types and of layouts that only say
 * which release wrote them are lowered in a copy. Returns 0 if there was no memory. */
int lmr_h5_headers_look(lmr_h5_headers *headers, const lmr_source *source, int64_t at);

/* Puts what is changed into bytes that were read from `at` on. */
void lmr_h5_headers_apply(const lmr_h5_headers *headers, int64_t at, int64_t bytes, unsigned char *to);

void lmr_h5_headers_free(lmr_h5_headers *headers);

/* HDF5's checksum of metadata. */
uint32_t lmr_h5_checksum(const unsigned char *p, size_t bytes);
