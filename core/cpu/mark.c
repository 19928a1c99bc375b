/* Marks in the processor's queue, which is always empty: each is a time of the monotonic clock.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <time.h>

#include "core/cpu/cpu.h"
#include "core/status.h"

static larmor_status create(void *ctx, void **mark)
{
    (void)ctx;
    *mark = calloc(1, sizeof(struct timespec));
    return *mark ? LARMOR_OK : LMR_NO_MEMORY();
}

static larmor_status put(void *ctx, void *mark)
{
    (void)ctx;
    clock_gettime(CLOCK_MONOTONIC, mark);
    return LARMOR_OK;
}

static larmor_status seconds_between(void *ctx, void *from, void *to, double *seconds)
{
    (void)ctx;
    const struct timespec *a = from, *b = to;
    *seconds = (double)(b->tv_sec - a->tv_sec) + 1e-9 * (double)(b->tv_nsec - a->tv_nsec);
    return LARMOR_OK;
}

static void destroy(void *ctx, void *mark)
{
    (void)ctx;
    free(mark);
}

const lmr_mark lmr_cpu_mark = {create, put, seconds_between, destroy};
