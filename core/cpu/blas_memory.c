/* Memory for OpenBLAS before it asks for it: where the system gives it none, OpenBLAS 0.3 asks again for ever.
 * SPDX-License-Identifier: Apache-2.0
 *
 * It keeps a buffer of 128 MiB for each call that runs at the same time, mostly address space that is never touched,
 * and takes them from blas_memory_alloc. Other libraries of BLAS have no such function, and need nothing here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

#include "core/cpu/cpu.h"
#include "core/status.h"

enum { MOST_BUFFERS = 16 };                           /* as many callers as core/cpu/blas.c lets in */
static const size_t buffer_bytes = (size_t)136 << 20; /* with what the allocator adds */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int made; /* buffers that OpenBLAS holds, and uses again */

static int there_is_room(void)
{
    void *room = mmap(NULL, buffer_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return 0;
    munmap(room, buffer_bytes);
    return 1;
}

/* All are held at a time, so that there are as many. */
static void make(int threads, void *(*take)(int position), void (*give)(void *buffer))
{
    void *held[MOST_BUFFERS];
    int count = 0;
    while (count < threads && (count < made || there_is_room())) {
        held[count] = take(0);
        if (!held[count]) break; /* none is left in its table */
        count++;
    }
    if (count > made) made = count;
    while (count > 0) give(held[--count]);
}

larmor_status lmr_cpu_blas_threads(int wanted, int *threads)
{
    void *(*take)(int position);
    void (*give)(void *buffer);
    *threads = wanted;
    *(void **)&take = dlsym(RTLD_DEFAULT, "blas_memory_alloc");
    *(void **)&give = dlsym(RTLD_DEFAULT, "blas_memory_free");
    if (!take || !give) return LARMOR_OK;
    if (wanted > MOST_BUFFERS) *threads = wanted = MOST_BUFFERS;
    pthread_mutex_lock(&lock);
    if (made < wanted) make(wanted, take, give);
    if (made < wanted) *threads = made;
    pthread_mutex_unlock(&lock);
    if (*threads > 0) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_MEMORY, "out of host memory: linear algebra needs %zu MB of address space",
                    buffer_bytes / 1000000);
}
