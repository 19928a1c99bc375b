/* Arrays with the last axis fastest in memory, as C has them. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Put the elements of an array of dim[0], dim[1], ... whose last axis is the fastest into the order in which its
 * first is.
 *
 * bytes  of an element: 4, 8 or 16.
 * to     [product of dim], not where `from` is. */
void lmr_reverse_axes(int axes, const int64_t *dim, size_t bytes, const void *from, void *to);
