/* Threads that get no signals: those are for the caller's threads. SPDX-License-Identifier: Apache-2.0 */
#include "core/quiet.h"

#include <signal.h>

int lmr_quiet_thread(pthread_t *thread, void *(*work)(void *user), void *user)
{
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before)) return 0;
    const int started = !pthread_create(thread, NULL, work, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}
