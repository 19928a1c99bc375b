/* Progress on stderr: a separate thread redraws the line, so that it changes while the library works.
 * SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

#define LINE_SECONDS 2.0
#define REDRAW_SECONDS 0.1

enum { WIDEST = 200 }; /* columns; a longer line says no more */

static pthread_cond_t wake;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static double last_line; /* of all tasks: many short ones do not make many lines */

static void init(void)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    last_line = app_now();
}

static int columns(void)
{
    struct winsize size;
    const char *said = getenv("COLUMNS");
    long number = said ? strtol(said, NULL, 10) : 0;
    if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col > 0) number = size.ws_col;
    if (number <= 0) return 80;
    return number < WIDEST ? (int)number : WIDEST;
}

/* With app_stderr held: draw the line, unless that was done just now. */
static void draw(app_progress *p, int at_once)
{
    char line[APP_LINE];
    const double now = app_now();
    if (p->quiet) return;
    if (p->terminal) {
        if (!at_once && now - p->printed < REDRAW_SECONDS) return;
        /* the last column stays free: some terminals wrap as soon as it is written */
        app_progress_line(&p->state, now, columns() - 1, p->colour, line);
        app_line_write(line);
        p->printed = now;
    } else if (now - last_line >= LINE_SECONDS) {
        app_progress_line(&p->state, now, WIDEST, 0, line);
        fprintf(stderr, "%s\n", line);
        last_line = now;
    }
}

static void *redraw(void *progress)
{
    app_progress *p = progress;
    pthread_mutex_lock(&app_stderr);
    while (!p->over) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += (long)(1e9 * REDRAW_SECONDS);
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&wake, &app_stderr, &until);
        if (!p->over) draw(p, 0);
    }
    pthread_mutex_unlock(&app_stderr);
    return NULL;
}

void app_progress_begin(app_progress *p, const char *what)
{
    const char *terminal = getenv("TERM"), *no_colour = getenv("NO_COLOR");
    pthread_once(&once, init);
    *p = (app_progress){.quiet = app_is_quiet()};
    p->state = (app_progress_state){.began = app_now(), .residual = -1, .objective = NAN};
    snprintf(p->state.what, sizeof p->state.what, "%s", what);
    p->terminal = isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb");
    p->colour = p->terminal && !(no_colour && *no_colour);
    if (p->quiet) return;
    pthread_mutex_lock(&app_stderr);
    draw(p, 1);
    pthread_mutex_unlock(&app_stderr);
    p->running = !pthread_create(&p->thread, NULL, redraw, p); /* without it, steps alone draw */
}

void app_progress_stage(app_progress *p, const char *stage)
{
    pthread_mutex_lock(&app_stderr);
    snprintf(p->state.stage, sizeof p->state.stage, "%s", stage);
    p->state.step = p->state.steps = 0;
    draw(p, 1);
    pthread_mutex_unlock(&app_stderr);
}

void app_progress_end(app_progress *p)
{
    pthread_mutex_lock(&app_stderr);
    p->over = 1;
    app_line_erase();
    pthread_cond_broadcast(&wake);
    pthread_mutex_unlock(&app_stderr);
    if (p->running) pthread_join(p->thread, NULL);
    p->running = 0;
}

int app_monitor(void *user, const larmor_progress *progress)
{
    app_progress *p = user;
    if (progress->max_iter < 1 || progress->iter < 1) return app_stopped() != 0;
    pthread_mutex_lock(&app_stderr);
    app_progress_state *s = &p->state;
    s->stage[0] = 0;
    s->last_step = app_now();
    if (!s->steps || progress->iter <= s->step) {
        s->first = progress->iter;
        s->first_step = s->last_step;
    }
    s->step = progress->iter;
    s->steps = progress->max_iter;
    s->residual = progress->residual;
    s->objective = progress->objective;
    draw(p, s->step == 1 || s->step == s->steps);
    pthread_mutex_unlock(&app_stderr);
    return app_stopped() != 0;
}

int app_listen(void *user, const larmor_event *event)
{
    const larmor_progress progress = {
        .iter = event->step, .max_iter = event->steps, .residual = event->residual, .objective = event->objective};
    if (event->kind == LARMOR_EVENT_STAGE) app_progress_stage(user, event->stage);
    if (event->kind == LARMOR_EVENT_STEP) app_monitor(user, &progress);
    if (event->kind == LARMOR_EVENT_LOG) app_log("%s", event->text);
    if (event->kind == LARMOR_EVENT_WARNING) app_warn("%s", event->text);
    return app_stopped() != 0;
}
