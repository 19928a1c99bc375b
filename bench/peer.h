/* FINUFFT or cuFINUFFT, from a shared library, as something to time.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "case.h"
#include "timing.h"

typedef struct bench_peer bench_peer;

/* Load the library.
 *
 * name    "finufft", which runs on as many threads as dev has, or "cufinufft"
 * path    of the shared library; NULL: libNAME.so, where the loader finds it
 * Errors  LARMOR_ERR_ARG if dev is no processor or no GPU; LARMOR_ERR_UNSUPPORTED if larmor-bench was built
 *         without the peer's header, or the library cannot be loaded, lacks a function or has other options than
 *         the header. */
larmor_status bench_peer_open(const char *name, const char *path, larmor_device *dev, bench_peer **peer);
void bench_peer_close(bench_peer *peer); /* NULL is fine */

/* How many methods it has besides its default. */
int bench_peer_methods(const bench_peer *peer);

/* A case in the peer's units. */
typedef struct bench_peer_work {
    bench_peer *peer;
    const bench_case *c;
    const bench_data *data;
    larmor_array *radians[3]; /* 2 pi k / N (type 3: 2 pi x) in the case's precision, a dimension each */
    larmor_array *aims[3];    /* of type 3: the targets, a dimension each */
    double *points;           /* what they are in the units of data->points after rounding, [ndim, c->points] */
} bench_peer_work;

/* data must outlive work. Errors: LARMOR_ERR_MEMORY; work may be freed then too. */
larmor_status bench_peer_work_create(bench_peer *peer, const bench_case *c, const bench_data *data,
                                     bench_peer_work *work);
void bench_peer_work_free(bench_peer_work *work);

typedef struct bench_peer_subject {
    bench_subject base;
    const bench_peer_work *work;
    int method;        /* 0: the peer's default */
    int64_t max_batch; /* transforms at once; 0: the peer's default */
    void *plan;
} bench_peer_subject;

void bench_peer_prepare(bench_peer_subject *subject, const bench_peer_work *work, int method, int64_t max_batch);
