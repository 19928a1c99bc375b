/* The queue of series and those who work on it, for devices and ranks. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "core/ranks/ranks.h"
#include "schedule/state.h"

typedef struct lmr_line { /* of the log */
    int warning;
    char *text;
    struct lmr_line *next;
} lmr_line;

typedef enum lmr_task_state {
    LMR_TASK_KEPT,
    LMR_TASK_WAITS,
    LMR_TASK_RUNS,
    LMR_TASK_DONE
} lmr_task_state; /* KEPT: a checkpoint has it */

/* A series, from when it is queued until its result is handed out. */
typedef struct lmr_task {
    int series, maps_from; /* the group whose data give its maps; -1: its own */
    lmr_task_state state;
    struct lmr_worker *by;
    lmr_series_state before;
    larmor_status status; /* and all that follows once it is DONE */
    char message[1024];
    double seconds;
    larmor_recon_result result; /* images without data: */
    void **values;              /* [result.count] */
    lmr_found found;
    lmr_line *lines, **last_line;
} lmr_task;

typedef struct lmr_worker {
    struct lmr_devices *all;
    int rank;   /* of the process that computes; 0: this one, by the members that follow */
    int member; /* which device of a group it has a queue of; 0 without a group */
    pthread_t thread;
    int started, left;    /* left: its device failed */
    lmr_scan_facts facts; /* on its device */
    lmr_caches caches;
    lmr_job job; /* of these */
    lmr_events events;
    int is_quiet;       /* what it does now was in the log before */
    larmor_event heard; /* the last stage or step */
    char stage[64];
    lmr_task *task;
} lmr_worker;

struct lmr_devices {
    larmor_recon *recon;
    pthread_mutex_t lock; /* of all below but the workers' jobs */
    pthread_cond_t work, news;
    int has_lock, quit;
    larmor_group *group; /* [groups] of the source */
    atomic_int stop;     /* what runs is to end */
    larmor_ranks *ranks; /* or NULL */
    int beside;          /* 1: the workers are parts of one device */
    int workers;
    lmr_worker *worker;
    int room;        /* of the queue, which holds the series first .. end - 1, each in its place */
    lmr_task *queue; /* [room] */
    int first, end;  /* first: the next to be handed out */
    int maps_next;   /* the group whose maps are the job's before series `end` */
    int handed_out;  /* series since the queue began */
    lmr_series_state known;
};

/* The place of a queued series. */
static inline lmr_task *lmr_task_of(const lmr_devices *d, int series)
{
    return &d->queue[series % d->room];
}

void lmr_add_line(lmr_task *t, int warning, const char *text);

/* As it was before it was computed. */
void lmr_clear_task(lmr_task *t);

/* 1 if a series that is done came out as it would have with what is known now. */
int lmr_guess_holds(const lmr_job *job, const lmr_series_state *known, const lmr_task *t);

/* The series goes through the groups of its list: maps stay those of a slice's first group until another slice
 * comes. */
void lmr_map_source_group(const lmr_devices *d, int series, int *from);

/* Of the queue, its lock being held: as many series as have room; none; how many are in a state; what a worker is to
 * compute next, or NULL. */
void lmr_fill_queue(lmr_devices *d);
void lmr_empty_queue(lmr_devices *d);
int lmr_count_tasks(const lmr_devices *d, lmr_task_state state);
lmr_task *lmr_next_task(const lmr_devices *d);

/* The listener of a worker. */
int lmr_worker_listen(void *worker, const larmor_event *event);

/* Threads for all workers that have none. */
larmor_status lmr_start_workers(lmr_devices *d);

/* Compute it on the worker's device; the outcome is in the task. */
void lmr_run_task(lmr_worker *w, lmr_task *t);

/* The same by the worker's rank. */
void lmr_run_on_rank(lmr_worker *w, lmr_task *t);

/* Workers for these devices and, beyond them, for the ranks from 1 on. */
larmor_status lmr_devices_make(larmor_recon *r, larmor_device *const *devices, int count, larmor_ranks *ranks);
