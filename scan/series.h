/* Which images make a series, and the order of the series. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "scan/job.h"

/* The wanted groups, those of a series one after the other: series s is group[first[s]] .. group[first[s + 1] - 1].
 * */
typedef struct lmr_series {
    int *group, *first;
    int groups, series;
    int lead;       /* the series by which is decided what suits all of them */
    int lead_image; /* of that series, from its first group on: by whose data */
    char *is_weak;  /* [series] 1: it has next to no signal; NULL where none is */
} lmr_series;

/* The group that decides. */
static inline int lmr_lead_group(const lmr_series *list)
{
    return list->group[list->first[list->lead] + list->lead_image];
}

/* 1 if the group is one of these counters; -1 of them: any. */
int lmr_is_wanted(const larmor_counters *only, const larmor_group *g);

/* List the groups of the job's source that `only` names; list is to be freed in either case.
 *
 * Errors  LARMOR_ERR_ARG if there are none, and for llr of a single frame; those of the source. */
larmor_status lmr_series_gather(const lmr_job *job, const larmor_counters *only, lmr_series *list);
void lmr_series_free(lmr_series *list);

/* 1 if the job's source has bins, and all series would have all of them if the bins of a slice were one series. */
int lmr_series_are_bins(const lmr_job *job, const larmor_counters *only);

/* Images without signal leave a joint series for series of their own: what is penalised between them and others is
 * noise (docs/records/dynamics.md, "Volumes without signal"). */
larmor_status lmr_series_part_silent(const lmr_job *job, lmr_series *list);

/* list->is_weak <- series with far less signal than others, and list->lead <- the series whose kind of maps,
 * method and weight are those of all, so that images can be compared: the first one, unless it has far less
 * signal than others or lacks readouts that they have, as slices of air, nulls of an inversion recovery and
 * scans that lost pieces do; then the strongest of those that are whole. */
larmor_status lmr_series_lead(const lmr_job *job, lmr_series *list);

/* *lead <- which of a series' groups, from 0, its maps and the scale of its samples are of: the first one, unless it
 * has far less signal than others, as a volume has that was acquired before there was any; then the strongest. */
larmor_status lmr_series_image(const lmr_job *job, const int *group, int count, int *lead);

/* How series s, from 0, is called: "image 2 of 8", "series 1 of 2, 3 images". */
void lmr_series_name(const lmr_series *list, int s, char name[64]);
