/* The ranks of a process, for the pipeline. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_RANKS_H
#define LMR_RANKS_H

#include "core/transport.h"
#include "larmor/ranks.h"

struct larmor_ranks {
    const lmr_transport *by;
    int number, count, local, local_count;
    int is_shared; /* rank 0: the others wait for orders */
};

/* Tags of messages. */
enum { LMR_TAG_AGREE = 1, LMR_TAG_ORDER, LMR_TAG_ANSWER, LMR_TAG_STOP };

/* larmor_ranks_agree, where all must also have the same bytes of `same`. */
larmor_status lmr_ranks_agree(larmor_ranks *ranks, larmor_status own, int64_t *least, const uint64_t same[3]);

#endif
