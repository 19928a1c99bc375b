/* One case of larmor-bench: its numbers, its points and its data. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/larmor.h"

#define BENCH_LABEL 112

typedef struct bench_case {
    int type, ndim, is_double; /* type 1: points to modes, 2: modes to points, 3: points to targets */
    int64_t modes[3], points, batch;
    double tol;
    double upsample;          /* 0: chosen by the library */
    const char *distribution; /* one of bench_distributions */
    larmor_precompute precompute;
} bench_case;

#define BENCH_PRECOMPUTES "auto|none|partial|full" /* in the order of larmor_precompute */

/* The index among them, -1 for another text. */
int bench_precompute_named(const char *name);
const char *bench_precompute_name(larmor_precompute form);

#define BENCH_DISTRIBUTIONS "uniform|cluster|radial|spiral|stars|cones|koosh"

/* "2D 1000x1000 uniform M=1e+07 type 1 single 1e-05", with the batch, the upsampling factor and what is
 * precomputed if they are asked for.
 * Returns text. */
const char *bench_case_label(const bench_case *c, char text[BENCH_LABEL]);

int64_t bench_case_modes(const bench_case *c); /* their product; of type 3 the number of targets */

/* 1 if both have the same points, input and exact outputs. */
int bench_same_data(const bench_case *a, const bench_case *b);

typedef struct bench_data {
    larmor_device *dev;                   /* no reference */
    larmor_device *host;                  /* all cores, whatever dev is */
    larmor_array *points;                 /* on the host in doubles, [ndim, c.points], just as the device holds them:
                                             cycles per field of view; of type 3 x, in fields of view */
    larmor_array *targets;                /* of type 3, [ndim, modes] in cycles per field of view; else NULL */
    larmor_array *values;                 /* on the host, what `in` has */
    larmor_array *traj, *aims, *in, *out; /* on the device in the case's precision; aims: the targets, or NULL */
    bench_case asked;                     /* before readouts were made whole */
} bench_data;

/* Draw the points and the input of a case, seeded, and put them on the device; readouts are whole, so that c->points
 * becomes what the trajectory really has. The points of the case before, if they are the same, are kept.
 *
 * data    {0} before the first case; it is so again after an error
 * Errors  LARMOR_ERR_ARG for a trajectory in the wrong number of dimensions and for sizes whose product has more
 *         than 63 bits; LARMOR_ERR_MEMORY. */
larmor_status bench_data_draw(larmor_device *dev, bench_case *c, bench_data *data);
void bench_data_free(bench_data *data);

/* A new real array on the device with the case's precision, from doubles on the host. */
larmor_status bench_reals(larmor_device *dev, int is_double, larmor_array *host, larmor_array **out);

/* The i-th of a stream of random numbers in [0, 1). */
double bench_random(uint64_t stream, int64_t i);
