/* What carries messages between ranks: one constant table, of a plugin for processes, or of
 * core/ranks/rank_threads.c for threads. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "core/backend.h"

/* Grows by one with every change of the struct below. */
#define LMR_TRANSPORT_ABI 4

/* link: of this rank, which begin() makes; NULL if there is one in a process. Any thread may call; a message comes
 * from one rank to another, in the order of those with its tag. */
typedef struct lmr_transport {
    uint32_t abi; /* first in every version */
    larmor_status (*begin)(void **link, int *number, int *count, int *local, int *local_count);
    larmor_status (*send)(void *link, int to, int tag, const void *data, int64_t bytes);
    /* Wait, asleep, until there is a message or stop(user) is 1: then LARMOR_STOPPED. data: to be freed by free(). */
    larmor_status (*receive)(void *link, int from, int tag, int (*stop)(void *user), void *user, void **data,
                             int64_t *bytes);
    int (*is_there)(void *link, int from, int tag);
    /* The first `bytes` of data, of rank 0, to all others; all ranks call it, with as many bytes. */
    larmor_status (*broadcast)(void *link, void *data, int64_t bytes);
    /* All of data to that rank (sends 1), or from there: both call it. */
    larmor_status (*pass)(void *link, int other, int sends, void *data, int64_t bytes);
    /* send[i] to rank i and receive[i] from there for every i whose bytes are not 0, which fit those of rank i;
     * what goes to the rank itself is copied. Ranks with nothing to give or to get need not call it. */
    larmor_status (*exchange)(void *link, const void *const *send, const int64_t *send_bytes, void *const *receive,
                              const int64_t *receive_bytes);
    /* The same in the memory of devices of one kind, of which dev is this rank's, in the order of their queues.
     * Where there is one it takes the place of broadcast and exchange, which are NULL; what a device fails at is
     * returned after the others have what they wait for. */
    larmor_status (*exchange_on)(void *link, const larmor_device *dev, const void *const *send,
                                 const int64_t *send_bytes, void *const *receive, const int64_t *receive_bytes);
    void (*end)(void *link);
} lmr_transport;

/* An lmr_plugin_entry. */
#define LMR_TRANSPORT_ENTRY "lmr_transport_entry"
