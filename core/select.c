/* Hoare's selection (Comm. ACM 4, 321 (1961), algorithm 65), which takes a time that grows as count does: sorting
 * took a third of an image's time on a GPU. SPDX-License-Identifier: Apache-2.0 */
#include "core/select.h"

#include <stdlib.h>
#include <string.h>

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

static int by_f64(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int by_int(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

int lmr_by_rank(const void *a, const void *b)
{
    lmr_ranked x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    if (x.value != y.value) return x.value < y.value ? -1 : 1;
    return (x.index > y.index) - (x.index < y.index);
}

void lmr_sort_f64(double *x, int64_t count)
{
    qsort(x, (size_t)count, sizeof *x, by_f64);
}

void lmr_sort_int(int *x, int64_t count)
{
    qsort(x, (size_t)count, sizeof *x, by_int);
}

void lmr_sort_ranked(lmr_ranked *list, int64_t count)
{
    qsort(list, (size_t)count, sizeof *list, lmr_by_rank);
}
