/* Whether the caller of this thread's calls wants them to end. SPDX-License-Identifier: Apache-2.0 */
#include "core/status.h"

static _Thread_local larmor_stop_asked asked_by;
static _Thread_local void *asked_for;

void larmor_stop_when(larmor_stop_asked asked, void *user)
{
    asked_by = asked;
    asked_for = user;
}

int lmr_stop_asked(void)
{
    return asked_by && asked_by(asked_for);
}

larmor_status lmr_stopped(void)
{
    return LMR_FAIL(LARMOR_STOPPED, "stopped by the caller");
}
