/* The least value of a smooth function of a few numbers. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/status.h"

enum { LMR_MINIMISE_MOST = 12 }; /* numbers */

/* value, and its gradient, of x. LARMOR_ERR_NUMERIC: x is out of range, which is no failure away from the start. */
typedef larmor_status (*lmr_function)(void *self, const double *x, double *value, double *gradient);

typedef struct lmr_minimise {
    int n;
    double scale[LMR_MINIMISE_MOST]; /* a change of each number that is small, but not very */
    double tol;                      /* in units of scale: where steps end */
    int most;                        /* evaluations */
} lmr_minimise;

/* x becomes the place of the least value near it, with the value and gradient there.
 *
 * Source  BFGS with backtracking: Nocedal, Wright, Numerical Optimization (2006), chapter 6. */
larmor_status lmr_minimise_by_bfgs(const lmr_minimise *how, lmr_function f, void *self, double *x, double *value,
                                   double *gradient);

/* x <- inv(matrix) right, matrix [n, n] symmetric and positive: by elimination, in place. */
void lmr_eliminate(int n, double *matrix, double *right, double *x);

static inline double lmr_dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}
