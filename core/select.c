/* Hoare's selection (Comm. ACM 4, 321 (1961), algorithm 65), which takes a time that grows as count does: sorting
 * took a third of an image's time on a GPU. SPDX-License-Identifier: Apache-2.0 */
#include "core/select.h"

#define DEFINE_SELECT(name, median, type)                                                                            \
    type name(type *x, int64_t count, int64_t place)                                                                 \
    {                                                                                                                \
        int64_t low = 0, high = count - 1;                                                                           \
        while (low < high) {                                                                                         \
            const type pivot = x[low + (high - low) / 2];                                                            \
            int64_t i = low, j = high;                                                                               \
            while (i <= j) {                                                                                         \
                while (i < high && x[i] < pivot) i++;                                                                \
                while (j > low && x[j] > pivot) j--;                                                                 \
                if (i > j) break;                                                                                    \
                const type kept = x[i];                                                                              \
                x[i++] = x[j];                                                                                       \
                x[j--] = kept;                                                                                       \
            }                                                                                                        \
            if (place <= j)                                                                                          \
                high = j;                                                                                            \
            else if (place >= i)                                                                                     \
                low = i;                                                                                             \
            else                                                                                                     \
                break;                                                                                               \
        }                                                                                                            \
        return x[place];                                                                                             \
    }                                                                                                                \
                                                                                                                     \
    double median(type *x, int64_t count)                                                                            \
    {                                                                                                                \
        return count > 0 ? (double)name(x, count, count / 2) : 0;                                                    \
    }

DEFINE_SELECT(lmr_select_f32, lmr_median_f32, float)
DEFINE_SELECT(lmr_select_f64, lmr_median_f64, double)
