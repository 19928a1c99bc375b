/* The filters of HDF5 chunks, undone. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { LMR_FILTER_DEFLATE = 1, LMR_FILTER_SHUFFLE, LMR_FILTER_FLETCHER32 }; /* as HDF5 numbers them */

/* Bytes that a filter may add to a chunk on top of its own size. */
enum { LMR_FILTER_ROOM = 64 };

/* Undo the filters of a stored chunk, last first; mask: bit i is set if filter i was not applied to this chunk.
 *
 * *data   in: `stored` bytes; out: `bytes` bytes. *spare: work space; the two may change places. Each has room for
 *         bytes + LMR_FILTER_ROOM.
 * element bytes of an element, for shuffle. Returns NULL, or what is wrong. */
const char *lmr_filter_undo(const int *filter, int filters, uint32_t mask, size_t element, size_t stored,
                            size_t bytes, unsigned char **data, unsigned char **spare);
