/* The GPU of cuFINUFFT's plans. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/device.h"

/* GPU `ordinal`, with all work in the caller's stream; stream NULL: CUDA's default stream. */
larmor_status lmr_gpu_open(int ordinal, void *stream, larmor_device **dev);

/* The GPU that is current for the caller: larmor makes another one current, and the caller finds his as it was.
 * NULL if none is current. */
void *lmr_gpu_current(void);
void lmr_gpu_make_current(void *current);
