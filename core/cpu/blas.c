/* The gate to BLAS and LAPACK: how many threads of a process are inside at a time. SPDX-License-Identifier: Apache-2.0
 *
 * OpenBLAS keeps 2 N buffers, at least 50, where it was built for N threads (common.h, NUM_BUFFERS). Its own threads
 * hold up to N - 1 of them, a caller holds one, and at least 26 are left for callers. Callers that find none at the
 * same time get a null pointer and crash (driver/others/memory.c, up to 0.3.28). */
#include <pthread.h>

#include "core/cpu/cpu.h"

enum { MOST_CALLERS = 16 }; /* the other buffers are the host program's */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;
static int callers;

void lmr_cpu_blas_enter(void)
{
    pthread_mutex_lock(&lock);
    while (callers == MOST_CALLERS) pthread_cond_wait(&left, &lock);
    callers++;
    pthread_mutex_unlock(&lock);
}

void lmr_cpu_blas_leave(void)
{
    pthread_mutex_lock(&lock);
    callers--;
    pthread_cond_signal(&left);
    pthread_mutex_unlock(&lock);
}
