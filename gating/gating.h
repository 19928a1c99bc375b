/* Steps on the way from samples to rhythms. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/gating.h"

/* channels x[c][i] of `count` numbers, one channel after the other */
typedef struct lmr_channels {
    double *x;
    int64_t channels, count;
} lmr_channels;

/* Eigenvalues of the symmetric matrix a [n, n], descending, and its eigenvectors as rows of v; a is lost. */
void lmr_gating_eigen(int n, double *a, double *value, double *v);

/* Remove from all channels what the columns [columns][count] explain; columns become orthonormal, those that others
 * explain zero. */
void lmr_gating_remove(lmr_channels *all, double *column, int64_t columns);

/* A trend up to t^2, and polynomials of the direction [3 count]; NULL: the trend alone. Errors: MEMORY. */
larmor_status lmr_gating_detrend(lmr_channels *all, const double *direction, const double *seconds);

typedef struct lmr_band {
    double low, high; /* Hz, of the rhythm */
    double upto;      /* Hz: what else, from low on, the component keeps small */
    int components;   /* that are combined, at most */
} lmr_band;

extern const lmr_band lmr_breath_band, lmr_heart_band;

/* x [count], 2 at least, at a place between its entries; straight on beyond them. */
double lmr_between(const double *x, int64_t count, double at);

typedef struct lmr_found {
    double *signal, *phase; /* [count]; phase in cycles */
    double hz, reliability;
} lmr_found;

/* The rhythm of a band in channels at even steps of dt seconds, whose power was `power` before anything was removed.
 * Errors: MEMORY. */
larmor_status lmr_gating_rhythm(const lmr_channels *all, double dt, double power, const lmr_band *band,
                                lmr_found *found);

/* Seconds from one stamp of a clock to another, past midnight, too. */
double lmr_clock_s(uint32_t stamp, uint32_t begin, double tick_ms);

/* Cycles [count] at some times, by 2 or more times at which cycles begin, as larmor_bins_opts has it; NAN where a
 * trigger was missed. cycle: the usual length in s; 0: the median. Errors: MEMORY. */
larmor_status lmr_gating_phase(const double *begin, int64_t cycles, double cycle, const double *seconds,
                               int64_t count, double *phase);

typedef struct lmr_given { /* what the caller has of heart or breath; free with lmr_given_free */
    double *number;        /* [count]; NULL: nothing */
    int64_t count;
    int is_times; /* 1: times when cycles begin; 0: a number for each readout of all images, NAN: not known */
    double cycle; /* of times: as lmr_gating_phase takes it */
} lmr_given;

/* At most one of times and numbers. Errors: ARG, SHAPE, NUMERIC, MEMORY. */
larmor_status lmr_given_read(const char *name, const larmor_array *times, const larmor_array *numbers,
                             int64_t readouts, lmr_given *given);
void lmr_given_free(lmr_given *given);

/* Phases or numbers [count] of the readouts at these times, before which there are `offset` others; *values stays
 * NULL where nothing is given. Errors: MEMORY. */
larmor_status lmr_gating_given(const lmr_given *given, const double *seconds, int64_t count, int64_t offset,
                               double **values);

/* agree.c: *late <- the seconds by which a given signal of the breath [n] has to be earlier to be that of the
 * samples; 0 where it fits as it is, or neither does. NAN: not known. Half a cycle and another sign look alike.
 * Errors: MEMORY. */
larmor_status lmr_gating_lateness(const larmor_rhythm *own, const double *given, const double *seconds, int64_t n,
                                  double *late);

/* ---- trace.c: what bins rest on ---- */

larmor_status lmr_trace_copy(const larmor_gating_signal *from, larmor_gating_signal *to);

/* A rhythm of the samples; beats: 1: with the times at which its phase is whole. Errors: MEMORY. */
larmor_status lmr_trace_rhythm(const larmor_rhythm *rhythm, const double *seconds, int64_t readouts, int beats,
                               larmor_gating_signal *signal);

/* Fill o->trace; heart and breath go there. Errors: MEMORY. */
larmor_status lmr_trace_take(const larmor_bins_opts *o, const double *seconds, const int *bin, int64_t readouts,
                             larmor_gating_signal *heart, larmor_gating_signal *breath);
