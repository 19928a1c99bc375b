/* The images that a run makes, in the order in which it makes them. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_RECON_SERIES_H
#define APP_RECON_SERIES_H

#include "run.h"

/* 1 if settings, of type recon_settings, ask for this group. */
int recon_wanted(const void *settings, const larmor_group *g);

/* The wanted groups, those of a series one after the other: series s is group[first[s]] .. group[first[s + 1] - 1]. */
typedef struct recon_series {
    int *group, *first;
    int groups, series;
} recon_series;

/* List the wanted groups, which is an error if there are none; to be freed in either case. This and what follows return
 * an exit code, having said what is wrong. */
int recon_series_gather(recon_run *r, recon_series *l);
void recon_series_free(recon_series *l);

/* llr of a single frame is refused before any work. */
int recon_series_check(const recon_run *r, const recon_series *l);

/* Reconstruct every wanted group into r->image; stops after an interrupted series. One that cannot be made for its
 * numbers does not stop the others. */
int recon_series_run(recon_run *r, const recon_series *l);

/* What became of them all: says which were not made or are doubtful, by number. */
int recon_series_judge(const recon_run *r, const recon_series *l);

#endif
