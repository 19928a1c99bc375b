/* The ranks of a process, for the pipeline. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/ranks/transport.h"
#include "larmor/array.h"
#include "larmor/ranks.h"

struct larmor_ranks {
    const lmr_transport *by;
    void *link; /* of the transport */
    int number, count, local, local_count;
    int is_shared;         /* rank 0: the others wait for orders */
    larmor_device *shared; /* rank 0: whose operators have rows on the others (core/ranks/rank_rows.h); NULL: none */
    int rows_made;         /* rank 0: operators since the start */
    struct lmr_row *rows;  /* elsewhere: the rows that are there */
    char *stage;           /* [2 LMR_STAGE] of host memory; of threads NULL */
    larmor_array *parts;   /* as many bytes on the device, once something was summed straight; or NULL */
    larmor_device *communicator_device; /* of processes: which opened `communicator`, or tried to; or NULL */
    void *communicator;                 /* of its backend: the communicator (NCCL's); NULL: there is none */
    larmor_status agreed;               /* that of all, when they last agreed */
    struct {                            /* of an exchange, [count] each */
        const void **send;
        void **receive;
        int64_t *sent, *received; /* bytes */
    } with;
};

/* Bytes that go at a time where numbers pass through the host's memory, and half of those of `parts`. */
enum { LMR_STAGE = 1 << 23 };

/* Tags of messages. */
enum { LMR_TAG_AGREE = 1, LMR_TAG_ORDER, LMR_TAG_ANSWER, LMR_TAG_STOP };

/* Ranks that are threads of this process, each with ranks[i] and freed by itself; until then the others wait for
 * it. Waiting for a freed rank fails with LARMOR_ERR_BACKEND.
 * Errors  LARMOR_ERR_MEMORY: all of ranks are NULL. */
larmor_status lmr_ranks_of_threads(int count, larmor_ranks **ranks);

/* larmor_ranks_agree, where all must also have the same bytes of `same`. */
larmor_status lmr_ranks_agree(larmor_ranks *ranks, larmor_status own, int64_t *least, const uint64_t same[3]);

/* As lmr_ranks_agree, and `sum` of every rank becomes that of all, added in their order. */
larmor_status lmr_ranks_total(larmor_ranks *ranks, larmor_status own, double sum[2]);

/* `value` becomes the largest of all, called by all; without ranks it stays. */
larmor_status lmr_ranks_most(larmor_ranks *ranks, double *value);

/* `value` of rank 0 for all of them, called by all; without ranks it stays. */
larmor_status lmr_ranks_lead(larmor_ranks *ranks, double *value);

/* How many numbers x has, and of all ranks where it is a part of theirs (larmor_ranks_sum_over): called by all
 * then. */
larmor_status lmr_count_all(const larmor_array *x, double *count);

/* The sum of `own` over the ranks before this one, called by all; 0 without ranks. */
larmor_status lmr_ranks_before(larmor_ranks *ranks, int64_t own, int64_t *before);

/* Rank 0: operators on this device may have rows on the other ranks, which wait for orders, until the ranks are
 * freed. */
void lmr_ranks_take(larmor_ranks *ranks, larmor_device *dev);

/* Other ranks than 0: free the rows that rank 0 has not (core/ranks/rank_rows.c). */
void lmr_rows_clear(larmor_ranks *ranks);

/* core/ranks/rank_numbers.c: those that follow move numbers that lie on a device or in the host's memory, and are
 * called by those ranks that have to do with them, at the same place. A failing device of one does not keep the
 * others waiting.
 *
 * x of rank 0 to all: arrays of one type and shape. */
larmor_status lmr_ranks_broadcast(larmor_ranks *ranks, larmor_array *x);

/* x of rank `from` to all: arrays of one type and shape; called by all. */
larmor_status lmr_ranks_spread(larmor_ranks *ranks, int from, larmor_array *x);

/* x to rank `to` on rank `from`, and the other way round: arrays of one size on both. */
larmor_status lmr_ranks_pass(larmor_ranks *ranks, int from, int to, larmor_array *x);

/* x of rank `to` <- the sum of all x, complex, in the order of the ranks; what the others have is lost. */
larmor_status lmr_ranks_sum(larmor_ranks *ranks, int to, larmor_array *x);

/* sent[i] bytes of `from`, those for rank 0 first, to each rank i, and received[i] from there to `to`.
 * Called by all; sent and received: [count], of which all agree. */
larmor_status lmr_ranks_exchange(larmor_ranks *ranks, const larmor_array *from, const int64_t *sent, larmor_array *to,
                                 const int64_t *received);

/* Closes the communicator (of NCCL) between devices of processes, if there is one; also where ranks are freed.
 * gives_up: what is queued is not waited for. */
void lmr_ranks_close_communicator(larmor_ranks *ranks, int gives_up);

/* core/ranks/rank_threads.c: the messages of such ranks, and a link for each. */
extern const lmr_transport lmr_thread_transport;
larmor_status lmr_threads_link(int count, void **links);
