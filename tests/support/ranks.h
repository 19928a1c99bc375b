/* What tests share that mpirun runs as several processes. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#define OWN_MAIN
#include "tests/support/test.h"

static larmor_ranks *ranks; /* two or more */

/* Opens dev and ranks; returns 0 if the tests can run. */
static inline int open_ranks(void)
{
    if (open_test_device()) return 1;
    if (!larmor_ranks_open(&ranks) && larmor_ranks_count(ranks) >= 2) return 0;
    fprintf(stderr, "failed: %s\n", ranks ? "mpirun -n 2 or more expected" : larmor_last_error());
    return 1;
}

static inline int close_ranks(int failures)
{
    larmor_ranks_free(ranks);
    return close_after(failures);
}
