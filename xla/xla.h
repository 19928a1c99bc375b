/* What liblarmor_xla shows: the NUFFT as custom calls of XLA, which larmor.jax registers.
 *
 * Handlers of XLA's typed FFI: `XLA_FFI_Error *(XLA_FFI_CallFrame *)`. Arrays are in the order of C, whose last axis
 * is the fastest.
 *
 * Arguments   values [sets, batch, points], or for type 2 modes [sets, batch, modes...]: complex64 or complex128.
 *             points [sets, ndim, points]: float32 or float64; each set has its own, shared by the inputs of a batch.
 *             targets [sets, ndim, targets], for type 3 alone.
 * Result      modes [sets, batch, modes...], values [sets, batch, points], or [sets, batch, targets].
 * Attributes  kind 1, 2 or 3; sign of the exponent; mode_order 0 or 1; radians 0 or 1; threads: whole numbers of 64
 *             bits; tol, upsample: doubles. Members of larmor_nufft_opts, but for radians: points are then 2 pi k / N
 *             and targets 2 pi s.
 * Source      OpenXLA, xla/ffi/api/c_api.h. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "larmor/status.h"

LARMOR_API void *larmor_xla_nufft(void *call_frame);      /* on the processor */
LARMOR_API void *larmor_xla_nufft_cuda(void *call_frame); /* on the call's GPU and stream */

/* Plans that wait for their next call are kept up to so many and so many bytes; 0 frees them all. 16 plans and 1 GiB
 * at first, of all devices together. */
LARMOR_API void larmor_xla_keep(int64_t plans, int64_t bytes);

/* counts = {plans that wait, their bytes, sets of points that were sorted so far, calls that found theirs sorted}. */
LARMOR_API void larmor_xla_count(int64_t counts[4]);
