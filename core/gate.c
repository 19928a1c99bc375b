/* Calls of one object from several threads take turns. SPDX-License-Identifier: Apache-2.0 */
#include "core/gate.h"

#include <time.h>

#include "core/mutable.h"
#include "core/status.h"

enum { ASK_EVERY_NS = 20 * 1000 * 1000 }; /* how long a waiter waits before it asks whether to stop */

void lmr_gate_init(lmr_gate *gate)
{
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&gate->mutex, NULL);
    pthread_cond_init(&gate->opened, &clock);
    pthread_condattr_destroy(&clock);
    gate->depth = gate->waiting = 0;
}

void lmr_gate_destroy(lmr_gate *gate)
{
    pthread_cond_destroy(&gate->opened);
    pthread_mutex_destroy(&gate->mutex);
}

/* With the mutex held: 1 if this thread is inside now. */
static int take(lmr_gate *gate)
{
    if (gate->depth && !pthread_equal(gate->owner, pthread_self())) return 0;
    gate->owner = pthread_self();
    gate->depth++;
    return 1;
}

static void wait_a_little(lmr_gate *gate)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ASK_EVERY_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    gate->waiting++;
    pthread_cond_timedwait(&gate->opened, &gate->mutex, &until);
    gate->waiting--;
}

larmor_status lmr_gate_enter(const lmr_gate *of)
{
    lmr_gate *gate = lmr_mutable(of);
    for (;;) {
        pthread_mutex_lock(&gate->mutex);
        int inside = take(gate);
        if (!inside) {
            wait_a_little(gate);
            inside = take(gate);
        }
        pthread_mutex_unlock(&gate->mutex);
        if (inside) return LARMOR_OK;
        LMR_TRY(lmr_go_on());
    }
}

void lmr_gate_leave(const lmr_gate *of)
{
    lmr_gate *gate = lmr_mutable(of);
    pthread_mutex_lock(&gate->mutex);
    gate->depth--;
    const int wake = !gate->depth && gate->waiting;
    pthread_mutex_unlock(&gate->mutex);
    if (wake) pthread_cond_signal(&gate->opened);
}
