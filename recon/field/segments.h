/* Time segmentation on the host: how many segments, and the interpolators between them. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <complex.h>

#include "larmor/operators.h"

typedef double _Complex lmr_number;

enum { LMR_MOST_SEGMENTS = 512, LMR_FIT_PIECES = 64 };

/* Frequencies and times, relative to the middle of their ranges: that changes the interpolators by phases alone. */
typedef struct lmr_fit {
    int threads;
    int64_t nodes; /* frequencies, so dense that the error between two is that at one of them */
    int64_t room;  /* for frequencies */
    double *f;
    int64_t times; /* distinct ones */
    double *t;
    double reach; /* of time: t in [-reach, reach] */
} lmr_fit;

/* exp(2 pi i f t) ~ sum_l b_l(t) exp(2 pi i f tau_l) */
typedef struct lmr_interpolators {
    int segments;
    double error;  /* the largest of the sum, over the frequencies and all times */
    lmr_number *b; /* [times, segments] */
} lmr_interpolators;

lmr_number lmr_unit_phase(double cycles);

/* Segment l of `count`, spread evenly over all times. */
double lmr_segment_time(const lmr_fit *p, int count, int l);

/* The distinct times of n, and where each sample's is; times and reach end up relative to *middle. */
larmor_status lmr_fit_times(int64_t n, const double *time, lmr_fit *p, int64_t *place, double *middle);

/* Nodes no farther apart than a tenth of a radian at the farthest time, where the map has frequencies; f is relative
 * to *middle. The times must be there. */
larmor_status lmr_fit_frequencies(int64_t n, const double *field, lmr_fit *p, double *middle);

/* Nodes at the differences of p's; d has p's times, which stay p's. */
larmor_status lmr_fit_differences(const lmr_fit *p, lmr_fit *d);

/* As many segments as asked for, or, for 0, the least that keep the bound. q->b is the caller's to free. */
larmor_status lmr_fit_segments(const lmr_fit *p, int segments, double bound, lmr_interpolators *q);

void lmr_fit_free(lmr_fit *p);
