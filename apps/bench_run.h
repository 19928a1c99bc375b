/* One case of `larmor bench nufft`: larmor's and the peer's times and errors. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_BENCH_RUN_H
#define APP_BENCH_RUN_H

#include "bench_case.h"
#include "bench_peer.h"
#include "bench_time.h"

#define BENCH_MOST_PEERS 12

typedef struct bench_timing {
    char name[32]; /* "larmor", or the peer's method: "default", "method 2", "method 1, batches of 8" */
    bench_times times[BENCH_STAGES];
    double error;
    char failure[256]; /* why there are no times; "" if there are */
} bench_timing;

typedef struct bench_result {
    bench_case c;
    larmor_nufft_info info; /* what larmor's plan chose */
    bench_timing ours, peer[BENCH_MOST_PEERS];
    int peers; /* how many were tried; the first is the peer's default */
} bench_result;

/* Time a case: larmor and the peer's default taking turns, then the peer's other methods, each alone. peer may be
 * NULL. What fails in the peer is told in result, not returned.
 *
 * Errors  larmor's own, LARMOR_STOPPED after a signal. */
larmor_status bench_run(larmor_device *dev, bench_peer *peer, const bench_case *c, int repeats, bench_result *result);

/* The fastest execute among the peer's methods, NULL if none ran. */
const bench_timing *bench_best_peer(const bench_result *result);

/* The default peer's median execute over larmor's, 0 without one. */
double bench_ratio(const bench_result *result);

#endif
