/* How much memory a reconstruction will take of its device, and how many coils fit at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "scan/series.h"

typedef struct lmr_plan {
    int64_t limit;   /* bytes that may be used, 0 if unknown */
    int64_t planned; /* the most that is needed, with `block` coils at a time, by a series or by those computed at a
                  * time */
    int64_t images;  /* of it, what all images take */
    int64_t block;   /* coils at a time: all of them, or as many as fit; 1 if not even one fits */
    int64_t coils;
    int in_turn;                /* 1: the frames of a series share one grid, a frame at a time */
    int toeplitz, precondition; /* the job's, or -1 where not even one coil fits with what it chooses itself */
    int64_t *bytes;             /* [series] that each needs at most, the images of all included */
    int share;   /* trajectories of which is kept what their images have in common (pipeline/cache.h) */
    int compare; /* the methods of auto: 1: tgv may be compared as well; 0: all but it, which does not fit; -1: none
                  * are, or that does not fit */
    int choose;  /* 0: lambda is chosen from the data; -1: it is not, or that does not fit */
} lmr_plan;

/* Plan for all series, whose images are kept on the device until the end; to be freed in either case.
 *
 * memory  bytes allowed; 0 for what is free on the device.
 * Errors  those of the library. That not even one coil fits is none: then planned > limit. */
larmor_status lmr_plan_make(const lmr_job *job, int64_t memory, const lmr_series *list, lmr_plan *plan);

void lmr_plan_free(lmr_plan *plan);
