/* Progress on stderr: a bar on a terminal, plain lines elsewhere. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_PROGRESS_H
#define APP_PROGRESS_H

#include "larmor/recon.h"

typedef struct app_progress {
    char what[64]; /* e.g. "slice 3 of 8" */
    double began, printed;
    int terminal, colour, quiet;
    int open; /* whether a line without its end is on the terminal */
} app_progress;

/* Begin a task; a terminal's bar starts again. */
void app_progress_begin(app_progress *p, const char *what);

/* step of steps is done; residual < 0 if there is none, objective NAN if there is none. Other than on a terminal, a line at most every two seconds,
 * and always for the first and the last step. */
void app_progress_step(app_progress *p, int step, int steps, double residual, double objective);

/* Leave the terminal's line. */
void app_progress_end(app_progress *p);

/* A larmor_monitor: user is an app_progress; stops when a signal was caught. */
int app_monitor(void *user, const larmor_progress *progress);

#endif
