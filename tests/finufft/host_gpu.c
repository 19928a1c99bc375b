/* A processor in the place of cuFINUFFT's GPU, for tests: GPU 0. SPDX-License-Identifier: Apache-2.0 */
#include "finufft/gpu.h"

#include <stddef.h>

larmor_status lmr_gpu_open(int ordinal, void *stream, larmor_device **dev)
{
    (void)stream;
    *dev = NULL;
    if (ordinal != 0) return larmor_fail(LARMOR_ERR_UNSUPPORTED, "there is no GPU %d", ordinal);
    return larmor_device_open("cpu", dev);
}

void *lmr_gpu_current(void)
{
    return NULL;
}

void lmr_gpu_make_current(void *current)
{
    (void)current;
}
