/* Marks in the processor's queue, which is always empty: each is a time of the monotonic clock.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "core/clock.h"
#include "core/cpu/cpu.h"
#include "core/status.h"

static larmor_status create(void *ctx LMR_UNUSED, void **mark)
{
    *mark = calloc(1, sizeof(double));
    return *mark ? LARMOR_OK : LMR_NO_MEMORY();
}

static larmor_status put(void *ctx LMR_UNUSED, void *mark)
{
    *(double *)mark = lmr_seconds();
    return LARMOR_OK;
}

static larmor_status seconds_between(void *ctx LMR_UNUSED, void *from, void *to, double *seconds)
{
    *seconds = *(double *)to - *(double *)from;
    return LARMOR_OK;
}

static void destroy(void *ctx LMR_UNUSED, void *mark)
{
    free(mark);
}

const lmr_mark lmr_cpu_mark = {create, put, seconds_between, destroy};
