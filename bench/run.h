/* One case of `larmor-bench nufft`: larmor's and the peer's times and errors. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "case.h"
#include "direct.h"
#include "peer.h"
#include "timing.h"

#define BENCH_MOST_PEERS 16

typedef struct bench_timing {
    char name[32]; /* "larmor", or the peer's method: "default", "method 2", "method 1, batches of 8" */
    bench_times times[BENCH_STAGES];
    double error;
    char failure[256]; /* why there are no times; "" if there are */
} bench_timing;

typedef struct bench_result {
    char label[BENCH_LABEL]; /* of the case that was asked for; names the result in files */
    bench_case c;            /* what was run: whole readouts */
    larmor_nufft_info info;  /* what larmor's plan chose */
    bench_timing ours, peer[BENCH_MOST_PEERS];
    int peers; /* how many were tried; the first is the peer's default */
} bench_result;

/* Where and how cases run, and the data of the last one, of which the next keeps what it shares. */
typedef struct bench_place {
    larmor_device *dev;
    larmor_plan_effort effort; /* of larmor's plans */
    bench_peer *peer;          /* NULL: none */
    int repeats;
    double budget; /* seconds of measuring for each case and each method of the peer */
    bench_data data;
    int64_t points;                      /* of data, whole readouts */
    bench_direct direct, direct_of_peer; /* count 0: not summed yet */
} bench_place;

void bench_place_clear(bench_place *place); /* the data */

/* Time a case: larmor and the peer's default alternating, then the peer's other methods, each alone. A failure of
 * the peer is noted in result and not returned.
 *
 * Errors  larmor's own, LARMOR_STOPPED after a signal. */
larmor_status bench_run(bench_place *place, const bench_case *c, bench_result *result);

/* The fastest execute among the peer's methods, NULL if none ran. */
const bench_timing *bench_best_peer(const bench_result *result);

/* The seconds of execute, median or least, or of set_points and one execute. */
typedef enum bench_span { BENCH_ONE_EXECUTE, BENCH_BOTH, BENCH_ONE_LEAST } bench_span;
double bench_seconds(const bench_timing *timing, bench_span span);

/* The default peer's seconds over larmor's, 0 without one. */
double bench_ratio(const bench_result *result, bench_span span);
