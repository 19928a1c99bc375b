/* What `larmor-bench scaling` times: one problem for each device, or one for all. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "case.h"

enum { SCALING_MOST = 64 }; /* devices of a group */

/* Where it is timed: on the first devices of a group, or on the ranks of mpirun with a device each. */
typedef struct scaling_place {
    larmor_device *group[SCALING_MOST]; /* group[i] of the first i + 1 devices; with ranks one */
    int devices;
    larmor_ranks *ranks; /* or NULL */
    int repeats;
} scaling_place;

/* The device named, or those of a list and their first ones; or this rank's. Errors: those of larmor_device_open and
 * larmor_ranks_open. */
larmor_status scaling_open(const char *device, int64_t threads, int repeats, scaling_place *place);
void scaling_close(scaling_place *place);

/* 1 but for the other ranks. */
int scaling_is_first(const scaling_place *place);

/* Seconds of `count` devices at work, or of all ranks: of the slowest, the median of the repeats; of the ranks
 * that of rank 0 counts. A place without ranks and a count of 1 is one device alone.
 *
 * weak    a NUFFT of the case on each.
 * series  `images` images of c->batch coils, given maps or maps from the data, `iters` steps of conjugate
 *         gradients each; after larmor_recon_create. c->points become whole readouts.
 * coils   a normal map of SENSE whose coils all share.
 * slabs   the Toeplitz normal map of a volume in slabs, by ranks; else of the whole.
 *
 * Of series and coils the other ranks return when rank 0 closes the place, so that nothing can follow.
 * Errors  of the library; LARMOR_STOPPED on other ranks than 0 where one failed. */
larmor_status scaling_weak(scaling_place *place, const bench_case *c, int count, double *seconds);
larmor_status scaling_series(scaling_place *place, bench_case *c, int count, int images, int given, int iters,
                             double *seconds);
larmor_status scaling_coils(scaling_place *place, const bench_case *c, int count, double *seconds);
larmor_status scaling_slabs(scaling_place *place, const bench_case *c, int by_toeplitz, double *seconds);
