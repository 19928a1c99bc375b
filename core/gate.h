/* Calls of one object from several threads take turns. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <pthread.h>

#include "larmor/status.h"

/* A lock that its thread may take again, and whose waiters can be stopped. */
typedef struct lmr_gate {
    pthread_mutex_t mutex;
    pthread_cond_t opened;
    pthread_t owner; /* where depth > 0 */
    int depth;       /* how often the owner is inside */
    int waiting;
} lmr_gate;

void lmr_gate_init(lmr_gate *gate);
void lmr_gate_destroy(lmr_gate *gate);

/* Waits while another thread is inside. LARMOR_STOPPED if the caller asks this thread to stop meanwhile. */
larmor_status lmr_gate_enter(const lmr_gate *gate);
void lmr_gate_leave(const lmr_gate *gate);
