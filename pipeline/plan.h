/* How much memory a reconstruction will take of its device, and how many coils fit at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_RECON_PLAN_H
#define APP_RECON_PLAN_H

#include "group.h"

typedef struct recon_plan {
    int64_t limit;   /* bytes that may be used, 0 if unknown */
    int64_t planned; /* the most that a group, or a series of them, needs, with `block` coils at a time */
    int64_t block;   /* coils at a time: all of them, or as many as fit; 1 if not even one fits */
    int64_t coils;
    int toeplitz, precondition; /* the job's, or -1 where not even one coil fits with what it chooses itself */
    int choose;                 /* 0: lambda is chosen from the data; -1: it is not, or that does not fit */
} recon_plan;

/* Plan for all groups that wanted(user, group) names, with outputs kept on the device until the end.
 *
 * memory  bytes allowed; 0 for what is free on the device.
 * Errors  those of the library. That not even one coil fits is none: then planned > limit. */
larmor_status recon_plan_make(const recon_job *job, int64_t memory, int (*wanted)(const void *, const larmor_group *),
                              const void *user, recon_plan *plan);

#endif
