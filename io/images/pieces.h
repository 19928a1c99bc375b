/* Elements that are in an HDF5 file in pieces, with checksums or without. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "io/process/reader_process.h"

/* 1 if an array's sizes take the bytes that the reader says. */
int lmr_is_possible_array(const lmr_reader_array *a);

/* Pieces must have all elements in their order, and lie in the file. */
larmor_status lmr_check_pieces(const lmr_source *source, lmr_reader *reader, const lmr_reader_array *a,
                               const lmr_reader_piece *piece, int64_t count);

/* A piece with padding and checksum, in memory of its own, where its elements begin.
 * Errors  LARMOR_ERR_FORMAT: the checksum is wrong. */
larmor_status lmr_take_checked(const lmr_source *source, const lmr_reader_piece *p, unsigned char *memory);

/* Bytes of the largest piece. */
int64_t lmr_largest_piece(const lmr_reader_piece *piece, int64_t count);
