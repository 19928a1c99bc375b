/* The search for the weight with the smallest estimated error. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_CHOOSE_H
#define LMR_CHOOSE_H

#include "larmor/solve.h"

/* Values of a function of the weight at growing logarithms of it. */
typedef struct lmr_curve {
    double at[32], value[32];
    int count;
} lmr_curve;

/* Insert a point in its place; false if there is no room or the value is not finite. */
int lmr_curve_add(lmr_curve *c, double at, double value);

/* Where the parabola through the lowest point and its neighbours has its lowest; the end itself if that is an end. */
double lmr_curve_lowest(const lmr_curve *c);

/* The number of the lowest point. */
int lmr_curve_index(const lmr_curve *c);

#endif
