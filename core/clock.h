/* Seconds of the monotonic clock, the only one that differences are taken of, and waiting. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <pthread.h>
#include <time.h>

/* Seconds of the monotonic clock: for differences. */
static inline double lmr_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Wait for news, whose clock is the usual one, for so many milliseconds at most; the lock is held. */
static inline void lmr_wait_ms(pthread_cond_t *news, pthread_mutex_t *lock, int ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += ms * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(news, lock, &until);
}
