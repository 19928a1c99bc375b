/* The events of a reconstruction. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/pipeline.h"

typedef struct lmr_events {
    larmor_listener listener; /* or NULL */
    void *user;
    int stopped; /* the listener has asked to stop */
    char stage[64];
    int series, count;   /* as in larmor_event */
    int done, kept;      /* series that are done; those of them that a checkpoint had */
    int trial;           /* 1: a trial solution and no image, so its steps do not count as progress */
    int is_quiet;        /* 1: no lines */
    int is_contradicted; /* 1: a warning has said that the samples fit another description */
    double energy;       /* what the objective of a step is multiplied by: to the samples' own unit */
    double began;        /* when the first series began; 0 before */
    double reached;      /* the fraction that was said last */
} lmr_events;

/* A line for the log, and one that should be read. */
void lmr_log(lmr_events *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
void lmr_warn(lmr_events *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A stage begins. LARMOR_STOPPED if the listener has asked to stop. */
larmor_status lmr_enter(lmr_events *e, const char *stage);

/* A larmor_monitor, whose user is an lmr_events. */
int lmr_monitor(void *events, const larmor_progress *progress);

/* A stage or step of the series that another device computes, of whose later ones so many are done already. */
void lmr_relay(lmr_events *e, const larmor_event *heard, int ahead);

/* Series number `series` of count begins, from 1; and ends. */
void lmr_begin_series(lmr_events *e, int series, int count);
void lmr_end_series(lmr_events *e);
