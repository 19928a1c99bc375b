/* The gate to BLAS and LAPACK: how many threads of a process are inside at a time, and that OpenBLAS adds none of
 * its own, which would share cores that larmor has shared out, take 128 MiB of addresses each, and round otherwise
 * than one does. SPDX-License-Identifier: Apache-2.0
 *
 * OpenBLAS keeps 2 N buffers, at least 50, where it was built for N threads (common.h, NUM_BUFFERS). Its own threads
 * hold up to N - 1 of them, a caller holds one, and at least 26 are left for callers. Callers that find none at the
 * same time get a null pointer and crash (driver/others/memory.c, up to 0.3.28). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>

#include "core/cpu/cpu.h"

enum { MOST_CALLERS = 16 }; /* the other buffers are the host program's */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;
static int callers;
static int before; /* threads of a call, as the host program has them */

/* Of OpenBLAS with threads of its own; one that was built for OpenMP, and other libraries of BLAS, are left as
 * they are. */
static int (*get_threads)(void);
static void (*set_threads)(int threads);

static void find_openblas(void)
{
    int (*kind)(void);
    *(void **)&kind = dlsym(RTLD_DEFAULT, "openblas_get_parallel");
    if (!kind || kind() != 1) return;
    *(void **)&get_threads = dlsym(RTLD_DEFAULT, "openblas_get_num_threads");
    *(void **)&set_threads = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
}

/* By the first caller, for all: the number is one of the process. */
static void take_threads(void)
{
    static int looked;
    if (!looked) find_openblas();
    looked = 1;
    before = get_threads && set_threads ? get_threads() : 1;
    if (before > 1) set_threads(1);
}

static void give_threads_back(void)
{
    if (before > 1) set_threads(before);
}

void lmr_cpu_blas_enter(void)
{
    pthread_mutex_lock(&lock);
    while (callers == MOST_CALLERS) pthread_cond_wait(&left, &lock);
    if (callers == 0) take_threads();
    callers++;
    pthread_mutex_unlock(&lock);
}

void lmr_cpu_blas_leave(void)
{
    pthread_mutex_lock(&lock);
    callers--;
    if (callers == 0) give_threads_back();
    pthread_cond_signal(&left);
    pthread_mutex_unlock(&lock);
}
