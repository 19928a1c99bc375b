/* The lock around FFTW's planner, of which a process has one for each precision; and which threads are in FFTW.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "core/cpu/cpu.h"
#include "larmor/device.h"

static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
static struct {
    void (*lock)(void *user);
    void (*unlock)(void *user);
    void *user;
} host;

void larmor_set_fftw_lock(void (*lock)(void *user), void (*unlock)(void *user), void *user)
{
    pthread_mutex_lock(&own);
    host.lock = lock;
    host.unlock = unlock;
    host.user = user;
    pthread_mutex_unlock(&own);
}

void lmr_cpu_fftw_lock(void)
{
    pthread_mutex_lock(&own);
    if (host.lock) host.lock(host.user);
}

void lmr_cpu_fftw_unlock(void)
{
    if (host.unlock) host.unlock(host.user);
    pthread_mutex_unlock(&own);
}

/* Read in a handler of signals, where memory for it may not be made: hence the model. */
static _Thread_local volatile int calls __attribute__((tls_model("initial-exec")));

void lmr_cpu_fftw_enter(void)
{
    calls++;
}

void lmr_cpu_fftw_leave(void)
{
    calls--;
}

int larmor_fftw_runs(void)
{
    return calls > 0;
}
