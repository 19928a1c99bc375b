/* Counted references. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdatomic.h>

typedef atomic_int lmr_refs; /* atomic_init to 1 where the object is made */

static inline void lmr_refs_add(lmr_refs *refs)
{
    atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
}

/* 1 if that was the last one and the object must be freed. */
static inline int lmr_refs_drop(lmr_refs *refs)
{
    return atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}
