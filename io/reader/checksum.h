/* The checksum of HDF5's filter fletcher32. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

enum { LMR_CHECKSUM_BYTES = 4 }; /* behind what it is of */

/* Store the checksum of `bytes` bytes. */
void lmr_checksum_put(const void *data, size_t bytes, unsigned char to[LMR_CHECKSUM_BYTES]);

/* 1 if `stored` is that checksum. */
int lmr_checksum_fits(const void *data, size_t bytes, const unsigned char stored[LMR_CHECKSUM_BYTES]);
