/* Host loops over threads. SPDX-License-Identifier: Apache-2.0 */
#include "core/parallel.h"

#include <omp.h>
#include <stdatomic.h>

#include "core/status.h"

enum { ASK_EVERY = 16 };

larmor_status lmr_parallel(int threads, int64_t count, void (*body)(void *self, int64_t i), void *self)
{
    atomic_int over = 0;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < count; i++) {
        if (atomic_load_explicit(&over, memory_order_relaxed)) continue;
        body(self, i);
        /* thread 0 is the caller's, which alone knows whom to ask */
        if (!omp_get_thread_num() && i % ASK_EVERY == 0 && lmr_stop_asked()) over = 1;
    }
    return over ? lmr_stopped() : LARMOR_OK;
}
