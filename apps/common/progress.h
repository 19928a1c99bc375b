/* Progress on stderr: a line that is redrawn on a terminal, plain lines elsewhere. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <pthread.h>

#include "larmor/pipeline.h"

/* What a line of progress says; step, residual and objective only once there are steps. */
typedef struct app_progress_state {
    char what[64];                       /* e.g. "image 3 of 8" */
    char stage[64];                      /* e.g. "coil maps", or "" */
    int step, steps;                     /* steps 0: how long it takes is not known */
    int first;                           /* the first step that was heard of */
    double residual, objective;          /* residual < 0 and objective NAN: there is none */
    double began, first_step, last_step; /* moments of app_now */
} app_progress_state;

typedef struct app_progress {
    app_progress_state state;
    double printed; /* when a line was last written */
    int terminal, colour, quiet;
    int running; /* whether the thread that redraws it is */
    int over;    /* asks it to end */
    pthread_t thread;
} app_progress;

/* Begin a task. Other than on a terminal, a line at most every two seconds is written of it. */
void app_progress_begin(app_progress *p, const char *what);

/* What is being done now, before there are steps or between them. */
void app_progress_stage(app_progress *p, const char *stage);

/* End the task, and take its line off the terminal. */
void app_progress_end(app_progress *p);

/* A larmor_monitor: user is an app_progress, whose stage ends; stops when a signal was caught. */
int app_monitor(void *user, const larmor_progress *progress);

/* A larmor_listener: user is an app_progress, log lines and warnings go to stderr; stops when a signal was caught. */
int app_listen(void *user, const larmor_event *event);

enum { APP_LINE = 512 };

/* The line at the moment `now`, of at most `columns` characters beside the codes of colours: what there is no room
 * for is left out, the least important first. */
void app_progress_line(const app_progress_state *s, double now, int columns, int colour, char line[APP_LINE]);
