/* Sides of grids that FFTs are quick for. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* Sides that FFTs are quick for: even 2^a 3^b 5^c 7^d, above 16 multiples of 4. The least of them >= n. */
int lmr_nufft_is_good_size(int64_t n);
int64_t lmr_nufft_good_size(int64_t n);

/* The good size from least to most that is nearest to n, of two the larger one; 0 if there is none. most at most
 * 2^58. */
int64_t lmr_nufft_nearest_size(int64_t n, int64_t least, int64_t most);
