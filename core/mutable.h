/* The one cast that drops const. SPDX-License-Identifier: Apache-2.0
 *
 * The build refuses every other (-Wcast-qual). Who may use it, and why (tests/check_style.sh holds the list):
 *   core/array.c          a count of references is no part of what the array holds
 *   core/gate.c           nor is a lock a part of what it guards
 *   core/ranks/rank_rows.c  MPI_Bcast has one buffer, which the root only reads
 *   finufft/simple.h, finufft/transform.c  FINUFFT's interface has const inputs, its plans one pointer for both ways
 *   nufft/nufft.c         larmor_nufft_memory plans on a device that it is only asked about, and makes nothing
 *   io/reader/compose.c   HDF5's hvl_t has one pointer for both ways; writing only reads it
 * and tests, where an interface writes to what a test holds as const. */
#pragma once

#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-qual"
#endif

static inline void *lmr_mutable(const void *p)
{
    return (void *)p;
}

#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
