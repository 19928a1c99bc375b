/* The calls of one peer, made by its own header: bench/peer_calls.c. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "case.h"

typedef struct bench_peer_functions bench_peer_functions; /* those found in the library */

typedef struct bench_peer_choice {
    int number;        /* threads of a processor, number of a GPU */
    int method;        /* 0: the peer's default */
    int64_t max_batch; /* transforms at once; 0: the peer's default */
} bench_peer_choice;

typedef struct bench_peer_calls {
    const char *library; /* what the loader looks for if the user names no file */
    int methods;         /* besides its default */
    /* To be freed. Errors: LARMOR_ERR_UNSUPPORTED for a library without a function or with other options than
     * those of the header; LARMOR_ERR_MEMORY. */
    larmor_status (*find)(void *library, bench_peer_functions **functions);
    /* Errors of these: LARMOR_ERR_BACKEND. *plan may be there even then. */
    larmor_status (*create)(const bench_peer_functions *f, const bench_case *c, const bench_peer_choice *choice,
                            void **plan);
    larmor_status (*set_points)(const bench_peer_functions *f, const bench_case *c, void *plan, void *const x[3],
                                void *const targets[3]);
    larmor_status (*execute)(const bench_peer_functions *f, const bench_case *c, void *plan, void *values,
                             void *modes);
    void (*destroy)(const bench_peer_functions *f, const bench_case *c, void *plan);
    /* Its own clock, NULL on a processor. */
    larmor_status (*wait)(const bench_peer_functions *f);
    larmor_status (*start)(bench_peer_functions *f);
    larmor_status (*stop)(const bench_peer_functions *f, double *seconds);
} bench_peer_calls;

/* Each is there if its header was found when larmor-bench was built: BENCH_HAS_FINUFFT, BENCH_HAS_CUFINUFFT. */
extern const bench_peer_calls bench_finufft, bench_cufinufft;
