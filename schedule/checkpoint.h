/* What a reconstruction keeps in a checkpoint, and how it goes on from there. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "schedule/state.h"

typedef struct lmr_fingerprints { /* hashes of what the images follow from */
    uint64_t scan, options, plan;
} lmr_fingerprints;

larmor_status lmr_fingerprints_of(const larmor_recon *r, lmr_fingerprints *f);

/* What the memory that is free decides, beside what follows from the scan: each image's grid, and delays. */
uint64_t lmr_fingerprint_of_plan(const larmor_recon *r);

/* A series that was begun. */
typedef struct lmr_unfinished {
    int series;                 /* -1: there is none */
    lmr_weight chosen;          /* the job's */
    larmor_recon_report report; /* with the weight */
    double seconds;             /* that were spent on it */
    int64_t state;              /* where the solver's state is */
} lmr_unfinished;

/* The members of job.checkpoint. */
typedef struct lmr_kept lmr_kept;

/* Read what opts.checkpoint has, if it has anything, and keep the state there from now on; nothing without one. The
 * groups whose maps and density weights the job had are for lmr_group_restore; -1: none. */
larmor_status lmr_keep_open(larmor_recon *r, int *maps_from, int *weights_from);
void lmr_keep_close(larmor_recon *r);

/* The series begins: 1 if the checkpoint has its result, which is then in *result. Each result is given once. */
int lmr_keep_begin(larmor_recon *r, int series, larmor_recon_result *result);

/* 1 if lmr_keep_begin will have the result. */
int lmr_keep_has(const larmor_recon *r, int series);

/* The seconds that were spent on the series before this process. */
double lmr_keep_seconds(const larmor_recon *r);

/* The series is done: keep its result, and save if it is time. */
void lmr_keep_done(larmor_recon *r, int series, const larmor_recon_result *result);

/* The series was stopped or failed: save what is done. */
void lmr_keep_stopped(larmor_recon *r);

/* ---- for solve.c ---- */

/* Where the series of this job was when it was stopped; NULL if it begins here. */
const lmr_unfinished *lmr_keep_unfinished(const lmr_job *job);

/* The weight is known: from now on the solver's state can be kept. */
void lmr_keep_report(const lmr_job *job, const larmor_recon_report *report);

/* After a step of the solver; state: its own, or NULL. stop: it will be the last. */
void lmr_keep_step(const lmr_job *job, const larmor_solver_state *state, int stop);

/* A larmor_resume, whose user points to a pointer to the job. */
larmor_status lmr_keep_resume(void *user, const larmor_solver_state *state, int *resumed);
