/* A hole in the centre of k-space, which readouts leave that begin after a dead time. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "schedule/state.h"

/* 1 if there is a hole in the samples of the group that coil maps would be found from. */
int lmr_hole_in_maps(const lmr_scan_facts *facts, const larmor_group *group);

/* Where there is a hole: whether the job fills it; log that it does, or warn of it and log why it is not. Method,
 * maps and grids are decided. Holes of single images are judged with these. */
void lmr_hole_judge(larmor_recon *r);

/* What an image with a hole of its own does not share with the others. */
typedef struct lmr_shared {
    const lmr_scan_facts *facts; /* NULL: there is no such hole */
    lmr_method method;
    lmr_weight chosen;
} lmr_shared;

/* Where one of these groups has a hole and the scan has none, the job gets facts that are these images' own, as of a
 * scan that has them alone, until lmr_hole_end. */
void lmr_hole_begin(lmr_job *job, const int *index, int count, lmr_scan_facts *own, lmr_shared *shared);
void lmr_hole_end(lmr_job *job, const lmr_shared *shared);
