/* Host loops over threads. SPDX-License-Identifier: Apache-2.0 */
#include "core/parallel.h"

void lmr_parallel(int threads, int64_t count, void (*body)(void *self, int64_t i), void *self)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < count; i++) body(self, i);
}
