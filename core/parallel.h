/* Loops of the host over threads, for code outside the processor's columns, which alone know OpenMP.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "larmor/status.h"

/* body(self, i) for each i < count, on `threads` threads, each with its own range of i. Calls must not depend on each
 * other. Errors: LARMOR_STOPPED, when some calls were left out. */
larmor_status lmr_parallel(int threads, int64_t count, void (*body)(void *self, int64_t i), void *self);
