/* Numbers in ascending order, and the number at a place of an order without the order.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* What x[place] would be in ascending order, 0 <= place < count; x changes its order. Numbers that cannot be compared
 * end it with any of them. */
float lmr_select_f32(float *x, int64_t count, int64_t place);
double lmr_select_f64(double *x, int64_t count, int64_t place);

/* x[count / 2] of that order; 0 of no numbers. */
double lmr_median_f32(float *x, int64_t count);
double lmr_median_f64(double *x, int64_t count);

/* In ascending order. */
void lmr_sort_f64(double *x, int64_t count);
void lmr_sort_int(int *x, int64_t count);

typedef struct lmr_ranked {
    double value;
    int64_t index;
} lmr_ranked;

/* By value, and by index where values are equal; and that for qsort of structures that begin with such a pair. */
void lmr_sort_ranked(lmr_ranked *list, int64_t count);
int lmr_by_rank(const void *a, const void *b);
