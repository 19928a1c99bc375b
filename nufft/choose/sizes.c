/* Sides of grids that FFTs are quick for. SPDX-License-Identifier: Apache-2.0 */
#include "nufft/choose/sizes.h"

#include "core/core.h"

/* Of sizes with one factor 2 alone FFTs are often half as slow again. */
int lmr_nufft_is_good_size(int64_t n)
{
    if (n < 2 || n % (n <= 16 ? 2 : 4)) return 0;
    for (int prime = 2; prime <= 7; prime += prime == 2 ? 1 : 2)
        while (n % prime == 0) n /= prime;
    return n == 1;
}

int64_t lmr_nufft_good_size(int64_t n)
{
    int64_t least = INT64_MAX;
    for (int64_t seven = n <= 16 ? 2 : 4; seven < least; seven *= 7)
        for (int64_t five = seven; five < least; five *= 5)
            for (int64_t three = five; three < least; three *= 3) {
                int64_t size = three;
                while (size < n) size *= 2;
                if (size < least) least = size;
            }
    return least;
}

static int is_nearer(int64_t n, int64_t size, int64_t than)
{
    const int64_t a = llabs(size - n), b = llabs(than - n);
    return a < b || (a == b && size > than);
}

int64_t lmr_nufft_nearest_size(int64_t n, int64_t least, int64_t most)
{
    int64_t nearest = 0;
    n = lmr_clamp(n, least, most);
    for (int64_t seven = 2; seven <= most; seven *= 7)
        for (int64_t five = seven; five <= most; five *= 5)
            for (int64_t three = five; three <= most; three *= 3)
                for (int64_t size = three; size <= most; size *= 2)
                    if (size >= least && lmr_nufft_is_good_size(size) && (!nearest || is_nearer(n, size, nearest)))
                        nearest = size;
    return nearest;
}
